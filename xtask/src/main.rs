//! `cargo xtask`: everything a developer runs besides cargo itself.

mod bench;
mod codegen;
mod place;
mod test;
mod tidy;

use std::process::ExitCode;

use anyhow::{Result, bail};

const USAGE: &str = "\
cargo xtask <command>

  test [--quick]      installs what the tests need and runs everything a change must pass
                      (--quick leaves out the documentation, its examples and the TypeScript check)
  bench [ARGS…]       builds the optimised binaries and measures; ARGS go to the bench program
  codegen [--check]   writes docs/reference from the protocol's tables, or says what is out of date
  tidy                checks the house rules that a machine can check";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> Result<()> {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["test"] => test::run(test::Extent::Full),
        ["test", "--quick"] => test::run(test::Extent::Quick),
        ["bench", rest @ ..] => bench::run(rest),
        ["codegen"] => codegen::write(),
        ["codegen", "--check"] => codegen::check(),
        ["tidy"] => tidy::run(),
        [] | ["help" | "-h" | "--help"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => bail!("unknown command: {}\n\n{USAGE}", words.join(" ")),
    }
}
