//! Benchmark of `fs.search` over 10,000 files against the `rg` program on the same tree.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use base::clock::Clock;
use serde_json::json;

use crate::contest;
use crate::load::{Question, Sample, Shape};
use crate::report::{Bar, Row, Spread};
use crate::stage::Stage;

const FILES: usize = 10_000;
const FILES_PER_DIRECTORY: usize = 100;
const NEEDLE: &str = "a needle in the haystack";
/// One file in so many holds the needle.
const EVERY: usize = 200;

/// Milliseconds of one search, both with the tree in the page cache.
pub(crate) async fn run(stage: &Stage) -> Result<Vec<Row>> {
    let folder = stage.home().await?.join("bench-tree");
    plant(&folder)?;
    let asked = Question {
        call: "fs.search",
        args: json!({ "query": NEEDLE, "path": "~/bench-tree" }),
        expected: r#""ok":true"#,
        answer_bytes_min: FILES / EVERY * NEEDLE.len(),
    };
    let shape = Shape::ONE;
    let mut gateway = stage.gateway_side(shape, asked).await?;
    let program = move |timed| search_by_program(&folder, timed);
    let median = |sample: &Sample| sample.percentile_us(0.5) / 1_000.0;
    let pairs = contest::hold_against(&mut gateway, shape, stage.effort, median, program).await?;
    let row = contest::row_of("native fs.search of 10,000 files vs rg", "ms", pairs, Some(Bar::AtMost(1.5)));
    Ok(vec![row.with_note(format!(
        "{FILES} files of about 2 KiB in {} directories, {} with a match; rg --fixed-strings --line-number, its start included",
        FILES / FILES_PER_DIRECTORY,
        FILES / EVERY
    ))])
}

fn plant(folder: &Path) -> Result<()> {
    let filler = "Nothing to be found in this line, and nothing in the next.\n".repeat(35);
    for number in 0..FILES {
        let directory = folder.join(format!("d{:03}", number / FILES_PER_DIRECTORY));
        if number % FILES_PER_DIRECTORY == 0 {
            fs::create_dir_all(&directory).context("make a tree")?;
        }
        let mut text = filler.clone();
        if number % EVERY == 0 {
            text.push_str(&format!("here is {NEEDLE} number {number}\n"));
        }
        fs::write(directory.join(format!("f{number:05}.txt")), text).context("fill a tree")?;
    }
    Ok(())
}

fn search_by_program(folder: &Path, timed: Duration) -> Result<f64> {
    let begin = Clock::system().instant();
    let mut figures = Vec::new();
    while begin.elapsed() < timed || figures.len() < 3 {
        let start = Clock::system().instant();
        let output = Command::new("rg")
            .args(["--no-config", "--fixed-strings", "--line-number", NEEDLE])
            .arg(folder)
            .output()
            .context("start rg; is ripgrep installed?")?;
        figures.push(start.elapsed().as_secs_f64() * 1_000.0);
        let lines = output.stdout.iter().filter(|byte| **byte == b'\n').count();
        ensure!(lines == FILES / EVERY, "rg found {lines} lines");
    }
    Ok(Spread::of(figures).median())
}
