//! Benchmark of a native `shell.exec` of `true` against starting `sh -c true` on the host.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use base::clock::Clock;
use serde_json::json;

use crate::contest;
use crate::load::{Question, Sample, Shape};
use crate::report::{Bar, Row, Spread};
use crate::stage::Stage;

/// Microseconds from the request to its answer, one at a time.
pub(crate) async fn run(stage: &Stage) -> Result<Vec<Row>> {
    let asked = Question {
        call: "shell.exec",
        args: json!({ "input": "true" }),
        expected: r#""ok":true"#,
        answer_bytes_min: 0,
    };
    let shape = Shape::ONE;
    let mut gateway = stage.gateway_side(shape, asked).await?;
    let median = |sample: &Sample| sample.percentile_us(0.5);
    let pairs = contest::hold_against(&mut gateway, shape, stage.effort, median, start_programs).await?;
    let row = contest::row_of("native shell.exec of true vs sh -c true", "µs", pairs, Some(Bar::AtMost(1.0)));
    Ok(vec![row.with_note("a whole call over the socket against fork, exec and wait on the host")])
}

fn start_programs(timed: Duration) -> Result<f64> {
    let begin = Clock::system().instant();
    let mut figures = Vec::new();
    while begin.elapsed() < timed {
        let start = Clock::system().instant();
        let status = Command::new("sh").args(["-c", "true"]).status().context("start sh")?;
        figures.push(start.elapsed().as_secs_f64() * 1e6);
        ensure!(status.success(), "sh -c true failed");
    }
    Ok(Spread::of(figures).median())
}
