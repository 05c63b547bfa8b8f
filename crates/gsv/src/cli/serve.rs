//! `gsv serve`: runs the gateway until it is told to stop.

use std::path::PathBuf;

use base::shutdown;
use clap::Args;
use server::{Network, Options, Ready};
use terminal::failure::{Failure, Result};

use super::version::VERSION;
use crate::context::Context;
use crate::log::{self, Format};
use crate::{heap, open_files};

/// Arguments of `gsv serve`.
#[derive(Args)]
pub struct Serve {
    /// Address and port; port 0 takes a free one.
    #[arg(long, env = "GSV_LISTEN", value_name = "ADDR:PORT", default_value = "127.0.0.1:8787")]
    listen: String,
    /// The data directory [default: the platform's data directory + /gsv].
    #[arg(long, env = "GSV_DATA", value_name = "DIR")]
    data: Option<PathBuf>,
    /// URL of a PostgreSQL database to use instead of SQLite in the data directory.
    #[arg(long, env = "GSV_STORE", value_name = "postgres://…", hide_env_values = true)]
    store: Option<String>,
    /// A proxy, or a block of addresses such as 10.0.0.0/8, whose X-Forwarded-For or Forwarded header says where requests
    /// come from; may be repeated, or a comma list.
    #[arg(long = "trusted-proxy", env = "GSV_TRUSTED_PROXY", value_name = "ADDRESS", value_delimiter = ',')]
    trusted_proxies: Vec<Network>,
    /// Format of log lines; GSV_LOG sets the level (`info`, `debug`, `kernel=trace` …).
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    log_format: Format,
}

impl std::fmt::Debug for Serve {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("Serve")
            .field("listen", &self.listen)
            .field("data", &self.data)
            .finish_non_exhaustive()
    }
}

/// Runs the gateway; ends with 0 after SIGINT or SIGTERM.
pub async fn run(context: &Context, args: Serve) -> Result<u8> {
    log::start(args.log_format, "info")?;
    heap::keep_a_little();
    match open_files::raise_limit() {
        Some(limit) => tracing::debug!(limit, "open files"),
        None => tracing::debug!("the limit of open files is unknown"),
    }
    let data = match args.data {
        Some(data) => data,
        None => dirs::data_dir().map(|directory| directory.join("gsv")).ok_or_else(|| {
            Failure::new("there is no directory for data").with_hint("give --data, or set HOME")
        })?,
    };
    let options = Options {
        listen: args.listen,
        data,
        store_url: args.store,
        guest_program: None,
        version: VERSION.to_string(),
        areas: Vec::new(),
        trusted_proxies: args.trusted_proxies,
    };
    let (trigger, shutdown) = shutdown::channel();
    let signals = tokio::spawn(async move {
        stop_signal().await;
        tracing::info!("stopping");
        trigger.stop();
        // Whoever asks twice does not want to wait.
        stop_signal().await;
        std::process::exit(1);
    });
    let served = server::serve(options, shutdown, |ready| announce(context, &ready)).await;
    signals.abort();
    served.map_err(|error| Failure::new(error.to_string()))?;
    Ok(0)
}

/// Says where the gateway is, what to do with a fresh one, and what to mind when others can reach it.
fn announce(context: &Context, ready: &Ready) {
    if ready.is_reachable {
        context.output.note(&format!(
            "warning: other machines can reach {}, and what they send is not encrypted: put TLS, a VPN or an SSH tunnel \
             around it (docs/guide/operations.md)",
            ready.address
        ));
    }
    // A gateway whose output nobody reads serves all the same.
    let lines = if context.output.json { as_json(ready) } else { as_text(ready) };
    if let Err(failure) = context.output.line(&lines) {
        tracing::warn!("cannot print: {}", failure.message);
    }
}

fn as_json(ready: &Ready) -> String {
    let mut line = serde_json::json!({
        "url": format!("http://{}", ready.address), "setupMode": ready.setup_mode,
    });
    if let Some(code) = &ready.setup_code {
        line["setupCode"] = code.as_str().into();
    }
    line.to_string()
}

fn as_text(ready: &Ready) -> String {
    let address = ready.address;
    let mut lines = format!("listening on http://{address}");
    if !ready.setup_mode {
        return lines;
    }
    let url = match address.port() {
        8787 => String::new(),
        port if address.ip().is_unspecified() => format!(" --url ws://localhost:{port}/ws"),
        _ => format!(" --url ws://{address}/ws"),
    };
    lines.push_str(&format!("\nthis gateway is not set up yet; in another terminal: gsv auth setup{url}"));
    if let Some(code) = &ready.setup_code {
        lines.push_str(&format!("\nfrom another machine setup needs this code: {code}"));
    }
    lines
}

/// Returns when the program is asked to stop.
#[cfg(unix)]
pub async fn stop_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let listen = |kind| match signal(kind) {
        Ok(signal) => Some(signal),
        Err(error) => {
            tracing::warn!("signals cannot be listened to: {error}");
            None
        }
    };
    let (interrupt, terminate) = (listen(SignalKind::interrupt()), listen(SignalKind::terminate()));
    let wait = async |signal: Option<tokio::signal::unix::Signal>| match signal {
        Some(mut signal) => signal.recv().await,
        None => std::future::pending().await,
    };
    tokio::select! {
        _ = wait(interrupt) => {}
        _ = wait(terminate) => {}
    }
}

/// Returns when the program is asked to stop.
#[cfg(not(unix))]
pub async fn stop_signal() {
    if let Err(error) = tokio::signal::ctrl_c().await {
        tracing::warn!("signals cannot be listened to: {error}");
        std::future::pending::<()>().await;
    }
}
