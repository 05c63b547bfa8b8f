//! Directory layout of the store of one workspace: who may enter it, what lies where, and how faults of it are told.
//! Below taking, restoring and removing, which all work on it.

use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use base::clock::Clock;
use sha2::{Digest, Sha256};

use crate::atomic;
use crate::budget::Budget;
use crate::error::{Error, Fault};
use crate::label::{Id, Summary};
use crate::list::List;
use crate::load;
use crate::lock::Lock;
use crate::objects::{self, Objects, Oid};
use crate::snapshot::Snapshot;

/// The store of one workspace.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    pub(crate) dir: PathBuf,
    pub(crate) workspace: PathBuf,
    /// Limits of time go by it.
    pub(crate) clock: Clock,
}

impl Store {
    /// Opens the store of a workspace in the directory of all stores.
    pub(crate) fn open(all: &Path, workspace: &Path) -> Result<Store, Error> {
        let unreadable = |source| Error::Workspace { path: workspace.to_path_buf(), source };
        let resolved = fs::canonicalize(workspace).map_err(unreadable)?;
        fs::read_dir(&resolved).map(|_| ()).map_err(unreadable)?;
        let all = open_private(all)?;
        if all.starts_with(&resolved) || resolved.starts_with(&all) {
            return Err(Error::Overlap { store: all, workspace: resolved });
        }
        let store = Store { dir: all.join(folder(&resolved)), workspace: resolved, clock: Clock::system() };
        store.create().map_err(|error| store.told(error.into()))?;
        Ok(store)
    }

    /// The store in a directory of the directory of all stores, if it is one.
    pub(crate) fn of_directory(dir: PathBuf) -> Option<Store> {
        let workspace = atomic::read(&dir.join("workspace"), 64 * 1024).ok()??;
        let workspace = crate::snapshot::path_of(&workspace);
        Some(Store { dir, workspace, clock: Clock::system() })
    }

    fn create(&self) -> std::io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
        self.list().create()?;
        let path = self.dir.join("workspace");
        if !path.exists() {
            atomic::write(&path, self.workspace.as_os_str().as_bytes())?;
        }
        objects::create_repository(&self.repository())
    }

    /// The shadow repository.
    pub(crate) fn repository(&self) -> PathBuf {
        self.dir.join("repository")
    }

    /// The file of the cache of file states.
    pub(crate) fn cache(&self) -> PathBuf {
        self.dir.join("cache")
    }

    /// The file of a checkpoint's ref, by which the git program finds it.
    pub(crate) fn reference(&self, id: Id) -> PathBuf {
        self.repository().join("refs/checkpoints").join(id.to_string())
    }

    pub(crate) fn list(&self) -> List {
        List::new(&self.dir)
    }

    pub(crate) fn entries(&self) -> Result<Vec<Summary>, Error> {
        self.list().entries().map_err(|error| self.told(error.into()))
    }

    pub(crate) fn lock(&self) -> Result<Lock, Error> {
        Lock::acquire(&self.dir, &self.clock)
    }

    pub(crate) fn objects(&self) -> Result<Objects, Fault> {
        Objects::open(&self.repository())
    }

    pub(crate) fn snapshot(&self, id: Id) -> Result<Snapshot, Error> {
        let summary = self.entries()?.into_iter().find(|summary| summary.id == id);
        self.load(&summary.ok_or(Error::Unknown { id })?)
    }

    pub(crate) fn load(&self, summary: &Summary) -> Result<Snapshot, Error> {
        let damaged = || Fault::Damaged(format!("checkpoint {} has no commit", summary.id));
        let commit = Oid::parse(&summary.commit).ok_or_else(damaged);
        let loaded = commit.and_then(|commit| load::load(&self.objects()?, &commit));
        loaded.map_err(|fault| self.told(fault))
    }

    pub(crate) fn told(&self, fault: Fault) -> Error {
        fault.at(&self.dir, Budget::default().time_max)
    }
}

/// Makes a directory for what is kept where there is none, and sees that only we can enter it.
pub fn open_private(path: &Path) -> Result<PathBuf, Error> {
    let unusable = |source| Error::Store { path: path.to_path_buf(), source };
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(unusable)?;
    let path = fs::canonicalize(path).map_err(unusable)?;
    let metadata = fs::metadata(&path).map_err(unusable)?;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(Error::Unsafe { path, why: "it belongs to somebody else" });
    }
    if metadata.mode() & 0o077 != 0 {
        fs::set_permissions(&path, Permissions::from_mode(0o700)).map_err(unusable)?;
    }
    Ok(path)
}

/// The name of a workspace's folder: for people the last part of its path, for us a digest of all of it.
fn folder(workspace: &Path) -> String {
    let digest = Sha256::digest(workspace.as_os_str().as_bytes());
    let digits: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let name = workspace.file_name().unwrap_or_default().to_string_lossy();
    let plain = name.chars().filter(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).take(32);
    format!("{}-{digits}", plain.collect::<String>())
}
