//! Tests of the password prompt on a pseudo-terminal: what is typed is never shown, and the terminal is as it was however
//! asking ends.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Child, Command, Stdio};

use crate::terminal::{open_terminal, take_terminal};
use crate::world::{gsv, send_signal, wait_until};

const PROMPT: &str = "New password: ";
const SECRET: &str = "hunter-2-hunter";
/// The race these tests are about was lost most of the time, not every time.
const ROUNDS: usize = 20;

/// A shell with job control, as people have one: it outlives the command, and with it the terminal's modes do.
const SHELL: &str = "trap : INT; set -m; \"$@\"; code=$?
    while [ $code = 148 ]; do echo stop''ped; read -r line; fg; code=$?; done
    echo end''ed $code; read -r line; echo \"line <$line>\"";

/// A command that asks for a new password, twice, and then finds no gateway.
struct Asking {
    _home: tempfile::TempDir,
    person: File,
    terminal: File,
    shell: Child,
    shown: String,
}

impl Asking {
    fn start() -> Asking {
        let home = tempfile::Builder::new().prefix("home-").tempdir().unwrap();
        let program = gsv(home.path()).get_program().to_owned();
        Asking::start_in(home, &[&program])
    }

    /// Starts a program that is written with these words.
    fn start_in(home: tempfile::TempDir, program: &[&OsStr]) -> Asking {
        let command = gsv(home.path());
        let mut shell = Command::new("dash");
        shell.args(["-c", SHELL, "shell"]).args(program).args(["users", "passwd", "alice"]);
        shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        shell.current_dir(home.path()).env("GSV_URL", "ws://127.0.0.1:1/ws");
        let (person, terminal) = open_terminal();
        shell.stdin(terminal.try_clone().unwrap()).stderr(terminal.try_clone().unwrap());
        shell.stdout(terminal.try_clone().unwrap());
        take_terminal(&mut shell);
        let shell = shell.spawn().unwrap();
        Asking { _home: home, person, terminal, shell, shown: String::new() }
    }

    /// Reads until this is shown.
    #[track_caller]
    fn wait_for(&mut self, text: &str) {
        // Byte by byte: nothing may be done between the prompt's last byte and the answer.
        let mut byte = [0];
        while !self.shown.ends_with(text) {
            assert_eq!(self.person.read(&mut byte).unwrap(), 1, "`{text}` was not shown: {}", self.shown);
            self.shown.push(char::from(byte[0]));
        }
    }

    fn type_in(&mut self, text: &str) {
        self.person.write_all(text.as_bytes()).unwrap();
    }

    /// Waits for the command's end, and looks whether the terminal is as it was.
    #[track_caller]
    fn ends_with(&mut self, code: i32) {
        self.wait_for(&format!("ended {code}\r\n"));
        assert!(echoes(&self.terminal), "{}", self.shown);
        assert!(!self.shown.contains("hunter") && !self.shown.contains("half"), "{}", self.shown);
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        // It may have ended by itself; its command ends with its terminal.
        drop(self.shell.kill());
        drop(self.shell.wait());
    }
}

/// Whether a terminal shows what is typed.
#[allow(unsafe_code)] // Terminals have no safe interface in the standard library.
fn echoes(terminal: &File) -> bool {
    // SAFETY: the descriptor is open, and the call fills in the struct, for which all zeros is a valid value.
    let modes = unsafe {
        let mut modes: libc::termios = std::mem::zeroed();
        assert_eq!(libc::tcgetattr(terminal.as_raw_fd(), &mut modes), 0);
        modes
    };
    modes.c_lflag & libc::ECHO != 0
}

/// The command that has the terminal. A stranger may ask at the near end only.
#[allow(unsafe_code)] // The same.
fn foreground(terminal: &File) -> i32 {
    // SAFETY: the descriptor is open, and the call takes nothing else.
    let group = unsafe { libc::tcgetpgrp(terminal.as_raw_fd()) };
    assert!(group > 0);
    group
}

#[test]
fn a_prompt_is_shown_after_the_terminal_went_blind() {
    for _ in 0..ROUNDS {
        let mut asking = Asking::start();
        asking.wait_for(PROMPT);
        assert!(!echoes(&asking.terminal));
    }
}

#[test]
fn what_is_typed_right_after_the_prompt_is_not_shown() {
    for _ in 0..ROUNDS {
        let mut asking = Asking::start();
        asking.wait_for(PROMPT);
        // Both answers at once, as one who pastes them.
        asking.type_in(&format!("{SECRET}\n{SECRET}\n"));
        asking.ends_with(1);
        assert!(asking.shown.contains("cannot reach"), "{}", asking.shown);
    }
}

#[test]
fn what_is_typed_before_the_prompt_is_not_shown() {
    for _ in 0..ROUNDS {
        let mut asking = Asking::start();
        wait_until("the terminal shows what is typed", || !echoes(&asking.terminal));
        asking.type_in(&format!("{SECRET}\n{SECRET}\n"));
        asking.ends_with(1);
        assert!(asking.shown.contains(PROMPT) && asking.shown.contains("cannot reach"), "{}", asking.shown);
    }
}

#[test]
fn between_two_questions_the_terminal_stays_blind() {
    let mut asking = Asking::start();
    for _ in 0..ROUNDS {
        asking.wait_for(PROMPT);
        asking.type_in("half\n");
    }
    asking.wait_for(PROMPT);
    asking.type_in(&format!("{SECRET}\n"));
    asking.wait_for("again: ");
    asking.type_in(&format!("{SECRET}-\n"));
    asking.wait_for("The two are different.\r\n");
    asking.wait_for(PROMPT);
    asking.type_in(&format!("{SECRET}\n{SECRET}\n"));
    asking.ends_with(1);
}

#[test]
fn ctrl_c_at_a_password_leaves_the_terminal_as_it_was() {
    for _ in 0..ROUNDS {
        let mut asking = Asking::start();
        asking.wait_for(PROMPT);
        asking.type_in("half\x03");
        asking.ends_with(128 + libc::SIGINT);
    }
}

#[test]
fn what_ends_a_program_leaves_the_terminal_as_it_was() {
    for number in [libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
        if number == libc::SIGHUP && crate::running::ignores_hangups() {
            continue;
        }
        let mut asking = Asking::start();
        asking.wait_for(PROMPT);
        asking.type_in("half");
        send_signal(foreground(&asking.person), number);
        asking.ends_with(128 + number);
        // Half a password is not what the shell reads next.
        asking.type_in("next\n");
        asking.wait_for("line <next>\r\n");
    }
}

#[test]
fn ctrl_z_at_a_password_shows_again_what_is_typed() {
    let mut asking = Asking::start();
    asking.wait_for(PROMPT);
    asking.type_in("half\x1a");
    asking.wait_for("stopped\r\n");
    assert!(echoes(&asking.terminal));
    asking.type_in("\n");
    asking.wait_for(PROMPT);
    assert!(!echoes(&asking.terminal));
    asking.type_in(&format!("{SECRET}\n{SECRET}\n"));
    asking.ends_with(1);
}

#[test]
fn what_has_a_password_or_a_token_is_closed_to_programs_of_the_same_user() {
    let home = tempfile::Builder::new()
        .prefix("home-")
        .permissions(PermissionsExt::from_mode(0o755))
        .tempdir()
        .unwrap();
    // Root reads everything, so that somebody else asks, who must be able to start the program.
    let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    let nobody: &[&str] =
        if is_root { &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] } else { &["env"] };
    let program = home.path().join("gsv");
    std::fs::copy(gsv(home.path()).get_program(), &program).unwrap();
    let words: Vec<&OsStr> = nobody.iter().map(OsStr::new).chain([program.as_os_str()]).collect();
    let mut asking = Asking::start_in(home, &words);
    asking.wait_for(PROMPT);
    let asker = foreground(&asking.person);
    for file in ["environ", "mem", "maps", "auxv"] {
        let mut reading = Command::new(nobody[0]);
        reading.args(&nobody[1..]).args(["head", "-c", "1"]).arg(format!("/proc/{asker}/{file}"));
        let said = reading.output().unwrap();
        let why = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(!said.status.success() && why.contains("Permission denied"), "{file}: {why}");
    }
}

#[test]
fn a_program_without_a_terminal_is_told_how() {
    let home = tempfile::Builder::new().prefix("home-").tempdir().unwrap();
    let mut command = gsv(home.path());
    command.env("GSV_URL", "ws://127.0.0.1:1/ws").args(["users", "passwd", "alice"]).stdin(Stdio::null());
    let said = command.output().unwrap();
    assert_eq!(said.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&said.stderr).contains("--password-stdin"));
}
