//! From a model's delta to the client's signal: what the gateway adds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::agents::Agents;
use crate::report::{Bar, Row, Spread};
use crate::stage::Stage;

/// Runs at the same time in the second measure.
const CROWD: usize = 200;

/// One answer with a delta every two milliseconds, then two hundred answers at once.
pub(crate) async fn run(stage: &Stage) -> Result<Vec<Row>> {
    let agents = Arc::new(Agents::start(stage.gsv()).await?);
    let deltas = if stage.effort.rounds > 3 { 2_000 } else { 500 };
    let mut alone = agents.person(0).await?;
    let delays = listen(&agents, &mut alone, deltas, 2_000).await?;
    let mut rows = rows_of("one answer, a delta every 2 ms", delays, (1.0, 5.0));

    let mut people = Vec::new();
    for number in 0..CROWD {
        people.push(agents.person(number + 1).await?);
    }
    let mut tasks = tokio::task::JoinSet::new();
    for mut person in people {
        let agents = agents.clone();
        tasks.spawn(async move { listen(&agents, &mut person, 100, 50_000).await });
    }
    let mut all = Vec::new();
    while let Some(done) = tasks.join_next().await {
        all.extend(done.context("a listener panicked")??);
    }
    let crowd = rows_of(&format!("{CROWD} answers at once, a delta every 50 ms each"), all, (10.0, 100.0));
    rows.extend(crowd);
    Ok(rows)
}

/// Milliseconds from each delta to its signal.
async fn listen(
    agents: &Agents,
    person: &mut crate::agents::Person,
    count: usize,
    pace_us: u64,
) -> Result<Vec<f64>> {
    let epoch: Instant = *agents.model.epoch;
    let mut delays = Vec::with_capacity(count);
    let seen = |text: &str| {
        let now = epoch.elapsed();
        // A merged delta holds several times; each of them was waited for.
        if text.contains(r#""type":"text_delta""#) {
            delays.extend(times(text).map(|sent| now.saturating_sub(sent).as_secs_f64() * 1_000.0));
        }
    };
    person.say(&format!("stream {count} {pace_us}"), seen).await?;
    anyhow::ensure!(delays.len() == count, "{} of {count} deltas arrived", delays.len());
    Ok(delays)
}

fn times(text: &str) -> impl Iterator<Item = Duration> {
    text.split('@').skip(1).filter_map(|rest| {
        let digits = rest.split(|sign: char| !sign.is_ascii_digit()).next()?;
        digits.parse().ok().map(Duration::from_nanos)
    })
}

fn rows_of(what: &str, mut delays: Vec<f64>, (p50, p99): (f64, f64)) -> Vec<Row> {
    delays.sort_by(f64::total_cmp);
    let at = |share: f64| delays.get((delays.len() as f64 * share) as usize).copied().unwrap_or(f64::NAN);
    let median = Spread::of(delays.clone()).median();
    let note = format!("{} deltas; model, gateway and client share this machine's cores", delays.len());
    vec![
        Row::figure(&format!("model delta to signal, {what}, p50"), "ms", median, None, Bar::AimAtMost(p50))
            .with_note(note),
        Row::figure("… p99", "ms", at(0.99), None, Bar::AimAtMost(p99)),
    ]
}
