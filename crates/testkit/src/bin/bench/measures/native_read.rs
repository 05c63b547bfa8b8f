//! Benchmark of `fs.read` of the gateway's own files against the bare echo of messages of the same size.

use anyhow::{Context, Result};
use serde_json::json;

use crate::contest;
use crate::load::{Question, Sample, Shape};
use crate::report::{Bar, Row};
use crate::stage::{Baseline, Stage};

const KIB: usize = 1024;

/// 1 KiB with 64 in flight, from one file and from a file for each; 1 MiB with one and with four.
pub(crate) async fn run(stage: &Stage) -> Result<Vec<Row>> {
    let one = Shape { connections: 1, in_flight: 1 };
    let four = Shape { connections: 4, in_flight: 1 };
    let (many, bar) = (Shape::SIXTY_FOUR, Some(Bar::AtLeast(0.6)));
    let small =
        Case { size: "1 KiB", bytes: KIB, name: "small", shape: many, unit: "/s", figure: Sample::rate, bar };
    let spread = Case { name: "small-{place}", bar: None, ..small };
    let (unit, figure) = ("MiB/s", Sample::mib_rate as fn(&Sample) -> f64);
    let large = Case { size: "1 MiB", bytes: KIB * KIB, name: "large", shape: one, unit, figure, bar };
    let several = Case { shape: four, ..large };
    let mut rows = Vec::new();
    for case in [small, spread, large, several] {
        rows.extend(read(stage, case).await?);
    }
    Ok(rows)
}

#[derive(Clone, Copy)]
struct Case {
    size: &'static str,
    bytes: usize,
    /// Of the file; with `{place}` in it there is one for each request in flight.
    name: &'static str,
    shape: Shape,
    unit: &'static str,
    figure: fn(&Sample) -> f64,
    bar: Option<Bar>,
}

async fn read(stage: &Stage, case: Case) -> Result<Vec<Row>> {
    let Case { size, bytes, name, shape, unit, figure, bar } = case;
    let line = "the quick brown fox jumps over the lazy dog, again and again\n";
    let text: String = line.chars().cycle().take(bytes).collect();
    let home = stage.home().await?;
    for socket in 0..shape.connections {
        for slot in 0..shape.in_flight {
            let path = home.join(file(&name.replace("{place}", &format!("{socket}-{slot}"))));
            std::fs::write(&path, &text).with_context(|| format!("write {}", path.display()))?;
        }
    }
    let asked = Question {
        call: "fs.read",
        args: json!({ "path": format!("~/{}", file(name)) }),
        expected: r#""ok":true"#,
        answer_bytes_min: bytes,
    };
    let mut gateway = stage.gateway_side(shape, asked).await?;
    // The echo's message is as long as the gateway's answer: numbered lines, a little more than the file.
    let first = json!({ "path": format!("~/{}", file(&name.replace("{place}", "0-0"))) });
    let answer = crate::wire::call(&mut gateway.sockets[0], "fs.read", &first).await?;
    let pad = "x".repeat(answer.to_string().len());
    let echoed = Question {
        call: "fs.read",
        args: json!({ "pad": pad }),
        expected: r#""type":"req""#,
        answer_bytes_min: bytes,
    };
    let mut echo = stage.bare_side(Baseline::Echo, shape, echoed).await?;
    let outcome = contest::hold(&mut gateway, &mut echo, shape, stage.effort).await?;
    let in_flight = shape.connections * shape.in_flight;
    let is_spread = name.contains("{place}");
    let files = if is_spread { ", each of another file" } else { "" };
    let what = format!("native fs.read of {size} vs echo, {in_flight} in flight{files}");
    let mut note = format!(
        "answer {:.0} bytes; the echo sends a message of that size back, which it must first receive",
        outcome.gateway_answer_bytes()
    );
    if in_flight > 1 && !is_spread {
        note += "; all ask for one file";
    }
    let mut rows = vec![outcome.row(&what, unit, figure, bar).with_note(note)];
    rows.extend(outcome.cpu_row("… server processor time per call"));
    Ok(rows)
}

fn file(name: &str) -> String {
    format!("bench-read-{name}.txt")
}
