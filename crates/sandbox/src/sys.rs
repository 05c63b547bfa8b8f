//! Thin safe wrappers of the raw system calls that no library of ours offers: the only unsafe code of the crate, apart
//! from `launch.rs`.
#![allow(unsafe_code)]

mod signals;

use std::ffi::{CString, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

pub(crate) use signals::{
    SignalReader, block_signals, default_signals, die_by, ignore_signal, kill, unblock_signals,
};

/// Process id, as the kernel counts.
pub(crate) type Pid = libc::pid_t;

/// Which of the two processes this is after a fork.
pub(crate) enum Fork {
    Parent(Pid),
    Child,
}

fn checked(result: libc::c_long) -> io::Result<libc::c_long> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Copies the process. Only for helpers, which have one thread: in the child everything may be used.
pub(crate) fn fork() -> io::Result<Fork> {
    // SAFETY: the helper has a single thread, so no lock is held by a thread that the child does not have.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Fork::Child),
        pid => Ok(Fork::Parent(pid)),
    }
}

/// Ends the process at once, without running what a program does when it exits.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: takes no pointer and does not return.
    unsafe { libc::_exit(code) }
}

/// Takes over a descriptor that was inherited.
pub(crate) fn inherited(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: takes no pointer.
    checked(unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) }.into())?;
    // SAFETY: it is open, as the call above says, and the helper takes each number of its request once.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Leaves the namespaces named by `flags` for new ones.
pub(crate) fn unshare(flags: libc::c_int) -> io::Result<()> {
    // SAFETY: takes no pointer; the helper has one thread and shares no descriptor table.
    checked(unsafe { libc::unshare(flags) }.into()).map(drop)
}

/// Enters a namespace of the given kind.
pub(crate) fn enter(namespace: BorrowedFd<'_>, kind: libc::c_int) -> io::Result<()> {
    // SAFETY: takes no pointer.
    checked(unsafe { libc::setns(namespace.as_raw_fd(), kind) }.into()).map(drop)
}

/// Opens a name as it is, without following links anywhere in it. A link at its end is opened itself.
pub(crate) fn open_unfollowed(from: impl AsFd, path: &Path) -> io::Result<OwnedFd> {
    open_name(from, path, OFlags::NOFOLLOW)
}

/// Opens a name in which there is no link, nor at its end.
pub(crate) fn open_linkless(path: &Path) -> io::Result<OwnedFd> {
    open_name(CWD, path, OFlags::empty())
}

fn open_name(from: impl AsFd, path: &Path, more: OFlags) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | more;
    loop {
        match rustix::fs::openat2(&from, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            // The kernel could not be sure of a path while others renamed; it says to try again.
            Err(Errno::AGAIN) => {}
            other => return Ok(other?),
        }
    }
}

/// Attributes of mounts that are only ever added here.
pub(crate) mod mount_attr {
    pub(crate) const READ_ONLY: u64 = 0x1;
    pub(crate) const NO_SUID: u64 = 0x2;
    pub(crate) const NO_DEV: u64 = 0x4;
}

#[repr(C)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// Adds attributes to a mount, or to it and everything below.
pub(crate) fn restrict_mount(mount: impl AsFd, recursive: bool, set: u64) -> io::Result<()> {
    let attr = MountAttr { set, clear: 0, propagation: 0, user_namespace: 0 };
    let deep = if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is an empty string with its end, and the structure is as long as the size says.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_fd().as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | deep,
            &raw const attr,
            size_of::<MountAttr>(),
        )
    };
    checked(result).map(drop)
}

/// Closes every descriptor from 3 on that is not listed.
pub(crate) fn close_all_but(keep: &[RawFd]) -> io::Result<()> {
    let mut keep: Vec<u32> =
        keep.iter().filter_map(|fd| u32::try_from(*fd).ok()).filter(|fd| *fd > 2).collect();
    keep.sort_unstable();
    let mut first = 3;
    for fd in keep {
        if fd > first {
            close_range(first, fd - 1, 0)?;
        }
        first = fd + 1;
    }
    close_range(first, u32::MAX, 0)
}

/// Lets no descriptor but standard input, output and error pass to the next program.
pub(crate) fn close_all_on_exec() -> io::Result<()> {
    close_range(3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC)
}

/// Closes standard input, output and error of a process that is about to end: whoever reads at their other end need not
/// wait for it.
pub(crate) fn close_standard_streams() {
    // What cannot be closed ends with the process.
    drop(close_range(0, 2, 0));
}

fn close_range(first: u32, last: u32, flags: libc::c_uint) -> io::Result<()> {
    // SAFETY: takes no pointer. What is closed is nobody's: the helper has just begun, or is about to exec or to end.
    checked(unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) }).map(drop)
}

fn prctl(option: libc::c_int, value: libc::c_ulong) -> io::Result<()> {
    // SAFETY: the options used here take numbers only.
    checked(unsafe { libc::prctl(option, value, 0, 0, 0) }.into()).map(drop)
}

/// Has the process killed when its parent's thread ends.
pub(crate) fn die_with_parent() -> io::Result<()> {
    prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong)
}

/// Makes `/proc/PID` of the process unreadable to others of the same user, or readable again.
pub(crate) fn set_dumpable(dumpable: bool) -> io::Result<()> {
    prctl(libc::PR_SET_DUMPABLE, dumpable.into())
}

/// Has orphaned descendants become children of this process.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    prctl(libc::PR_SET_CHILD_SUBREAPER, 1)
}

/// Gives up that programs can raise rights when they are executed.
pub(crate) fn no_new_privileges() -> io::Result<()> {
    prctl(libc::PR_SET_NO_NEW_PRIVS, 1)
}

/// Has root be nobody special to `exec`, for good.
pub(crate) fn lock_root_out() -> io::Result<()> {
    /// `NOROOT`, `NO_SETUID_FIXUP`, `NO_CAP_AMBIENT_RAISE`, each with its lock.
    const BITS: libc::c_ulong = 0b1100_1111;
    prctl(libc::PR_SET_SECUREBITS, BITS)
}

/// Takes every capability out of the bounding set.
pub(crate) fn empty_bounding_set() -> io::Result<()> {
    for capability in 0..=63 {
        match prctl(libc::PR_CAPBSET_DROP, capability) {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) && capability > 30 => return Ok(()),
            other => other?,
        }
    }
    Ok(())
}

/// Installs a filter of system calls for this thread and all it starts.
pub(crate) fn install_filter(program: &[libc::sock_filter]) -> io::Result<()> {
    let len = u16::try_from(program.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let program = libc::sock_fprog { len, filter: program.as_ptr().cast_mut() };
    // SAFETY: the pointer and length are those of a slice that outlives the call; the kernel only reads.
    let result =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program) };
    checked(result).map(drop)
}

/// The Landlock version of the kernel.
pub(crate) fn landlock_version() -> io::Result<u32> {
    const VERSION: u32 = 1;
    let none = std::ptr::null::<u8>();
    // SAFETY: with this flag the kernel takes neither pointer nor size.
    let version =
        checked(unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, 0_usize, VERSION) })?;
    Ok(u32::try_from(version).unwrap_or(0))
}

/// What a Landlock rule set decides about. To an older kernel the parts it does not know must be zero.
#[repr(C)]
pub(crate) struct RulesetAttr {
    pub(crate) files: u64,
    pub(crate) network: u64,
    pub(crate) scopes: u64,
}

/// Makes an empty Landlock rule set.
pub(crate) fn landlock_ruleset(attr: &RulesetAttr) -> io::Result<OwnedFd> {
    let size = size_of::<RulesetAttr>();
    // SAFETY: the structure is as long as the size says.
    let fd = checked(unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::from_ref(attr), size, 0_u32)
    })?;
    // SAFETY: the kernel has just opened it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: RawFd,
}

/// Allows something beneath a file or directory.
pub(crate) fn landlock_allow(ruleset: &OwnedFd, place: &OwnedFd, allowed: u64) -> io::Result<()> {
    const BENEATH: libc::c_int = 1;
    let rule = PathBeneath { allowed, parent: place.as_raw_fd() };
    // SAFETY: the structure has the layout that this kind of rule wants, and is only read.
    let result = unsafe {
        libc::syscall(libc::SYS_landlock_add_rule, ruleset.as_raw_fd(), BENEATH, &raw const rule, 0_u32)
    };
    checked(result).map(drop)
}

/// Puts this thread and all it starts under a Landlock rule set.
pub(crate) fn landlock_restrict(ruleset: &OwnedFd) -> io::Result<()> {
    // SAFETY: takes no pointer.
    checked(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0_u32) }).map(drop)
}

/// Brings the loopback interface of the network namespace up.
pub(crate) fn loopback_up(socket: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: all zeros is a valid value of this structure of numbers.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(*b"lo") {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: this request reads such a structure.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) };
    checked(result.into()).map(drop)
}

/// Waits for a child and returns its raw wait status; `None` when none has ended and `block` is false.
pub(crate) fn wait(pid: Pid, block: bool) -> io::Result<Option<(Pid, i32)>> {
    let mut status = 0;
    let flags = if block { 0 } else { libc::WNOHANG };
    loop {
        // SAFETY: the status is a place for a number that outlives the call.
        match unsafe { libc::waitpid(pid, &raw mut status, flags) } {
            0 => return Ok(None),
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            -1 => return Err(io::Error::last_os_error()),
            ended => return Ok(Some((ended, status))),
        }
    }
}

/// Starts a session of which this process is the leader.
pub(crate) fn new_session() -> io::Result<()> {
    // SAFETY: takes no pointer.
    checked(unsafe { libc::setsid() }.into()).map(drop)
}

/// The number of the parent process.
pub(crate) fn parent() -> u32 {
    // SAFETY: takes no pointer.
    u32::try_from(unsafe { libc::getppid() }).unwrap_or(0)
}

/// Becomes another program. Returns only why it could not.
pub(crate) fn execute(command: &[OsString], env: &[(OsString, OsString)]) -> io::Error {
    let joined = env.iter().map(|(key, value)| {
        let mut pair = key.clone();
        pair.push("=");
        pair.push(value);
        pair
    });
    let (Ok(arguments), Ok(env)) = (c_strings(command.iter().cloned()), c_strings(joined)) else {
        return io::Error::new(io::ErrorKind::InvalidInput, "an argument or variable has a zero byte");
    };
    let Some(program) = arguments.first() else {
        return io::Error::new(io::ErrorKind::InvalidInput, "there is no command");
    };
    let (argv, envp) = (pointers(&arguments), pointers(&env));
    // SAFETY: both lists end with a null pointer and their strings live until the call has returned.
    unsafe { libc::execve(program.as_ptr(), argv.as_ptr(), envp.as_ptr()) };
    io::Error::last_os_error()
}

fn c_strings(list: impl Iterator<Item = OsString>) -> Result<Vec<CString>, std::ffi::NulError> {
    list.map(|text| CString::new(text.into_vec())).collect()
}

fn pointers(list: &[CString]) -> Vec<*const libc::c_char> {
    list.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect()
}
