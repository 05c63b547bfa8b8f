//! `cargo xtask test`: one command that installs what the tests need and runs everything a change must pass.

pub mod tools;

use std::time::Duration;

use anyhow::{Result, bail};
use base::clock::Clock;

use crate::{codegen, place, tidy};

/// How much to run.
#[derive(Clone, Copy, PartialEq)]
pub enum Extent {
    /// Everything.
    Full,
    /// Without the documentation, its examples and the TypeScript check.
    Quick,
}

type Step = (&'static str, Extent, fn() -> Result<()>);

const STEPS: &[Step] = &[
    ("tools", Extent::Quick, tools::install),
    ("format", Extent::Quick, || place::run(&mut place::cargo(&["fmt", "--all", "--check"]))),
    ("tidy", Extent::Quick, tidy::run),
    ("codegen", Extent::Quick, codegen::check),
    ("clippy", Extent::Quick, clippy),
    ("tests", Extent::Quick, tests),
    ("doc tests", Extent::Full, || place::run(&mut place::cargo(&["test", "--workspace", "--doc"]))),
    ("docs", Extent::Full, docs),
    ("typescript", Extent::Full, typescript),
];

/// Runs the steps one after another, also after one failed, and sums up.
pub fn run(extent: Extent) -> Result<()> {
    let mut results: Vec<(&str, Duration, Result<()>)> = Vec::new();
    for (name, least, step) in STEPS {
        if extent == Extent::Quick && *least == Extent::Full {
            continue;
        }
        println!("\n=== {name}");
        let start = Clock::system().instant();
        let result = step();
        if let Err(error) = &result {
            println!("{name} failed: {error:#}");
        }
        results.push((name, start.elapsed(), result));
    }
    println!("\n=== summary");
    for (name, took, result) in &results {
        let word = if result.is_ok() { "ok    " } else { "FAILED" };
        println!("{word} {:>7.1} s  {name}", took.as_secs_f64());
    }
    let failed: Vec<&str> =
        results.iter().filter(|(_, _, result)| result.is_err()).map(|(name, ..)| *name).collect();
    if !failed.is_empty() {
        bail!("{} of {} steps failed: {}", failed.len(), results.len(), failed.join(", "));
    }
    println!("all {} steps passed", results.len());
    Ok(())
}

fn clippy() -> Result<()> {
    place::run(&mut place::cargo(&["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]))
}

/// Cargo's own runner: the tests of one program share its PostgreSQL, which a process per test could not.
fn tests() -> Result<()> {
    let mut cargo = place::cargo(&["test", "--workspace", "--no-fail-fast", "--lib", "--bins", "--tests"]);
    // What was installed must be found: here nothing is skipped.
    place::run(cargo.env("GSV_MCP_PEERS", "1"))
}

fn docs() -> Result<()> {
    place::run(place::cargo(&["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-Dwarnings"))
}

/// The real compiler reads the generated types and a file that uses them.
fn typescript() -> Result<()> {
    let mut command = place::command("node");
    command.arg(tools::typescript_compiler()?);
    command.args([
        "--noEmit",
        "--strict",
        "--exactOptionalPropertyTypes",
        "--target",
        "es2022",
        "--module",
        "esnext",
    ]);
    command.args(["--moduleResolution", "bundler"]);
    command.arg(format!("{}/gsv.d.ts", codegen::REFERENCE)).arg("xtask/typescript/usage.ts");
    place::run(&mut command)
}
