//! Benchmark of durable `fs.write` of 1 KiB against a plain loop of write, fsync and rename on the same disk.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use base::clock::Clock;
use serde_json::json;

use crate::contest;
use crate::load::{Question, Sample, Shape};
use crate::report::{Bar, Row};
use crate::stage::Stage;

const BYTES: usize = 1024;

/// One write at a time, and 64, each to a file of its own.
pub(crate) async fn run(stage: &Stage) -> Result<Vec<Row>> {
    let content = "x".repeat(BYTES - 1) + "\n";
    let asked = Question {
        call: "fs.write",
        args: json!({ "path": "~/bench-write-{place}.txt", "content": content }),
        expected: r#""ok":true"#,
        answer_bytes_min: 0,
    };
    let folder = stage.home().await?;
    let mut rows = Vec::new();
    for (shape, bar) in [(Shape::ONE, Bar::AtLeast(0.8)), (Shape::SIXTY_FOUR, Bar::AtLeast(1.0))] {
        let in_flight = shape.connections * shape.in_flight;
        let mut gateway = stage.gateway_side(shape, asked.clone()).await?;
        let directory = folder.clone();
        let plain = move |timed| write_plainly(&directory, timed, false);
        let pairs = contest::hold_against(&mut gateway, shape, stage.effort, Sample::rate, plain).await?;
        let what = format!("native fs.write of 1 KiB vs write+fsync+rename, {in_flight} in flight");
        rows.push(contest::row_of(&what, "/s", pairs, Some(bar)).with_note(
            "the loop runs on one thread, without a socket, and does not wait for the rename itself to be durable; the gateway's answer means that it is",
        ));
        let directory = folder.clone();
        let durable = move |timed| write_plainly(&directory, timed, true);
        let pairs = contest::hold_against(&mut gateway, shape, stage.effort, Sample::rate, durable).await?;
        let what = "… vs the same loop with fsync of the directory";
        rows.push(contest::row_of(what, "/s", pairs, None));
    }
    Ok(rows)
}

/// Writes per second of a plain loop.
fn write_plainly(folder: &Path, timed: Duration, sync_directory: bool) -> Result<f64> {
    let content = [b'x'; BYTES];
    let (draft, place) = (folder.join("bench-plain.tmp"), folder.join("bench-plain.txt"));
    let directory = File::open(folder)?;
    let begin = Clock::system().instant();
    let mut written = 0_u64;
    while begin.elapsed() < timed {
        let mut file = File::create(&draft)?;
        file.write_all(&content)?;
        file.sync_all()?;
        fs::rename(&draft, &place)?;
        if sync_directory {
            directory.sync_all()?;
        }
        written += 1;
    }
    Ok(written as f64 / begin.elapsed().as_secs_f64())
}
