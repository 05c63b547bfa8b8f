//! A workspace and a store in a temporary directory, and a way to look at a whole tree.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use checkpoint::{Budget, Change, Checkpoints, Difference, Id, Label, Restore, Restored, Taken, When};

/// The hour at which tests take place.
pub const NOW_MS: i64 = 1_800_000_000_000;

/// A workspace with its checkpoints.
pub struct Kit {
    pub dir: tempfile::TempDir,
    pub at: Checkpoints,
}

impl Kit {
    /// In memory where that is to be had: a disk is slow to sync.
    pub fn new() -> Kit {
        let memory = Path::new("/dev/shm");
        let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        Kit::at(dir.expect("a directory"))
    }

    /// On a disk, whose file system has habits of its own.
    pub fn on_disk() -> Kit {
        Kit::at(tempfile::tempdir().expect("a directory"))
    }

    fn at(dir: tempfile::TempDir) -> Kit {
        fs::create_dir(dir.path().join("work")).expect("a workspace");
        let at = Checkpoints::open(&dir.path().join("store"), &dir.path().join("work")).expect("a store");
        Kit { dir, at }
    }

    pub fn root(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    pub fn path(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.root().join(Path::new(name.as_ref()))
    }

    /// Writes a file, with the directories around it.
    pub fn write(&self, name: impl AsRef<OsStr>, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(path, content).expect("a file");
    }

    pub fn read(&self, name: impl AsRef<OsStr>) -> Vec<u8> {
        fs::read(self.path(name)).expect("a file")
    }

    pub fn exists(&self, name: impl AsRef<OsStr>) -> bool {
        self.path(name).symlink_metadata().is_ok()
    }

    pub fn remove(&self, name: impl AsRef<OsStr>) {
        let path = self.path(name);
        let is_dir = path.symlink_metadata().expect("something").is_dir();
        if is_dir { fs::remove_dir_all(path) } else { fs::remove_file(path) }.expect("removed");
    }

    pub fn chmod(&self, name: impl AsRef<OsStr>, mode: u32) {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).expect("a mode");
    }

    pub fn take(&self, when: When) -> Taken {
        self.take_of("run", when)
    }

    pub fn take_of(&self, run: &str, when: When) -> Taken {
        self.at.take(&label(run, when), NOW_MS, &Budget::default()).expect("a checkpoint")
    }

    /// Takes the checkpoint before, does something as an agent would, and takes the one after.
    pub fn run(&self, what: impl FnOnce()) -> (Id, Id) {
        let before = self.take(When::Before).id;
        what();
        (before, self.take(When::After).id)
    }

    pub fn restore(&self, id: Id) -> Restored {
        self.restore_with(id, &Restore::default())
    }

    pub fn restore_with(&self, id: Id, how: &Restore) -> Restored {
        self.at.restore(id, how, NOW_MS, &Budget::default()).expect("a restore")
    }

    /// Runs git in the workspace, or in a directory of it.
    pub fn git(&self, dir: &str, arguments: &[&str]) -> String {
        let output = git(&self.path(dir), arguments);
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Everything in the workspace.
    pub fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        look(&self.root(), &self.root(), &mut tree);
        tree
    }
}

pub fn label(run: &str, when: When) -> Label {
    Label { pid: "p1".into(), run: run.into(), call: None, when }
}

/// Kind, permission bits and content, by path.
pub type Tree = BTreeMap<PathBuf, (char, u32, Vec<u8>)>;

fn look(root: &Path, dir: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        let metadata = path.symlink_metadata().expect("metadata");
        let kind = metadata.file_type();
        let name = path.strip_prefix(root).expect("below").to_path_buf();
        let mode = metadata.mode() & 0o7777;
        if kind.is_dir() {
            tree.insert(name, ('d', mode, Vec::new()));
            look(root, &path, tree);
        } else if kind.is_symlink() {
            let target = fs::read_link(&path).expect("a link");
            tree.insert(name, ('l', 0, target.as_os_str().as_bytes().to_vec()));
        } else if kind.is_file() {
            tree.insert(name, ('f', mode, fs::read(&path).unwrap_or_default()));
        } else {
            tree.insert(name, ('s', mode, Vec::new()));
        }
    }
}

/// Git with no settings but its own.
pub fn git(dir: &Path, arguments: &[&str]) -> Output {
    Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("git runs")
}

/// Whether the git program is there.
pub fn has_git() -> bool {
    Command::new("git").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// The changes as short lines, without those of repositories' own directories.
pub fn told(differences: &[Difference]) -> Vec<String> {
    let word = |change| match change {
        Change::Added => '+',
        Change::Removed => '-',
        Change::Content => '~',
        Change::Mode => 'm',
        Change::Kind => 'k',
    };
    let files = differences.iter().filter(|difference| !difference.in_repository);
    files.map(|difference| format!("{}{}", word(difference.change), difference.path.display())).collect()
}

/// A clock's tick passes: what changes from now on has a later time. File systems' clocks stand still for some
/// milliseconds, so this waits until they move.
pub fn tick(kit: &Kit) {
    let path = kit.dir.path().join("tick");
    let time = || {
        fs::write(&path, "x").expect("a file");
        let metadata = fs::metadata(&path).expect("metadata");
        (metadata.mtime(), metadata.mtime_nsec())
    };
    let first = time();
    while time() == first {
        std::thread::yield_now();
    }
}
