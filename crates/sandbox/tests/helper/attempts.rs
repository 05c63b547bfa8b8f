//! The attempts: `call NUMBER ARGUMENT…` makes any system call, where an argument is a number or `s:` and a text; the
//! other words are listed below. Each prints `ok` with what it found, or the error's number.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;

use crate::{bombs, faults, sockets};

/// Is the helper, or makes the attempt that the arguments say.
pub fn main() {
    if let Some(number) = std::env::var_os("SANDBOX_TEST_FAULT") {
        faults::break_call(number.to_str().expect("text"));
    }
    sandbox::run_if_helper();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match attempt(&words) {
        Ok(found) => println!("ok {found}"),
        Err(error) => println!("error {}", error.raw_os_error().unwrap_or(-1)),
    }
}

fn attempt(words: &[&str]) -> io::Result<String> {
    match words {
        ["call", number, arguments @ ..] => call(number, arguments),
        ["descriptors"] => descriptors(),
        ["euid"] => Ok(unsafe { libc::geteuid() }.to_string()),
        ["other-architecture"] => other_architecture(),
        ["loosen"] => loosen(),
        ["link-unnamed", directory, to] => link_unnamed(directory, to),
        ["terminal"] => terminal(),
        ["processes", most] => bombs::processes(most.parse().expect("a number")),
        ["threads", most] => bombs::threads(most.parse().expect("a number")),
        ["memory", bytes] => bombs::memory(bytes.parse().expect("a number")),
        ["linger"] => bombs::linger(),
        ["tcp", address] => sockets::tcp(address),
        ["udp", address] => sockets::udp(address),
        ["unix", path] => sockets::unix(path),
        ["abstract", name] => sockets::by_abstract_name(name),
        ["serve", address] => sockets::serve(address),
        ["serve-unix", path] => sockets::serve_unix(path),
        _ => Err(io::Error::other("unknown attempt")),
    }
}

pub fn checked(result: libc::c_long) -> io::Result<libc::c_long> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn call(number: &str, arguments: &[&str]) -> io::Result<String> {
    let texts: Vec<Option<CString>> = arguments
        .iter()
        .map(|argument| argument.strip_prefix("s:").map(|text| CString::new(text).expect("no zero byte")))
        .collect();
    let mut values = [0_i64; 6];
    for ((value, argument), text) in values.iter_mut().zip(arguments).zip(&texts) {
        *value = match text {
            Some(text) => text.as_ptr() as i64,
            None => argument.parse().expect("a number"),
        };
    }
    let number: libc::c_long = number.parse().expect("a number");
    let [a, b, c, d, e, f] = values;
    checked(unsafe { libc::syscall(number, a, b, c, d, e, f) }).map(|result| result.to_string())
}

fn install(program: &[libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    checked(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }.into())?;
    checked(unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program)
    })?;
    Ok(())
}

/// Adds a filter that allows everything, and tries a call that was refused before.
fn loosen() -> io::Result<String> {
    install(&[libc::sock_filter {
        code: (libc::BPF_RET | libc::BPF_K) as u16,
        jt: 0,
        jf: 0,
        k: libc::SECCOMP_RET_ALLOW,
    }])?;
    checked(unsafe { libc::unshare(libc::CLONE_NEWUSER) }.into()).map(|result| result.to_string())
}

/// What this process was given open, apart from the directory that is being listed.
fn descriptors() -> io::Result<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let entry = entry?;
        let target = std::fs::read_link(entry.path())?;
        if !target.as_os_str().as_bytes().ends_with(b"/fd") {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    found.sort();
    Ok(found.join(" "))
}

/// Makes a system call by the numbers of 32-bit programs.
#[cfg(target_arch = "x86_64")]
fn other_architecture() -> io::Result<String> {
    let result: i32;
    // `getpid` there.
    unsafe { std::arch::asm!("int 0x80", inlateout("eax") 20 => result) };
    Ok(result.to_string())
}

#[cfg(not(target_arch = "x86_64"))]
fn other_architecture() -> io::Result<String> {
    unsafe { libc::raise(libc::SIGSYS) };
    Ok(String::new())
}

/// Makes a file without a name here and gives it one there.
fn link_unnamed(directory: &str, to: &str) -> io::Result<String> {
    let directory = CString::new(directory).expect("no zero byte");
    let to = CString::new(to).expect("no zero byte");
    unsafe {
        let fd = checked(libc::open(directory.as_ptr(), libc::O_TMPFILE | libc::O_WRONLY, 0o600).into())?;
        let from = CString::new(format!("/proc/self/fd/{fd}")).expect("no zero byte");
        let follow = libc::AT_SYMLINK_FOLLOW;
        checked(libc::linkat(libc::AT_FDCWD, from.as_ptr(), libc::AT_FDCWD, to.as_ptr(), follow).into())?;
    }
    Ok(String::new())
}

/// Opens a terminal of its own and asks for its name.
fn terminal() -> io::Result<String> {
    unsafe {
        let master = libc::posix_openpt(libc::O_RDWR);
        checked(master.into())?;
        checked(libc::grantpt(master).into())?;
        checked(libc::unlockpt(master).into())?;
        let name = libc::ptsname(master);
        let slave = libc::open(name, libc::O_RDWR);
        checked(slave.into())?;
        Ok((libc::isatty(slave) == 1 && !libc::ttyname(slave).is_null()).to_string())
    }
}
