//! Leases with fencing tokens: what must run once in a deployment holds one.
//!
//! A lease has a name, an owner (the gateway), an expiry and a fencing number, which increases with each new holder. The
//! expiry only decides when somebody else may take over; clocks may differ and a holder may be paused for long, so it
//! protects nothing. The fencing number does: [`Store::fenced_by`] gives a store whose every write is checked in its own
//! transaction, and a holder whose lease has passed to another one gets [`crate::Error::LeaseLost`] and nothing is written.
//!
//! With PostgreSQL leases are rows. With SQLite they are numbers in memory and always won: one program has the data
//! directory's lock for as long as it lives, so no other gateway can hold anything, and what an earlier one held went
//! with it. No statement is added to any write; the thread that writes looks at the number.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base::sync::lock;
use protocol::ids::Pid;

use crate::lease::Lease;
use crate::sql::Statement;
use crate::{Engine, Result, Store};

/// The name of the lease that the actor of a process holds.
pub fn of_process(pid: &Pid) -> String {
    format!("process:{pid}")
}

/// Ends all leases: nobody else uses the database.
pub(crate) const END_ALL: &str = "UPDATE leases SET owner = '', expires_at = 0 WHERE owner <> ''";

/// A statement about a lease as it was acquired: its name and its number.
pub(crate) fn find_held(lease: &Lease, sql: &'static str) -> Statement {
    Statement::new(sql).bind(lease.name()).bind(lease.fence)
}

/// Leases; see [`Store::fenced_by`] for what they are good for. See [`Store::leases`].
#[derive(Clone, Copy)]
pub struct Leases<'a>(pub(crate) &'a Store);

impl Store {
    /// Leases; see [`Store::fenced_by`] for what they are good for.
    pub fn leases(&self) -> Leases<'_> {
        Leases(self)
    }

    /// The same store, whose every write fails with [`crate::Error::LeaseLost`] and changes nothing once the lease has passed to
    /// another holder or was given back. Reads are not checked.
    pub fn fenced_by(&self, lease: &Lease) -> Store {
        Store { inner: self.inner.clone(), lease: Some(lease.clone()) }
    }
}

impl Leases<'_> {
    /// Takes a lease that is free, has expired, or is this gateway's own; whoever held it before can write no more.
    /// `None` when another gateway holds it.
    pub async fn acquire(self, name: &str, now_ms: i64, kept: Duration) -> Result<Option<Lease>> {
        if let Engine::Sqlite(sqlite) = &self.0.inner.engine {
            return Ok(Some(sqlite.fences().take(name)));
        }
        let statement = Statement::new(
            "INSERT INTO leases (name, owner, expires_at, fence) VALUES ($1, $2, $3, 1) \
             ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, expires_at = excluded.expires_at, \
             fence = leases.fence + 1 WHERE leases.owner = excluded.owner OR leases.expires_at <= $4 \
             RETURNING fence",
        );
        let owner = self.0.inner.owner.as_str();
        let statement = statement.bind(name).bind(owner).bind(expiry(now_ms, kept)).bind(now_ms);
        let Some(mut row) = self.0.change(statement).await?.pop() else { return Ok(None) };
        Ok(Some(Lease { name: name.into(), fence: row.int()? }))
    }

    /// Holds a lease for longer. False when it has passed to another holder.
    pub async fn renew(self, lease: &Lease, now_ms: i64, kept: Duration) -> Result<bool> {
        if let Engine::Sqlite(sqlite) = &self.0.inner.engine {
            return Ok(sqlite.fences().is_held(lease));
        }
        let statement = Statement::new(
            "UPDATE leases SET expires_at = $4 WHERE name = $1 AND fence = $2 AND owner = $3 RETURNING name",
        );
        let statement = statement.bind(lease.name()).bind(lease.fence).bind(self.0.inner.owner.as_str());
        Ok(!self.0.change(statement.bind(expiry(now_ms, kept))).await?.is_empty())
    }

    /// Holds everything for longer that this gateway holds, with one statement.
    pub async fn renew_all(self, now_ms: i64, kept: Duration) -> Result<()> {
        if matches!(self.0.inner.engine, Engine::Sqlite(_)) {
            return Ok(());
        }
        let statement = Statement::new("UPDATE leases SET expires_at = $2 WHERE owner = $1");
        self.0.change(statement.bind(self.0.inner.owner.as_str()).bind(expiry(now_ms, kept))).await?;
        Ok(())
    }

    /// Gives a lease back. One that has passed to another holder is left alone.
    pub async fn release(self, lease: Lease) -> Result<()> {
        if let Engine::Sqlite(sqlite) = &self.0.inner.engine {
            sqlite.fences().release(&lease);
            return Ok(());
        }
        // The row stays, so that the next holder's number is higher.
        let statement = Statement::new(
            "UPDATE leases SET owner = '', expires_at = 0 WHERE name = $1 AND fence = $2 AND owner = $3",
        );
        self.0
            .change(statement.bind(lease.name()).bind(lease.fence).bind(self.0.inner.owner.as_str()))
            .await?;
        Ok(())
    }
}

fn expiry(now_ms: i64, kept: Duration) -> i64 {
    now_ms.saturating_add(i64::try_from(kept.as_millis()).unwrap_or(i64::MAX))
}

/// The leases of a store that nobody else uses.
#[derive(Default)]
pub(crate) struct Fences {
    held: Mutex<HashMap<Arc<str>, i64>>,
    latest: AtomicI64,
}

impl Fences {
    fn take(&self, name: &str) -> Lease {
        let lease = Lease { name: name.into(), fence: self.latest.fetch_add(1, Ordering::Relaxed) + 1 };
        lock(&self.held).insert(lease.name.clone(), lease.fence);
        lease
    }

    pub fn is_held(&self, lease: &Lease) -> bool {
        lock(&self.held).get(&lease.name) == Some(&lease.fence)
    }

    fn release(&self, lease: &Lease) {
        let mut held = lock(&self.held);
        if held.get(&lease.name) == Some(&lease.fence) {
            held.remove(&lease.name);
        }
    }

    /// Ends a lease, whoever holds it.
    pub fn end(&self, name: &str) {
        lock(&self.held).remove(name);
    }
}
