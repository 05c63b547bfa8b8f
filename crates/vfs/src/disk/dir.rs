//! Directory handle: an open directory of the tree, and what is found in it by name. Nothing here follows a link.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use protocol::identity::ProcessIdentity;
use protocol::ids::{Gid, Uid};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, openat, readlinkat, statat};
use rustix::io::Errno;

use super::Disk;
use super::fail::Fail;
use super::meta::{ENTER, Meta, READ, WRITE};
use super::mounts;
use crate::fault::Code;
use crate::live;
use crate::path::VPath;
use crate::stat::{FileKind, Stat};
use journal::Identity;

/// How things are opened to see what they are: without following, waiting or becoming their terminal.
const LOOK: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOCTTY);

/// Device and inode of something on the host.
pub(crate) type HostId = (u64, u64);

/// To whom files belong that appear from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DefaultOwner {
    pub uid: Uid,
    pub gid: Gid,
    /// A home or a workspace: nothing is for others.
    pub private: bool,
}

impl DefaultOwner {
    /// Outside of homes and workspaces.
    pub const ELSEWHERE: DefaultOwner = DefaultOwner { uid: Uid::ROOT, gid: Gid::ROOT, private: false };

    /// Owner, group and mode of something that appears here.
    pub fn meta(self, kind: FileKind) -> Meta {
        let mode = match (kind, self.private) {
            (FileKind::Link, _) => 0o777,
            (FileKind::Directory, true) => 0o750,
            (FileKind::Directory, false) => 0o755,
            (FileKind::File, true) => 0o640,
            (FileKind::File, false) => 0o644,
        };
        Meta { uid: self.uid, gid: self.gid, mode }
    }
}

/// An open directory. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Dir {
    pub fd: Arc<OwnedFd>,
    /// Its path in the tree, free of links.
    pub path: VPath,
    pub meta: Meta,
    /// Whose things are that appear in it from outside.
    pub default_owner: DefaultOwner,
    /// The names it has when it is made up; nobody can change it then.
    pub fixed: Option<&'static [&'static str]>,
}

/// What a name in a directory names.
pub(crate) struct OpenEntry {
    pub stat: Stat,
    /// Whether owner, group and mode are kept beside it; otherwise they follow from the place.
    pub stamped: bool,
    /// Something that is neither file, directory nor link: it can only be removed or renamed.
    pub special: bool,
    pub id: HostId,
    /// When it was last written, as fine as the host tells.
    modified_ns: i64,
    fd: Option<OwnedFd>,
}

impl OpenEntry {
    /// Owner, group and mode.
    pub fn meta(&self) -> Meta {
        Meta { uid: self.stat.uid, gid: self.stat.gid, mode: self.stat.mode }
    }

    pub fn is_directory(&self) -> bool {
        self.stat.kind == FileKind::Directory
    }

    pub fn is_link(&self) -> bool {
        self.stat.kind == FileKind::Link
    }

    /// What tells the file from others, and from itself before a change.
    pub fn identity(&self) -> Identity {
        Identity { ino: self.id.1, modified_ns: self.modified_ns, size: self.stat.size }
    }

    /// The handle of a file or directory, open for reading.
    pub fn handle(&self) -> Result<BorrowedFd<'_>, Fail> {
        self.fd.as_ref().map(AsFd::as_fd).ok_or_else(|| self.unreadable())
    }

    /// The regular file it is, open for reading at its beginning. Permissions are not looked at.
    pub fn into_file(mut self) -> Result<File, Fail> {
        match (self.stat.kind, self.fd.take()) {
            (FileKind::Directory, _) => Err(Code::IsDirectory.into()),
            (FileKind::File, Some(fd)) if !self.special => Ok(File::from(fd)),
            _ => Err(self.unreadable()),
        }
    }

    /// The handle alone, if there is one: while it is open, the host keeps what it names.
    pub fn into_handle(self) -> Option<OwnedFd> {
        self.fd
    }

    fn unreadable(&self) -> Fail {
        if self.special {
            return Fail::because(Code::Invalid, "not a regular file");
        }
        if self.is_link() {
            return Code::Loop.into();
        }
        Fail::because(Code::Denied, "the gateway itself is not allowed to open this file on its machine")
    }
}

impl Dir {
    /// Whether all bits are allowed. A made-up directory cannot be written, not even by root.
    pub fn allows(&self, who: &ProcessIdentity, bits: u32) -> bool {
        self.meta.allows(who, bits) && (bits & WRITE == 0 || self.fixed.is_none())
    }

    /// Goes on only where names may be looked up.
    pub fn need_enter(&self, who: &ProcessIdentity) -> Result<(), Fail> {
        if self.allows(who, ENTER) { Ok(()) } else { Err(Code::Denied.into()) }
    }

    /// Goes on only where names may be read, with what they name.
    pub fn need_list(&self, who: &ProcessIdentity) -> Result<(), Fail> {
        if self.allows(who, READ | ENTER) { Ok(()) } else { Err(Code::Denied.into()) }
    }

    /// Goes on only where names may be added and taken away.
    pub fn need_change(&self, who: &ProcessIdentity) -> Result<(), Fail> {
        if self.fixed.is_some() {
            let note = format!("'{}' is part of the system and cannot be changed", self.path);
            return Err(Fail::because(Code::NotPermitted, note));
        }
        if self.allows(who, WRITE | ENTER) { Ok(()) } else { Err(Code::Denied.into()) }
    }

    /// Device and inode.
    pub fn id(&self) -> Result<HostId, Errno> {
        fstat(&*self.fd).map(|stat| host_id(&stat))
    }

    /// Calls `each` for every name on disk, the gateway's own included, until it breaks.
    pub fn each_raw(&self, mut each: impl FnMut(&OsStr, FileType) -> ControlFlow<()>) -> Result<(), Errno> {
        let mut stream = rustix::fs::Dir::read_from(&*self.fd)?;
        while let Some(entry) = stream.read() {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." && each(name, entry.file_type()).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Whether a name on disk is to be seen: not the gateway's own, not covered by a live file, and text, so that
    /// it can be asked for.
    pub fn shows(&self, name: &OsStr) -> bool {
        if mounts::is_reserved(name) {
            return false;
        }
        let Some(text) = name.to_str() else { return false };
        self.fixed.is_none_or(|names| names.contains(&text)) && !live::names_in(&self.path).contains(&text)
    }

    /// Where a link in it leads, as it is written.
    pub fn link_target(&self, name: &OsStr) -> Result<OsString, Errno> {
        Ok(OsString::from_vec(readlinkat(&*self.fd, name, Vec::new())?.into_bytes()))
    }
}

impl Disk {
    /// The root directory.
    pub(crate) fn top(&self) -> Dir {
        Dir {
            fd: self.files.clone(),
            path: VPath::root(),
            meta: mounts::FIXED_META,
            default_owner: DefaultOwner::ELSEWHERE,
            fixed: mounts::fixed_names("/"),
        }
    }

    /// The names on disk that are to be seen, unsorted.
    pub(crate) fn names(&self, dir: &Dir) -> Result<Vec<OsString>, Fail> {
        let max = base::limits::files::DIRECTORY_NAMES_MAX;
        let mut names = Vec::new();
        dir.each_raw(|name, _| {
            if dir.shows(name) {
                names.push(name.to_os_string());
            } else if name.to_str().is_none() && !self.said_strange.swap(true, Ordering::Relaxed) {
                let path = &dir.path;
                tracing::warn!(%path, name = %name.display(), "names that are no text are not shown");
            }
            if names.len() > max { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if names.len() > max {
            let note = format!("'{}' has more than {max} names", dir.path);
            return Err(Fail::because(Code::TooLarge, note));
        }
        Ok(names)
    }

    /// What a name in a directory names, opened unless it is a link. Permissions are not looked at, and names
    /// of the gateway's own are found; see [`Dir::shows`].
    pub(crate) fn look(&self, dir: &Dir, name: &OsStr) -> Result<Option<OpenEntry>, Fail> {
        for _ in 0..base::limits::files::RACES_MAX {
            match openat(&*dir.fd, name, LOOK, Mode::empty()) {
                Ok(fd) => return self.look_open(dir, name, fd).map(Some),
                Err(Errno::NOENT) => return Ok(None),
                Err(
                    Errno::LOOP
                    | Errno::MLINK
                    | Errno::NXIO
                    | Errno::NODEV
                    | Errno::ACCESS
                    | Errno::OPNOTSUPP,
                ) => {}
                Err(errno) => return Err(errno.into()),
            }
            if let Some(there) = self.look_closed(dir, name)? {
                return Ok(Some(there));
            }
        }
        Err(Fail::because(Code::Io, "it changes all the time"))
    }

    fn look_open(&self, dir: &Dir, name: &OsStr, fd: OwnedFd) -> Result<OpenEntry, Fail> {
        let host = fstat(&fd)?;
        let (kind, special) = kind_of(&host);
        let kept = if special || !self.attributes { None } else { Meta::read(fd.as_fd())? };
        let meta = kept.unwrap_or_else(|| self.default_meta(dir, name, kind));
        Ok(OpenEntry { stamped: kept.is_some(), fd: Some(fd), ..there(&host, kind, special, meta) })
    }

    /// What could not be opened: a link, a socket, or a file that the host keeps from the gateway. Nothing when
    /// it has become something else meanwhile.
    fn look_closed(&self, dir: &Dir, name: &OsStr) -> Result<Option<OpenEntry>, Fail> {
        let host = match statat(&*dir.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(host) => host,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        let (kind, special) = kind_of(&host);
        let mut meta = self.default_meta(dir, name, kind);
        if kind != FileKind::Link {
            meta.mode = 0;
        }
        let kept_from_us = kind == FileKind::Link
            || special
            || matches!(openat(&*dir.fd, name, LOOK, Mode::empty()), Err(Errno::ACCESS));
        Ok(kept_from_us.then(|| there(&host, kind, special, meta)))
    }

    /// The directory that was found in another.
    pub(crate) fn enter(&self, parent: &Dir, name: &OsStr, there: OpenEntry) -> Result<Dir, Fail> {
        if !there.is_directory() {
            return Err(Code::NotDirectory.into());
        }
        let (mut meta, path) = (there.meta(), parent.path.join(&name.to_string_lossy()));
        let default_owner = if mounts::holds_places(parent.path.as_str()) {
            DefaultOwner { uid: meta.uid, gid: meta.gid, private: true }
        } else {
            parent.default_owner
        };
        let fixed = mounts::fixed_names(path.as_str());
        if fixed.is_some() {
            meta = mounts::FIXED_META;
        }
        let Some(fd) = there.fd else { return Err(there.unreadable()) };
        Ok(Dir { fd: Arc::new(fd), path, meta, default_owner, fixed })
    }

    /// Owner, group and mode of what appeared from outside.
    pub(crate) fn default_meta(&self, dir: &Dir, name: &OsStr, kind: FileKind) -> Meta {
        if dir.fixed.is_some() {
            let mount = name.to_str().and_then(|name| mounts::mount(dir.path.join(name).as_str()));
            return mount.map_or(mounts::FIXED_META, |mount| mount.meta);
        }
        if kind == FileKind::Directory && dir.path.as_str() == mounts::WORKSPACES {
            return match name.to_str().and_then(|name| self.workspace_owner(name)) {
                Some((uid, gid)) => DefaultOwner { uid, gid, private: true }.meta(kind),
                // Nobody has made it through the gateway; what is in it is nobody else's business.
                None => Meta::root(0o700),
            };
        }
        if kind == FileKind::Directory && dir.path.as_str() == "/home" {
            return match name.to_str().and_then(|name| self.home_owner(name)) {
                Some((uid, gid)) => DefaultOwner { uid, gid, private: true }.meta(kind),
                // Whose it was is not known; what is in it is nobody else's business.
                None => Meta::root(0o700),
            };
        }
        dir.default_owner.meta(kind)
    }
}

fn there(host: &rustix::fs::Stat, kind: FileKind, special: bool, meta: Meta) -> OpenEntry {
    let modified_ms = modified_ms(host);
    let size =
        if kind == FileKind::Directory || special { 0 } else { u64::try_from(host.st_size).unwrap_or(0) };
    let stat = Stat { kind, size, mode: meta.mode, uid: meta.uid, gid: meta.gid, modified_ms };
    OpenEntry { stat, stamped: false, special, id: host_id(host), modified_ns: modified_ns(host), fd: None }
}

fn kind_of(host: &rustix::fs::Stat) -> (FileKind, bool) {
    match FileType::from_raw_mode(host.st_mode) {
        FileType::RegularFile => (FileKind::File, false),
        FileType::Directory => (FileKind::Directory, false),
        FileType::Symlink => (FileKind::Link, false),
        _ => (FileKind::File, true),
    }
}

/// Device and inode of an open file.
pub(crate) fn id_of(file: impl AsFd) -> Result<HostId, Errno> {
    fstat(file).map(|stat| host_id(&stat))
}

// The host decides how wide these numbers are.
#[allow(clippy::unnecessary_cast)]
pub(super) fn host_id(host: &rustix::fs::Stat) -> HostId {
    (host.st_dev as u64, host.st_ino as u64)
}

#[allow(clippy::unnecessary_cast)]
pub(super) fn modified_ms(host: &rustix::fs::Stat) -> i64 {
    (host.st_mtime as i64).saturating_mul(1_000).saturating_add(host.st_mtime_nsec as i64 / 1_000_000)
}

#[allow(clippy::unnecessary_cast)]
pub(crate) fn modified_ns(host: &rustix::fs::Stat) -> i64 {
    (host.st_mtime as i64).saturating_mul(1_000_000_000).saturating_add(host.st_mtime_nsec as i64)
}
