//! Benchmark of the sandbox around commands of agents on a device: a small command and a build, each confined and
//! unconfined in turns.

mod bed;
mod project;

use std::path::Path;

use anyhow::{Context, Result};

use crate::Effort;
use crate::contest;
use crate::report::{Bar, Row, Spread};
use crate::stage::Stage;
use bed::Bed;

/// Milliseconds that being confined adds to a small command, and by how much it slows a build down.
pub(crate) async fn run(stage: &Stage) -> Result<Vec<Row>> {
    let (gsv, effort) = (stage.gsv().to_path_buf(), stage.effort);
    // One thread starts all commands and waits for them: a confined command ends with the thread that started it.
    tokio::task::spawn_blocking(move || compare(&gsv, effort)).await?
}

fn compare(gsv: &Path, effort: Effort) -> Result<Vec<Row>> {
    let bed = Bed::make(gsv)?;
    let mut rows = small_command(&bed, effort.commands)?;
    rows.push(build(&bed, effort.builds)?);
    Ok(rows)
}

/// The difference has the bar; the row below it shows what it is the difference of.
fn small_command(bed: &Bed, runs: usize) -> Result<Vec<Row>> {
    let script = "true";
    // Whatever is slow only once is not measured.
    bed.confined(script)?;
    bed.confined_anew(script)?;
    bed.plain(script)?;
    let pairs = in_turns(runs, || bed.confined(script), || bed.plain(script))?;
    let more = Spread::of(pairs.iter().map(|(confined, plain)| confined - plain).collect());
    let anew = in_turns(runs.div_ceil(2), || bed.confined_anew(script), || bed.plain(script))?;
    let note = format!(
        "{} ms, of {runs} pairs in turns; the columns of the next rows are confined and unconfined; \
         the helper waits already, as a driver's does; the driver's checkpoint and its look for secrets are no part of it",
        more.text()
    );
    let what = "confined sh -c true on a device, time more than unconfined";
    let difference = Row::figure(what, "ms", more.median(), None, Bar::AimAtMost(3.0)).with_note(note);
    Ok(vec![
        difference,
        contest::row_of("… the whole command", "ms", pairs, None),
        contest::row_of("… when its helper has to be started too", "ms", anew, None),
    ])
}

fn build(bed: &Bed, runs: usize) -> Result<Row> {
    let what = "confined cargo check of a small crate vs unconfined";
    if let Err(error) = bed.plain("cargo --version") {
        let why = format!("cargo is not installed, or does not start: {error:#}");
        return Ok(Row::could_not_run(what, &why));
    }
    project::write(bed.workspace()).context("write a crate")?;
    let script = "cargo check --offline --quiet";
    let from_nothing = |run: &dyn Fn() -> Result<f64>| {
        bed.clean()?;
        run()
    };
    let confined = || from_nothing(&|| bed.confined(script));
    let plain = || from_nothing(&|| bed.plain(script));
    // The first brings the compiler into memory and writes the lock file.
    plain()?;
    let pairs = in_turns(runs, confined, plain)?;
    let note = format!(
        "{runs} builds on each side in turns, each from an empty target directory; {} source files in two crates",
        project::FILES
    );
    Ok(contest::row_of(what, "ms", pairs, Some(Bar::AimAtMost(1.05))).with_note(note))
}

/// Runs both in turns; who begins alternates. The figures come back in pairs: confined, plain.
fn in_turns(
    rounds: usize,
    confined: impl Fn() -> Result<f64>,
    plain: impl Fn() -> Result<f64>,
) -> Result<Vec<(f64, f64)>> {
    let mut pairs = Vec::new();
    for round in 0..rounds {
        pairs.push(if round % 2 == 0 {
            let theirs = plain()?;
            (confined()?, theirs)
        } else {
            let ours = confined()?;
            (ours, plain()?)
        });
    }
    Ok(pairs)
}
