//! Data directory of a gateway under test. When it goes, git must find nothing wrong with any repository in it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A data directory that goes with this.
pub(crate) struct Data(tempfile::TempDir);

impl Data {
    pub(crate) fn new() -> Data {
        Data(tempfile::tempdir().expect("a temporary directory"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        // One failure is enough.
        if !std::thread::panicking() {
            repositories(self.path()).iter().for_each(|repository| check(repository));
        }
    }
}

fn repositories(data: &Path) -> Vec<PathBuf> {
    let below = |path: PathBuf| std::fs::read_dir(path).into_iter().flatten().flatten();
    let all = below(data.join("repos")).flat_map(|owner| below(owner.path()));
    all.map(|entry| entry.path()).filter(|path| path.join("HEAD").is_file()).collect()
}

fn check(repository: &Path) {
    let fsck = ["fsck", "--strict", "--full", "--no-dangling", "--no-progress"];
    let safe = ["-c", "safe.directory=*"];
    // Where there is no git there is nobody to ask.
    let Ok(output) = Command::new("git").args(safe).args(fsck).current_dir(repository).output() else {
        return;
    };
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git finds something wrong in {}: {told}", repository.display());
}
