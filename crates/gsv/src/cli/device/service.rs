//! Service control of the device driver, through the machine's own service manager.

use std::path::PathBuf;

use device::Options;
use device::service::{self, Manager, ServiceError, Unit};
use protocol::confine::AgentMode;
use serde_json::json;
use terminal::failure::{Failure, Result};

use super::{Settings, options};
use crate::config_file::{self, ConfigFile};
use crate::context::Context;
use crate::credentials::TokenSource;

/// Keeps the settings, so that the unit itself holds no secret, and starts the service.
pub fn install(context: &Context, settings: Settings) -> Result<u8> {
    let (options, origin) = options(context, &ConfigFile::load()?, settings)?;
    // What is in the environment is a person's token more often than a device's.
    if origin == TokenSource::Environment {
        return Err(Failure::usage("GSV_TOKEN is not kept for the service: give --token"));
    }
    config_file::update(|file| keep(file, &options, origin))?;
    let unit = Unit {
        program: std::env::current_exe()?,
        arguments: ["device", "run"].map(str::to_string).to_vec(),
        home: home()?,
        environment: kept_environment(),
    };
    let file = service::install(Manager::here(), &unit).map_err(told)?;
    let raw = json!({ "file": file, "deviceId": options.device_id }).to_string();
    context
        .output
        .answer(&raw, || format!("installed {} and started {}", file.display(), options.device_id))?;
    Ok(0)
}

/// The service manager's failure as one of this program.
fn told(error: ServiceError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error.hint() {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}

/// What of this environment the device needs as a service too: its commands, its settings, whom it trusts.
fn kept_environment() -> Vec<(String, String)> {
    let names = ["PATH", "XDG_CONFIG_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR"];
    let set = names.into_iter().filter_map(|name| Some((name, std::env::var(name).ok()?)));
    // A service starts in another directory.
    let absolute = |name: &str, value: String| match name {
        "SSL_CERT_FILE" => match std::path::absolute(&value) {
            Ok(path) => path.to_string_lossy().into_owned(),
            Err(_) => value,
        },
        _ => value,
    };
    set.filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| (name.into(), absolute(name, value)))
        .collect()
}

/// The device's settings; those of the login are only filled in.
fn keep(file: &mut ConfigFile, options: &Options, origin: TokenSource) -> Result<()> {
    for (key, value) in [("gateway.url", &options.url), ("gateway.username", &options.username)] {
        if file.get(key).is_none() {
            file.set(key, value)?;
        }
    }
    file.set("node.id", &options.device_id)?;
    if let (Some(token), TokenSource::Flag) = (&options.token, origin) {
        file.set("node.token", token)?;
    }
    file.set("node.username", &options.username)?;
    file.set("node.url", &options.url)?;
    file.set("node.workspace", &options.workspace.to_string_lossy())?;
    match &options.root {
        Some(root) => file.set("node.root", &root.to_string_lossy())?,
        None => file.remove("node.root"),
    }
    match options.allow.is_empty() {
        true => file.remove("node.allow"),
        false => file.set("node.allow", &options.allow.join(","))?,
    }
    match options.agents {
        AgentMode::Confined => file.remove("node.agents"),
        mode => file.set("node.agents", json!(mode).as_str().unwrap_or_default())?,
    }
    Ok(())
}

/// Starts the service.
pub fn start(context: &Context) -> Result<u8> {
    service::run_all(&Manager::here().start_steps(&home()?)).map_err(told)?;
    context.output.answer(&json!({ "ok": true }).to_string(), || "started".to_string())?;
    Ok(0)
}

/// Stops the service.
pub fn stop(context: &Context) -> Result<u8> {
    service::run_all(&Manager::here().stop_steps(&home()?)).map_err(told)?;
    context.output.answer(&json!({ "ok": true }).to_string(), || "stopped".to_string())?;
    Ok(0)
}

/// Shows what the service manager says of the service; fails when it does not run.
pub fn status(context: &Context) -> Result<u8> {
    let step = Manager::here().status_step();
    if !context.output.json {
        return Ok(u8::from(!step.attach().map_err(told)?.success()));
    }
    let (running, text) = match step.run() {
        Ok(text) => (true, text),
        Err(ServiceError::Failed { why, .. }) => (false, why),
        Err(error) => return Err(told(error)),
    };
    context.output.raw_json(&json!({ "running": running, "text": text }).to_string())?;
    Ok(u8::from(!running))
}

/// Shows what the service said.
pub fn logs(lines: u32, follow: bool, json: bool) -> Result<u8> {
    let step = Manager::here().logs_step(&home()?, lines, follow, json);
    Ok(u8::from(!step.attach().map_err(told)?.success()))
}

fn home() -> Result<PathBuf> {
    dirs::home_dir().ok_or_else(|| Failure::new("there is no home directory: set HOME"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_is_kept_and_the_login_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("config.toml");
        std::fs::write(&path, "[gateway]\nusername = \"root\"\n").unwrap();
        let mut file = ConfigFile::load_from(&path).unwrap();
        let mut options = Options {
            url: "ws://home/ws".into(),
            username: "alice".into(),
            token: Some("first".into()),
            device_id: "desk".into(),
            workspace: "/work".into(),
            root: None,
            allow: vec!["fs.read".into()],
            agents: Default::default(),
            state: None,
            version: "0".into(),
        };
        keep(&mut file, &options, TokenSource::Flag).unwrap();
        options.token = Some("not for keeping".into());
        keep(&mut file, &options, TokenSource::Stored).unwrap();
        for (key, value) in [
            ("gateway.username", "root"),
            ("gateway.url", "ws://home/ws"),
            ("node.username", "alice"),
            ("node.url", "ws://home/ws"),
            ("node.token", "first"),
            ("node.allow", "fs.read"),
        ] {
            assert_eq!(file.get(key).as_deref(), Some(value), "{key}");
        }
    }
}
