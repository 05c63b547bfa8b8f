//! Mutual exclusion by name: one piece of work at a time on each workspace, here and, by a lease, in the whole deployment.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use base::limits;
use base::sync::lock;
use store::Store;
use store::lease::Lease;

/// The names on which something is under way.
#[derive(Clone, Default)]
pub(crate) struct Turns(Arc<Mutex<HashSet<String>>>);

/// The right to work on one; it goes with this.
pub(crate) struct Turn {
    turns: Turns,
    name: String,
    held: Option<(Store, Lease)>,
}

impl Turns {
    /// Waits for nobody: `None` while somebody else is at it.
    pub(crate) async fn take(&self, store: &Store, name: &str, now_ms: i64) -> store::Result<Option<Turn>> {
        if !lock(&self.0).insert(name.to_string()) {
            return Ok(None);
        }
        let mut turn = Turn { turns: self.clone(), name: name.to_string(), held: None };
        let lease = store.leases().acquire(name, now_ms, limits::store::LEASE_KEPT).await?;
        turn.held = lease.map(|lease| (store.clone(), lease));
        Ok(turn.held.is_some().then_some(turn))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        lock(&self.turns.0).remove(&self.name);
        if let Some((store, lease)) = self.held.take() {
            tokio::spawn(async move {
                if let Err(error) = store.leases().release(lease).await {
                    tracing::warn!(%error, "the lease of a workspace could not be given back; it will expire");
                }
            });
        }
    }
}
