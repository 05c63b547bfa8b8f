//! Quota of repositories: what they take on the disk counts for their owner, together with the owner's files.
//!
//! Sizes are remembered by directory and read again only where something was added or removed; with no quota set
//! nothing is measured.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use base::clock::Clock;
use base::limits::repo as limits;
use base::sync::lock;
use gateway::Gateway;
use protocol::error::Error;
use protocol::ids::Uid;

use crate::git::init;

/// How large each repository is, as far as that was asked for.
pub(crate) struct Sizes {
    root: PathBuf,
    clock: Clock,
    known: Mutex<HashMap<PathBuf, Measured>>,
}

/// A repository, by the directories of its objects.
#[derive(Clone, Default)]
struct Measured {
    directories: HashMap<String, Directory>,
}

#[derive(Clone, Copy)]
struct Directory {
    /// When a name was last added or removed, in nanoseconds.
    changed_at: i128,
    /// Whether that was long enough ago: two changes at once can not be told apart.
    is_settled: bool,
    bytes: u64,
}

impl Measured {
    fn bytes(&self) -> u64 {
        self.directories.values().map(|directory| directory.bytes).sum()
    }
}

impl Sizes {
    pub(crate) fn new(root: &Path, clock: Clock) -> Sizes {
        Sizes { root: root.to_path_buf(), clock, known: Mutex::default() }
    }

    /// What the repositories of each owner take, by the owner's name.
    pub(crate) fn of_all(&self) -> Vec<(String, u64)> {
        let paths = init::directories(&self.root, false).unwrap_or_else(|error| {
            tracing::warn!(%error, "the sizes of repositories are not counted");
            Vec::new()
        });
        let there: HashSet<&PathBuf> = paths.iter().collect();
        lock(&self.known).retain(|path, _| there.contains(path));
        let owner = |path: &Path| Some(path.parent()?.file_name()?.to_str()?.to_string());
        paths.iter().filter_map(|path| Some((owner(path)?, self.measure(path).1))).collect()
    }

    /// By how much a repository has grown since it was last measured.
    pub(crate) fn growth(&self, repository: &Path) -> i64 {
        let (before, after) = self.measure(repository);
        after as i64 - before as i64
    }

    /// What was known, and what is so now.
    fn measure(&self, repository: &Path) -> (u64, u64) {
        let before = lock(&self.known).get(repository).cloned().unwrap_or_default();
        let after = match self.look(&repository.join("objects"), &before) {
            Ok(after) => after,
            Err(error) => {
                tracing::warn!(path = %repository.display(), %error, "the size of a repository is not known");
                before.clone()
            }
        };
        let sizes = (before.bytes(), after.bytes());
        lock(&self.known).insert(repository.to_path_buf(), after);
        sizes
    }

    fn look(&self, objects: &Path, before: &Measured) -> io::Result<Measured> {
        let mut now = Measured::default();
        for entry in fs::read_dir(objects)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            // What is being received is counted while it comes.
            if name.len() != 2 && name != "pack" {
                continue;
            }
            let Some(there) = gone_is_none(entry.metadata())? else { continue };
            let changed_at = i128::from(there.mtime()) * 1_000_000_000 + i128::from(there.mtime_nsec());
            let directory = match before.directories.get(&name) {
                Some(known) if known.is_settled && known.changed_at == changed_at => *known,
                _ => {
                    let age_ms = self.clock.now_ms() - (changed_at / 1_000_000) as i64;
                    let is_settled = age_ms > limits::SIZE_SETTLED_MS;
                    Directory { changed_at, is_settled, bytes: bytes_in(&entry.path())? }
                }
            };
            now.directories.insert(name, directory);
        }
        Ok(now)
    }
}

fn bytes_in(directory: &Path) -> io::Result<u64> {
    let Some(entries) = gone_is_none(fs::read_dir(directory))? else { return Ok(0) };
    let mut bytes = 0;
    for entry in entries {
        bytes += gone_is_none(entry?.metadata())?.map_or(0, |file| file.len());
    }
    Ok(bytes)
}

/// Others pack and prune meanwhile.
fn gone_is_none<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// Room in somebody's quota that was taken for what is on its way; given back when dropped, when what has come is counted
/// as what it is.
pub(crate) struct Room {
    gateway: Gateway,
    uid: Uid,
    /// Whether anybody has a quota.
    is_counted: bool,
    taken_bytes: AtomicU64,
}

impl Room {
    /// None yet, of the one whose repository it is.
    pub(crate) async fn of(gateway: &Gateway, uid: Uid) -> Result<Room, Error> {
        let is_counted = gateway.tree().know_quota(uid).await.map_err(|why| Error::internal(&why))?;
        Ok(Room { gateway: gateway.clone(), uid, is_counted, taken_bytes: AtomicU64::new(0) })
    }

    /// Takes some more; 413 when there is not so much.
    pub(crate) fn take(&self, bytes: u64) -> Result<(), Error> {
        if !self.is_counted {
            return Ok(());
        }
        self.gateway
            .tree()
            .charge(self.uid, bytes)
            .map_err(|why| Error::new(413, format!("EDQUOT: {why}")))?;
        self.taken_bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let taken = self.taken_bytes.load(Ordering::Relaxed);
        if taken > 0 {
            self.gateway.tree().recount(self.uid, -(taken as i64));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_what_is_added_and_removed() {
        let home = tempfile::tempdir().unwrap();
        let repository = home.path().join("ann/notes.git");
        init::init(&repository, "x").unwrap();
        let write = |name: &str, bytes: usize| {
            let path = repository.join("objects").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, vec![b'x'; bytes]).unwrap();
        };
        // Far ahead: everything is settled.
        let sizes = Sizes::new(home.path(), Clock::manual(i64::MAX / 2_000_000));
        write("ab/1", 10);
        write("pack/x.pack", 100);
        write("tmp_objdir-incoming-x/pack", 1_000);
        assert_eq!(sizes.of_all(), [("ann".to_string(), 110)]);
        assert_eq!(sizes.growth(&repository), 0);
        write("ab/2", 5);
        write("cd/3", 7);
        assert_eq!(sizes.growth(&repository), 12);
        fs::remove_file(repository.join("objects/pack/x.pack")).unwrap();
        assert_eq!(sizes.growth(&repository), -100);
        fs::remove_dir_all(repository.join("objects/cd")).unwrap();
        assert_eq!(sizes.growth(&repository), -7);
        assert_eq!(sizes.of_all(), [("ann".to_string(), 15)]);
        fs::remove_dir_all(&repository).unwrap();
        assert!(sizes.of_all().is_empty() && lock(&sizes.known).is_empty());
    }

    #[test]
    fn what_changed_a_moment_ago_is_looked_at_again() {
        let home = tempfile::tempdir().unwrap();
        let repository = home.path().join("ann/notes.git");
        init::init(&repository, "x").unwrap();
        let sizes = Sizes::new(home.path(), Clock::manual(0));
        let file = repository.join("objects/pack/a");
        fs::write(&file, "x").unwrap();
        assert_eq!(sizes.growth(&repository), 1);
        // No name was added: only whoever looks again knows.
        fs::write(&file, "xxx").unwrap();
        assert_eq!(sizes.growth(&repository), 2);
    }
}
