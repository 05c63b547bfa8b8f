//! Benchmark behind `cargo xtask bench`: the real gateway beside a bare echo and a bare relay, under one load
//! generator, on one machine, in turns. It reports and never asserts. A new measure is one file in `measures/` and one
//! row in `measures.rs`.

mod agents;
mod baseline;
mod child;
mod contest;
mod gateway;
mod load;
mod machine;
mod measures;
mod model;
mod report;
mod stage;
mod system;
mod wire;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Parser, Subcommand};

use measures::Measure;
use report::{Report, Row};
use stage::Stage;

/// Measures the gateway against bare servers and prints ratios.
#[derive(Parser)]
#[command(name = "bench")]
struct Args {
    /// The gateway's binary.
    #[arg(long)]
    gsv: Option<PathBuf>,
    /// Short runs and fewer connections: a smoke test, not a result.
    #[arg(long)]
    quick: bool,
    /// Only these measures, separated by commas.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Rewrites the generated part of this Markdown file.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Prints JSON in place of the table.
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    role: Option<Role>,
}

/// What a child process of the benchmark is.
#[derive(Subcommand)]
enum Role {
    /// Serves the bare echo.
    #[command(hide = true)]
    Echo(baseline::ListenArgs),
    /// Serves the bare relay.
    #[command(hide = true)]
    Relay(baseline::ListenArgs),
    /// Answers requests, on the relay and on the gateway.
    #[command(hide = true)]
    Driver(baseline::driver::Attachments),
}

/// How long and how often everything is measured.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    /// Turns of baseline and gateway.
    pub rounds: usize,
    /// Untimed start of each run.
    pub warm_up: Duration,
    /// Timed part of each run.
    pub timed: Duration,
    /// Connections of the memory measure.
    pub idle_connections: usize,
    /// Starts of the cold start measure.
    pub starts: usize,
    /// Small commands of the confined measure, on each side.
    pub commands: usize,
    /// Builds of the confined measure, on each side.
    pub builds: usize,
}

impl Effort {
    const FULL: Effort = Effort {
        rounds: 7,
        warm_up: Duration::from_millis(300),
        timed: Duration::from_millis(2_000),
        idle_connections: 10_000,
        starts: 10,
        commands: 200,
        builds: 3,
    };
    const QUICK: Effort = Effort {
        rounds: 3,
        warm_up: Duration::from_millis(200),
        timed: Duration::from_millis(500),
        idle_connections: 2_000,
        starts: 3,
        commands: 20,
        builds: 1,
    };
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    let outcome = match &args.role {
        Some(role) => play(role).await.map(|()| ExitCode::SUCCESS),
        None => measure(&args).await,
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("bench: {error:#}");
        ExitCode::FAILURE
    })
}

async fn play(role: &Role) -> Result<()> {
    child::exit_with_parent();
    match role {
        Role::Echo(place) => baseline::echo::serve(place.listen().await?).await,
        Role::Relay(place) => baseline::relay::serve(place.listen().await?).await,
        Role::Driver(attachments) => baseline::driver::run(attachments).await,
    }
}

async fn measure(args: &Args) -> Result<ExitCode> {
    let Some(gsv) = &args.gsv else { bail!("say where the gateway's binary is: --gsv PATH") };
    let chosen = choose(&args.only)?;
    let effort = if args.quick { Effort::QUICK } else { Effort::FULL };
    let stage = Stage::new(gsv, effort)?;
    let machine = machine::describe();
    let mut rows = Vec::new();
    let mut failed = false;
    for measure in chosen {
        eprintln!("measuring {} ...", measure.name);
        match (measure.run)(&stage).await {
            Ok(found) => rows.extend(found),
            Err(error) => {
                failed = true;
                let logged = stage.last_words().map_or(String::new(), |words| format!("; {words}"));
                rows.push(Row::could_not_run(measure.name, &format!("{error:#}{logged}")));
            }
        }
    }
    let report = Report { command: command_line(args), machine, effort: describe(effort), rows };
    if args.json {
        println!("{}", report.to_json()?);
    } else {
        print!("{}", report.to_text());
    }
    if let Some(path) = &args.out {
        report.write_into(path)?;
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn choose(only: &[String]) -> Result<Vec<&'static Measure>> {
    if only.is_empty() {
        return Ok(measures::ALL.iter().collect());
    }
    only.iter()
        .map(|name| match measures::ALL.iter().find(|measure| measure.name == name) {
            Some(measure) => Ok(measure),
            None => bail!(
                "there is no measure {name:?}; there are {}",
                measures::ALL.iter().map(|measure| measure.name).collect::<Vec<_>>().join(", ")
            ),
        })
        .collect()
}

fn command_line(args: &Args) -> String {
    let mut line = String::from("cargo xtask bench");
    if args.quick {
        line.push_str(" --quick");
    }
    if !args.only.is_empty() {
        line.push_str(" --only ");
        line.push_str(&args.only.join(","));
    }
    line
}

fn describe(effort: Effort) -> String {
    format!(
        "{} rounds, baseline and gateway in turns, {} s each after {} s of warm-up; \
         a ratio is the median of the rounds, with the lowest and the highest",
        effort.rounds,
        effort.timed.as_secs_f64(),
        effort.warm_up.as_secs_f64()
    )
}
