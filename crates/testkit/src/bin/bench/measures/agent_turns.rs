//! Benchmark of durable turns: a message is stored, a model answers, the answer is stored. And what they leave in
//! memory.

use std::time::Duration;

use anyhow::{Context, Result};
use base::clock::Clock;

use crate::agents::Agents;
use crate::machine;
use crate::report::{Bar, Row};
use crate::stage::Stage;

/// Processes at work at the same time.
const PROCESSES: usize = 64;
/// How long the memory may take to stand still.
const MEMORY_WAIT_MAX: Duration = Duration::from_secs(15);

/// Turns per second against commits per second of the bare store, and memory after many turns.
pub(crate) async fn run(stage: &Stage) -> Result<Vec<Row>> {
    let full = stage.effort.rounds > 3;
    let (few, many) = if full { (10_000, 100_000) } else { (2_000, 10_000) };
    let commits = commits_per_second(stage.effort.timed).await?;
    let agents = Agents::start(stage.gsv()).await?;
    let mut crowd = agents.crowd("bench-crowd", PROCESSES).await?;
    let begun = Clock::system().instant();
    crowd.talk("hello", few, |_| {}).await?;
    let first = begun.elapsed();
    let after_few = machine::stable_memory(agents.server.pid(), MEMORY_WAIT_MAX).await?;
    let begun = Clock::system().instant();
    crowd.talk("hello", many - few, |_| {}).await?;
    let second = begun.elapsed();
    let after_many = machine::stable_memory(agents.server.pid(), MEMORY_WAIT_MAX).await?;
    drop(crowd);
    let rate = many as f64 / (first + second).as_secs_f64();
    let note = format!(
        "{many} turns; the baseline is one row at a time through the same store with nobody else: a turn is two commits, \
         shared with the other processes; model, gateway and clients share this machine's cores; ratio {:.2}",
        rate / commits
    );
    let grown = after_many.rss_kib as f64 / after_few.rss_kib as f64;
    Ok(vec![
        Row::figure(
            &format!("durable turns, {PROCESSES} processes, against commits of the bare store"),
            "/s",
            rate,
            Some(commits),
            Bar::AtLeast(2_000.0),
        )
        .with_note(note),
        Row::figure(
            &format!("memory after {many} turns by that after {few}"),
            "",
            grown,
            None,
            Bar::AtMost(1.1),
        )
        .with_note(format!("{} and {} KiB", after_many.rss_kib, after_few.rss_kib)),
    ])
}

/// Commits per second of one row at a time on the same kind of disk.
async fn commits_per_second(timed: Duration) -> Result<f64> {
    let folder = tempfile::tempdir().context("make a data directory")?;
    let options = store::Options { data: folder.path().to_path_buf(), url: None };
    let store = store::Store::open(&options).await.context("open a bare store")?;
    let begun = Clock::system().instant();
    let mut count = 0_u64;
    while begun.elapsed() < timed {
        store.config().set("config/bench/number", &count.to_string()).await.context("write a row")?;
        count += 1;
    }
    Ok(count as f64 / begun.elapsed().as_secs_f64())
}
