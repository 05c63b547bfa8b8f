//! Service installation of the driver: a systemd user unit on Linux, a launchd agent on macOS. The texts are made here
//! and checked as texts; only `gsv` prints what the commands say.

mod launchd;
mod systemd;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// The service's name.
pub const NAME: &str = "gsvd";

/// The exit code of a driver that would fail again if it were started again, and is not: `EX_CONFIG` of sysexits.h.
pub const EXIT_FINAL: u8 = 78;

/// What runs services on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manager {
    /// `systemctl --user`
    Systemd,
    /// `launchctl`
    Launchd,
}

/// What the service runs.
#[derive(Clone, Debug)]
pub struct Unit {
    /// The program, an absolute path.
    pub program: PathBuf,
    /// Its arguments, such as `device run --id mac`.
    pub arguments: Vec<String>,
    /// The home directory the unit is written to.
    pub home: PathBuf,
    /// What of the environment the service keeps, such as the `PATH` of its commands.
    pub environment: Vec<(String, String)>,
}

/// One command to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Looked up on the `PATH`.
    pub program: String,
    pub arguments: Vec<String>,
    /// Whether its failure may be passed over.
    pub optional: bool,
}

/// Why a service could not be managed.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The manager's program does not exist.
    #[error("{program} was not found on this machine: run `gsv device run` in the foreground instead")]
    Absent {
        /// What was looked for.
        program: String,
    },
    /// The command ran and failed.
    #[error("`{command}` failed: {why}")]
    Failed {
        /// The command line.
        command: String,
        /// What it said.
        why: String,
    },
    /// The unit's file could not be written.
    #[error("cannot write {path}: {why}")]
    File { path: String, why: io::Error },
}

impl ServiceError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        let ServiceError::Failed { why, .. } = self else { return None };
        if why.contains("not found") || why.contains("not loaded") || why.contains("Could not find") {
            return Some("install it first with `gsv device install`");
        }
        if why.contains("bus") || why.contains("XDG_RUNTIME_DIR") {
            return Some(
                "services of a user need a login of that user, not `su` or `sudo`; `gsv device run` runs the device in the foreground",
            );
        }
        Some("`gsv device run` runs the device in the foreground")
    }
}

impl Manager {
    /// The manager of this platform. Builds with debug assertions listen to `GSV_SERVICE_MANAGER`, so that both can
    /// be tested anywhere.
    pub fn here() -> Manager {
        let asked = if cfg!(debug_assertions) { std::env::var("GSV_SERVICE_MANAGER").ok() } else { None };
        match asked.as_deref() {
            Some("launchd") => return Manager::Launchd,
            Some("systemd") => return Manager::Systemd,
            _ => {}
        }
        if cfg!(target_os = "macos") { Manager::Launchd } else { Manager::Systemd }
    }

    /// Where the unit's file belongs.
    pub fn file(self, home: &Path) -> PathBuf {
        match self {
            Manager::Systemd => systemd::file(home),
            Manager::Launchd => launchd::file(home),
        }
    }

    /// The unit's text.
    pub fn text(self, unit: &Unit) -> String {
        match self {
            Manager::Systemd => systemd::text(unit),
            Manager::Launchd => launchd::text(unit),
        }
    }

    /// What to run after the file was written.
    pub fn install_steps(self, home: &Path) -> Vec<Step> {
        match self {
            Manager::Systemd => systemd::install_steps(),
            Manager::Launchd => launchd::start_steps(home),
        }
    }

    /// What starts the service.
    pub fn start_steps(self, home: &Path) -> Vec<Step> {
        match self {
            Manager::Systemd => vec![Step::new("systemctl", &["--user", "start", NAME])],
            Manager::Launchd => launchd::start_steps(home),
        }
    }

    /// What stops the service.
    pub fn stop_steps(self, home: &Path) -> Vec<Step> {
        match self {
            Manager::Systemd => vec![Step::new("systemctl", &["--user", "stop", NAME])],
            Manager::Launchd => vec![launchd::stop_step(home)],
        }
    }

    /// What tells how the service stands.
    pub fn status_step(self) -> Step {
        match self {
            Manager::Systemd => Step::new("systemctl", &["--user", "--no-pager", "status", NAME]),
            Manager::Launchd => Step::new("launchctl", &["list", NAME]),
        }
    }

    /// What shows the last lines of the log, and further ones as they come; for programs where the manager can.
    pub fn logs_step(self, home: &Path, lines: u32, follow: bool, json: bool) -> Step {
        match self {
            Manager::Systemd => systemd::logs_step(lines, follow, json),
            Manager::Launchd => launchd::logs_step(home, lines, follow),
        }
    }
}

/// Writes the unit's file and registers it. Returns the file's path.
pub fn install(manager: Manager, unit: &Unit) -> Result<PathBuf, ServiceError> {
    let file = manager.file(&unit.home);
    let written = write_file(&file, &manager.text(unit));
    written.map_err(|why| ServiceError::File { path: file.display().to_string(), why })?;
    run_all(&manager.install_steps(&unit.home))?;
    Ok(file)
}

/// Runs steps in order, up to the first that fails. Returns what they said.
pub fn run_all(steps: &[Step]) -> Result<String, ServiceError> {
    let mut said = String::new();
    for step in steps {
        match step.run() {
            Ok(text) => said.push_str(&text),
            Err(_) if step.optional => {}
            Err(error) => return Err(error),
        }
    }
    Ok(said)
}

fn write_file(file: &Path, text: &str) -> io::Result<()> {
    if let Some(directory) = file.parent() {
        std::fs::create_dir_all(directory)?;
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o644);
    options.open(file)?.write_all(text.as_bytes())
}

impl Step {
    fn new(program: &str, arguments: &[&str]) -> Step {
        let arguments = arguments.iter().map(|text| text.to_string()).collect();
        Step { program: program.to_string(), arguments, optional: false }
    }

    /// Runs it and returns what it said.
    pub fn run(&self) -> Result<String, ServiceError> {
        let output = self.command().output().map_err(|error| self.not_started(&error))?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            return Ok(said);
        }
        let complaint = String::from_utf8_lossy(&output.stderr).trim().to_string();
        let why = if complaint.is_empty() { said.trim().to_string() } else { complaint };
        let why = match why.is_empty() {
            true => output.status.to_string(),
            // One sentence is one line.
            false => why.lines().map(str::trim).collect::<Vec<_>>().join(" "),
        };
        Err(ServiceError::Failed { command: self.line(), why })
    }

    /// Runs it with the terminal of this program as its own.
    pub fn attach(&self) -> Result<ExitStatus, ServiceError> {
        self.command().status().map_err(|error| self.not_started(&error))
    }

    /// As one would type it.
    pub fn line(&self) -> String {
        std::iter::once(&self.program).chain(&self.arguments).cloned().collect::<Vec<_>>().join(" ")
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command
    }

    fn not_started(&self, error: &io::Error) -> ServiceError {
        if error.kind() == io::ErrorKind::NotFound {
            return ServiceError::Absent { program: self.program.clone() };
        }
        ServiceError::Failed { command: self.line(), why: error.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_manager_and_a_failure_are_told_apart() {
        let error = Step::new("no-such-manager", &["start"]).run().unwrap_err();
        assert!(error.to_string().contains("no-such-manager was not found"), "{error}");
        let error = Step::new("sh", &["-c", "echo no bus >&2; exit 3"]).run().unwrap_err();
        assert_eq!(error.to_string(), "`sh -c echo no bus >&2; exit 3` failed: no bus");
        assert_eq!(Step::new("sh", &["-c", "echo fine"]).run().unwrap(), "fine\n");
    }

    #[test]
    fn an_optional_step_may_fail() {
        let failing = Step { optional: true, ..Step::new("false", &[]) };
        assert_eq!(run_all(&[failing.clone(), Step::new("echo", &["on"])]).unwrap(), "on\n");
        assert!(run_all(&[Step { optional: false, ..failing }]).is_err());
    }
}
