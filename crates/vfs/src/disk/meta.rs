//! Access control: owner, group and mode of a file, kept in an extended attribute, and what they allow whom.

use std::os::fd::{AsFd, BorrowedFd};

use protocol::identity::ProcessIdentity;
use protocol::ids::{Gid, Uid};
use rustix::fs::{Mode, XattrFlags, fchmod, fgetxattr, fsetxattr, fstat};
use rustix::io::Errno;

use journal::Attributes;

/// Where they are kept: an extended attribute with the text `uid:gid:mode`, the mode in octal.
pub(crate) const ATTRIBUTE: &str = "user.gsv";
/// The bits a mode may have. Nothing is executed in this tree, so set-uid and set-gid are only kept and shown.
pub(crate) const MODE_MASK: u32 = 0o7777;
/// What a new file's mode never has: set-uid and set-gid are set on purpose or not at all.
pub(crate) const UMASK: u32 = 0o6022;

/// Bit of [`Meta::allows`]: read.
pub(crate) const READ: u32 = 4;
/// Bit of [`Meta::allows`]: write.
pub(crate) const WRITE: u32 = 2;
/// Bit of [`Meta::allows`]: execute, or go through a directory.
pub(crate) const ENTER: u32 = 1;

/// Owner, group and mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Meta {
    pub uid: Uid,
    pub gid: Gid,
    pub mode: u32,
}

impl Meta {
    /// What belongs to root.
    pub const fn root(mode: u32) -> Meta {
        Meta { uid: Uid::ROOT, gid: Gid::ROOT, mode }
    }

    /// What somebody makes.
    pub fn new_by(who: &ProcessIdentity, mode: u32) -> Meta {
        Meta { uid: who.uid, gid: who.gid, mode: mode & MODE_MASK & !UMASK }
    }

    /// Whether all `bits` are allowed: the first of owner, group and others that fits decides. Root may do anything.
    pub fn allows(self, who: &ProcessIdentity, bits: u32) -> bool {
        let class = if who.uid.is_root() {
            return true;
        } else if who.uid == self.uid {
            self.mode >> 6
        } else if who.gid == self.gid || who.gids.contains(&self.gid) {
            self.mode >> 3
        } else {
            self.mode
        };
        class & bits == bits
    }

    /// Whether somebody may change mode and times: the owner and root.
    pub fn is_ruled_by(self, who: &ProcessIdentity) -> bool {
        who.uid.is_root() || who.uid == self.uid
    }

    /// Whether somebody may take a file with this meta out of a directory with that one.
    pub fn lets_go(self, directory: Meta, who: &ProcessIdentity) -> bool {
        let sticky = directory.mode & 0o1000 != 0;
        !sticky || self.is_ruled_by(who) || directory.is_ruled_by(who)
    }

    fn parse(text: &[u8]) -> Option<Meta> {
        let mut parts = std::str::from_utf8(text).ok()?.trim_end().split(':');
        let meta = Meta {
            uid: Uid(parts.next()?.parse().ok()?),
            gid: Gid(parts.next()?.parse().ok()?),
            mode: u32::from_str_radix(parts.next()?, 8).ok()? & MODE_MASK,
        };
        parts.next().is_none().then_some(meta)
    }

    fn text(self) -> String {
        format!("{}:{}:{:o}", self.uid, self.gid, self.mode)
    }

    /// What is kept beside an open file; nothing where it appeared from outside.
    pub fn read(file: BorrowedFd) -> Result<Option<Meta>, Errno> {
        let mut text = [0u8; 64];
        match fgetxattr(file, ATTRIBUTE, &mut text[..]) {
            Ok(length) => Ok(Meta::parse(&text[..length])),
            Err(errno) if errno == ABSENT || errno == Errno::NOTSUP || errno == Errno::RANGE => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Keeps it beside an open file.
    pub fn write(self, file: impl AsFd) -> Result<(), Errno> {
        let file = file.as_fd();
        let set = || fsetxattr(file, ATTRIBUTE, self.text().as_bytes(), XattrFlags::empty());
        match set() {
            // The host lets attributes be changed only where it lets the content be: a read-only file from
            // outside is ours to change all the same.
            Err(Errno::ACCESS | Errno::PERM) => {
                let mode = Mode::from_raw_mode(fstat(file)?.st_mode);
                fchmod(file, mode | Mode::RUSR | Mode::WUSR)?;
                set()
            }
            done => done,
        }
    }
}

impl From<Meta> for Attributes {
    fn from(meta: Meta) -> Attributes {
        Attributes { uid: meta.uid.0, gid: meta.gid.0, mode: meta.mode }
    }
}

impl From<Attributes> for Meta {
    fn from(attributes: Attributes) -> Meta {
        Meta { uid: Uid(attributes.uid), gid: Gid(attributes.gid), mode: attributes.mode }
    }
}

#[cfg(target_os = "linux")]
const ABSENT: Errno = Errno::NODATA;
#[cfg(not(target_os = "linux"))]
const ABSENT: Errno = Errno::NOATTR;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_read_back_and_nonsense_is_none() {
        let meta = Meta { uid: Uid(1000), gid: Gid(100), mode: 0o1644 };
        assert_eq!(meta.text(), "1000:100:1644");
        assert_eq!(Meta::parse(meta.text().as_bytes()), Some(meta));
        assert_eq!(Meta::parse(b"1:2:16755"), Some(Meta { uid: Uid(1), gid: Gid(2), mode: 0o6755 }));
        for nonsense in ["", "1:2", "1:2:9", "1:2:644:4", "-1:2:644", "a:b:c", "99999999999:1:644"] {
            assert_eq!(Meta::parse(nonsense.as_bytes()), None, "{nonsense}");
        }
    }
}
