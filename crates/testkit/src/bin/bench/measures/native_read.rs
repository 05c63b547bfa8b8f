//! `fs.read` of the gateway's own files against the bare echo of messages of the same size.

use anyhow::{Context, Result};
use serde_json::json;

use crate::contest;
use crate::load::{Question, Sample, Shape};
use crate::report::{Bar, Row};
use crate::stage::{Baseline, Stage};

/// 1 KiB with 64 in flight, 1 MiB with one and with four.
pub(crate) async fn run(stage: &Stage) -> Result<Vec<Row>> {
    const KIB: usize = 1024;
    let small = read(stage, "1 KiB", KIB, Shape::SIXTY_FOUR, "/s", Sample::rate).await?;
    let one = Shape { connections: 1, in_flight: 1 };
    let large = read(stage, "1 MiB", KIB * KIB, one, "MiB/s", Sample::mib_rate).await?;
    let four = Shape { connections: 4, in_flight: 1 };
    let several = read(stage, "1 MiB", KIB * KIB, four, "MiB/s", Sample::mib_rate).await?;
    Ok([small, large, several].into_iter().flatten().collect())
}

async fn read(
    stage: &Stage,
    size: &str,
    bytes: usize,
    shape: Shape,
    unit: &str,
    figure: fn(&Sample) -> f64,
) -> Result<Vec<Row>> {
    let name = format!("bench-{bytes}.txt");
    let line = "the quick brown fox jumps over the lazy dog, again and again\n";
    let text: String = line.chars().cycle().take(bytes).collect();
    let path = stage.home().await?.join(&name);
    std::fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
    let asked = Question {
        call: "fs.read",
        args: json!({ "path": format!("~/{name}") }),
        sign: r#""ok":true"#,
        answer_bytes_min: bytes,
    };
    let mut gateway = stage.gateway_side(shape, asked).await?;
    // The echo's message is as long as the gateway's answer: numbered lines, a little more than the file.
    let answer = crate::wire::call(&mut gateway.sockets[0], "fs.read", &gateway.question.args).await?;
    let pad = "x".repeat(answer.to_string().len());
    let echoed = Question {
        call: "fs.read",
        args: json!({ "pad": pad }),
        sign: r#""type":"req""#,
        answer_bytes_min: bytes,
    };
    let mut echo = stage.bare_side(Baseline::Echo, shape, echoed).await?;
    let outcome = contest::hold(&mut gateway, &mut echo, shape, stage.effort).await?;
    let in_flight = shape.connections * shape.in_flight;
    let what = format!("native fs.read of {size} vs echo, {in_flight} in flight");
    let note = format!(
        "answer {:.0} bytes; the echo sends a message of that size back, which it must first receive",
        outcome.gateway_answer_bytes()
    );
    let mut rows = vec![outcome.row(&what, unit, figure, Some(Bar::AtLeast(0.6))).with_note(note)];
    rows.extend(outcome.cpu_row("… server processor time per call"));
    Ok(rows)
}
