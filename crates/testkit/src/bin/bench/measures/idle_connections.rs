//! Benchmark of idle connections: the memory of one that is logged in and waits.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use tokio::task::JoinSet;

use crate::machine;
use crate::report::{Bar, Row};
use crate::stage::Stage;
use crate::system;
use crate::wire::{self, Socket};

/// Open files of each process besides the connections.
const OTHER_FILES: u64 = 256;
/// Logins under way at once.
const LOGINS: usize = 64;
/// How long the memory may take to stand still.
const MEMORY_WAIT_MAX: Duration = Duration::from_secs(20);
/// After the measurement, every so many sockets must still answer.
const CHECKED_EVERY: usize = 10;

/// Resident memory after the logins, less what it was before, by connections.
pub(crate) async fn run(stage: &Stage) -> Result<Vec<Row>> {
    let wanted = stage.effort.idle_connections;
    let files = system::raise_open_files(wanted as u64 + OTHER_FILES)?;
    let count = wanted.min(files.saturating_sub(OTHER_FILES) as usize);
    ensure!(count > 0, "the limit of open files leaves no room for connections");

    let gateway = stage.gateway().await?;
    let server = gateway.start()?;
    // One login before the first reading: what only the first one needs is not the price of a connection.
    let first = gateway.log_in(server.address, "bench-first", wire::idle()).await?;
    let before = machine::stable_memory(server.pid(), MEMORY_WAIT_MAX).await?;
    let mut sockets = log_in_many(gateway, server.address, count)
        .await
        .with_context(|| format!("log in {count} connections; {}", server.last_words()))?;
    let after = machine::stable_memory(server.pid(), MEMORY_WAIT_MAX).await?;
    let answering = count_answering(&mut sockets).await?;
    drop((first, sockets));
    server.stop()?;

    let grown_kib = after.rss_kib.saturating_sub(before.rss_kib);
    let each_kib = grown_kib as f64 / count as f64;
    let mut note = format!(
        "the resident set grew from {} to {} KiB; every {CHECKED_EVERY}th socket was asked afterwards and all {answering} answered; \
         socket buffers in the kernel are not part of it",
        before.rss_kib, after.rss_kib
    );
    if count < wanted {
        note.push_str(&format!("; the limit of open files allowed {count} in place of {wanted}"));
    }
    let what = format!("memory per idle connection, {count} logged in");
    Ok(vec![Row::figure(&what, "KiB", each_kib, None, Bar::AtMost(16.0)).with_note(note)])
}

async fn log_in_many(
    gateway: &crate::gateway::Gateway,
    address: SocketAddr,
    count: usize,
) -> Result<Vec<Socket>> {
    let mut workers = JoinSet::new();
    for worker in 0..LOGINS {
        let logins: Vec<_> = (worker..count)
            .step_by(LOGINS)
            .map(|number| gateway.login(&format!("bench-idle-{number}")))
            .collect();
        workers.spawn(async move {
            let mut sockets = Vec::with_capacity(logins.len());
            for login in &logins {
                let mut socket = wire::open(address, "/ws", wire::idle()).await?;
                wire::call(&mut socket, "sys.connect", login).await?;
                sockets.push(socket);
            }
            anyhow::Ok(sockets)
        });
    }
    let mut all = Vec::with_capacity(count);
    while let Some(done) = workers.join_next().await {
        all.extend(done.context("a worker panicked")??);
    }
    Ok(all)
}

async fn count_answering(sockets: &mut [Socket]) -> Result<usize> {
    let mut answering = 0;
    for socket in sockets.iter_mut().step_by(CHECKED_EVERY) {
        let listed = wire::call(socket, "sys.device.list", &json!({})).await;
        listed.context("a connection that only waited was lost")?;
        answering += 1;
    }
    Ok(answering)
}
