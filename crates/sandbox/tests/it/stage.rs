//! Stage of a test: a directory on disk with a workspace, a home with secrets, a canary, and a run's network namespace.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use sandbox::{NetworkNamespace, Outcome, Sandbox, Spec};

pub struct Stage {
    /// Keeps the directory.
    _dir: tempfile::TempDir,
    pub root: PathBuf,
    pub workspace: PathBuf,
    pub home: PathBuf,
    pub tmp: PathBuf,
    pub sandbox: Sandbox,
    pub network: NetworkNamespace,
}

/// How a command went.
#[derive(Debug)]
pub struct Done {
    pub outcome: Outcome,
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Stage {
    pub fn new() -> Stage {
        let dir = tempfile::Builder::new()
            .prefix("sandbox-")
            .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
            .expect("a directory");
        let root = std::fs::canonicalize(dir.path()).expect("a path");
        let [workspace, home, tmp] = ["work", "home", "tmp"].map(|name| root.join(name));
        for path in [&workspace, &home, &tmp] {
            std::fs::create_dir(path).expect("a directory");
        }
        std::fs::write(root.join("canary"), "canary").expect("a canary");
        let sandbox = Sandbox::with_helper(env!("CARGO_BIN_EXE_sandbox-helper").into());
        let network = sandbox.network().expect("this machine must allow user namespaces to run these tests");
        Stage { _dir: dir, root, workspace, home, tmp, sandbox, network }
    }

    pub fn spec(&self, command: &[&str]) -> Spec {
        let command = command.iter().map(OsString::from).collect();
        let mut spec = Spec::new(command, self.workspace.clone(), self.tmp.clone());
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
        spec.env = vec![("PATH".into(), path), ("HOME".into(), self.home.clone().into())];
        spec
    }

    pub fn sh(&self, script: &str) -> Done {
        self.run(&self.spec(&["/bin/sh", "-c", script]))
    }

    pub fn run(&self, spec: &Spec) -> Done {
        let mut confined = self.sandbox.command(spec, Some(&self.network)).expect("a command");
        let command = &mut confined.command;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = command.output().expect("a child");
        Done {
            outcome: confined.setup.outcome(),
            code: output.status.code(),
            signal: output.status.signal(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    pub fn write(&self, path: impl AsRef<Path>, text: &str) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::fs::write(path, text).expect("a file");
    }
}
