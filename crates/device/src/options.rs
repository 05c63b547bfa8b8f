//! Options of a driver, validated before anything is connected.

use std::path::PathBuf;

use base::clock::Clock;
use protocol::capability;
use protocol::confine::{AgentMode, Confinement};
use protocol::ids::DeviceId;
use protocol::sys::{Auth, Client, Connect, Driver};

use sandbox::Sandbox;

use crate::agents::Enforced;
use crate::driver::RunError;
use crate::files::Files;

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The gateway.
    pub url: String,
    /// Whose device this is.
    pub username: String,
    /// The device token.
    pub token: Option<String>,
    /// The device's name.
    pub device_id: String,
    /// Where relative paths and commands start.
    pub workspace: PathBuf,
    /// Confines `fs.*` below this directory.
    pub root: Option<PathBuf>,
    /// Patterns of calls to offer; everything that is implemented when empty.
    pub allow: Vec<String>,
    /// What agents may do unasked.
    pub agents: AgentMode,
    /// Where checkpoints and temporary files of agents' runs are kept; without it nothing is confined.
    pub state: Option<PathBuf>,
    /// The driver's version.
    pub version: String,
}

impl Options {
    pub(crate) fn check(&self) -> Result<(), RunError> {
        // Whether an id is fit is the gateway's to say: it knows devices from before there was a rule.
        if self.device_id.trim().is_empty() {
            return Err(RunError::Options(format!("the device id is empty: {}", DeviceId::RULE)));
        }
        if let Some(bad) = self.allow.iter().find(|pattern| !capability::is_valid(pattern)) {
            return Err(RunError::Options(format!(
                "--allow: '{bad}' is not a pattern such as fs.read or fs.*"
            )));
        }
        Ok(())
    }

    pub(crate) fn files(&self) -> Result<Files, RunError> {
        match &self.root {
            None => Files::whole(&self.workspace).map_err(|error| {
                RunError::Options(format!("--workspace {}: {error}", self.workspace.display()))
            }),
            Some(root) => Files::below(root, &self.workspace)
                .map_err(|error| RunError::Options(format!("--root {}: {error}", root.display()))),
        }
    }

    /// The sandbox of this machine, as far as it can be trusted: what it enforces is found by trying.
    pub(crate) fn sandbox(&self, clock: &Clock) -> Option<Enforced> {
        let state = self.state.clone()?;
        if matches!(self.agents, AgentMode::Off | AgentMode::Ask) {
            return None;
        }
        let sandbox = Sandbox::this_program();
        let strength = match std::fs::create_dir_all(&state) {
            Ok(()) => sandbox.probe(&state),
            Err(error) => {
                tracing::warn!("commands of agents are not confined: {}: {error}", state.display());
                return None;
            }
        };
        if let Some(cause) = &strength.cause {
            tracing::warn!("commands of agents can not be confined on this machine: {cause}");
        }
        let words = strength.words.iter().map(|word| word.to_string()).collect();
        Some(Enforced { sandbox, words, state, clock: clock.clone() })
    }

    pub(crate) fn connect_args(
        &self,
        implements: &[String],
        confinement: &Confinement,
        instance: &str,
    ) -> Connect {
        let platform = if cfg!(target_os = "macos") { "darwin" } else { std::env::consts::OS };
        let auth = self.token.as_ref().map(|token| Auth {
            username: self.username.clone(),
            password: None,
            token: Some(token.clone()),
        });
        Connect {
            protocol: 1,
            client: Client {
                id: self.device_id.clone(),
                version: self.version.clone(),
                platform: platform.to_string(),
                role: "driver".to_string(),
                channel: None,
                features: Vec::new(),
            },
            driver: Some(Driver {
                implements: implements.to_vec(),
                instance: Some(instance.to_string()),
                remembers: Some(true),
                confinement: confinement.clone(),
            }),
            auth,
            resume: None,
            streams: None,
        }
    }
}

/// The names a driver offers. A shell cannot be confined, so with a root `shell.exec` must be named.
pub fn implements(names: &[&str], allow: &[String], confined: bool) -> Vec<String> {
    let named = |name: &str| allow.iter().any(|pattern| pattern != "*" && capability::matches(pattern, name));
    let offered = |name: &str| match (allow.is_empty(), confined && name.starts_with("shell.")) {
        (_, true) => named(name),
        (true, false) => true,
        (false, false) => capability::covers(allow, name),
    };
    names.iter().filter(|name| offered(name)).map(|name| name.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confined_shell_must_be_asked_for_by_name() {
        let names = ["fs.read", "fs.write", "shell.exec"];
        let offered = |allow: &[&str], confined| {
            implements(&names, &allow.iter().map(|text| text.to_string()).collect::<Vec<_>>(), confined)
                .join(" ")
        };
        assert_eq!(offered(&[], false), "fs.read fs.write shell.exec");
        assert_eq!(offered(&[], true), "fs.read fs.write");
        assert_eq!(offered(&["*"], true), "fs.read fs.write");
        assert_eq!(offered(&["fs.read", "shell.exec"], true), "fs.read shell.exec");
        assert_eq!(offered(&["fs.*"], false), "fs.read fs.write");
        assert_eq!(offered(&["sched.add"], false), "");
    }
}
