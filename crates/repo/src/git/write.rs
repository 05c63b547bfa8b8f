//! Writer of loose objects: those of one commit are gathered in memory, then written and made durable together before
//! any ref may name them.

use std::collections::{BTreeSet, VecDeque};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use base::limits::repo as limits;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use gix_hash::ObjectId;
use gix_object::Kind;

use super::bare::Bare;
use super::fault::Fault;
use crate::faults::step;

/// Tells the drafts of this program apart.
static DRAFTS: AtomicU64 = AtomicU64::new(0);

/// Objects on their way into a repository.
pub(crate) struct NewObjects<'a> {
    bare: &'a Bare,
    waiting: Vec<(ObjectId, Kind, Vec<u8>)>,
    names: BTreeSet<ObjectId>,
}

impl<'a> NewObjects<'a> {
    pub(crate) fn new(bare: &'a Bare) -> NewObjects<'a> {
        NewObjects { bare, waiting: Vec::new(), names: BTreeSet::new() }
    }

    /// Adds an object, unless it is there.
    pub(crate) fn add(&mut self, kind: Kind, content: Vec<u8>) -> Result<ObjectId, Fault> {
        let id = gix_object::compute_hash(gix_hash::Kind::Sha1, kind, &content).map_err(Fault::damaged)?;
        if !self.names.contains(&id) && !self.is_there(&id)? {
            self.names.insert(id);
            self.waiting.push((id, kind, content));
        }
        Ok(id)
    }

    /// Whether an object is in the repository. One that nothing referred to may be about to be pruned by git, which
    /// spares what is young: so it is made young.
    fn is_there(&self, id: &ObjectId) -> Result<bool, Fault> {
        if !self.bare.has(id) {
            return Ok(false);
        }
        let now = rustix::fs::Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
        let times = rustix::fs::Timestamps { last_access: now, last_modification: now };
        match rustix::fs::utimensat(rustix::fs::CWD, self.path_of(id), &times, rustix::fs::AtFlags::empty()) {
            // It is in a pack.
            Err(rustix::io::Errno::NOENT) | Ok(()) => Ok(true),
            Err(error) => Err(io::Error::from(error).into()),
        }
    }

    fn path_of(&self, id: &ObjectId) -> PathBuf {
        let hex = id.to_string();
        self.bare.path().join("objects").join(&hex[..2]).join(&hex[2..])
    }

    /// Writes all of them; they are durable when this returns.
    pub(crate) fn flush(self) -> Result<(), Fault> {
        let objects = self.bare.path().join("objects");
        let mut drafts = Drafts::default();
        let mut directories = BTreeSet::new();
        for (id, kind, content) in &self.waiting {
            let path = self.path_of(id);
            let Some(directory) = path.parent() else { continue };
            match DirBuilder::new().mode(0o700).create(directory) {
                Ok(()) => drop(directories.insert(objects.clone())),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error.into()),
            }
            directories.insert(directory.to_path_buf());
            // The name is one that git knows as unfinished, and removes.
            let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
            let draft = directory.join(format!("tmp_obj_{}_{number}", std::process::id()));
            drafts.write(&draft, path, *kind, content)?;
        }
        // Many files are cheaper to sync by their file system than one by one.
        let many = self.waiting.len() > limits::SYNC_EACH_MAX;
        step("objects written")?;
        drafts.sync(&objects, many)?;
        drafts.publish()?;
        step("objects renamed")?;
        if many && sync_all_of(&objects)? {
            return Ok(());
        }
        for directory in directories.iter().rev() {
            File::open(directory)?.sync_all()?;
        }
        Ok(())
    }
}

/// Written files that have not their names yet; those that never get them are removed.
#[derive(Default)]
struct Drafts(VecDeque<(PathBuf, PathBuf)>);

impl Drafts {
    fn write(&mut self, draft: &Path, path: PathBuf, kind: Kind, content: &[u8]) -> io::Result<()> {
        // What a crash left under the name is replaced.
        match fs::remove_file(draft) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = OpenOptions::new().write(true).create_new(true).mode(0o400).open(draft)?;
        self.0.push_back((draft.to_path_buf(), path));
        step("object created")?;
        let mut encoder = ZlibEncoder::new(file, Compression::fast());
        encoder.write_all(format!("{kind} {}\0", content.len()).as_bytes())?;
        encoder.write_all(content)?;
        encoder.finish().map(drop)
    }

    fn sync(&self, objects: &Path, many: bool) -> io::Result<()> {
        if many && sync_all_of(objects)? {
            return Ok(());
        }
        self.0.iter().try_for_each(|(draft, _)| File::open(draft)?.sync_all())
    }

    /// In the order in which they were added: what an object names is there before it.
    fn publish(&mut self) -> io::Result<()> {
        while let Some((draft, path)) = self.0.front() {
            step("object renamed")?;
            fs::rename(draft, path)?;
            self.0.pop_front();
        }
        Ok(())
    }
}

impl Drop for Drafts {
    fn drop(&mut self) {
        for (draft, _) in &self.0 {
            fs::remove_file(draft).ok();
        }
    }
}

/// Syncs the file system that a directory is on; false where that can not be asked for.
#[cfg(target_os = "linux")]
fn sync_all_of(directory: &Path) -> io::Result<bool> {
    rustix::fs::syncfs(File::open(directory)?)?;
    Ok(true)
}

#[cfg(not(target_os = "linux"))]
fn sync_all_of(_directory: &Path) -> io::Result<bool> {
    Ok(false)
}
