//! Log lines on stderr, for the programs that run for long: gateway and device.

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

use crate::failure::{Failure, Result};

/// How log lines look.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

/// Starts logging what `GSV_LOG` asks for, or else `default`.
pub fn start(format: Format, default: &str) -> Result<()> {
    let filter = match std::env::var("GSV_LOG") {
        Ok(text) if !text.is_empty() => {
            EnvFilter::try_new(text).map_err(|error| Failure::usage(format!("GSV_LOG: {error}")))?
        }
        _ => EnvFilter::new(default),
    };
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match format {
        Format::Text => log.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).try_init(),
        Format::Json => log.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| Failure::new(format!("cannot log: {error}")))
}
