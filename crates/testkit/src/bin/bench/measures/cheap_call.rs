//! Benchmark of a cheap kernel call against the bare echo of the same request.

use anyhow::Result;
use serde_json::json;

use crate::baseline::driver::DEVICE;
use crate::contest;
use crate::load::{Question, Sample, Shape};
use crate::report::{Bar, Row};
use crate::stage::{Baseline, Stage};

/// Throughput at 64 in flight, latency at one.
pub(crate) async fn run(stage: &Stage) -> Result<Vec<Row>> {
    let asked = Question {
        call: "sys.device.get",
        args: json!({"deviceId": DEVICE}),
        // `"device":null` would be cheaper to answer and is not what is measured.
        expected: r#""data":{"device":{"#,
        answer_bytes_min: 0,
    };
    let echoed = Question { expected: r#""type":"req""#, ..asked.clone() };
    let mut rows = Vec::new();

    let shape = Shape::SIXTY_FOUR;
    let mut gateway = stage.gateway_side(shape, asked.clone()).await?;
    let mut echo = stage.bare_side(Baseline::Echo, shape, echoed.clone()).await?;
    let outcome = contest::hold(&mut gateway, &mut echo, shape, stage.effort).await?;
    let sizes = format!(
        "8 × 8: eight sockets with eight requests each; request {} bytes, answer {:.0} bytes, the echo sends the request back",
        asked.text(0).len(),
        outcome.gateway_answer_bytes()
    );
    rows.push(
        outcome
            .row("sys.device.get vs echo, 64 in flight", "/s", Sample::rate, Some(Bar::AtLeast(0.6)))
            .with_note(sizes),
    );
    rows.extend(outcome.cpu_row("… server processor time per call"));

    let shape = Shape::ONE;
    let mut gateway = stage.gateway_side(shape, asked).await?;
    let mut echo = stage.bare_side(Baseline::Echo, shape, echoed).await?;
    let outcome = contest::hold(&mut gateway, &mut echo, shape, stage.effort).await?;
    rows.push(outcome.row("… p50 at 1 in flight", "µs", |sample| sample.percentile_us(0.5), None));
    rows.push(outcome.row("… p99 at 1 in flight", "µs", |sample| sample.percentile_us(0.99), None));
    Ok(rows)
}
