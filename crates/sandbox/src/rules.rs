//! Landlock rule sets: a second layer under the mounts in full mode, and the only one in Landlock mode.
//!
//! Rules only ever allow, beneath a file or directory; what a rule set decides about and no rule allows is refused.

mod walk;

use std::io;
use std::path::{Path, PathBuf};

use base::limits::sandbox::LANDLOCK_RULES_MAX;
use rustix::fs::{CWD, FileType, Mode, OFlags};

use crate::failure::{At, Failure};
use crate::sys::{self, RulesetAttr};

const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
/// Removing and making names of every kind.
const CHANGE_DIR: u64 = 0x1ff0;
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEV: u64 = 1 << 15;
/// Connecting to a socket by its path.
const RESOLVE_UNIX: u64 = 1 << 16;
/// What means something for a file; the rest is for directories.
const OF_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV | RESOLVE_UNIX;

/// Binding and connecting TCP sockets.
const NETWORK: u64 = 0b11;
/// Abstract sockets and signals of others.
const SCOPES: u64 = 0b11;

/// The first version that keeps files outside from being cut off.
const OLDEST: u32 = 3;

/// Whether there is a Landlock that is worth something.
fn version() -> Result<Option<u32>, Failure> {
    match sys::landlock_version() {
        Ok(version) => Ok((version >= OLDEST).then_some(version)),
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EOPNOTSUPP)) => Ok(None),
        Err(error) => Err(Failure::new("ask for Landlock", error)),
    }
}

/// Full mode: refuses to write, and from version 9 to connect to a socket file, anywhere but beneath these places. It
/// closes named pipes, which read-only mounts leave open, and stands if a mount was forgotten. Where there is no
/// Landlock the mounts stand alone.
pub(crate) fn restrict_writes(places: &[PathBuf]) -> Result<(), Failure> {
    let Some(version) = version()? else { return Ok(()) };
    let mut handled = WRITE_FILE | CHANGE_DIR | REFER | TRUNCATE;
    if version >= 9 {
        handled |= RESOLVE_UNIX;
    }
    let mut rules = Ruleset::new(&RulesetAttr { files: handled, network: 0, scopes: 0 })?;
    for place in places {
        rules.allow(place, handled)?;
    }
    // Its files that are the machine's are read-only mounts.
    rules.allow(Path::new("/proc"), WRITE_FILE | TRUNCATE)?;
    rules.enforce()
}

/// Landlock mode: reads everywhere but in hidden places, writes beneath these, no TCP, no signals to others.
pub(crate) fn restrict_all(writable: &[PathBuf], hidden: &[PathBuf]) -> Result<(), Failure> {
    let Some(version) = version()? else {
        return Err(Failure::refused("use Landlock", "this kernel has none, or one older than version 3"));
    };
    let since = |first: u32, rights: u64| if version >= first { rights } else { 0 };
    let reading = EXECUTE | READ_FILE | READ_DIR;
    let writing = WRITE_FILE | CHANGE_DIR | REFER | TRUNCATE | since(9, RESOLVE_UNIX);
    let handled = reading | writing | since(5, IOCTL_DEV);
    let attr = RulesetAttr { files: handled, network: since(4, NETWORK), scopes: since(6, SCOPES) };
    let mut rules = Ruleset::new(&attr)?;
    // Names everywhere can be listed: without this not even the root directory could.
    rules.allow(Path::new("/"), READ_DIR)?;
    for place in walk::visible(hidden)? {
        rules.allow(&place, reading)?;
    }
    for place in writable {
        rules.allow(place, handled)?;
    }
    for device in ["null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm"] {
        rules.allow(&Path::new("/dev").join(device), handled)?;
    }
    rules.enforce()
}

/// Guests: opens nothing. Where there is no Landlock the filter of system calls stands alone.
pub(crate) fn restrict_everything() -> Result<(), Failure> {
    let Some(version) = version()? else { return Ok(()) };
    let since = |first: u32, rights: u64| if version >= first { rights } else { 0 };
    let files = EXECUTE | READ_FILE | READ_DIR | WRITE_FILE | CHANGE_DIR | REFER | TRUNCATE;
    let files = files | since(5, IOCTL_DEV) | since(9, RESOLVE_UNIX);
    let attr = RulesetAttr { files, network: since(4, NETWORK), scopes: since(6, SCOPES) };
    Ruleset::new(&attr)?.enforce()
}

struct Ruleset {
    set: std::os::fd::OwnedFd,
    count: usize,
    handled: u64,
}

impl Ruleset {
    fn new(attr: &RulesetAttr) -> Result<Ruleset, Failure> {
        let set = sys::landlock_ruleset(attr).at("make a Landlock rule set")?;
        Ok(Ruleset { set, count: 0, handled: attr.files })
    }

    /// Allows something beneath a place. One that is not there, or that nobody here can reach, needs no rule.
    fn allow(&mut self, place: &Path, rights: u64) -> Result<(), Failure> {
        self.count += 1;
        if self.count > LANDLOCK_RULES_MAX {
            return Err(Failure::refused(
                "write Landlock rules",
                format!("more than {LANDLOCK_RULES_MAX} are needed"),
            ));
        }
        let fd = match rustix::fs::openat(CWD, place, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
            Ok(fd) => fd,
            Err(error) if is_out_of_reach(error) => return Ok(()),
            Err(error) => return Err(error).at_path("open", place),
        };
        let stat = rustix::fs::fstat(&fd).at_path("look at", place)?;
        let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        let rights = rights & self.handled & if is_directory { u64::MAX } else { OF_FILES };
        if rights == 0 {
            return Ok(());
        }
        sys::landlock_allow(&self.set, &fd, rights).at_path("write a Landlock rule for", place)
    }

    fn enforce(self) -> Result<(), Failure> {
        sys::landlock_restrict(&self.set).at("enforce Landlock rules")
    }
}

fn is_out_of_reach(error: rustix::io::Errno) -> bool {
    let kind = io::Error::from(error).kind();
    matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied | io::ErrorKind::NotADirectory)
}
