//! Fixture of the confined benchmark: a home with secrets and a workspace in it, described to the sandbox as a device's
//! driver does, and a stopwatch around a shell command inside and outside.

use std::ffi::OsString;
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use base::clock::Clock;
use sandbox::{Ahead, Confined, Inverted, NetworkNamespace, Outcome, Sandbox, Setup, Spec};
use tempfile::TempDir;

const SHELL: &str = "/bin/sh";
/// By then a helper waits.
const HELPER_STARTS: Duration = Duration::from_millis(20);
/// What lies in the home.
const HOME_FILES: &[&str] = &[
    ".aws/credentials",
    ".bash_history",
    ".bashrc",
    ".cache/tool/data",
    ".config/gh/hosts.yml",
    ".config/git/ignore",
    ".config/gsv/config.toml",
    ".config/tool/settings",
    ".docker/config.json",
    ".gitconfig",
    ".git-credentials",
    ".gnupg/secring.gpg",
    ".kube/config",
    ".local/bin/tool",
    ".local/share/keyrings/login.keyring",
    ".local/share/tool/data",
    ".netrc",
    ".npmrc",
    ".profile",
    ".ssh/id_ed25519",
    ".vimrc",
    "Desktop/note.txt",
    "Documents/letter.txt",
    "Downloads/archive.tar",
    "Pictures/cat.png",
    "other/src/main.c",
    "work/.git/HEAD",
    "work/.git/config",
    "work/.git/hooks/pre-commit",
    "work/.vscode/tasks.json",
];
/// Directories of the home that are shown by inversion, each with what is hidden in it.
const INVERTED: &[(&str, &[&str])] = &[
    (
        "",
        &[
            ".aws",
            ".bash_history",
            ".docker",
            ".git-credentials",
            ".gnupg",
            ".kube",
            ".netrc",
            ".npmrc",
            ".ssh",
        ],
    ),
    (".cache", &[]),
    (".config", &["gh", "gsv"]),
    (".local", &[]),
    (".local/share", &["keyrings"]),
];
/// What stays as it is in the workspace.
const READ_ONLY: &[&str] = &[".git/config", ".git/hooks", ".vscode"];

/// Where commands run.
pub(super) struct Bed {
    sandbox: Sandbox,
    network: NetworkNamespace,
    workspace: PathBuf,
    env: Vec<(OsString, OsString)>,
    spec: Spec,
    _folder: TempDir,
}

impl Bed {
    /// Makes the home and opens the network that all confined commands share, as the commands of one run do. It lies
    /// beside the binary, because a sandbox has a `/tmp` of its own.
    pub(super) fn make(gsv: &Path) -> Result<Bed> {
        let beside = gsv.parent().context("the gateway's binary lies in no directory")?;
        let folder = tempfile::Builder::new()
            .prefix("bench-confined-")
            .tempdir_in(beside)
            .with_context(|| format!("make a directory in {}", beside.display()))?;
        let root = folder.path().canonicalize().context("find the directory")?;
        let (home, state) = (root.join("home"), root.join("state"));
        let (workspace, tmp) = (home.join("work"), state.join("tmp"));
        for file in HOME_FILES {
            let path = home.join(file);
            fs::create_dir_all(path.parent().unwrap_or(&home)).context("make a home")?;
            fs::write(path, "# nothing\n").context("fill a home")?;
        }
        fs::create_dir_all(&tmp).context("make a directory for temporary files")?;
        let sandbox = Sandbox::with_helper(gsv.to_path_buf());
        let network = sandbox.network().context("there is no sandbox on this machine")?;
        let env = environment(&home, &workspace);
        let mut spec = Spec::new(Vec::new(), workspace.clone(), tmp);
        spec.env = env.clone();
        spec.read_only = READ_ONLY.iter().map(|name| workspace.join(name)).collect();
        spec.hidden.push(state);
        for (below, hide) in INVERTED {
            let dir = if below.is_empty() { home.clone() } else { home.join(below) };
            spec.hidden.extend(hide.iter().map(|name| dir.join(name)));
            spec.inverted.push(Inverted { dir, hide: hide.iter().map(OsString::from).collect() });
        }
        Ok(Bed { sandbox, network, workspace, env, spec, _folder: folder })
    }

    /// The tree that confined commands may change.
    pub(super) fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// Removes what builds have left.
    pub(super) fn clean(&self) -> Result<()> {
        match fs::remove_dir_all(target(&self.workspace)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error).context("remove the target directory")
            }
            _ => Ok(()),
        }
    }

    /// Milliseconds of a script in the sandbox, from its description to the news of its end, by a helper that waits for it
    /// as a driver's does.
    pub(super) fn confined(&self, script: &str) -> Result<f64> {
        let spec = self.spec_of(script);
        let Ahead { mut command, helper } = self.sandbox.ahead().context("prepare a helper")?;
        let child = quiet(&mut command).spawn().context("start a helper")?;
        drop(command);
        // A driver's has been waiting since the command before.
        std::thread::sleep(HELPER_STARTS);
        let begin = Clock::system().instant();
        let setup = helper.run(&spec, Some(&self.network)).context("hand over the command")?;
        ended(script, child, setup, begin)
    }

    /// The same by a helper that is started for it, as for a second command at the same time.
    pub(super) fn confined_anew(&self, script: &str) -> Result<f64> {
        let spec = self.spec_of(script);
        let begin = Clock::system().instant();
        let Confined { mut command, setup } =
            self.sandbox.command(&spec, Some(&self.network)).context("prepare the sandbox")?;
        let child = quiet(&mut command).spawn().context("start the sandbox")?;
        drop(command);
        ended(script, child, setup, begin)
    }

    fn spec_of(&self, script: &str) -> Spec {
        let command = [SHELL, "-c", script].map(OsString::from).into();
        Spec { command, ..self.spec.clone() }
    }

    /// Milliseconds of the same script outside, with the same environment.
    pub(super) fn plain(&self, script: &str) -> Result<f64> {
        let mut command = Command::new(SHELL);
        command.args(["-c", script]).current_dir(&self.workspace).env_clear();
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        let begin = Clock::system().instant();
        let output = quiet(&mut command).output().context("start a shell")?;
        let elapsed = begin.elapsed();
        succeeded(script, &output)?;
        Ok(elapsed.as_secs_f64() * 1_000.0)
    }
}

/// Waits for a command's end as a driver does: for the end of its output, and for what its helper tells. What the helper
/// clears away afterwards is waited for, and not measured.
fn ended(script: &str, mut child: Child, mut setup: Setup, begin: Instant) -> Result<f64> {
    let mut said = String::new();
    child.stderr.take().context("no output")?.read_to_string(&mut said).context("read the output")?;
    let status = setup.wait().context("wait for the end")?;
    let elapsed = begin.elapsed();
    child.wait().context("wait for the helper")?;
    match setup.outcome() {
        Outcome::Started => {}
        Outcome::OutOfMemory => bail!("{script}, confined, took too much memory"),
        Outcome::NotStarted(why) => bail!("{script} could not be confined: {why}"),
    }
    let status = status.context("the helper did not tell how the command ended")?;
    ensure!(status.success(), "{script}, confined: {status}: {}", said.trim());
    Ok(elapsed.as_secs_f64() * 1_000.0)
}

fn quiet(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped())
}

fn succeeded(script: &str, output: &Output) -> Result<()> {
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{script}: {}: {}", output.status, said.trim());
    Ok(())
}

/// Where builds write.
fn target(workspace: &Path) -> PathBuf {
    workspace.join("target")
}

/// The same for both sides. The home is not the user's, so it says where the user's compiler is.
fn environment(home: &Path, workspace: &Path) -> Vec<(OsString, OsString)> {
    let mut env: Vec<(OsString, OsString)> = vec![
        ("HOME".into(), home.into()),
        ("CARGO_TARGET_DIR".into(), target(workspace).into()),
        // A compiler cache would be measured in place of the compiler.
        ("RUSTC_WRAPPER".into(), OsString::new()),
    ];
    let passed = ["PATH", "LANG", "RUSTUP_TOOLCHAIN"];
    env.extend(passed.iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?))));
    let users = std::env::var_os("HOME").map(PathBuf::from);
    for (name, below) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        let default = || users.as_ref().map(|home| home.join(below).into_os_string());
        env.extend(std::env::var_os(name).or_else(default).map(|place| (name.into(), place)));
    }
    env
}
