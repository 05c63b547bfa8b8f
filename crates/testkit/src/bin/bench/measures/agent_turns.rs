//! Durable turns: a message is kept, a model answers, the answer is kept. And what they leave in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::agents::{Agents, Person};
use crate::machine;
use crate::report::{Bar, Row};
use crate::stage::Stage;

/// Processes at work at the same time.
const PROCESSES: usize = 64;
/// A conversation is cleared after so many turns, so that the model gets no longer and longer requests.
const TURNS_KEPT: usize = 10;
/// How long the memory may take to stand still.
const SETTLE_MAX: Duration = Duration::from_secs(15);

/// Turns per second against commits per second of the bare store, and memory after many turns.
pub(crate) async fn run(stage: &Stage) -> Result<Vec<Row>> {
    let full = stage.effort.rounds > 3;
    let (few, many) = if full { (10_000, 100_000) } else { (2_000, 10_000) };
    let commits = commits_per_second(stage.effort.timed).await?;
    let agents = Agents::start(stage.gsv()).await?;
    let mut people = Vec::new();
    for number in 0..PROCESSES {
        people.push(agents.person(number).await?);
    }
    let (people, first) = talk(people, few).await?;
    let after_few = machine::settled_memory(agents.server.pid(), SETTLE_MAX).await?;
    let (people, second) = talk(people, many - few).await?;
    let after_many = machine::settled_memory(agents.server.pid(), SETTLE_MAX).await?;
    drop(people);
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

/// Lets everybody talk until so many turns are done, and says how long it took.
async fn talk(people: Vec<Person>, turns: usize) -> Result<(Vec<Person>, Duration)> {
    let begun = Instant::now();
    let left = Arc::new(AtomicUsize::new(turns));
    let mut tasks = tokio::task::JoinSet::new();
    for mut person in people {
        let left = left.clone();
        tasks.spawn(async move {
            let mut said = 0;
            while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
            {
                if said == TURNS_KEPT {
                    person.forget().await?;
                    said = 0;
                }
                person.say("hello", |_| {}).await?;
                said += 1;
            }
            anyhow::Ok(person)
        });
    }
    let mut people = Vec::new();
    while let Some(done) = tasks.join_next().await {
        people.push(done.context("a person panicked")??);
    }
    Ok((people, begun.elapsed()))
}

/// Commits per second of one row at a time on the same kind of disk.
async fn commits_per_second(timed: Duration) -> Result<f64> {
    let folder = tempfile::tempdir().context("make a data directory")?;
    let options = store::Options { data: folder.path().to_path_buf(), url: None };
    let store = store::Store::open(&options).await.context("open a bare store")?;
    let begun = Instant::now();
    let mut count = 0_u64;
    while begun.elapsed() < timed {
        store.config_set("config/bench/number", &count.to_string()).await.context("write a row")?;
        count += 1;
    }
    Ok(count as f64 / begun.elapsed().as_secs_f64())
}
