//! Benchmark of a routed `fs.read` with a 1 KiB answer against the bare relay with the same driver.

use anyhow::Result;
use serde_json::json;

use crate::baseline::driver::{DEVICE, SMALL_BYTES};
use crate::contest;
use crate::load::{Question, Sample, Shape};
use crate::report::{Bar, Row};
use crate::stage::{Baseline, Stage};

/// Throughput at 64 in flight, latency at one.
pub(crate) async fn run(stage: &Stage) -> Result<Vec<Row>> {
    let asked = Question {
        call: "fs.read",
        args: json!({"target": DEVICE, "path": "/x"}),
        expected: r#""ok":true"#,
        answer_bytes_min: SMALL_BYTES,
    };
    let mut rows = Vec::new();

    let shape = Shape::SIXTY_FOUR;
    let mut gateway = stage.gateway_side(shape, asked.clone()).await?;
    let mut relay = stage.bare_side(Baseline::Relay, shape, asked.clone()).await?;
    let outcome = contest::hold(&mut gateway, &mut relay, shape, stage.effort).await?;
    rows.push(
        outcome
            .row(
                "routed fs.read of 1 KiB vs relay, 64 in flight",
                "/s",
                Sample::rate,
                Some(Bar::AtLeast(0.7)),
            )
            .with_note(format!(
                "8 × 8: eight sockets with eight requests each; answer {:.0} bytes",
                outcome.gateway_answer_bytes()
            )),
    );
    rows.extend(outcome.cpu_row("… server processor time per call"));

    let shape = Shape::ONE;
    let mut gateway = stage.gateway_side(shape, asked.clone()).await?;
    let mut relay = stage.bare_side(Baseline::Relay, shape, asked).await?;
    let outcome = contest::hold(&mut gateway, &mut relay, shape, stage.effort).await?;
    rows.push(outcome.row("… p50 at 1 in flight", "µs", |sample| sample.percentile_us(0.5), None));
    let bar = Some(Bar::AtMost(2.0));
    rows.push(outcome.row("… p99 at 1 in flight", "µs", |sample| sample.percentile_us(0.99), bar));
    Ok(rows)
}
