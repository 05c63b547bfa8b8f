//! Scratch directories of rehearsals: the upper layers that commands write to, in a directory of this driver's own that a
//! lock marks as in use. What a driver that was killed left behind has no lock, and the next one removes it.

use std::fs::{DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use base::sync::lock;
use sandbox::overlay;

use super::record;

const LOCK: &str = "lock";
/// A directory that has no lock yet.
const NEW: &str = "new-";

/// Where layers can lie, and this driver's own directories there.
pub(super) struct Scratch {
    /// In the driver's state, which is often inside the home, and beside it where everybody may keep something.
    places: [PathBuf; 2],
    own: Mutex<Vec<Own>>,
}

struct Own {
    place: PathBuf,
    directory: PathBuf,
    /// Held as long as this driver lives.
    _lock: File,
}

/// The layers of one rehearsal; they are removed with it.
#[derive(Debug)]
pub(super) struct Layers {
    pub(super) directory: PathBuf,
}

impl Drop for Layers {
    fn drop(&mut self) {
        let directory = std::mem::take(&mut self.directory);
        // Removing many files takes a while, and nobody waits for it.
        let removing = move || {
            if let Err(error) = overlay::discard(&directory) {
                tracing::warn!(directory = %directory.display(), %error, "the files of a rehearsal are left");
            }
        };
        if let Err(error) = std::thread::Builder::new().name("rehearsal-discard".into()).spawn(removing) {
            tracing::warn!(%error, "the files of a rehearsal are left until the driver's next start");
        }
    }
}

impl Scratch {
    /// Below the driver's state. What others left is removed aside from what is done meanwhile.
    pub(super) fn new(state: &Path) -> Scratch {
        let uid = rustix::process::getuid().as_raw();
        let places = [state.join("rehearsals"), PathBuf::from(format!("/var/tmp/gsv-rehearsals-{uid}"))];
        let (scratch, swept) = (Scratch { places: places.clone(), own: Mutex::default() }, places);
        let sweeping = move || swept.iter().filter(|place| is_private(place)).for_each(|place| sweep(place));
        if let Err(error) = std::thread::Builder::new().name("rehearsal-sweep".into()).spawn(sweeping) {
            tracing::warn!(%error, "what earlier rehearsals left is not looked for");
        }
        scratch
    }

    /// All places where layers can lie.
    pub(super) fn places(&self) -> &[PathBuf] {
        &self.places
    }

    /// The place for layers over some trees: one that is in none of them, if there is one.
    pub(super) fn place_for(&self, trees: &[PathBuf]) -> &Path {
        let [own, shared] = &self.places;
        if !trees.iter().any(|tree| own.starts_with(tree)) {
            return own;
        }
        // Of the system's directories the one that holds it is taken apart instead.
        let holds = |tree: &PathBuf| tree.as_path() != Path::new("/var") && shared.starts_with(tree);
        // It may be there already; whose it is counts.
        drop(private().create(shared));
        if !trees.iter().any(holds) && is_private(shared) { shared } else { own }
    }

    /// An empty directory for a rehearsal.
    pub(super) fn make(&self, place: &Path, id: &str) -> io::Result<Layers> {
        let directory = self.own(place)?.join(id);
        private().create(&directory)?;
        Ok(Layers { directory })
    }

    /// This driver's own directory in a place.
    fn own(&self, place: &Path) -> io::Result<PathBuf> {
        let mut own = lock(&self.own);
        if let Some(known) = own.iter().find(|own| own.place == place) {
            return Ok(known.directory.clone());
        }
        private().recursive(true).create(place)?;
        let name = base::random::uuid();
        let new = place.join(format!("{NEW}{name}"));
        private().create(&new)?;
        let file = File::create_new(new.join(LOCK))?;
        file.try_lock()?;
        // Under its own name it has its lock, so nobody takes it for left behind.
        let directory = place.join(name);
        std::fs::rename(&new, &directory)?;
        own.push(Own { place: place.to_path_buf(), directory: directory.clone(), _lock: file });
        Ok(directory)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        for own in lock(&self.own).drain(..) {
            drop(Layers { directory: own.directory });
        }
    }
}

fn private() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

/// Whether a directory is this user's alone: where everybody may make one, somebody else may have.
fn is_private(place: &Path) -> bool {
    let uid = rustix::process::getuid().as_raw();
    let found = place.symlink_metadata();
    found.is_ok_and(|found| found.is_dir() && found.uid() == uid && found.mode() & 0o077 == 0)
}

/// Removes what drivers left that are no more.
fn sweep(place: &Path) {
    let Ok(entries) = std::fs::read_dir(place) else { return };
    for entry in
        entries.filter_map(Result::ok).filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
    {
        let directory = entry.path();
        let is_left = match File::open(directory.join(LOCK)) {
            Ok(file) => match file.try_lock() {
                Ok(()) => true,
                Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
            },
            // Another driver may be about to put it there.
            Err(_) => !entry.file_name().to_string_lossy().starts_with(NEW),
        };
        if is_left {
            record::tell_interrupted(&directory);
            drop(Layers { directory });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_driver_left_is_removed_and_what_lives_is_not() {
        let temp = tempfile::Builder::new().prefix("home-").tempdir().unwrap();
        let place = temp.path().join("rehearsals");
        let scratch = Scratch { places: [place.clone(), place.clone()], own: Mutex::default() };
        let layers = scratch.make(&place, "one").unwrap();
        let dead = place.join("dead/two/0/work");
        std::fs::create_dir_all(&dead).unwrap();
        std::fs::write(place.join("dead/lock"), "").unwrap();
        std::fs::set_permissions(&dead, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
        sweep(&place);
        while place.join("dead").exists() {
            std::thread::yield_now();
        }
        assert!(layers.directory.is_dir());
        let directory = layers.directory.clone();
        drop(layers);
        while directory.exists() {
            std::thread::yield_now();
        }
    }
}
