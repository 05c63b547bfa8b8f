//! Description of one confined command: what runs, what it sees, what it may change and use.

mod os_text;
#[cfg(target_os = "linux")]
mod resolved;

use std::ffi::OsString;
use std::path::PathBuf;

use base::limits::sandbox as limit;
use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
pub(crate) use resolved::real_path;

/// Everything the helper must know. Paths are absolute; what does not exist is skipped, because covering it would
/// create it in somebody's tree.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Spec {
    /// The program, as an absolute path, and its arguments.
    #[serde(with = "os_text::list")]
    pub command: Vec<OsString>,
    /// The whole environment of the command.
    #[serde(with = "os_text::pairs")]
    pub env: Vec<(OsString, OsString)>,
    /// Where it starts.
    #[serde(with = "os_text")]
    pub cwd: PathBuf,
    /// The tree that it may change.
    #[serde(with = "os_text")]
    pub workspace: PathBuf,
    /// More places that it may change, as a person allowed.
    #[serde(with = "os_text::list")]
    pub writable: Vec<PathBuf>,
    /// Directory of this run that appears as `/tmp` and `/var/tmp`.
    #[serde(with = "os_text")]
    pub tmp: PathBuf,
    /// Files and directories that cannot be read, by this name or by the one they really have.
    #[serde(with = "os_text::list")]
    pub hidden: Vec<PathBuf>,
    /// Directories in which only what exists now and is not hidden can be seen.
    pub inverted: Vec<Inverted>,
    /// What stays as it is inside the workspace and the other writable places.
    #[serde(with = "os_text::list")]
    pub read_only: Vec<PathBuf>,
    /// Trees of which the command changes a copy: a rehearsal.
    pub overlays: Vec<Overlay>,
    /// Package caches of which each workspace has its own upper layer.
    pub cache_overlays: Vec<Overlay>,
    /// What it may use.
    pub limits: Limits,
    /// By which means it is confined.
    pub mode: Mode,
}

impl Spec {
    /// A command in a workspace with nothing hidden and nothing more allowed, in full mode.
    pub fn new(command: Vec<OsString>, workspace: PathBuf, tmp: PathBuf) -> Spec {
        Spec {
            command,
            env: Vec::new(),
            cwd: workspace.clone(),
            workspace,
            writable: Vec::new(),
            tmp,
            hidden: Vec::new(),
            inverted: Vec::new(),
            read_only: Vec::new(),
            overlays: Vec::new(),
            cache_overlays: Vec::new(),
            limits: Limits::default(),
            mode: Mode::Full,
        }
    }
}

/// A directory shown by inversion: an empty one takes its place, into which what exists and is not named here is put
/// back read-only. A secret that is created later does not appear.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Inverted {
    /// The directory, `$HOME` or one of the like.
    #[serde(with = "os_text")]
    pub dir: PathBuf,
    /// Names in it that stay away.
    #[serde(with = "os_text::list")]
    pub hide: Vec<OsString>,
}

/// A tree whose changes go to a directory beside it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Overlay {
    /// The tree, at the place where it is seen.
    #[serde(with = "os_text")]
    pub target: PathBuf,
    /// Where the changes are.
    #[serde(with = "os_text")]
    pub upper: PathBuf,
    /// Empty directory on the file system of `upper` that the kernel works in.
    #[serde(with = "os_text")]
    pub work: PathBuf,
    /// Whether `upper` is mounted again later. Else nothing is synced, and it can only be read once more.
    pub kept: bool,
}

/// What a command may use. The defaults are in `base::limits::sandbox`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Limits {
    /// Processes and threads.
    pub processes: u64,
    /// Open files of one process.
    pub open_files: u64,
    /// Size of one file, in bytes.
    pub file_bytes: u64,
    /// Memory of all processes, in bytes; looked at from time to time, so it can be exceeded for a moment.
    pub memory_bytes: u64,
    /// Size of `/dev/shm`, in bytes.
    pub shared_memory_bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            processes: limit::PROCESSES_MAX,
            open_files: limit::OPEN_FILES_MAX,
            file_bytes: limit::FILE_MAX_BYTES,
            memory_bytes: limit::MEMORY_MAX_BYTES,
            shared_memory_bytes: limit::SHARED_MEMORY_MAX_BYTES,
        }
    }
}

/// By which means a command is confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Namespaces, mounts, seccomp, and Landlock where there is one.
    Full,
    /// Landlock and seccomp alone. It keeps a command from writing outside, and promises no more.
    Landlock,
}

/// What became of a set-up, known when the helper has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The command was started; the exit status is its own.
    Started,
    /// It was started, and ended because its processes held more memory than they may.
    OutOfMemory,
    /// It was never started, for this reason.
    NotStarted(String),
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    #[test]
    fn names_that_are_no_text_arrive_as_they_are() {
        let odd = OsString::from_vec(b"a\xff\n\"".to_vec());
        let mut spec = Spec::new(vec!["/bin/true".into(), odd.clone()], "/w".into(), "/t".into());
        spec.env.push(("K".into(), odd.clone()));
        spec.hidden.push(PathBuf::from(&odd));
        spec.inverted.push(Inverted { dir: PathBuf::from(&odd), hide: vec![odd.clone()] });
        let text = serde_json::to_vec(&spec).unwrap();
        let back: Spec = serde_json::from_slice(&text).unwrap();
        assert_eq!((back.command, back.env, back.hidden), (spec.command, spec.env, spec.hidden));
        assert_eq!(back.inverted[0].hide, [odd]);
    }
}
