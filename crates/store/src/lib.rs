//! Repository layer: the only SQL of the program, over SQLite beside the gateway or PostgreSQL by URL.
//!
//! Each noun has a file with its rows and its statements. A statement is written once and runs on both
//! engines. No policy here: who may do what is the kernel's business. Texts with a NUL character are found
//! nowhere and refused when written, since PostgreSQL cannot keep them.

pub mod accounts;
pub mod approvals;
pub mod change;
pub mod changes;
pub mod config;
pub mod conversations;
pub mod devices;
pub mod grants;
pub mod groups;
pub mod ipc;
pub mod lease;
pub mod leases;
pub mod loose_archives;
pub mod mcp;
pub mod messages;
pub mod oauth;
pub mod ownership;
pub mod processes;
pub mod queue;
pub mod repos;
pub mod routes;
pub mod runs;
pub mod segments;
pub mod sessions;
pub mod tokens;
pub mod workspaces;

mod directory;
mod error;
mod metrics;
mod migrations;
mod postgres;
mod secrets;
mod setup;
mod sql;
mod sqlite;

use std::path::PathBuf;
use std::sync::Arc;

use changes::Changes;
use directory::Directory;
use lease::Lease;
use metrics::Metrics;
use postgres::Postgres;
use secrets::Secrets;
use sql::{Batch, Row, Statement, Written};
use sqlite::Sqlite;

/// Where the store is.
#[derive(Clone, Debug)]
pub struct Options {
    /// The data directory: `gsv.db`, `keys/` and the lock live here.
    pub data: PathBuf,
    /// `postgres://…`; SQLite in the data directory when absent.
    pub url: Option<String>,
}

/// Why the store does not open.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another gateway has it.
    #[error("another gateway is using {0}")]
    Held(String),
    /// The directory or a file in it cannot be written.
    #[error("{dir} is not writable: {why}")]
    NotWritable { dir: String, why: String },
    /// A newer version wrote it.
    #[error("{place} was written by a newer gsv (schema {found}, this one knows {ours}): update gsv")]
    Newer {
        /// Which store.
        place: String,
        /// Its schema.
        found: i64,
        ours: i64,
    },
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

/// Why a statement failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// Something with that name or id is there already.
    #[error("already exists: {0}")]
    Conflict(String),
    /// The lease that the write depended on has passed to another holder; nothing was changed.
    #[error("the lease {0} has passed to another holder: nothing was written")]
    LeaseLost(String),
    /// The disk is full, the database is gone, or similar; nothing was changed.
    #[error("{0}")]
    Failed(String),
}

/// The result of a statement.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Says what exists already in the caller's words, instead of the database's.
    fn named(self, what: &str) -> Error {
        match self {
            Error::Conflict(_) => Error::Conflict(what.to_string()),
            other => other,
        }
    }
}

/// The store. Cheap to clone; the last clone to go releases the data directory.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
    /// What every write of this handle depends on.
    lease: Option<Lease>,
}

/// The engine comes first, because it must have stopped before the directory is released.
struct Inner {
    engine: Engine,
    secrets: Secrets,
    metrics: Arc<Metrics>,
    changes: Changes,
    /// Whose leases are this store's: it is another one after every start.
    owner: String,
    _directory: Directory,
}

/// Whether other gateways may use the database at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sharing {
    Alone,
    Shared,
}

enum Engine {
    Sqlite(Sqlite),
    Postgres(Box<Postgres>),
}

impl Store {
    /// Opens it, takes the lock, migrates it.
    pub async fn open(options: &Options) -> std::result::Result<Store, OpenError> {
        Store::open_as(options, Sharing::Alone).await
    }

    /// The same beside other gateways that do so too; only a PostgreSQL can be shared.
    pub async fn open_shared(options: &Options) -> std::result::Result<Store, OpenError> {
        Store::open_as(options, Sharing::Shared).await
    }

    async fn open_as(options: &Options, sharing: Sharing) -> std::result::Result<Store, OpenError> {
        let directory = Directory::hold(&options.data)?;
        let (metrics, changes) = (Arc::new(Metrics::default()), Changes::default());
        let engine = match &options.url {
            None if sharing == Sharing::Shared => {
                let why = "only a PostgreSQL database can be shared by several gateways";
                return Err(OpenError::Failed(format!("{why}: give its URL")));
            }
            None => Engine::Sqlite(Sqlite::open(&directory.database()?, metrics.clone(), changes.clone())?),
            Some(url) => {
                let opened = Postgres::open(url, sharing, metrics.clone(), changes.clone());
                Engine::Postgres(Box::new(opened.await?))
            }
        };
        let secrets = open_secrets(&engine, &directory).await?;
        let owner = base::random::uuid();
        let inner = Inner { engine, secrets, metrics, changes, owner, _directory: directory };
        Ok(Store { inner: Arc::new(inner), lease: None })
    }

    /// What changes here, and how often it has.
    pub fn changes(&self) -> &Changes {
        &self.inner.changes
    }

    /// Finishes what is queued and leaves the database tidy. The store must not be used afterwards.
    pub async fn close(&self) -> Result<()> {
        match &self.inner.engine {
            Engine::Sqlite(sqlite) => sqlite.checkpoint().await,
            Engine::Postgres(postgres) => postgres.close().await,
        }
    }

    /// Prometheus text for `/metrics`: commits, statements, queue length, commit times.
    pub fn metrics(&self) -> String {
        let queue_length = match &self.inner.engine {
            Engine::Sqlite(sqlite) => sqlite.queue_length(),
            Engine::Postgres(postgres) => postgres.queue_length(),
        };
        self.inner.metrics.text(queue_length)
    }

    /// Runs a statement that changes nothing.
    async fn read(&self, statement: Statement) -> Result<Vec<Row>> {
        self.inner.metrics.read();
        let result = self.inner.engine.read(&statement).await;
        if let Ok(rows) = &result {
            self.inner.metrics.rows(rows.len());
        }
        self.count(result)
    }

    /// Runs a batch in one transaction. The engine tells the change stream what it has committed.
    async fn write(&self, mut batch: Batch) -> Result<Written> {
        self.inner.metrics.batch(batch.steps.len());
        if batch.lease.is_none() {
            batch.lease.clone_from(&self.lease);
        }
        let topics = batch.topics;
        let result = self.inner.engine.write(batch).await;
        if result.is_err() {
            // It may have been written nevertheless.
            self.inner.changes.bump_all(topics);
        }
        self.count(result)
    }

    /// Runs one statement that changes something others may keep in memory, and returns its rows.
    async fn change_of(&self, topic: changes::Topic, statement: Statement) -> Result<Vec<Row>> {
        Ok(self.write(Batch::new().step(statement).changing(topic)).await?.last().unwrap_or_default())
    }

    /// Runs one statement that changes something, and returns its rows.
    async fn change(&self, statement: Statement) -> Result<Vec<Row>> {
        Ok(self.write(Batch::new().step(statement)).await?.last().unwrap_or_default())
    }

    fn secrets(&self) -> &Secrets {
        &self.inner.secrets
    }

    fn count<T>(&self, result: Result<T>) -> Result<T> {
        if let Err(Error::Failed(why)) = &result {
            self.inner.metrics.failure();
            tracing::warn!(%why, "the store failed");
        }
        result
    }
}

impl Engine {
    async fn read(&self, statement: &Statement) -> Result<Vec<Row>> {
        if statement.has_nul() {
            return Ok(Vec::new());
        }
        match self {
            Engine::Sqlite(sqlite) => sqlite.read(statement),
            Engine::Postgres(postgres) => postgres.read(statement).await,
        }
    }

    async fn write(&self, batch: Batch) -> Result<Written> {
        if batch.steps.iter().any(|step| step.statement.has_nul()) {
            return Err(Error::Failed("a text with a NUL character cannot be stored".to_string()));
        }
        match self {
            Engine::Sqlite(sqlite) => sqlite.write(batch).await,
            Engine::Postgres(postgres) => postgres.write(&batch).await,
        }
    }
}

/// Loads the key and proves, by a text sealed with it before, that it is the one this store was written with.
async fn open_secrets(engine: &Engine, directory: &Directory) -> std::result::Result<Secrets, OpenError> {
    const RECORD: &str = "meta:secrets";
    let failed = |error: Error| OpenError::Failed(error.to_string());
    let sealed = Statement::new(
        "SELECT key FROM config WHERE sealed = 1 UNION ALL SELECT flow_id FROM oauth_flows \
         UNION ALL SELECT account_id FROM oauth_accounts \
         UNION ALL SELECT server_id FROM mcp_servers WHERE headers IS NOT NULL OR auth_url IS NOT NULL LIMIT 1",
    );
    let anything_sealed = !engine.read(&sealed).await.map_err(failed)?.is_empty();
    let path = directory.key_file();
    let secrets = secrets::load(&path, anything_sealed)?;

    let proof = Statement::new("SELECT value FROM meta WHERE name = 'secrets'");
    if let Some(mut row) = engine.read(&proof).await.map_err(failed)?.pop() {
        let proven = secrets.open(RECORD, &row.text().map_err(failed)?).is_ok();
        if proven {
            return Ok(secrets);
        }
        if anything_sealed {
            let why = "is not the key this store's secrets were encrypted with: put the old file back";
            return Err(OpenError::Failed(format!("{} {why}", path.display())));
        }
    }
    let keep = Statement::new(
        "INSERT INTO meta (name, value) VALUES ('secrets', $1) \
         ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    )
    .bind(secrets.seal(RECORD, "gsv").map_err(failed)?);
    engine.write(Batch::new().step(keep)).await.map_err(failed)?;
    Ok(secrets)
}
