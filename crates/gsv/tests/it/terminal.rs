//! Tests of interactive prompts on a pseudo-terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::world::World;

/// Runs a command at a terminal of its own: answers each prompt when it is shown. Gives the exit code and what
/// the terminal showed.
fn converse(command: &mut Command, answers: &[(&str, &str)]) -> (i32, String) {
    let (mut person, terminal) = open_terminal();
    command.stdin(terminal.try_clone().unwrap()).stderr(terminal).stdout(Stdio::null());
    take_terminal(command);
    let mut child = command.spawn().unwrap();
    // The command keeps the far end of the terminal open otherwise, and reading would never end.
    command.stdin(Stdio::null()).stderr(Stdio::null());
    let (mut shown, mut seen) = (String::new(), 0);
    let mut answers = answers.iter();
    let mut next = answers.next();
    let mut buffer = [0; 1024];
    // A terminal whose last user has gone cannot be read.
    while let Ok(count @ 1..) = person.read(&mut buffer) {
        shown.push_str(&String::from_utf8_lossy(&buffer[..count]));
        if let Some((prompt, answer)) = next
            && let Some(at) = shown[seen..].find(prompt)
        {
            seen += at + prompt.len();
            writeln!(person, "{answer}").unwrap();
            next = answers.next();
        }
    }
    assert_eq!(next, None, "{shown}");
    (child.wait().unwrap().code().unwrap_or(-1), shown)
}

#[allow(unsafe_code)] // Terminals have no safe interface in the standard library.
pub fn open_terminal() -> (File, File) {
    let mut name = [0; 128];
    // SAFETY: the calls use the descriptor that was just opened, which the file then owns, and a buffer that
    // lives longer than they take.
    let person = unsafe {
        let person = libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC);
        assert!(person >= 0 && libc::grantpt(person) == 0 && libc::unlockpt(person) == 0);
        assert_eq!(libc::ptsname_r(person, name.as_mut_ptr(), name.len()), 0);
        File::from_raw_fd(person)
    };
    let name: Vec<u8> = name.iter().take_while(|c| **c != 0).map(|c| c.to_ne_bytes()[0]).collect();
    let mut options = File::options();
    options.read(true).write(true);
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOCTTY);
    (person, options.open(String::from_utf8(name).unwrap()).unwrap())
}

/// Sets how many rows and columns a terminal has.
#[allow(unsafe_code)] // The same.
pub fn resize(person: &File, (rows, columns): (u16, u16)) {
    let size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the descriptor is open, and the call only reads the structure it expects.
    assert_eq!(unsafe { libc::ioctl(person.as_raw_fd(), libc::TIOCSWINSZ, &size) }, 0);
}

/// The command's stdin becomes its terminal, where passwords are asked for.
#[allow(unsafe_code)] // What happens between fork and exec has no safe interface.
pub fn take_terminal(command: &mut Command) {
    // SAFETY: both calls are allowed between fork and exec, and touch no memory.
    unsafe {
        command.pre_exec(|| match libc::setsid() < 0 || libc::ioctl(0, libc::TIOCSCTTY, 0) < 0 {
            true => Err(std::io::Error::last_os_error()),
            false => Ok(()),
        });
    }
}

#[test]
fn who_logs_in_for_one_command_stays_who_they_are() {
    let world = World::set_up();
    // Who was named is not asked for: a password typed there would be seen.
    let answers = [("Password for root: ", "root-password")];
    let (code, shown) = converse(&mut world.command(&["-u", "root", "users", "list"]), &answers);
    assert!(code == 0 && shown.contains("for this command only"), "{shown}");
    assert!(!shown.contains("Username") && !shown.contains("root-password"), "{shown}");
    assert_eq!(world.ok(&["config", "--local", "get", "gateway.username"]), "alice\n");
    world.fails(1, &["users", "list"]);
    world.ok(&["devices"]);
}

#[test]
fn a_login_that_was_asked_for_is_kept() {
    let world = World::set_up();
    world.ok(&["auth", "logout"]);
    let answers = [("Username [alice]: ", ""), ("Password: ", "wrong"), ("Password: ", "alice-password")];
    let (code, shown) = converse(&mut world.command(&["devices"]), &answers);
    assert!(code == 0 && shown.contains("logged in as alice until"), "{shown}");
    world.ok(&["devices"]);
}

#[test]
fn a_program_is_never_asked() {
    let world = World::set_up();
    world.ok(&["auth", "logout"]);
    let (code, shown) = converse(&mut world.command(&["devices", "--json"]), &[]);
    assert!(code == 1 && shown.contains(r#"{"error":"#) && !shown.contains("Username"), "{shown}");
    let remove = ["users", "remove", "alice", "--json", "-u", "root", "-p", "root-password"];
    let (code, shown) = converse(&mut world.command(&remove), &[]);
    assert!(code == 2 && shown.contains("--yes"), "{shown}");
}
