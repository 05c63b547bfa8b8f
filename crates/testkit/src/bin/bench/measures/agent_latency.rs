//! Benchmark of streaming latency: what the gateway adds between a model's delta and the client's signal.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::agents::{Agents, Crowd};
use crate::report::{Bar, Row, Spread};
use crate::stage::Stage;

/// Runs at the same time in the second measure.
const CROWD: usize = 200;

/// One answer with a delta every two milliseconds, then two hundred answers at once.
pub(crate) async fn run(stage: &Stage) -> Result<Vec<Row>> {
    let agents = Agents::start(stage.gsv()).await?;
    let deltas = if stage.effort.rounds > 3 { 2_000 } else { 500 };
    let mut alone = agents.crowd("bench-alone", 1).await?;
    let delays = listen(&agents, &mut alone, 1, deltas, 2_000).await?;
    drop(alone);
    let mut rows = rows_of("one answer, a delta every 2 ms", delays, (1.0, 5.0));
    let mut crowd = agents.crowd("bench-crowd", CROWD).await?;
    let delays = listen(&agents, &mut crowd, CROWD, 100, 50_000).await?;
    let what = format!("{CROWD} answers at once, a delta every 50 ms each");
    rows.extend(rows_of(&what, delays, (10.0, 100.0)));
    Ok(rows)
}

/// Milliseconds from each delta to its signal.
async fn listen(
    agents: &Agents,
    crowd: &mut Crowd,
    answers: usize,
    count: usize,
    pace_us: u64,
) -> Result<Vec<f64>> {
    let epoch: Instant = *agents.model.epoch;
    let mut delays = Vec::with_capacity(answers * count);
    let seen = |text: &str| {
        let now = epoch.elapsed();
        // A merged delta holds several times; each of them was waited for.
        if text.contains(r#""type":"text_delta""#) {
            delays.extend(times(text).map(|sent| now.saturating_sub(sent).as_secs_f64() * 1_000.0));
        }
    };
    crowd.talk(&format!("stream {count} {pace_us}"), answers, seen).await?;
    anyhow::ensure!(
        delays.len() == answers * count,
        "{} of {} deltas arrived",
        delays.len(),
        answers * count
    );
    Ok(delays)
}

fn times(text: &str) -> impl Iterator<Item = Duration> {
    text.split('@').skip(1).filter_map(|rest| {
        let digits = rest.split(|character: char| !character.is_ascii_digit()).next()?;
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
