//! Benchmarks of CodeMode: a block from the warm pool, nested calls against the same over the socket, many at once.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use base::clock::Clock;
use futures_util::future::try_join_all;
use serde_json::{Value, json};

use crate::machine;
use crate::report::{Bar, Row, Spread};
use crate::stage::Stage;
use crate::wire::{self, Socket};

const NESTED: usize = 1_000;
const AT_ONCE: usize = 64;
/// How long the blocks of the last measure stay, so that all can be looked at together.
const STAY_MS: u64 = 5_000;

/// Microseconds of a block and of nested calls, memory of many.
pub(crate) async fn run(stage: &Stage) -> Result<Vec<Row>> {
    let gateway = stage.gateway().await?;
    let server = gateway.start()?;
    let mut socket = gateway.log_in(server.address, "bench-codemode", wire::busy()).await?;
    let start = start(&mut socket, stage.effort.rounds * 40).await?;
    let nested = nested(&mut socket, stage.effort.rounds).await?;
    let mut sockets = Vec::new();
    for number in 0..AT_ONCE {
        let id = format!("bench-codemode-{number}");
        sockets.push(gateway.log_in(server.address, &id, wire::idle()).await?);
    }
    let at_once = at_once(&mut sockets, server.pid()).await?;
    server.stop()?;
    Ok(vec![start, nested, at_once])
}

async fn block(socket: &mut Socket, code: &str) -> Result<Value> {
    let ended = wire::call(socket, "codemode.run", &json!({ "code": code })).await?;
    ensure!(ended["status"] == "completed", "{ended}");
    Ok(ended["result"].clone())
}

/// From the request to its answer, one at a time.
async fn start(socket: &mut Socket, rounds: usize) -> Result<Row> {
    let clock = Clock::system();
    block(socket, "return 1").await?;
    let mut figures = Vec::new();
    for _ in 0..rounds {
        let begin = clock.instant();
        block(socket, "return 1").await?;
        figures.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    let median = Spread::of(figures).median();
    let row = Row::figure("CodeMode block from the warm pool", "ms", median, None, Bar::AimAtMost(2.0));
    Ok(row.with_note("codemode.run of `return 1` over the socket, p50"))
}

/// The same reads, one after the other, from a block and over the socket.
async fn nested(socket: &mut Socket, rounds: usize) -> Result<Row> {
    let clock = Clock::system();
    wire::call(socket, "fs.write", &json!({ "path": "bench.txt", "content": "x".repeat(1024) })).await?;
    let code = format!(
        "let bytes = 0; for (let i = 0; i < {NESTED}; i++) bytes += (await fs.read({{ path: 'bench.txt' }})).size; \
         return bytes"
    );
    let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let begin = clock.instant();
        let bytes = block(socket, &code).await?;
        ensure!(bytes == NESTED * 1024, "{bytes}");
        let inside = begin.elapsed().as_secs_f64() * 1e6 / NESTED as f64;
        let begin = clock.instant();
        for _ in 0..NESTED {
            wire::call(socket, "fs.read", &json!({ "path": "bench.txt" })).await?;
        }
        let outside = begin.elapsed().as_secs_f64() * 1e6 / NESTED as f64;
        ours.push(inside);
        theirs.push(outside);
        ratios.push(inside / outside);
    }
    let (ours, theirs, ratios) = (Spread::of(ours), Spread::of(theirs), Spread::of(ratios));
    let what = "nested fs.read of a CodeMode block vs the same over the socket";
    Ok(Row::ratio(what, "µs", ours, theirs, ratios, Some(Bar::AtMost(1.2))))
}

/// Memory of each of many blocks that run at once.
async fn at_once(sockets: &mut [Socket], gateway: u32) -> Result<Row> {
    let code = format!("await new Promise(done => setTimeout(done, {STAY_MS})); return 1");
    let blocks = try_join_all(sockets.iter_mut().map(|socket| block(socket, &code)));
    let look = async {
        let clock = Clock::system();
        let deadline = clock.instant() + Duration::from_millis(STAY_MS * 4);
        loop {
            let children = children(gateway)?;
            if children.len() >= AT_ONCE {
                return anyhow::Ok(children);
            }
            ensure!(clock.instant() < deadline, "{} children of {AT_ONCE} blocks", children.len());
            clock.sleep(Duration::from_millis(50)).await;
        }
    };
    let (ended, memory) = tokio::try_join!(blocks, look)?;
    ensure!(ended.len() == AT_ONCE, "{} blocks ended", ended.len());
    let each = Spread::of(memory).median();
    let row = Row::figure("memory of each of 64 CodeMode blocks", "MiB", each, None, Bar::AimAtMost(8.0));
    Ok(row.with_note("what is backed by no file, of the children of the gateway, all at once"))
}

/// Memory of each child, in MiB.
fn children(of: u32) -> Result<Vec<f64>> {
    let mut found = Vec::new();
    for task in std::fs::read_dir(format!("/proc/{of}/task")).context("look for children")? {
        let list = std::fs::read_to_string(task?.path().join("children")).unwrap_or_default();
        for child in list.split_whitespace().filter_map(|number| number.parse().ok()) {
            if let Ok(memory) = machine::memory(child) {
                found.push(memory.anonymous_kib as f64 / 1024.0);
            }
        }
    }
    Ok(found)
}
