//! Executor of a restore plan: its actions on the disk, by descriptor.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, Timespec, Timestamps, Uid, chownat, fchmod, fchown, futimens, mkdirat,
    openat, renameat, symlinkat, unlinkat, utimensat,
};
use rustix::io::Errno;

use super::{Failed, Restored};
use crate::error::{Error, Fault, is_disk_full};
use crate::faults::step;
use crate::objects::{ObjectKind, Objects};
use crate::place;
use crate::plan::Actions;
use crate::snapshot::{Entry, Name, Snapshot, path_of, split};
use crate::state::FileKind;
use crate::store::Store;

/// The name under which a file is written before it is renamed. Only one restore of a workspace runs at a time, and
/// what a crash left under this name is replaced by the next file in the same directory.
const TEMPORARY: &[u8] = b".gsv-restore.tmp";

/// Does what was planned. What cannot be done is listed and the rest is done; a full disk ends it.
pub(super) fn apply(
    at: &Store,
    root: OwnedFd,
    actions: &Actions,
    present: &Snapshot,
    restored: &mut Restored,
) -> Result<(), Error> {
    let objects = at.objects().map_err(|fault| at.told(fault))?;
    let mut hand = Hand { root, objects, present, opened: None, modes: Vec::new() };
    hand.all(actions, restored);
    hand.put_modes_back();
    // One call for all files instead of one each; where there is none each was synced by itself.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    rustix::fs::syncfs(&hand.root).map_err(|error| at.told(error.into()))?;
    Ok(())
}

struct Hand<'a> {
    root: OwnedFd,
    objects: Objects,
    present: &'a Snapshot,
    /// The directory that was used last.
    opened: Option<(Name, OwnedFd)>,
    /// Directories that were made writable for the while, with the modes they had.
    modes: Vec<(Name, u32)>,
}

impl Hand<'_> {
    fn all(&mut self, actions: &Actions, restored: &mut Restored) {
        let kept: HashSet<&Name> = actions.write.iter().chain(&actions.make).map(|(name, _)| name).collect();
        for (name, entry) in &actions.remove {
            match self.remove(name, entry) {
                Ok(true) if !kept.contains(name) => restored.removed.push(path_of(name)),
                Ok(_) => {}
                Err(fault) => fail(restored, name, &fault),
            }
        }
        type Action<'a, 'b> = fn(&mut Hand<'b>, &Name, &'a Entry) -> Result<(), Fault>;
        let steps: [(&[(Name, Entry)], Action<'_, '_>); 3] =
            [(&actions.make, Hand::make), (&actions.write, Hand::write), (&actions.modes, Hand::set_mode)];
        for (items, action) in steps {
            for (name, entry) in items {
                match action(self, name, entry) {
                    Ok(()) => restored.written.push(path_of(name)),
                    Err(fault) => {
                        fail(restored, name, &fault);
                        if matches!(&fault, Fault::Io(error) if is_disk_full(error)) {
                            return;
                        }
                    }
                }
            }
        }
        // Last, because every name that is made in a directory changes its time.
        for (name, entry) in actions.make.iter().rev() {
            if let Err(fault) = self.finish_dir(name, entry) {
                fail(restored, name, &fault);
            }
        }
    }

    /// Removes a file, a link or an empty directory; whether it did. A directory that still holds something stays.
    fn remove(&mut self, name: &Name, entry: &Entry) -> Result<bool, Fault> {
        self.opened = None;
        let (parent, last) = split(name);
        let dir = self.parent(parent)?;
        self.check(&dir, name)?;
        step("restore: remove")?;
        let flags = if entry.kind == FileKind::Dir { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        match unlinkat(&dir, last, flags) {
            Ok(()) => Ok(true),
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn make(&mut self, name: &Name, _: &Entry) -> Result<(), Fault> {
        self.opened = None;
        let (parent, last) = split(name);
        let dir = self.parent(parent)?;
        step("restore: make")?;
        Ok(mkdirat(&dir, last, Mode::RWXU)?)
    }

    /// Mode, owner and time of a directory that was made.
    fn finish_dir(&mut self, name: &Name, entry: &Entry) -> Result<(), Fault> {
        let dir = place::open_beneath(&self.root, name)?;
        own(&dir, entry);
        fchmod(&dir, mode_of(entry.mode))?;
        Ok(futimens(&dir, &times(entry))?)
    }

    fn write(&mut self, name: &Name, entry: &Entry) -> Result<(), Fault> {
        let (parent, last) = split(name);
        let dir = self.parent(parent)?;
        let replaces = self.present.entries.get(name).is_some_and(|present| present.kind == FileKind::File);
        let written = self.write_temporary(&dir, entry, !replaces).and_then(|()| {
            // As late as can be.
            self.check(&dir, name)?;
            step("restore: rename")?;
            Ok(renameat(&dir, TEMPORARY, &dir, last)?)
        });
        if written.is_err() {
            unlinkat(&dir, TEMPORARY, AtFlags::empty()).ok();
        }
        self.opened = Some((parent.to_vec(), dir));
        written
    }

    fn write_temporary(&self, dir: &OwnedFd, entry: &Entry, is_dated: bool) -> Result<(), Fault> {
        let Some(oid) = entry.oid else { return Err(Fault::Damaged("a file without content".into())) };
        match unlinkat(dir, TEMPORARY, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        step("restore: write")?;
        if entry.kind == FileKind::Link {
            let target = self.objects.read(&oid, ObjectKind::Blob)?;
            symlinkat(target.as_slice(), dir, TEMPORARY)?;
            let (uid, gid) = owner(entry);
            // Only root may give files away; others keep them.
            chownat(dir, TEMPORARY, uid, gid, AtFlags::SYMLINK_NOFOLLOW).ok();
            utimensat(dir, TEMPORARY, &times(entry), AtFlags::SYMLINK_NOFOLLOW)?;
            return Ok(());
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(dir, TEMPORARY, flags, Mode::RUSR | Mode::WUSR)?);
        self.objects.copy(&oid, ObjectKind::Blob, u64::MAX, &mut file)?;
        own(&file, entry);
        fchmod(&file, mode_of(entry.mode))?;
        if is_dated {
            futimens(&file, &times(entry))?;
        }
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        file.sync_all()?;
        Ok(())
    }

    fn set_mode(&mut self, name: &Name, entry: &Entry) -> Result<(), Fault> {
        let (parent, last) = split(name);
        let dir = self.parent(parent)?;
        self.check(&dir, name)?;
        step("restore: mode")?;
        // By descriptor: by name the mode of a link's target could be set.
        let opened = match entry.kind {
            FileKind::Dir => place::open_dir(&dir, last),
            _ => place::open_file(&dir, last),
        };
        match opened {
            Ok(opened) => Ok(fchmod(&opened, mode_of(entry.mode))?),
            // A file that its mode does not let us open is written anew.
            Err(Errno::ACCESS) if entry.kind == FileKind::File => self.write(name, entry),
            Err(error) => Err(error.into()),
        }
    }

    /// Fails when a path is not as the checkpoint of the present has it. The time of change does not count: that of a
    /// file with two names changes when the other is replaced.
    fn check(&self, dir: &OwnedFd, name: &Name) -> Result<(), Fault> {
        let state = place::state_at(dir, split(name).1)?;
        let entry = self.present.entries.get(name);
        let key = entry.and_then(|entry| entry.key).or(self.present.noted.get(name).map(|noted| noted.key));
        let same = match (state, key) {
            (None, _) => true,
            // Names that come and go in a directory are looked at one by one.
            (Some(state), Some(_)) if entry.is_some_and(|entry| entry.kind == FileKind::Dir) => {
                state.kind == FileKind::Dir
            }
            (Some(state), Some(key)) => {
                (state.key.size, state.mtime_ns, state.key.inode) == (key.size, key.mtime_ns, key.inode)
            }
            (Some(_), None) => false,
        };
        if same { Ok(()) } else { Err(io::Error::other("it changed just now").into()) }
    }

    /// A directory to change names in, made writable for the while where it is not.
    fn parent(&mut self, path: &[u8]) -> Result<OwnedFd, Fault> {
        if let Some((known, dir)) = self.opened.take()
            && known == path
        {
            return Ok(dir);
        }
        let dir = place::open_beneath(&self.root, path)?;
        let state = place::state_of(&dir)?;
        if state.mode & 0o300 != 0o300 {
            fchmod(&dir, mode_of(state.mode | 0o700))?;
            self.modes.push((path.to_vec(), state.mode));
        }
        Ok(dir)
    }

    fn put_modes_back(&mut self) {
        for (path, mode) in std::mem::take(&mut self.modes).into_iter().rev() {
            // A directory that was made anew, or is gone, has its mode already.
            if let Ok(dir) = place::open_beneath(&self.root, &path)
                && place::state_of(&dir).is_ok_and(|state| state.mode == mode | 0o700)
            {
                fchmod(&dir, mode_of(mode)).ok();
            }
        }
    }
}

fn fail(restored: &mut Restored, name: &Name, fault: &Fault) {
    let why = match fault {
        Fault::Io(error) if is_disk_full(error) => "the disk is full".to_owned(),
        Fault::Io(error) => error.to_string(),
        Fault::Damaged(what) => format!("the checkpoint is damaged: {what}"),
        Fault::TooLarge(what) => what.clone(),
        Fault::TimedOut => "it took too long".to_owned(),
    };
    restored.failed.push(Failed { path: path_of(name), why });
}

/// The owner that a file had; none for a checkpoint that does not know.
fn owner(entry: &Entry) -> (Option<Uid>, Option<Gid>) {
    let known = |id: u32| (id != u32::MAX).then_some(id);
    (known(entry.uid).map(Uid::from_raw), known(entry.gid).map(Gid::from_raw))
}

/// Gives a file back to its owner. Only root may; others keep it.
fn own(file: impl std::os::fd::AsFd, entry: &Entry) {
    let (uid, gid) = owner(entry);
    fchown(file, uid, gid).ok();
}

// The types of these fields differ between operating systems.
#[allow(clippy::unnecessary_cast, clippy::useless_conversion)]
fn times(entry: &Entry) -> Timestamps {
    let time = Timespec {
        tv_sec: entry.mtime_ns.div_euclid(1_000_000_000) as _,
        tv_nsec: entry.mtime_ns.rem_euclid(1_000_000_000) as _,
    };
    Timestamps { last_access: time, last_modification: time }
}

// The type of raw modes differs between operating systems.
#[allow(clippy::unnecessary_cast, clippy::useless_conversion)]
fn mode_of(mode: u32) -> Mode {
    Mode::from_raw_mode(mode as _)
}
