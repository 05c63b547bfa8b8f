//! Garbage collection under a lease: once in a deployment, at start and every hour.

use std::sync::Arc;

use base::limits;
use store::Store;

use crate::{Kernel, recall, tasks};

/// The lease of whoever sweeps.
const LEASE: &str = "sweep";

/// Removes old shell sessions, and routes of processes that are no more. When another gateway is at it, nothing is done;
/// when another one takes over in the middle, the rest is refused and left to that one.
pub(crate) async fn run(store: &Store, now_ms: i64) -> Result<(), store::Error> {
    let Some(lease) = store.leases().acquire(LEASE, now_ms, limits::store::LEASE_KEPT).await? else {
        return Ok(());
    };
    let fenced = store.fenced_by(&lease);
    let swept = async {
        fenced.sessions().prune(now_ms).await?;
        recall::sweep(&fenced).await
    };
    let swept = match swept.await {
        Err(store::Error::LeaseLost(name)) => {
            tracing::info!(name, "another gateway has taken over");
            Ok(())
        }
        swept => swept,
    };
    store.leases().release(lease).await?;
    swept
}

/// Holds what this gateway holds for longer, beside the rest.
pub(crate) fn renew_leases(kernel: &Arc<Kernel>) {
    let kernel = kernel.clone();
    tasks::run(async move {
        if let Err(error) =
            kernel.store.leases().renew_all(kernel.clock.now_ms(), limits::store::LEASE_KEPT).await
        {
            tracing::warn!(%error, "the leases could not be renewed");
        }
    });
}
