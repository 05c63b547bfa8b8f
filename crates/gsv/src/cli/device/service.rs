//! The device as a service of the user, through the machine's own service manager.

use std::path::PathBuf;

use device::service::{self, Manager, ServiceError, Unit};
use serde_json::json;

use super::{Settings, options};
use crate::config_file::{self, ConfigFile};
use crate::context::Context;
use crate::failure::{Failure, Result};

impl From<ServiceError> for Failure {
    fn from(error: ServiceError) -> Failure {
        Failure::new(error.to_string())
    }
}

/// Keeps the settings, so that the unit itself holds no secret, and starts the service.
pub fn install(context: &Context, settings: Settings) -> Result<u8> {
    let options = options(context, &ConfigFile::load()?, settings)?;
    config_file::update(|file| {
        file.set("gateway.url", &options.url)?;
        file.set("gateway.username", &options.username)?;
        file.set("node.id", &options.device_id)?;
        file.set("node.token", options.token.as_deref().unwrap_or_default())?;
        file.set("node.workspace", &options.workspace.to_string_lossy())?;
        match &options.root {
            Some(root) => file.set("node.root", &root.to_string_lossy())?,
            None => file.remove("node.root"),
        }
        match options.allow.is_empty() {
            true => file.remove("node.allow"),
            false => file.set("node.allow", &options.allow.join(","))?,
        }
        Ok(())
    })?;
    let unit = Unit {
        program: std::env::current_exe()?,
        arguments: ["device", "run"].map(str::to_string).to_vec(),
        home: home()?,
        path: std::env::var("PATH").ok(),
    };
    let file = service::install(Manager::here(), &unit)?;
    let raw = json!({ "file": file, "deviceId": options.device_id }).to_string();
    context
        .output
        .answer(&raw, || format!("installed {} and started {}", file.display(), options.device_id))?;
    Ok(0)
}

/// Starts the service.
pub fn start(context: &Context) -> Result<u8> {
    service::run_all(&Manager::here().start_steps(&home()?))?;
    context.output.answer(&json!({ "ok": true }).to_string(), || "started".to_string())?;
    Ok(0)
}

/// Stops the service.
pub fn stop(context: &Context) -> Result<u8> {
    service::run_all(&Manager::here().stop_steps(&home()?))?;
    context.output.answer(&json!({ "ok": true }).to_string(), || "stopped".to_string())?;
    Ok(0)
}

/// Shows what the service manager says of the service; fails when it does not run.
pub fn status(context: &Context) -> Result<u8> {
    let step = Manager::here().status_step();
    if !context.output.json {
        return Ok(u8::from(!step.attach()?.success()));
    }
    let (running, text) = match step.run() {
        Ok(text) => (true, text),
        Err(ServiceError::Failed { why, .. }) => (false, why),
        Err(error) => return Err(error.into()),
    };
    context.output.raw_json(&json!({ "running": running, "text": text }).to_string())?;
    Ok(u8::from(!running))
}

/// Shows what the service said.
pub fn logs(lines: u32, follow: bool) -> Result<u8> {
    let step = Manager::here().logs_step(&home()?, lines, follow);
    Ok(u8::from(!step.attach()?.success()))
}

fn home() -> Result<PathBuf> {
    dirs::home_dir().ok_or_else(|| Failure::new("there is no home directory: set HOME"))
}
