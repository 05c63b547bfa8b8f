//! `gsv device`: this machine as a device, in the foreground or as a service of the user.

use std::path::PathBuf;

use base::shutdown;
use clap::{Args, Subcommand};
use device::{Options, Report};
use protocol::confine::AgentMode;
use serde_json::json;
use terminal::failure::{Failure, Result};
use terminal::output::{Output, clean};

use super::serve::stop_signal;
use super::version::VERSION;
use crate::config_file::ConfigFile;
use crate::context::Context;
use crate::credentials::{self, TokenSource};
use crate::log::{self, Format};
use crate::open_files;

mod check;
mod checkpoints;
mod service;

/// Verbs of `gsv device`.
#[derive(Debug, Subcommand)]
pub enum Device {
    /// Offer this machine to the gateway, in the foreground.
    Run(Settings),
    /// Keep the settings and run as a service from now on.
    Install(Settings),
    /// Start the service.
    Start,
    /// Stop the service.
    Stop,
    /// Show the service's status.
    Status,
    /// Try what the sandbox for agents' commands does on this machine.
    Check,
    /// List the checkpoints of the workspace, compare and restore them.
    Checkpoints(checkpoints::Arguments),
    /// Show the service's log.
    Logs {
        /// How many of the last lines.
        #[arg(short, long, default_value_t = 100)]
        lines: u32,
        /// Show further lines as they come.
        #[arg(short, long)]
        follow: bool,
    },
}

/// What a device is. Flags win over the settings file.
#[derive(Args, Clone, Debug)]
pub struct Settings {
    /// The device's id [default: node- and the hostname].
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Where relative paths and commands start [default: the current directory].
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Confine fs calls below this directory; shell.exec must then be allowed by name.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// What to offer, such as fs.read,fs.search; may be repeated [default: everything].
    #[arg(long, value_name = "CALLS", value_delimiter = ',')]
    allow: Vec<String>,
    /// What agents may do here unasked: proved (only read), confined (also run in the sandbox), ask (nothing), off
    /// (agents cannot use this device) [default: confined].
    #[arg(long, value_name = "MODE")]
    agents: Option<String>,
}

/// Runs one verb of `gsv device`.
pub async fn run(context: &Context, device: Device) -> Result<u8> {
    match device {
        Device::Run(settings) => work(context, settings).await,
        Device::Install(settings) => service::install(context, settings),
        Device::Start => service::start(context),
        Device::Stop => service::stop(context),
        Device::Status => service::status(context),
        Device::Check => check::run(context, &state_directory()?),
        Device::Checkpoints(arguments) => {
            let workspace = ConfigFile::load()?.get("node.workspace").map(PathBuf::from);
            let workspace = workspace.map_or_else(std::env::current_dir, Ok)?;
            checkpoints::run(context, arguments, workspace, state_directory()?)
        }
        Device::Logs { lines, follow } => service::logs(lines, follow, context.output.json),
    }
}

/// Where the driver keeps checkpoints and temporary files of agents' runs.
fn state_directory() -> Result<PathBuf> {
    let state = dirs::state_dir().or_else(dirs::data_local_dir);
    let state = state.ok_or_else(|| Failure::new("this user has no home directory").with_hint("set HOME"))?;
    Ok(state.join("gsv").join("device"))
}

/// Reads what agents may do.
fn agent_mode(word: &str) -> Result<AgentMode> {
    serde_json::from_value(json!(word)).map_err(|_| {
        Failure::new(format!("there is no mode '{word}' for agents"))
            .with_hint("--agents takes proved, confined, ask or off")
    })
}

/// The id of a machine that nobody named.
pub fn default_id() -> String {
    let name = hostname::get().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.split('.').next().unwrap_or_default();
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect();
    format!("node-{}", if name.is_empty() { "local" } else { &name })
}

async fn work(context: &Context, settings: Settings) -> Result<u8> {
    log::start(if context.output.json { Format::Json } else { Format::Text }, "warn")?;
    open_files::raise_limit();
    // Before anything is read that an agent's command should not learn.
    device::unreadable::shut()?;
    let (options, _) = options(context, &ConfigFile::load()?, settings)?;
    let (trigger, shutdown) = shutdown::channel();
    let signals = tokio::spawn(async move {
        stop_signal().await;
        trigger.stop();
        // Whoever asks twice does not want to wait.
        stop_signal().await;
        std::process::exit(1);
    });
    let (output, url) = (context.output.clone(), options.url.clone());
    let ran = device::run(options, shutdown, move |report| tell(&output, &url, report)).await;
    signals.abort();
    match ran {
        Ok(()) => Ok(0),
        Err(device::RunError::SetupMode) => Err(protocol::error::Error::setup_required().into()),
        Err(error) if error.is_final() => {
            Err(Failure { exit: device::service::EXIT_FINAL, ..Failure::new(error.to_string()) })
        }
        Err(error) => Err(Failure::new(error.to_string())),
    }
}

/// Flags over the settings file over what is usual.
fn options(context: &Context, file: &ConfigFile, settings: Settings) -> Result<(Options, TokenSource)> {
    let globals = &context.globals;
    let device_id = settings.id.or_else(|| file.get("node.id")).unwrap_or_else(default_id);
    let url = credentials::device_url(globals, file);
    let environment = credentials::token_of_environment();
    let (token, origin) = credentials::device_token(globals, file, environment, &url).map_err(|why| {
        Failure::new(why.unwrap_or("this device has no token")).with_hint(format!(
            "make one with `gsv auth token create --kind node --device {device_id}`, then give it with --token"
        ))
    })?;
    let given = globals.user.clone().filter(|name| !name.is_empty());
    let username = given
        .or_else(|| file.get("node.username"))
        .or_else(|| file.get("gateway.username"))
        .ok_or_else(|| Failure::new("the user of this device is not known").with_hint("give --user"))?;
    let directory = |given: Option<PathBuf>, key: &str| given.or_else(|| file.get(key).map(PathBuf::from));
    let workspace = match directory(settings.workspace, "node.workspace") {
        Some(workspace) => workspace,
        None => std::env::current_dir()?,
    };
    let stored = file.get("node.allow").unwrap_or_default();
    let allow = match settings.allow.is_empty() {
        true => stored.split(',').map(str::to_string).collect(),
        false => settings.allow,
    };
    let agents = match settings.agents.or_else(|| file.get("node.agents")) {
        None => AgentMode::default(),
        Some(word) => agent_mode(&word)?,
    };
    let options = Options {
        url,
        username,
        token: Some(token),
        device_id,
        workspace: std::path::absolute(workspace)?,
        root: directory(settings.root, "node.root").map(std::path::absolute).transpose()?,
        allow: allow.iter().map(|call| call.trim().to_string()).filter(|call| !call.is_empty()).collect(),
        agents,
        state: state_directory().ok(),
        version: VERSION.to_string(),
    };
    Ok((options, origin))
}

/// One line per event.
fn tell(output: &Output, url: &str, report: Report) {
    let (json, line) = match report {
        Report::Connecting { attempt } => {
            (json!({ "event": "connecting", "url": url, "attempt": attempt }), format!("connecting to {url}"))
        }
        Report::Connected { device_id, implements } => (
            json!({ "event": "connected", "deviceId": device_id, "implements": implements }),
            format!("connected as {device_id}: {}", implements.join(", ")),
        ),
        Report::Lost { why, retry_ms } => (
            json!({ "event": "lost", "error": why, "retryMs": retry_ms }),
            format!("not connected: {why}; next attempt in {}", seconds(retry_ms)),
        ),
        Report::Refused { code, message, retry_ms } => (
            json!({ "event": "refused", "code": code, "error": message, "retryMs": retry_ms }),
            format!("refused: {message} ({code}); next attempt in {}", seconds(retry_ms)),
        ),
        Report::Stopping => (json!({ "event": "stopping" }), "stopping".to_string()),
    };
    let told = if output.json { output.line(&json.to_string()) } else { output.line(&clean(&line)) };
    // A device whose output nobody reads works all the same.
    if let Err(failure) = told {
        tracing::debug!("cannot print: {}", failure.message);
    }
}

fn seconds(milliseconds: u64) -> String {
    format!("{}.{} s", milliseconds / 1_000, milliseconds % 1_000 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::globals::Globals;

    fn with(text: &str, globals: Globals, settings: Settings) -> Result<Options> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("config.toml");
        let mut file = tempfile::NamedTempFile::new_in(directory.path()).unwrap();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        file.persist(&path).unwrap();
        let file = ConfigFile::load_from(&path).unwrap();
        options(&Context::new(globals), &file, settings).map(|(options, _)| options)
    }

    fn nothing() -> Settings {
        Settings { id: None, workspace: None, root: None, allow: Vec::new(), agents: None }
    }

    const STORED: &str = "[gateway]\nusername = \"alice\"\n[node]\nid = \"desk\"\ntoken = \"t\"\n\
        workspace = \"/work\"\nallow = \"fs.*, shell.exec\"\n";

    #[test]
    fn the_settings_file_is_enough() {
        let options = with(STORED, Globals::default(), nothing()).unwrap();
        assert_eq!((options.username.as_str(), options.device_id.as_str()), ("alice", "desk"));
        assert_eq!((options.token.as_deref(), options.workspace), (Some("t"), PathBuf::from("/work")));
        assert_eq!(options.allow, ["fs.*", "shell.exec"]);
    }

    #[test]
    fn a_device_does_not_change_with_the_login() {
        let changed = STORED.replace("alice", "root") + "username = \"alice\"\nurl = \"ws://own/ws\"\n";
        let options = with(&changed, Globals::default(), nothing()).unwrap();
        assert_eq!((options.username.as_str(), options.url.as_str()), ("alice", "ws://own/ws"));
    }

    #[test]
    fn flags_win() {
        let settings = Settings { id: Some("lap".into()), allow: vec!["fs.read".into()], ..nothing() };
        let globals = Globals { token: Some("u".into()), user: Some("bob".into()), ..Globals::default() };
        let options = with(STORED, globals, settings).unwrap();
        assert_eq!((options.username.as_str(), options.device_id.as_str()), ("bob", "lap"));
        assert_eq!((options.token.as_deref(), options.allow), (Some("u"), vec!["fs.read".to_string()]));
    }

    #[test]
    fn without_a_token_there_is_a_hint_and_an_id() {
        let failure = with("[gateway]\nusername = \"alice\"\n", Globals::default(), nothing()).unwrap_err();
        assert!(failure.hint.unwrap().contains("--kind node"));
        assert!(default_id().len() > "node-".len());
    }
}
