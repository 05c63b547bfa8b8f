//! Benchmark of the idle footprint: memory of the gateway and the size of its binary.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::machine;
use crate::report::{Bar, Row};
use crate::stage::Stage;
use crate::wire;

/// How long the memory may take to stand still.
const MEMORY_WAIT_MAX: Duration = Duration::from_secs(10);

/// Resident memory after one login, and bytes on disk.
pub(crate) async fn run(stage: &Stage) -> Result<Vec<Row>> {
    let gateway = stage.gateway().await?;
    let server = gateway.start()?;
    let socket = gateway.log_in(server.address, "bench-idle", wire::idle()).await?;
    let ours = machine::stable_memory(server.pid(), MEMORY_WAIT_MAX).await?;
    drop(socket);
    server.stop()?;
    let echo = stage.start_bare("echo", &[])?;
    let theirs = machine::stable_memory(echo.pid(), MEMORY_WAIT_MAX).await?;
    let memory = Row::figure(
        "resident memory when idle",
        "MiB",
        ours.rss_kib as f64 / 1024.0,
        Some(theirs.rss_kib as f64 / 1024.0),
        Bar::AimAtMost(20.0),
    )
    .with_note(format!(
        "after one login on a set-up data directory; {:.1} MiB of it is backed by no file; the baseline is the bare echo",
        ours.anonymous_kib as f64 / 1024.0
    ));
    let bytes = std::fs::metadata(gateway.binary()).context("look at the binary")?.len();
    let binary = Row::figure(
        "size of the binary",
        "MiB",
        bytes as f64 / (1024.0 * 1024.0),
        None,
        Bar::AimAtMost(25.0),
    );
    Ok(vec![memory, binary])
}
