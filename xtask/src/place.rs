//! Paths of the repository, the target directory and programs; and how children are run.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use base::clock::Clock;

/// The repository's root.
pub fn root() -> PathBuf {
    // Cargo says at run time where it found this package; the compiled-in path may be that of another checkout.
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let manifest = manifest.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    manifest.parent().map_or(manifest.clone(), Path::to_path_buf)
}

/// Where cargo builds.
pub fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(target) => root().join(target),
        None => root().join("target"),
    }
}

/// The path of a program, if it is installed.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|place| place.join(name)).find(|file| file.is_file())
}

/// A child in the repository's root that cannot ask anything and builds where we do.
pub fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root()).stdin(Stdio::null()).env("CARGO_TARGET_DIR", target());
    command
}

/// The cargo that runs us.
pub fn cargo(args: &[&str]) -> Command {
    let mut command = command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // Settings of the cargo that runs this program are not meant for the one it starts.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") || text == "CARGO_BIN_NAME" {
            command.env_remove(&name);
        }
    }
    command.args(args);
    command
}

/// Runs a child to its end; its output is ours.
pub fn run(command: &mut Command) -> Result<()> {
    let text = describe(command);
    println!("$ {text}");
    // A group of its own, so that a step that hangs is ended with everything it started.
    let mut child = command.process_group(0).spawn().with_context(|| format!("could not start: {text}"))?;
    let deadline = Clock::system().instant() + STEP_TIME_MAX;
    let status = loop {
        if let Some(status) = child.try_wait().with_context(|| format!("lost: {text}"))? {
            break status;
        }
        if Clock::system().instant() > deadline {
            end_group(child.id());
            child.wait().with_context(|| format!("lost: {text}"))?;
            bail!("ended after {} minutes: {text}", STEP_TIME_MAX.as_secs() / 60);
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    if !status.success() {
        bail!("failed ({status}): {text}");
    }
    Ok(())
}

/// No step takes longer than this on the slowest machine that counts.
const STEP_TIME_MAX: Duration = Duration::from_secs(40 * 60);

fn end_group(leader: u32) {
    // The shell's own `kill` is always there; the program is not.
    let script = format!("kill -9 -- -{leader}");
    let ended = Command::new("/bin/sh").args(["-c", &script]).status();
    if !ended.is_ok_and(|status| status.success()) {
        println!("the children of a step that hung could not be ended");
    }
}

fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}
