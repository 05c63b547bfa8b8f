//! Connection pool for PostgreSQL by URL. Batches are serializable transactions that run again when they
//! lose a race.
//!
//! Connections are not encrypted (no TLS): use a Unix socket, the same machine or a private network.

mod lock;

use std::sync::Arc;

use base::clock::Clock;
use base::limits;
use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Config, IsolationLevel, NoTls};

use crate::changes::Changes;
use crate::leases;
use crate::metrics::Metrics;
use crate::sql::{Batch, Row, Statement, Value, Written, unexpected};
use crate::{Error, OpenError, Result, Sharing};
use lock::Lock;

/// Only PostgreSQL can lock a row, and only there is anybody to lock it against.
const FIND_HELD_FOR_SHARE: &str =
    "SELECT name FROM leases WHERE name = $1 AND fence = $2 AND owner <> '' FOR SHARE";

/// An open database.
pub(crate) struct Postgres {
    pool: Pool,
    lock: Lock,
    /// Batches run together under its read side; one that lost a race runs again alone.
    turn: tokio::sync::RwLock<()>,
    metrics: Arc<Metrics>,
    changes: Changes,
}

/// Why a batch did not go through.
enum Failure {
    /// It lost a race, or its connection was dead before it began.
    Race(Error),
    Error(Error),
}

impl Postgres {
    pub async fn open(
        url: &str,
        sharing: Sharing,
        metrics: Arc<Metrics>,
        changes: Changes,
    ) -> std::result::Result<Postgres, OpenError> {
        // The error is not shown with the URL: it may contain a password.
        let mut config: Config = url.parse().map_err(|error: tokio_postgres::Error| {
            OpenError::Failed(format!("the database URL cannot be read: {}", explain(&error)))
        })?;
        config.connect_timeout(limits::client::CONNECT_TIMEOUT);
        config.application_name("gsv");
        let place = place(&config);
        let lock = Lock::take(config.clone(), &place, sharing).await?;
        lock.migrate(&place).await?;
        if sharing == Sharing::Alone {
            // Whoever held a lease is gone, or has lost the lock: nobody need wait for the expiry.
            lock.run(&place, leases::END_ALL).await?;
        }
        let manager_config = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let timeout = Some(limits::store::TIMEOUT);
        let pool = Pool::builder(Manager::from_config(config, NoTls, manager_config))
            .max_size(limits::store::POOL)
            .runtime(Runtime::Tokio1)
            .wait_timeout(timeout)
            .create_timeout(timeout)
            .recycle_timeout(timeout)
            .post_create(Hook::async_fn(|client, _| {
                Box::pin(async move {
                    let limit_ms = limits::store::TIMEOUT.as_millis();
                    let set = format!("SET statement_timeout = {limit_ms}");
                    client.batch_execute(&set).await.map_err(HookError::Backend)
                })
            }))
            .build()
            .map_err(|error| OpenError::Failed(format!("{place}: {error}")))?;
        Ok(Postgres { pool, lock, turn: tokio::sync::RwLock::new(()), metrics, changes })
    }

    pub async fn read(&self, statement: &Statement) -> Result<Vec<Row>> {
        limited(async {
            match self.read_once(statement).await {
                Err(Failure::Race(_)) => self.read_once(statement).await,
                other => other,
            }
            .map_err(Failure::into_error)
        })
        .await
    }

    pub async fn write(&self, batch: &Batch) -> Result<Written> {
        let _changing = self.changes.bump_later(batch.topics);
        limited(async {
            self.lock.keep().await?;
            let first = {
                let _together = self.turn.read().await;
                self.write_once(batch).await
            };
            let mut lost = match first {
                Err(Failure::Race(lost)) => lost,
                Err(Failure::Error(error)) => return Err(error),
                Ok(written) => return Ok(written),
            };
            let _alone = self.turn.write().await;
            for _ in 0..limits::store::RETRIES_MAX {
                self.metrics.retry();
                match self.write_once(batch).await {
                    Err(Failure::Race(Error::Conflict(what))) => return Err(Error::Conflict(what)),
                    Err(Failure::Race(again)) => lost = again,
                    Err(Failure::Error(error)) => return Err(error),
                    Ok(written) => return Ok(written),
                }
            }
            Err(lost)
        })
        .await
    }

    /// Ends the connections and gives the lock away.
    pub async fn close(&self) -> Result<()> {
        self.pool.close();
        self.lock.give().await
    }

    pub fn queue_length(&self) -> usize {
        self.pool.status().waiting
    }

    async fn read_once(&self, statement: &Statement) -> std::result::Result<Vec<Row>, Failure> {
        let client = self.pool.get().await.map_err(pool_failure)?;
        let types = types(statement);
        let prepared = client.prepare_typed_cached(statement.sql, &types).await.map_err(failure)?;
        rows(client.query(&prepared, &params(statement)).await.map_err(failure)?)
    }

    async fn write_once(&self, batch: &Batch) -> std::result::Result<Written, Failure> {
        let mut client = self.pool.get().await.map_err(pool_failure)?;
        let builder = client.build_transaction().isolation_level(IsolationLevel::Serializable);
        let transaction = builder.start().await.map_err(failure)?;
        if let Some(lease) = &batch.lease {
            // The row is locked until the commit: a new holder waits for it, and reads what this batch wrote.
            let held = leases::find_held(lease, FIND_HELD_FOR_SHARE);
            let prepared =
                transaction.prepare_typed_cached(held.sql, &types(&held)).await.map_err(failure)?;
            if transaction.query(&prepared, &params(&held)).await.map_err(failure)?.is_empty() {
                transaction.rollback().await.map_err(failure)?;
                return Err(Failure::Error(lease.lost()));
            }
        }
        let mut all = Vec::with_capacity(batch.steps.len());
        for (index, step) in batch.steps.iter().enumerate() {
            let statement = &step.statement;
            let types = types(statement);
            let prepared = transaction.prepare_typed_cached(statement.sql, &types).await.map_err(failure)?;
            let found = rows(transaction.query(&prepared, &params(statement)).await.map_err(failure)?)?;
            if step.guarded && found.is_empty() {
                transaction.rollback().await.map_err(failure)?;
                return Ok(Written::Stopped(index));
            }
            all.push(found);
        }
        let started = Clock::system().elapsed();
        transaction.commit().await.map_err(commit_failure)?;
        self.metrics.commit(Clock::system().elapsed().saturating_sub(started));
        Ok(Written::Done(all))
    }
}

impl Failure {
    fn into_error(self) -> Error {
        match self {
            Failure::Race(error) | Failure::Error(error) => error,
        }
    }
}

/// A write that takes too long may have reached the server.
async fn limited<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    match tokio::time::timeout(limits::store::TIMEOUT, work).await {
        Ok(result) => result,
        Err(_) => {
            Err(Error::Failed("the database does not answer in time; a write may have happened".to_string()))
        }
    }
}

fn types(statement: &Statement) -> Vec<Type> {
    let of = |value: &Value| match value {
        Value::Int(_) => Type::INT8,
        Value::Text(_) => Type::TEXT,
    };
    statement.params.iter().map(of).collect()
}

fn params(statement: &Statement) -> Vec<&(dyn ToSql + Sync)> {
    statement.params.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

fn rows(rows: Vec<tokio_postgres::Row>) -> std::result::Result<Vec<Row>, Failure> {
    let convert = |row: &tokio_postgres::Row| {
        let values = (0..row.len()).map(|column| value(row, column)).collect::<Result<Vec<Value>>>()?;
        Ok(Row::new(values))
    };
    rows.iter().map(convert).collect::<Result<Vec<Row>>>().map_err(Failure::Error)
}

fn value(row: &tokio_postgres::Row, column: usize) -> Result<Value> {
    let wrong = |error: tokio_postgres::Error| unexpected("a number or text", &explain(&error));
    match *row.columns()[column].type_() {
        Type::INT8 => row.try_get(column).map(Value::Int).map_err(wrong),
        Type::INT4 => {
            row.try_get(column).map(|number: Option<i32>| Value::Int(number.map(i64::from))).map_err(wrong)
        }
        Type::TEXT => row.try_get(column).map(Value::Text).map_err(wrong),
        ref other => Err(unexpected("a number or text", other.name())),
    }
}

impl ToSql for Value {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut bytes::BytesMut,
    ) -> std::result::Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Value::Int(number) => number.to_sql(kind, out),
            Value::Text(text) => text.to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::INT8 || *kind == Type::TEXT
    }

    to_sql_checked!();
}

fn pool_failure(error: deadpool_postgres::PoolError) -> Failure {
    let why = match &error {
        deadpool_postgres::PoolError::Backend(error) => explain(error),
        other => other.to_string(),
    };
    Failure::Error(Error::Failed(format!("the database is not reachable: {why}")))
}

/// A failure before the commit: nothing was changed, so a dead connection may be tried again.
fn failure(error: tokio_postgres::Error) -> Failure {
    let why = explain(&error);
    if error.is_closed() {
        return Failure::Race(Error::Failed(format!("the connection to the database was lost: {why}")));
    }
    match error.code() {
        Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED) => {
            Failure::Race(Error::Failed(format!("too many changes at once, nothing was written: {why}")))
        }
        // Two that took the same number at once look like this too; the second try tells them apart.
        Some(&SqlState::UNIQUE_VIOLATION) => {
            let constraint = error.as_db_error().and_then(|db| db.constraint()).unwrap_or("a row");
            Failure::Race(Error::Conflict(constraint.to_string()))
        }
        Some(&SqlState::DISK_FULL) => {
            Failure::Error(Error::Failed("the database's disk is full: nothing was written".to_string()))
        }
        // The server ends idle connections like this when it stops.
        Some(&SqlState::ADMIN_SHUTDOWN) => {
            Failure::Race(Error::Failed(format!("the database went away: {why}")))
        }
        _ => Failure::Error(Error::Failed(format!("the database failed: {why}"))),
    }
}

fn commit_failure(error: tokio_postgres::Error) -> Failure {
    if error.is_closed() || error.code() == Some(&SqlState::ADMIN_SHUTDOWN) {
        let why = explain(&error);
        let text = format!("the connection was lost while writing, it may have been written: {why}");
        return Failure::Error(Error::Failed(text));
    }
    failure(error)
}

/// The driver's error keeps the interesting part in its causes.
fn explain(error: &tokio_postgres::Error) -> String {
    if let Some(db) = error.as_db_error() {
        return db.message().to_string();
    }
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// Which database, without its password.
fn place(config: &Config) -> String {
    let hosts: Vec<String> = config
        .get_hosts()
        .iter()
        .map(|host| match host {
            tokio_postgres::config::Host::Tcp(name) => name.clone(),
            tokio_postgres::config::Host::Unix(path) => path.display().to_string(),
        })
        .collect();
    let name = config.get_dbname().or(config.get_user()).unwrap_or("postgres");
    format!("the PostgreSQL database {name} on {}", hosts.join(","))
}
