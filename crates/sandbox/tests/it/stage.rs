//! Stage of a test: a directory on disk with a workspace, a home with secrets, things outside that nothing may touch,
//! and a run's network namespace.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use sandbox::{Confined, Inverted, Mode, NetworkNamespace, Outcome, Sandbox, Spec};

/// What no attempt may read.
pub const SECRET: &str = "sesame-4711-secret";
/// The program that makes attempts.
pub const HELPER: &str = env!("CARGO_BIN_EXE_sandbox-helper");

pub struct Stage {
    /// Keeps the directory.
    _dir: tempfile::TempDir,
    pub root: PathBuf,
    pub workspace: PathBuf,
    pub home: PathBuf,
    pub outside: PathBuf,
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

impl Drop for Stage {
    fn drop(&mut self) {
        drop(sandbox::overlay::discard(&self.root));
    }
}

impl Stage {
    pub fn new() -> Stage {
        let dir = tempfile::Builder::new()
            .prefix("s")
            .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
            .expect("a directory");
        let root = fs::canonicalize(dir.path()).expect("a path");
        let [workspace, home, outside, tmp] = ["work", "home", "outside", "tmp"].map(|name| root.join(name));
        for path in [&workspace, &home, &outside, &tmp] {
            fs::create_dir(path).expect("a directory");
        }
        let sandbox = Sandbox::with_helper(HELPER.into());
        let network = sandbox.network().expect("these tests need a machine that allows user namespaces");
        let stage = Stage { _dir: dir, root, workspace, home, outside, tmp, sandbox, network };
        stage.furnish();
        stage
    }

    fn furnish(&self) {
        for path in ["home/.ssh/id", "outside/aws/credentials", "home/.config/gsv/token", "outside/keys"] {
            self.write(path, SECRET);
        }
        symlink(self.outside.join("aws"), self.home.join(".aws")).expect("a link");
        self.write("home/.gitconfig", "[user]\n\tname = A\n\temail = a@example.org\n");
        self.write("home/.config/tool/settings", "settings");
        self.write("outside/file", "canary");
        self.write("outside/directory/file", "canary");
        self.write("work/file", "mine");
        self.write("work/.git/hooks/pre-commit", "hook");
        self.write("work/.git/config", "[core]\n");
        self.write("work/.git/HEAD", "ref: refs/heads/main\n");
        self.write("work/a/b/.vscode/tasks.json", "{}");
    }

    pub fn spec(&self, command: &[&str]) -> Spec {
        let command = command.iter().map(OsString::from).collect();
        let mut spec = Spec::new(command, self.workspace.clone(), self.tmp.clone());
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
        let places = [("HOME", &self.home), ("OUT", &self.outside), ("WORK", &self.workspace)];
        spec.env = places.map(|(name, path)| (name.into(), path.into())).into();
        spec.env.extend([("PATH".into(), path), ("HELPER".into(), HELPER.into())]);
        spec.hidden = vec![self.outside.join("keys"), self.home.join(".ssh")];
        spec.inverted = vec![
            Inverted { dir: self.home.clone(), hide: vec![".ssh".into(), ".aws".into()] },
            Inverted { dir: self.home.join(".config"), hide: vec!["gsv".into()] },
        ];
        spec.read_only = self.protected();
        spec
    }

    pub fn protected(&self) -> Vec<PathBuf> {
        [".git/hooks", ".git/config", "a/b/.vscode", "missing/.envrc"]
            .map(|path| self.workspace.join(path))
            .into()
    }

    pub fn sh(&self, script: &str) -> Done {
        self.run(&self.spec(&["/bin/sh", "-c", script]))
    }

    /// One raw attempt.
    pub fn attempt(&self, words: &[&str]) -> Done {
        self.run(&self.spec(&[&[HELPER], words].concat()))
    }

    /// One raw system call.
    pub fn call(&self, number: libc::c_long, arguments: &[&str]) -> Done {
        self.attempt(&[&["call", number.to_string().as_str()], arguments].concat())
    }

    pub fn confined(&self, spec: &Spec) -> Confined {
        let network = (spec.mode == Mode::Full).then_some(&self.network);
        let mut confined = self.sandbox.command(spec, network).expect("a command");
        confined.command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        confined
    }

    pub fn run(&self, spec: &Spec) -> Done {
        let Confined { mut command, setup } = self.confined(spec);
        let output = command.output().expect("a child");
        Done {
            outcome: setup.outcome(),
            code: output.status.code(),
            signal: output.status.signal(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    pub fn write(&self, path: impl AsRef<Path>, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
    }

    /// Everything that no command may change: what lies outside, and what is protected inside.
    pub fn canaries(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        let places = [self.home.clone(), self.outside.clone()].into_iter().chain(self.protected());
        for place in places.filter(|place| place.exists()) {
            note(&place, &mut found);
        }
        found
    }

    /// Whether the secret's text stands anywhere that a command can write.
    pub fn secret_is_out(&self) -> bool {
        [&self.workspace, &self.tmp].into_iter().any(|place| holds_secret(place))
    }
}

/// Notes all that can be seen of a file: the time of its last change of any kind among it.
fn note(path: &Path, found: &mut BTreeMap<PathBuf, String>) {
    let stat = fs::symlink_metadata(path).expect("a file");
    let content = if stat.is_file() { fs::read_to_string(path).expect("text") } else { String::new() };
    let seen = format!(
        "{:o} {} {} {} {}.{} {content}",
        stat.mode(),
        stat.ino(),
        stat.nlink(),
        stat.size(),
        stat.ctime(),
        stat.ctime_nsec()
    );
    found.insert(path.to_owned(), seen);
    if stat.is_dir() {
        for entry in fs::read_dir(path).expect("a directory") {
            note(&entry.expect("an entry").path(), found);
        }
    }
}

fn holds_secret(path: &Path) -> bool {
    match fs::symlink_metadata(path) {
        Ok(stat) if stat.is_file() => {
            let bytes = fs::read(path).unwrap_or_default();
            bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes())
        }
        Ok(stat) if stat.is_dir() => {
            fs::read_dir(path).into_iter().flatten().flatten().any(|entry| holds_secret(&entry.path()))
        }
        _ => false,
    }
}

/// The shells that every attempt is made in. They read the same text differently.
pub fn shells() -> [&'static str; 3] {
    let shells = ["/bin/bash", "/bin/dash", "/bin/zsh"];
    for shell in shells {
        assert!(Path::new(shell).exists(), "{shell} is needed: `cargo xtask test` installs it");
    }
    shells
}

impl Done {
    /// The number of the error that an attempt met, or none if it succeeded.
    pub fn errno(&self) -> Option<i32> {
        let error = self.out.trim().strip_prefix("error ").map(|number| number.parse().expect("a number"));
        assert!(error.is_some() || self.out.starts_with("ok"), "{self:?}");
        error
    }
}
