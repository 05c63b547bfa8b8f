//! Benchmark of a routed `fs.read` with a 4 MiB answer against the bare relay with the same driver.

use anyhow::Result;
use serde_json::json;

use crate::baseline::driver::{DEVICE, LARGE_BYTES, LARGE_PATH};
use crate::contest;
use crate::load::{Question, Sample, Shape};
use crate::report::{Bar, Row};
use crate::stage::{Baseline, Stage};

/// Bytes per second with one and with four requests in flight.
pub(crate) async fn run(stage: &Stage) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for connections in [1, 4] {
        let shape = Shape { connections, in_flight: 1 };
        let asked = Question {
            call: "fs.read",
            args: json!({"target": DEVICE, "path": LARGE_PATH}),
            expected: r#""ok":true"#,
            answer_bytes_min: LARGE_BYTES,
        };
        let mut gateway = stage.gateway_side(shape, asked.clone()).await?;
        let mut relay = stage.bare_side(Baseline::Relay, shape, asked).await?;
        let outcome = contest::hold(&mut gateway, &mut relay, shape, stage.effort).await?;
        let what = format!("routed fs.read of 4 MiB vs relay, {connections} in flight");
        let row = outcome.row(&what, "MiB/s", Sample::mib_rate, Some(Bar::AtLeast(0.7)));
        rows.push(row.with_note(format!("{connections} × 1: one request at a time on each socket")));
        rows.extend(outcome.cpu_row("… server processor time per call"));
    }
    Ok(rows)
}
