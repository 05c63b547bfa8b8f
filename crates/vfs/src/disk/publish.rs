//! Atomic replace: a finished draft takes the place of the file, by way of the journal if it is small, else durable
//! before it does.

use std::ffi::OsStr;
use std::io::Write;
use std::sync::Arc;

use rustix::fs::{AtFlags, Timespec, Timestamps, UTIME_OMIT, fstat, futimens, renameat, unlinkat};
use rustix::io::Errno;

use super::Disk;
use super::dir::{Dir, HostId, OpenEntry, modified_ms};
use super::fail::Fail;
use super::meta::Meta;
use super::usage::signed;
use super::walk::Entry;
use super::write::Draft;
use crate::fault::Code;
use crate::stat::{FileKind, Stat};
use journal::{CommitError, Identity, Written, make_durable, sync_directory};

/// How a draft took its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Durability {
    /// Its record is durable, so everything is.
    Logged,
    /// Its content is durable, its name not yet, and nobody waits for that.
    Synced,
    /// The same of a small file that the journal could not take just now: its name is to be durable too.
    Due,
}

impl Disk {
    /// Lets a finished draft take its place. The file's lock must be held, and [`Disk::finish_publish`] called
    /// afterwards; what was charged for the draft is the caller's to take back if this fails.
    pub(super) fn put(
        &self,
        id: HostId,
        entry: &Entry,
        there: Option<&OpenEntry>,
        draft: &mut Draft,
        meta: Meta,
    ) -> Result<(Stat, Durability), Fail> {
        let host = fstat(&draft.file)?;
        let size = u64::try_from(host.st_size).unwrap_or(0);
        let grows = signed(size).saturating_sub(there.map_or(0, |there| signed(there.stat.size)));
        if draft.charged.0 != meta.uid {
            self.refund(draft.charged.0, draft.charged.1);
            draft.charged = (meta.uid, 0);
        }
        self.charge(meta.uid, grows.saturating_sub(draft.charged.1))?;
        draft.charged.1 = grows;
        let is_small = draft.content.is_some();
        let placed = if self.put_logged(id, entry, there, draft, meta, &host)? {
            Durability::Logged
        } else {
            self.journal.retire(id, entry.os_name())?;
            self.prepare(draft, meta)?;
            let change = self.directory_sync.begin_change();
            renameat(&*draft.dir, &*draft.name, &*entry.dir.fd, entry.os_name())?;
            self.directory_sync.end_change(change, &[(id, &entry.dir.fd)]);
            if is_small { Durability::Due } else { Durability::Synced }
        };
        draft.keep = true;
        let modified_ms = modified_ms(&host);
        let Meta { uid, gid, mode } = meta;
        Ok((Stat { kind: FileKind::File, size, mode, uid, gid, modified_ms }, placed))
    }

    /// The same by way of the journal. False when that is not possible, and nothing has happened yet.
    //
    // The order is the whole of it. The permit comes first: while it is held no directory moves, so that the path that is
    // checked is the path that is recorded. Then everything the record depends on is made durable, since after a power
    // cut the record counts before whatever the file system had not written. The draft has its owner and mode before the
    // record is added, for the file that takes the place must be what the record says. Only when the record is durable do
    // the names change; if that fails the record is withdrawn, else it would happen after the next power cut. Until
    // `placed` the guard keeps the segment, so that no checkpoint forgets a record whose file is not there yet.
    fn put_logged(
        &self,
        id: HostId,
        entry: &Entry,
        there: Option<&OpenEntry>,
        draft: &mut Draft,
        meta: Meta,
        host: &rustix::fs::Stat,
    ) -> Result<bool, Fail> {
        let Some(content) = draft.content.take().filter(|_| !draft.durable) else { return Ok(false) };
        let Some(permit) = self.journal.begin_write() else { return Ok(false) };
        // The record names the file by its path, so that must be durable, and lead there.
        if !self.directory_sync.pass_barrier() || !self.leads_to(&entry.dir, id) {
            return Ok(false);
        }
        let Ok(file) = draft.file.try_clone() else { return Ok(false) };
        self.give_meta(draft, meta)?;
        let (path, placed) = (entry.path().to_string(), Identity::of(host));
        let shared_path = Arc::from(path.as_str());
        let written = Written {
            path,
            attributes: meta.into(),
            replaced: there.map(OpenEntry::identity),
            placed,
            content,
        };
        let Some(guard) = permit.add(written) else { return Ok(false) };
        match guard.commit() {
            Ok(()) => {}
            Err(CommitError::Broken) => return Ok(false),
            Err(CommitError::Late) => {
                self.journal.withdraw(guard, id, entry.os_name(), &shared_path);
                return Err(Fail::because(Code::Io, "the disk is too slow, try again later"));
            }
        }
        match take_place(draft, entry, there.is_some()) {
            Ok(()) => guard.placed((id, entry.os_name().to_os_string()), shared_path, file, &entry.dir.fd),
            Err(errno) => {
                self.journal.withdraw(guard, id, entry.os_name(), &shared_path);
                return Err(errno.into());
            }
        }
        Ok(true)
    }

    /// Makes durable what is not yet, some of it within moments, and lets go of the file that was replaced.
    pub(super) fn finish_publish(
        &self,
        placed: Durability,
        id: HostId,
        entry: &Entry,
        replaced: Option<OpenEntry>,
    ) -> Result<(), Errno> {
        match placed {
            Durability::Logged => Ok(()),
            Durability::Due => self.directory_sync.sync_now(id, &*entry.dir.fd),
            Durability::Synced => {
                self.directory_sync.close_later(replaced.and_then(OpenEntry::into_handle));
                Ok(())
            }
        }
    }

    /// Gives a filled draft its owner and mode and makes it durable, unless that is done.
    pub(super) fn prepare(&self, draft: &mut Draft, meta: Meta) -> Result<(), Errno> {
        self.give_meta(draft, meta)?;
        if !draft.durable {
            make_durable(&draft.file)?;
            draft.durable = true;
        }
        Ok(())
    }

    fn give_meta(&self, draft: &mut Draft, meta: Meta) -> Result<(), Errno> {
        if draft.meta != Some(meta) {
            draft.durable = false;
            self.stamp(&draft.file, meta)?;
            draft.meta = Some(meta);
        }
        Ok(())
    }

    pub(super) fn refund_unless_placed<T>(&self, draft: &Draft, placed: &Result<T, Fail>) {
        if placed.is_err() {
            self.refund(draft.charged.0, draft.charged.1);
        }
    }

    /// Writes a file as its record tells, durably, whatever is there.
    pub(super) fn restore(&self, dir: &Dir, name: &str, written: &Written) -> Result<(), Fail> {
        let meta = Meta::from(written.attributes);
        let mut draft = self.draft(dir, meta)?;
        draft.file.write_all(&written.content)?;
        let ns = written.placed.modified_ns;
        let times = Timestamps {
            last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT as _ },
            last_modification: Timespec {
                tv_sec: ns.div_euclid(1_000_000_000),
                tv_nsec: ns.rem_euclid(1_000_000_000) as _,
            },
        };
        futimens(&draft.file, &times)?;
        self.prepare(&mut draft, meta)?;
        renameat(&*draft.dir, &*draft.name, &*dir.fd, OsStr::new(name))?;
        draft.keep = true;
        Ok(sync_directory(&*dir.fd)?)
    }
}

#[cfg(target_os = "linux")]
impl Disk {
    /// Whether the path of a directory leads to it, without a link: it may have been moved since it was found.
    pub(super) fn leads_to(&self, dir: &Dir, id: HostId) -> bool {
        use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let host = match dir.path.as_str().trim_start_matches('/') {
            "" => ".",
            host => host,
        };
        let found = openat2(&*self.files, host, flags, Mode::empty(), resolve);
        found.and_then(|found| super::dir::id_of(&found)) == Ok(id)
    }
}

#[cfg(not(target_os = "linux"))]
impl Disk {
    /// Nothing is known of it.
    pub(super) fn leads_to(&self, _dir: &Dir, _id: HostId) -> bool {
        false
    }
}

/// Puts a draft that is not durable in its place. Where something is there, the two change their names: file
/// systems wait for the content of what is renamed over something else.
fn take_place(draft: &Draft, entry: &Entry, is_there: bool) -> Result<(), Errno> {
    let exchanged = if is_there { exchange(draft, entry) } else { Err(Errno::NOENT) };
    match exchanged {
        Ok(()) => {}
        // It is gone by now, or the file system cannot do this.
        Err(Errno::NOENT | Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            return renameat(&*draft.dir, &*draft.name, &*entry.dir.fd, entry.os_name());
        }
        Err(errno) => return Err(errno),
    }
    match unlinkat(&*draft.dir, &*draft.name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        // Somebody on the machine has just put a directory there.
        Err(errno @ (Errno::ISDIR | Errno::PERM)) => exchange(draft, entry).and(Err(errno)),
        Err(errno) => {
            tracing::debug!(%errno, "a file that was replaced could not be removed yet");
            Ok(())
        }
    }
}

#[cfg(target_os = "linux")]
fn exchange(draft: &Draft, entry: &Entry) -> Result<(), Errno> {
    use rustix::fs::{RenameFlags, renameat_with};
    renameat_with(&*draft.dir, &*draft.name, &*entry.dir.fd, entry.os_name(), RenameFlags::EXCHANGE)
}

#[cfg(not(target_os = "linux"))]
fn exchange(_draft: &Draft, _entry: &Entry) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}
