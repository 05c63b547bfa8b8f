//! File access of the driver, to the whole machine or below one directory; every `fs.*` handler goes through here.
//! Every `fs.*` handler goes through here.
//!
//! An operation first finds the [`Entry`]: an open directory and one name in it. Only finding it differs
//! between the whole machine and a confined one; what is then done to the entry is the same code. Below a
//! root every step is resolved by `cap-std` beneath the root's open directory, so neither `..` nor a symbolic
//! link leads out, not even one that is swapped in between two steps. Absolute links are refused there.

mod entry;
mod failure;
mod guard;
mod local_path;
mod remove;

pub use entry::Entry;
pub(crate) use entry::{cannot_be_replaced, hidden_name, keep_owner_and_mode};
pub use failure::Failure;
pub(crate) use failure::{outside, say_outside};
use guard::Access;
pub use guard::Guard;
pub use local_path::LocalPath;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use base::sync::lock;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirEntry};

/// How many edits may be under way in different files at once, at best.
const EDIT_LOCKS: usize = 16;

/// The files a driver offers. Cheap to clone.
#[derive(Clone)]
pub struct Files {
    root: Arc<Root>,
    workspace: PathBuf,
    home: Option<PathBuf>,
    edits: Arc<[Mutex<()>; EDIT_LOCKS]>,
    /// For the calls of agents that nobody approved.
    guard: Option<Arc<Guard>>,
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
        let (root, home) = (Arc::new(root), std::env::home_dir());
        Files { root, workspace, home, edits: Arc::default(), guard: None }
    }

    /// The same files with another home directory than that of the user who runs this.
    pub fn at_home(self, home: PathBuf) -> Files {
        Files { home: Some(home), ..self }
    }

    /// The same files for a call of an agent that nobody approved.
    pub fn guarded(&self, guard: Arc<Guard>) -> Files {
        Files { guard: Some(guard), ..self.clone() }
    }

    /// Whose home directory `~` is.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Where relative paths start.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// Whether the files are confined below a root.
    pub fn is_confined(&self) -> bool {
        matches!(*self.root, Root::Below { .. })
    }

    /// What exists at a place, links followed, to be read.
    pub fn entry(&self, place: &LocalPath) -> io::Result<Entry> {
        let canonical = self.canonical(&place.inner)?;
        self.check(&canonical, Access::Read)?;
        self.entry_at(&canonical)
    }

    /// What exists at a place, links followed, to be read and changed.
    pub fn entry_to_change(&self, place: &LocalPath) -> io::Result<Entry> {
        let canonical = self.canonical(&place.inner)?;
        self.check(&canonical, Access::Read)?;
        self.check(&canonical, Access::Write)?;
        self.entry_at(&canonical)
    }

    /// What exists at a place, the last link not followed, to be removed.
    pub fn entry_itself(&self, place: &LocalPath) -> io::Result<Entry> {
        let (Some(parent), Some(name)) = (place.inner.parent(), place.inner.file_name()) else {
            return self.entry_to_change(place);
        };
        let canonical = self.canonical(parent)?.join(name);
        self.check(&canonical, Access::Write)?;
        let entry = self.entry_at(&canonical)?;
        entry.metadata_itself().map(|_| entry)
    }

    /// A file to be written: its directory is made, a link to a file is followed, anything else is refused.
    pub fn entry_to_write(&self, place: &LocalPath) -> io::Result<Entry> {
        let (Some(parent), Some(name)) = (place.inner.parent(), place.inner.file_name()) else {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        };
        let parent = match self.canonical(parent) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.check_before_making(parent)?;
                self.create_dir_all(parent)?;
                self.canonical(parent)?
            }
            found => found?,
        };
        self.check(&parent.join(name), Access::Write)?;
        let entry = self.entry_at(&parent.join(name))?;
        let existing = match entry.metadata_itself() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(entry),
            Err(error) => return Err(error),
            Ok(existing) => existing,
        };
        let entry = if existing.is_symlink() { self.entry_to_change(place)? } else { entry };
        let metadata = entry.metadata_itself()?;
        if metadata.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        if !metadata.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        Ok(entry)
    }

    /// The directories that have to be made before a file can be written, the outermost first, by their real paths.
    pub(crate) fn missing_directories(&self, place: &LocalPath) -> Vec<PathBuf> {
        let mut missing = Vec::new();
        for above in place.inner.ancestors().skip(1) {
            match self.canonical(above) {
                Ok(found) => {
                    let real = self.real(&found);
                    let below = |path: &Path| Some(real.join(path.strip_prefix(above).ok()?));
                    return missing.into_iter().rev().filter_map(below).collect();
                }
                Err(_) => missing.push(above),
            }
        }
        Vec::new()
    }

    /// The real path of a place that need not exist, as a call may ask about it.
    pub(crate) fn real_path(&self, place: &LocalPath) -> io::Result<PathBuf> {
        let canonical = self.canonical(&place.inner).or_else(|_| {
            let (Some(parent), Some(name)) = (place.inner.parent(), place.inner.file_name()) else {
                return Ok(place.inner.clone());
            };
            // A directory that is gone too can only be taken by its name.
            Ok::<_, io::Error>(self.canonical(parent).unwrap_or_else(|_| parent.to_path_buf()).join(name))
        })?;
        self.check(&canonical, Access::Read)?;
        Ok(self.real(&canonical))
    }

    /// What has that real path, which must not lead through links by now. It need not exist, its directory must.
    pub(crate) fn entry_exactly(&self, real: &Path) -> io::Result<Entry> {
        let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        };
        let inner = self.inner(parent)?;
        let found = self.canonical(if is_top(inner) { Path::new(".") } else { inner })?;
        if self.real(&found) != parent {
            return Err(io::Error::other("its directory is another one now"));
        }
        self.check(&found.join(name), Access::Write)?;
        let dir = match &*self.root {
            Root::Machine => open_without_links(inner)?,
            Root::Below { .. } => self.open_dir(inner)?,
        };
        Ok(Entry::new(dir, name.to_os_string(), real.to_path_buf()))
    }

    /// Opens a file that a walk below an entry has found. Links are not followed.
    pub(crate) fn open_found(&self, real: &Path) -> io::Result<File> {
        let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        };
        self.check(self.inner(real)?, Access::Read)?;
        Entry::new(self.open_dir(self.inner(parent)?)?, name.to_os_string(), real.to_path_buf()).open()
    }

    /// What a directory holds that a walk below an entry has found.
    pub(crate) fn list_found(&self, real: &Path) -> io::Result<impl Iterator<Item = io::Result<DirEntry>>> {
        self.check(self.inner(real)?, Access::Read)?;
        self.open_dir(self.inner(real)?)?.entries()
    }

    fn inner<'a>(&self, real: &'a Path) -> io::Result<&'a Path> {
        match &*self.root {
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
        match &*self.root {
            Root::Machine => inner.canonicalize(),
            Root::Below { .. } if is_top(inner) => Ok(PathBuf::new()),
            Root::Below { dir, .. } => dir.canonicalize(inner).map_err(say_outside),
        }
    }

    /// Whether a call may go on to what has that canonical path.
    fn check(&self, canonical: &Path, access: Access) -> io::Result<()> {
        match &self.guard {
            None => Ok(()),
            Some(guard) => guard.check(&self.real(canonical), access),
        }
    }

    /// Directories are made only where the nearest one that exists may be written.
    fn check_before_making(&self, inner: &Path) -> io::Result<()> {
        if self.guard.is_none() {
            return Ok(());
        }
        for above in inner.ancestors().skip(1) {
            match self.canonical(above) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                found => {
                    let below = inner.strip_prefix(above).unwrap_or(Path::new(""));
                    return self.check(&found?.join(below), Access::Write);
                }
            }
        }
        Err(io::Error::from(io::ErrorKind::NotFound))
    }

    fn real(&self, canonical: &Path) -> PathBuf {
        match &*self.root {
            Root::Machine => canonical.to_path_buf(),
            Root::Below { path, .. } if is_top(canonical) => path.clone(),
            Root::Below { path, .. } => path.join(canonical),
        }
    }

    /// `canonical` is real up to its last name.
    fn entry_at(&self, canonical: &Path) -> io::Result<Entry> {
        let real = self.real(canonical);
        match (canonical.parent(), canonical.file_name()) {
            (Some(parent), Some(name)) => Ok(Entry::new(self.open_dir(parent)?, name.to_os_string(), real)),
            _ => Ok(Entry::new(self.open_dir(canonical)?, ".".into(), real)),
        }
    }

    fn open_dir(&self, inner: &Path) -> io::Result<Dir> {
        match &*self.root {
            // What was checked is what is opened: a link that took a directory's place since then is not followed.
            Root::Machine if self.guard.is_some() => open_without_links(inner),
            Root::Machine => Dir::open_ambient_dir(inner, ambient_authority()),
            Root::Below { dir, .. } if is_top(inner) => dir.try_clone(),
            Root::Below { dir, .. } => dir.open_dir(inner).map_err(say_outside),
        }
    }

    fn create_dir_all(&self, inner: &Path) -> io::Result<()> {
        match &*self.root {
            Root::Machine => std::fs::create_dir_all(inner),
            Root::Below { dir, .. } => dir.create_dir_all(inner).map_err(say_outside),
        }
    }
}

#[cfg(target_os = "linux")]
fn open_without_links(path: &Path) -> io::Result<Dir> {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    let dir = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
    Ok(Dir::from_std_file(File::from(dir)))
}

#[cfg(not(target_os = "linux"))]
fn open_without_links(path: &Path) -> io::Result<Dir> {
    // Opened step by step below the root, by a library that does not follow a link out.
    let root = Dir::open_ambient_dir("/", ambient_authority())?;
    root.open_dir(path.strip_prefix("/").unwrap_or(path)).map_err(say_outside)
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
