//! Interleaved A/B measurement: two servers under the same load, in turns, so that a noisy machine disturbs both
//! alike.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::Effort;
use crate::load::{self, Question, Sample, Shape, Window};
use crate::machine;
use crate::report::{Bar, Row, Spread};
use crate::wire::Socket;

/// One server: its process, open sockets to it, and what to ask.
pub(crate) struct Side {
    /// Its process, for processor time.
    pub pid: u32,
    /// Logged in where that is needed.
    pub sockets: Vec<Socket>,
    /// What is asked.
    pub question: Question,
}

/// One run of one side.
struct Run {
    sample: Sample,
    /// Processor time of the server per answer, in microseconds.
    cpu_us: Option<f64>,
}

/// Runs the gateway under its load and something else in turns; who begins alternates. `other` gets how long it
/// may take and gives its figure. The figures come back in pairs: the gateway's, the other's.
pub(crate) async fn hold_against(
    gateway: &mut Side,
    shape: Shape,
    effort: Effort,
    figure: impl Fn(&Sample) -> f64,
    other: impl Fn(Duration) -> Result<f64> + Clone + Send + 'static,
) -> Result<Vec<(f64, f64)>> {
    let mut pairs = Vec::new();
    for round in 0..effort.rounds {
        let theirs = async {
            let (other, timed) = (other.clone(), effort.timed);
            tokio::task::spawn_blocking(move || other(timed)).await?.context("the baseline")
        };
        let ours = async { anyhow::Ok(run(gateway, shape, effort).await.context("the gateway")?.sample) };
        let (ours, theirs) = if round % 2 == 0 {
            let theirs = theirs.await?;
            (ours.await?, theirs)
        } else {
            let ours = ours.await?;
            (ours, theirs.await?)
        };
        pairs.push((figure(&ours), theirs));
    }
    Ok(pairs)
}

/// A row of such pairs; the ratio is gateway over the other.
pub(crate) fn row_of(what: &str, unit: &str, pairs: Vec<(f64, f64)>, bar: Option<Bar>) -> Row {
    Outcome::compared(what, unit, pairs.into_iter(), bar)
}

/// How it went: the runs of both sides.
pub(crate) struct Outcome {
    rounds: Vec<(Run, Run)>,
}

/// Lets both sides run in turns; who begins alternates.
pub(crate) async fn hold(
    gateway: &mut Side,
    baseline: &mut Side,
    shape: Shape,
    effort: Effort,
) -> Result<Outcome> {
    let mut rounds = Vec::new();
    for round in 0..effort.rounds {
        rounds.push(if round % 2 == 0 {
            let theirs = run(baseline, shape, effort).await.context("the baseline")?;
            (run(gateway, shape, effort).await.context("the gateway")?, theirs)
        } else {
            let ours = run(gateway, shape, effort).await.context("the gateway")?;
            (ours, run(baseline, shape, effort).await.context("the baseline")?)
        });
    }
    Ok(Outcome { rounds })
}

async fn run(side: &mut Side, shape: Shape, effort: Effort) -> Result<Run> {
    let before = machine::cpu_time(side.pid);
    let window = Window { warm_up: effort.warm_up, timed: effort.timed };
    let sample = load::run(&mut side.sockets, shape.in_flight, &side.question, window).await?;
    let after = machine::cpu_time(side.pid);
    let answers = (sample.answers + sample.answers_warming_up) as f64;
    let cpu_us = before.zip(after).map(|(before, after)| (after - before).as_secs_f64() * 1e6 / answers);
    Ok(Run { sample, cpu_us })
}

impl Outcome {
    /// A row of one figure of every run; the ratio is gateway over baseline.
    pub(crate) fn row(
        &self,
        what: &str,
        unit: &str,
        figure: impl Fn(&Sample) -> f64,
        bar: Option<Bar>,
    ) -> Row {
        let pairs = self.rounds.iter().map(|(ours, theirs)| (figure(&ours.sample), figure(&theirs.sample)));
        Self::compared(what, unit, pairs, bar)
    }

    /// A row of the server's processor time per answer, where the system tells it.
    pub(crate) fn cpu_row(&self, what: &str) -> Option<Row> {
        let pairs: Option<Vec<_>> =
            self.rounds.iter().map(|(ours, theirs)| ours.cpu_us.zip(theirs.cpu_us)).collect();
        pairs.map(|pairs| Self::compared(what, "µs", pairs.into_iter(), None))
    }

    /// Mean size of the gateway's answers.
    pub(crate) fn gateway_answer_bytes(&self) -> f64 {
        let answers: u64 = self.rounds.iter().map(|(ours, _)| ours.sample.answers).sum();
        let bytes: u64 = self.rounds.iter().map(|(ours, _)| ours.sample.bytes).sum();
        bytes as f64 / answers as f64
    }

    fn compared(what: &str, unit: &str, pairs: impl Iterator<Item = (f64, f64)>, bar: Option<Bar>) -> Row {
        let (ours, theirs): (Vec<f64>, Vec<f64>) = pairs.unzip();
        let ratios = ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect();
        Row::ratio(what, unit, Spread::of(ours), Spread::of(theirs), Spread::of(ratios), bar)
    }
}
