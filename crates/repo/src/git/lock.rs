//! Compare-and-swap of refs under git's own lock file, `<ref>.lock`, so that the git program and this one never move
//! the same ref at once.
//!
//! Our lock file is made whole, under another name, held with `flock`, and then linked to its place. It says that it
//! is ours, and whether its holder lives: what a killed gateway left is taken away at once, and nobody waits for it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use base::clock::Clock;
use base::limits::repo as limits;
use gix_hash::ObjectId;

use super::bare::Bare;
use super::fault::Fault;
use crate::faults::step;

/// What stands in a lock file of ours.
const OURS: &str = "gsv\n";

/// What is in a repository's directory and begins so belongs to an import.
pub(crate) const IMPORT: &str = "gsv-import-";

/// Tells the files of this program apart.
static NUMBERS: AtomicU64 = AtomicU64::new(0);

/// A ref that nobody else moves while this lives.
pub(crate) struct RefLock<'a> {
    bare: &'a Bare,
    name: String,
    lock: PathBuf,
    /// Its lock ends with this program.
    _held: File,
}

impl<'a> RefLock<'a> {
    /// Waits for a ref, for a while.
    pub(crate) fn take(bare: &'a Bare, name: &str, clock: &Clock) -> Result<RefLock<'a>, Fault> {
        let path = bare.path().join(name);
        let lock = with_lock(&path);
        let (draft, held) = draft(bare)?;
        step("lock drafted")?;
        let linked = link(&draft, &lock, clock, || make_parents(bare.path(), &path, name));
        fs::remove_file(&draft)?;
        linked?;
        step("lock taken")?;
        Ok(RefLock { bare, name: name.to_string(), lock, _held: held })
    }

    /// Where the ref is now, and stays.
    pub(crate) fn current(&self) -> Result<Option<ObjectId>, Fault> {
        self.bare.reference(&self.name)
    }

    /// Moves the ref; durable when this returns. What it names must be durable already.
    pub(crate) fn set(&self, id: &ObjectId) -> Result<(), Fault> {
        self.write(&format!("{id}\n"))
    }

    /// Lets the ref name another one, as `HEAD` does.
    pub(crate) fn point_to(&self, name: &str) -> Result<(), Fault> {
        self.write(&format!("ref: {name}\n"))
    }

    fn write(&self, text: &str) -> Result<(), Fault> {
        let path = self.bare.path().join(&self.name);
        if !path.is_file() {
            self.check_names()?;
        }
        let draft = unique(self.bare.path(), "ref");
        let written = write_new(&draft, text.as_bytes());
        let moved = written.and_then(|()| step("ref written")).and_then(|()| rename(&draft, &path));
        if let Err(error) = moved {
            fs::remove_file(&draft).ok();
            return Err(match error.kind() {
                io::ErrorKind::DirectoryNotEmpty => in_the_way(&self.name, &format!("{}/…", self.name)),
                _ => error.into(),
            });
        }
        step("ref renamed")?;
        match path.parent() {
            Some(parent) => Ok(File::open(parent)?.sync_all()?),
            None => Ok(()),
        }
    }

    /// A new name must not lie within that of a packed ref, nor one of these within it.
    fn check_names(&self) -> Result<(), Fault> {
        let within =
            |inner: &str, outer: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'));
        let packed = self.bare.packed_refs()?;
        match packed.keys().find(|other| within(other, &self.name) || within(&self.name, other)) {
            Some(other) => Err(in_the_way(&self.name, other)),
            None => Ok(()),
        }
    }
}

impl Drop for RefLock<'_> {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.lock) {
            tracing::warn!(lock = %self.lock.display(), %error, "the lock of a ref could not be removed");
        }
    }
}

/// Removes what a killed gateway left in a repository, but for locks, which go when somebody wants them.
pub(crate) fn tidy(repository: &Path) -> io::Result<()> {
    for entry in fs::read_dir(repository)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if name.starts_with("gsv-lock-") || name.starts_with("gsv-ref-") {
            fs::remove_file(entry.path())?;
        } else if name.starts_with(IMPORT) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

fn with_lock(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

fn unique(repository: &Path, what: &str) -> PathBuf {
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    repository.join(format!("gsv-{what}-{}-{number}", std::process::id()))
}

fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = create(path)?;
    file.write_all(content)?;
    file.sync_all()
}

fn create(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// A lock file that is held, and not yet in its place.
fn draft(bare: &Bare) -> Result<(PathBuf, File), Fault> {
    let path = unique(bare.path(), "lock");
    let mut file = create(&path)?;
    file.write_all(OURS.as_bytes())?;
    file.lock()?;
    Ok((path, file))
}

fn link(
    draft: &Path,
    lock: &Path,
    clock: &Clock,
    make_parents: impl Fn() -> Result<(), Fault>,
) -> Result<(), Fault> {
    for _ in 0..limits::LOCK_TRIES_MAX {
        // Each time: git removes directories that are empty.
        make_parents()?;
        match fs::hard_link(draft, lock) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            linked => return Ok(linked?),
        }
        if !remove_abandoned(lock, clock)? {
            std::thread::sleep(limits::LOCK_PAUSE);
        }
    }
    Err(Fault::Busy("somebody else is changing this ref: try again".to_string()))
}

/// Takes a lock away that nobody holds any more. Whether it did.
fn remove_abandoned(lock: &Path, clock: &Clock) -> io::Result<bool> {
    let mut file = match File::open(lock) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        file => file?,
    };
    let mut text = String::new();
    let is_ours = (&mut file).take(OURS.len() as u64 + 1).read_to_string(&mut text).is_ok() && text == OURS;
    if is_ours {
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    } else if clock.now_ms() - file.metadata()?.mtime() * 1_000 < limits::FOREIGN_LOCK_KEPT_MS {
        return Ok(false);
    }
    // Somebody else may have taken it away, and have put another one there.
    let is_same = |there: &fs::Metadata| file.metadata().is_ok_and(|held| held.ino() == there.ino());
    if fs::metadata(lock).is_ok_and(|there| is_same(&there)) {
        fs::remove_file(lock)?;
    }
    Ok(true)
}

/// Makes the directories of a ref, which may be those of another ref's name.
fn make_parents(repository: &Path, path: &Path, name: &str) -> Result<(), Fault> {
    let Some(parent) = path.parent() else { return Ok(()) };
    match fs::create_dir_all(parent) {
        Ok(()) => Ok(()),
        Err(_) if parent.ancestors().take_while(|up| *up != repository).any(Path::is_file) => {
            let other = parent.strip_prefix(repository).unwrap_or(parent);
            Err(in_the_way(name, &other.display().to_string()))
        }
        Err(error) => Err(error.into()),
    }
}

fn in_the_way(name: &str, other: &str) -> Fault {
    Fault::Conflict(format!("the ref {other} is in the way of {name}: one name can not lie within another"))
}

/// Renames over a ref; empty directories, which git leaves behind, give way.
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::IsADirectory || to.is_dir() => {
            remove_empty(to, 0)?;
            fs::rename(from, to)
        }
        renamed => renamed,
    }
}

fn remove_empty(dir: &Path, depth: usize) -> io::Result<()> {
    if depth < limits::DEPTH_MAX {
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                remove_empty(&entry.path(), depth + 1)?;
            }
        }
    }
    fs::remove_dir(dir)
}
