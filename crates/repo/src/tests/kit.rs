//! Bare repositories in memory where that is to be had, and the git program beside them.

use std::path::{Path, PathBuf};
use std::process::Command;

use base::clock::Clock;
use gix_hash::ObjectId;

use crate::git::bare::Bare;
use crate::git::commit::{self, NewCommit, Stamp};
use crate::git::edit::Change;
use crate::git::fault::Fault;
use crate::git::init;
use crate::git::paths::TreePath;
use crate::git::refs::Branch;

/// A bare repository that goes with this.
pub(super) struct Repository {
    dir: tempfile::TempDir,
}

impl Repository {
    pub(super) fn new() -> Repository {
        let memory = Path::new("/dev/shm");
        let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        let repository = Repository { dir: dir.expect("a directory") };
        init::init(&repository.path(), "test").expect("a repository");
        repository
    }

    pub(super) fn path(&self) -> PathBuf {
        self.dir.path().join("owner/name.git")
    }

    /// A directory beside it.
    pub(super) fn beside(&self) -> PathBuf {
        self.dir.path().join("beside")
    }

    pub(super) fn open(&self) -> Bare {
        Bare::open(&self.path()).expect("open")
    }

    /// What git answers.
    pub(super) fn git(&self, args: &[&str]) -> String {
        git(&self.path(), args)
    }

    /// That git finds nothing wrong.
    pub(super) fn is_sound(&self) {
        let told = self.git(&["fsck", "--strict", "--full", "--no-dangling", "--no-progress"]);
        // That there is no commit yet is told, and fine.
        let wrong: Vec<&str> = told.lines().filter(|line| !line.starts_with("notice: ")).collect();
        assert_eq!(wrong, [""; 0]);
    }
}

/// Git finds nothing wrong with any repository that a test has made.
impl Drop for Repository {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.is_sound();
        }
    }
}

/// What git answers in a directory; it reads nothing of the machine's settings.
pub(super) fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-c")
        .arg("core.quotePath=false")
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .envs([("GIT_AUTHOR_NAME", "g"), ("GIT_AUTHOR_EMAIL", "g@x"), ("GIT_COMMITTER_NAME", "g")])
        .env("GIT_COMMITTER_EMAIL", "g@x")
        .output()
        .expect("git");
    let told =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "git {args:?}: {told}");
    told
}

pub(super) fn path(text: &str) -> TreePath {
    TreePath::to_write(text).expect("a path")
}

pub(super) fn put(at: &str, content: impl AsRef<[u8]>) -> Change {
    Change::Put { path: path(at), content: content.as_ref().to_vec(), executable: None }
}

/// A commit on `main` that is to be made.
pub(super) fn new(message: &str, changes: Vec<Change>) -> NewCommit {
    let who = Stamp { name: "sam".into(), email: "sam@gsv.local".into(), seconds: 1_800_000_000 };
    NewCommit {
        branch: Branch::main(),
        author: who.clone(),
        committer: who,
        message: message.to_string(),
        expected: None,
        allow_empty: false,
        changes,
    }
}

pub(super) fn make(bare: &Bare, new: &NewCommit) -> Result<Option<ObjectId>, Fault> {
    commit::advance(bare, new, &Clock::system())
}
