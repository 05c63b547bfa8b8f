//! Advisory lock on the database, held by a connection of its own: exclusive for a gateway that is alone, shared for
//! several. The same connection migrates.

use std::time::Duration;

use base::clock::Clock;
use base::limits;
use tokio::sync::Mutex;
use tokio_postgres::{Client, Config, NoTls};

use super::explain;
use crate::{Error, OpenError, Result, Sharing, migrations};

/// `gsvstore`, as a number.
const KEY: i64 = i64::from_be_bytes(*b"gsvstore");
/// Held while the schema is brought up to date: gateways that share a database may start at once.
const MIGRATION_KEY: i64 = KEY + 1;
const HAS_META: &str = "SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'meta'";
const POLL: Duration = Duration::from_millis(20);

/// The lock, for as long as its connection lives.
pub(super) struct Lock {
    config: Config,
    sharing: Sharing,
    client: Mutex<Client>,
}

enum Refusal {
    Held,
    Failed(String),
}

impl Lock {
    pub async fn take(config: Config, place: &str, sharing: Sharing) -> std::result::Result<Lock, OpenError> {
        match acquire(&config, sharing).await {
            Ok(client) => Ok(Lock { config, sharing, client: Mutex::new(client) }),
            Err(Refusal::Held) => Err(OpenError::Held(place.to_string())),
            Err(Refusal::Failed(why)) => Err(OpenError::Failed(format!("{place} does not open: {why}"))),
        }
    }

    /// Takes the lock again if its connection was lost.
    pub async fn keep(&self) -> Result<()> {
        let mut client = self.client.lock().await;
        if !client.is_closed() {
            return Ok(());
        }
        *client = acquire(&self.config, self.sharing).await.map_err(|refusal| match refusal {
            Refusal::Held => Error::Failed("another gateway has taken the database meanwhile".to_string()),
            Refusal::Failed(why) => Error::Failed(format!("the database is not reachable: {why}")),
        })?;
        Ok(())
    }

    /// Gives it away now, rather than when the server notices that the connection ended.
    pub async fn give(&self) -> Result<()> {
        let client = self.client.lock().await;
        let unlock = match self.sharing {
            Sharing::Alone => "SELECT pg_advisory_unlock($1)",
            Sharing::Shared => "SELECT pg_advisory_unlock_shared($1)",
        };
        let query = client.query_one(unlock, &[&KEY]);
        match tokio::time::timeout(limits::store::TIMEOUT, query).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => {
                Err(Error::Failed(format!("the lock cannot be given back: {}", explain(&error))))
            }
            Err(_) => Err(Error::Failed("the lock cannot be given back: no answer".to_string())),
        }
    }

    /// Runs a statement without parameters, at start.
    pub async fn run(&self, place: &str, sql: &str) -> std::result::Result<(), OpenError> {
        let failed = |error: tokio_postgres::Error| {
            OpenError::Failed(format!("{place} does not open: {}", explain(&error)))
        };
        self.client.lock().await.batch_execute(sql).await.map_err(failed)
    }

    /// Brings the schema up to date, one gateway at a time.
    pub async fn migrate(&self, place: &str) -> std::result::Result<(), OpenError> {
        self.run(place, &format!("SELECT pg_advisory_lock({MIGRATION_KEY})")).await?;
        let migrated = self.migrate_alone(place).await;
        self.run(place, &format!("SELECT pg_advisory_unlock({MIGRATION_KEY})")).await?;
        migrated
    }

    async fn migrate_alone(&self, place: &str) -> std::result::Result<(), OpenError> {
        let failed = |error: tokio_postgres::Error| {
            OpenError::Failed(format!("{place} cannot be brought up to date: {}", explain(&error)))
        };
        let mut client = self.client.lock().await;
        // `IF NOT EXISTS` alone would put a notice into the server's log at every start.
        let known = client.query_opt(HAS_META, &[]).await.map_err(failed)?;
        if known.is_none() {
            client.batch_execute(&migrations::for_postgres(migrations::META)).await.map_err(failed)?;
        }
        let found = match client.query_opt(migrations::FIND_VERSION, &[]).await.map_err(failed)? {
            Some(row) => row.try_get(0).map_err(failed)?,
            None => 0,
        };
        if found > migrations::VERSION {
            return Err(OpenError::Newer { place: place.to_string(), found, ours: migrations::VERSION });
        }
        for (version, text) in migrations::after(found) {
            let transaction = client.transaction().await.map_err(failed)?;
            transaction.batch_execute(&migrations::for_postgres(text)).await.map_err(failed)?;
            transaction.execute(migrations::SET_VERSION, &[&version]).await.map_err(failed)?;
            transaction.commit().await.map_err(failed)?;
        }
        Ok(())
    }
}

/// Connects and takes the lock. One that was just given away takes the server a moment to release.
async fn acquire(config: &Config, sharing: Sharing) -> std::result::Result<Client, Refusal> {
    let failed = |error: tokio_postgres::Error| Refusal::Failed(explain(&error));
    let (client, connection) = config.connect(NoTls).await.map_err(failed)?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::warn!(error = explain(&error), "the connection that holds the database's lock ended");
        }
    });
    let deadline = Clock::system().instant() + limits::store::LOCK_WAIT;
    let lock = match sharing {
        Sharing::Alone => "SELECT pg_try_advisory_lock($1)",
        Sharing::Shared => "SELECT pg_try_advisory_lock_shared($1)",
    };
    loop {
        let query = client.query_one(lock, &[&KEY]);
        let row = match tokio::time::timeout(limits::store::TIMEOUT, query).await {
            Ok(row) => row.map_err(failed)?,
            Err(_) => return Err(Refusal::Failed("it does not answer".to_string())),
        };
        if row.try_get(0).map_err(failed)? {
            return Ok(client);
        }
        if Clock::system().instant() > deadline {
            return Err(Refusal::Held);
        }
        tokio::time::sleep(POLL).await;
    }
}
