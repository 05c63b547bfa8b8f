//! File access of the driver, to the whole machine or below one directory; every `fs.*` handler goes through here.
//! Every `fs.*` handler goes through here.
//!
//! An operation first finds the [`Entry`]: an open directory and one name in it. Only finding it differs
//! between the whole machine and a confined one; what is then done to the entry is the same code. Below a
//! root every step is resolved by `cap-std` beneath the root's open directory, so neither `..` nor a symbolic
//! link leads out, not even one that is swapped in between two steps. Absolute links are refused there.

mod entry;
mod failure;
mod local_path;
mod remove;

pub use entry::Entry;
pub(crate) use entry::{cannot_be_replaced, hidden_name, keep_owner_and_mode};
pub use failure::Failure;
pub(crate) use failure::{outside, say_outside};
pub use local_path::LocalPath;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use base::sync::lock;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirEntry};

/// How many edits may be under way in different files at once, at best.
const EDIT_LOCKS: usize = 16;

/// The files a driver offers.
pub struct Files {
    root: Root,
    workspace: PathBuf,
    home: Option<PathBuf>,
    edits: [Mutex<()>; EDIT_LOCKS],
}

enum Root {
    Machine,
    Below {
        /// Where everything is resolved.
        dir: Dir,
        /// Its real path.
        path: PathBuf,
        /// Its path as it was given.
        given: PathBuf,
    },
}

impl Files {
    /// All files of the machine. Relative paths start at the workspace.
    pub fn whole(workspace: &Path) -> io::Result<Files> {
        Ok(Files::new(Root::Machine, checked_directory(workspace)?))
    }

    /// Only the files below `root`. A workspace outside of it is replaced by the root itself.
    pub fn below(root: &Path, workspace: &Path) -> io::Result<Files> {
        let given = checked_directory(root)?;
        let path = given.canonicalize()?;
        let dir = Dir::open_ambient_dir(&path, ambient_authority())?;
        let workspace = match workspace.canonicalize() {
            Ok(real) if real.starts_with(&path) => real,
            _ => path.clone(),
        };
        Ok(Files::new(Root::Below { dir, path, given }, workspace))
    }

    fn new(root: Root, workspace: PathBuf) -> Files {
        Files { root, workspace, home: std::env::home_dir(), edits: Default::default() }
    }

    /// Where relative paths start.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// Whether the files are confined below a root.
    pub fn is_confined(&self) -> bool {
        matches!(self.root, Root::Below { .. })
    }

    /// What exists at a place, links followed.
    pub fn entry(&self, place: &LocalPath) -> io::Result<Entry> {
        self.entry_at(&self.canonical(&place.inner)?)
    }

    /// What exists at a place, the last link not followed.
    pub fn entry_itself(&self, place: &LocalPath) -> io::Result<Entry> {
        let (Some(parent), Some(name)) = (place.inner.parent(), place.inner.file_name()) else {
            return self.entry(place);
        };
        let entry = self.entry_at(&self.canonical(parent)?.join(name))?;
        entry.metadata_itself().map(|_| entry)
    }

    /// A file to be written: its directory is made, a link to a file is followed, anything else is refused.
    pub fn entry_to_write(&self, place: &LocalPath) -> io::Result<Entry> {
        let (Some(parent), Some(name)) = (place.inner.parent(), place.inner.file_name()) else {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        };
        let parent = match self.canonical(parent) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.create_dir_all(parent)?;
                self.canonical(parent)?
            }
            found => found?,
        };
        let entry = self.entry_at(&parent.join(name))?;
        let existing = match entry.metadata_itself() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(entry),
            Err(error) => return Err(error),
            Ok(existing) => existing,
        };
        let entry = if existing.is_symlink() { self.entry(place)? } else { entry };
        let metadata = entry.metadata_itself()?;
        if metadata.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        if !metadata.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        Ok(entry)
    }

    /// Opens a file that a walk below an entry has found. Links are not followed.
    pub(crate) fn open_found(&self, real: &Path) -> io::Result<File> {
        let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        };
        Entry::new(self.open_dir(self.inner(parent)?)?, name.to_os_string(), real.to_path_buf()).open()
    }

    /// What a directory holds that a walk below an entry has found.
    pub(crate) fn list_found(&self, real: &Path) -> io::Result<impl Iterator<Item = io::Result<DirEntry>>> {
        self.open_dir(self.inner(real)?)?.entries()
    }

    fn inner<'a>(&self, real: &'a Path) -> io::Result<&'a Path> {
        match &self.root {
            Root::Machine => Ok(real),
            Root::Below { path, .. } => real.strip_prefix(path).map_err(|_| outside()),
        }
    }

    /// Keeps two edits of one file from overwriting each other.
    pub(crate) fn lock_edit(&self, real: &Path) -> MutexGuard<'_, ()> {
        use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(real);
        lock(&self.edits[hash as usize % EDIT_LOCKS])
    }

    fn canonical(&self, inner: &Path) -> io::Result<PathBuf> {
        match &self.root {
            Root::Machine => inner.canonicalize(),
            Root::Below { .. } if is_top(inner) => Ok(PathBuf::new()),
            Root::Below { dir, .. } => dir.canonicalize(inner).map_err(say_outside),
        }
    }

    /// `canonical` is real up to its last name.
    fn entry_at(&self, canonical: &Path) -> io::Result<Entry> {
        let real = match &self.root {
            Root::Machine => canonical.to_path_buf(),
            Root::Below { path, .. } if is_top(canonical) => path.clone(),
            Root::Below { path, .. } => path.join(canonical),
        };
        match (canonical.parent(), canonical.file_name()) {
            (Some(parent), Some(name)) => Ok(Entry::new(self.open_dir(parent)?, name.to_os_string(), real)),
            _ => Ok(Entry::new(self.open_dir(canonical)?, ".".into(), real)),
        }
    }

    fn open_dir(&self, inner: &Path) -> io::Result<Dir> {
        match &self.root {
            Root::Machine => Dir::open_ambient_dir(inner, ambient_authority()),
            Root::Below { dir, .. } if is_top(inner) => dir.try_clone(),
            Root::Below { dir, .. } => dir.open_dir(inner).map_err(say_outside),
        }
    }

    fn create_dir_all(&self, inner: &Path) -> io::Result<()> {
        match &self.root {
            Root::Machine => std::fs::create_dir_all(inner),
            Root::Below { dir, .. } => dir.create_dir_all(inner).map_err(say_outside),
        }
    }
}

fn is_top(inner: &Path) -> bool {
    inner.as_os_str().is_empty() || inner == Path::new(".")
}

fn checked_directory(path: &Path) -> io::Result<PathBuf> {
    if !std::fs::metadata(path)?.is_dir() {
        return Err(io::Error::from(io::ErrorKind::NotADirectory));
    }
    std::path::absolute(path)
}
