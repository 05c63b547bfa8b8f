//! `cargo xtask bench`: builds the optimised binaries and hands over to the bench program.

use anyhow::Result;

use crate::place;
use crate::test::tools;

/// Builds, then measures; further words go to the bench program. Without any it measures everything, and the results
/// go to the documents.
pub fn run(args: &[&str]) -> Result<()> {
    tools::install_for_bench()?;
    place::run(&mut place::cargo(&["build", "--release", "--package", "gsv"]))?;
    place::run(&mut place::cargo(&["build", "--release", "--package", "testkit", "--bin", "bench"]))?;
    let release = place::target().join("release");
    let args = if args.is_empty() { &["--out", "docs/benchmarks.md"] } else { args };
    place::run(place::command(release.join("bench")).arg("--gsv").arg(release.join("gsv")).args(args))
}
