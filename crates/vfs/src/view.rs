//! The tree as one caller sees it: every operation, checked against the caller.

use std::fs::File;
use std::sync::Arc;

use protocol::calls::Calls;
use protocol::identity::ProcessIdentity;
use protocol::ids::{Gid, Uid};

use crate::fault::{Code, Fault};
use crate::path::VPath;
use crate::stat::{Named, Stat};
use crate::tree::{Facts, Tree};

/// Whether the last part of a path, if it is a link, is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// It is followed.
    Yes,
    /// The link itself is meant.
    No,
}

/// Where file work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// On the thread that asks: for threads that may wait, such as those of the shell.
    Here,
    /// On a thread for work that waits: for callers on the async runtime.
    Aside,
}

/// What was opened for reading.
pub enum Opened {
    /// A file on disk, at its beginning.
    File(File, Stat),
    /// A live file's text as it is now; `stat.size` is its length.
    Bytes(Vec<u8>, Stat),
    /// A directory.
    Directory(Stat),
}

/// How a file is written.
#[derive(Clone, Copy, Debug)]
pub struct Writing {
    /// The mode of a new file; an existing one keeps its own.
    pub mode: u32,
    /// Whether missing directories on the way are made.
    pub parents: bool,
    /// Whether the file must not be there yet.
    pub exclusive: bool,
}

impl Default for Writing {
    fn default() -> Self {
        Writing { mode: 0o644, parents: false, exclusive: false }
    }
}

/// The tree as one caller sees it. Cheap to clone.
#[derive(Clone)]
pub struct View {
    pub(crate) tree: Arc<Tree>,
    pub(crate) who: Arc<ProcessIdentity>,
    pub(crate) calls: Calls,
    pub(crate) facts: Arc<dyn Facts>,
    pub(crate) work: Work,
}

impl View {
    /// The tree as `who` sees it; live files make their calls through `calls`.
    pub fn new(
        tree: Arc<Tree>,
        who: Arc<ProcessIdentity>,
        calls: Calls,
        facts: Arc<dyn Facts>,
        work: Work,
    ) -> View {
        View { tree, who, calls, facts, work }
    }

    /// Who looks.
    pub fn who(&self) -> &ProcessIdentity {
        &self.who
    }

    /// The same view for a thread that may wait.
    pub fn here(&self) -> View {
        View { work: Work::Here, ..self.clone() }
    }

    /// What a path given by a person means: `~`, relative to the cwd, `.` and `..`.
    pub fn path(&self, text: &str) -> Result<VPath, Fault> {
        VPath::resolve(text, &self.who.home, &self.who.cwd)
    }

    /// What is at a path.
    pub async fn stat(&self, path: &VPath, _follow: Follow) -> Result<Stat, Fault> {
        Err(Fault::new(Code::Unsupported, "stat", path.as_str()))
    }

    /// The names in a directory, sorted.
    pub async fn list(&self, path: &VPath) -> Result<Vec<Named>, Fault> {
        Err(Fault::new(Code::Unsupported, "scandir", path.as_str()))
    }

    /// Opens for reading.
    pub async fn open(&self, path: &VPath) -> Result<Opened, Fault> {
        Err(Fault::new(Code::Unsupported, "open", path.as_str()))
    }

    /// A whole file, at most `limits::FILE_READ_BYTES_MAX` ([`Code::TooLarge`] beyond).
    pub async fn read(&self, path: &VPath) -> Result<Vec<u8>, Fault> {
        Err(Fault::new(Code::Unsupported, "open", path.as_str()))
    }

    /// Replaces or creates a file, atomically and durably.
    pub async fn write(&self, path: &VPath, _bytes: Vec<u8>, _how: Writing) -> Result<Stat, Fault> {
        Err(Fault::new(Code::Unsupported, "open", path.as_str()))
    }

    /// Adds to the end of a file, creating it if need be.
    pub async fn append(&self, path: &VPath, _bytes: Vec<u8>) -> Result<(), Fault> {
        Err(Fault::new(Code::Unsupported, "open", path.as_str()))
    }

    /// Replaces a file's content by what `change` makes of it; nobody else changes it meanwhile.
    /// `change` may refuse with words of its own: the outer result is the tree's, the inner one `change`'s.
    pub async fn edit<T: Send + 'static, E: Send + 'static>(
        &self,
        path: &VPath,
        _change: impl FnOnce(Vec<u8>) -> Result<(Vec<u8>, T), E> + Send + 'static,
    ) -> Result<Result<T, E>, Fault> {
        Err(Fault::new(Code::Unsupported, "open", path.as_str()))
    }

    /// Makes a directory; `recursive` makes missing parents too and is content with one that is there.
    pub async fn mkdir(&self, path: &VPath, _recursive: bool, _mode: u32) -> Result<(), Fault> {
        Err(Fault::new(Code::Unsupported, "mkdir", path.as_str()))
    }

    /// Removes a file, a link, or a directory; one that is not empty only with `recursive`.
    pub async fn remove(&self, path: &VPath, _recursive: bool) -> Result<(), Fault> {
        Err(Fault::new(Code::Unsupported, "unlink", path.as_str()))
    }

    /// Moves; replaces a file that is there.
    pub async fn rename(&self, from: &VPath, _to: &VPath) -> Result<(), Fault> {
        Err(Fault::new(Code::Unsupported, "rename", from.as_str()))
    }

    /// Copies one file.
    pub async fn copy(&self, from: &VPath, _to: &VPath) -> Result<(), Fault> {
        Err(Fault::new(Code::Unsupported, "cp", from.as_str()))
    }

    /// Makes a symbolic link; `target` is kept as it is written.
    pub async fn symlink(&self, _target: &str, link: &VPath) -> Result<(), Fault> {
        Err(Fault::new(Code::Unsupported, "symlink", link.as_str()))
    }

    /// Where a link leads, as it is written.
    pub async fn read_link(&self, path: &VPath) -> Result<String, Fault> {
        Err(Fault::new(Code::Unsupported, "readlink", path.as_str()))
    }

    /// Sets the permission bits.
    pub async fn chmod(&self, path: &VPath, _mode: u32) -> Result<(), Fault> {
        Err(Fault::new(Code::Unsupported, "chmod", path.as_str()))
    }

    /// Sets owner and group: root any, the owner a group of its own.
    pub async fn chown(&self, path: &VPath, _uid: Option<Uid>, _gid: Option<Gid>) -> Result<(), Fault> {
        Err(Fault::new(Code::Unsupported, "chown", path.as_str()))
    }

    /// Sets the time of the last change.
    pub async fn set_modified(&self, path: &VPath, _ms: i64) -> Result<(), Fault> {
        Err(Fault::new(Code::Unsupported, "utimes", path.as_str()))
    }

    /// Whether the caller may read (4), write (2) and execute or enter (1), for the bits asked.
    pub async fn may(&self, path: &VPath, _bits: u32) -> Result<bool, Fault> {
        Err(Fault::new(Code::Unsupported, "access", path.as_str()))
    }
}
