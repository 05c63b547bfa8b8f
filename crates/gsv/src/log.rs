//! Logging setup for the programs that run for long: lines on stderr, with what may hold secrets left out.

use clap::ValueEnum;
use terminal::failure::{Failure, Result};
use tracing::{Level, Metadata};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

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
    let log = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let world = tracing_subscriber::registry().with(filter).with(filter_fn(is_harmless));
    let started = match format {
        Format::Text => {
            world.with(log.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()))).try_init()
        }
        Format::Json => world.with(log.json().flatten_event(true)).try_init(),
    };
    started.map_err(|error| Failure::new(format!("cannot log: {error}")))
}

/// These write whole frames and statements into their finer log lines, passwords and tokens included. No
/// setting shows them.
const TALKATIVE: [&str; 3] = ["tungstenite", "tokio_tungstenite", "tokio_postgres"];

fn is_harmless(line: &Metadata) -> bool {
    let target = line.target().split("::").next().unwrap_or_default();
    *line.level() <= Level::WARN || !TALKATIVE.contains(&target)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn no_setting_shows_what_dependencies_say_of_secrets() {
        let written = Written::default();
        let writer = written.clone();
        let filter = EnvFilter::new("trace,tungstenite::protocol=trace,tokio_postgres=debug");
        let world = tracing_subscriber::registry()
            .with(filter)
            .with(filter_fn(is_harmless))
            .with(tracing_subscriber::fmt::layer().with_writer(move || writer.clone()));
        tracing::subscriber::with_default(world, || {
            tracing::trace!(target: "tungstenite::protocol", "secret frame");
            tracing::debug!(target: "tokio_postgres::query", "secret statement");
            tracing::warn!(target: "tungstenite::protocol", "plain warning");
            tracing::trace!(target: "kernel", "plain detail");
        });
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        assert!(!text.contains("secret"), "{text}");
        assert!(text.contains("plain warning") && text.contains("plain detail"), "{text}");
    }
}
