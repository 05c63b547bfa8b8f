//! Tests of hangups and signals: a prompt that is told to end, or whose terminal goes away, is gone, and takes its
//! command with it.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::at_the_prompt::Person;
use crate::running::ignores_hangups;
use crate::world::{World, send_signal, wait_until};

/// A command that says when it runs, and leaves a mark when it is ended in good order.
fn stubborn(mark: &Path) -> String {
    // The word is put together, so that it is not what the terminal echoes.
    format!("trap 'echo > {}; exit' TERM; echo re''ady; while :; do sleep 0.05; done", mark.display())
}

fn mark_in(world: &World, name: &str) -> PathBuf {
    world.workspace().join(name)
}

#[track_caller]
fn exit_code(child: &mut Child) -> i32 {
    let mut status = None;
    wait_until("the program goes on", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    status.unwrap().code().unwrap_or(-1)
}

fn signal(child: &Child, number: i32) {
    send_signal(i32::try_from(child.id()).unwrap(), number);
}

/// As `nohup` starts a program.
#[allow(unsafe_code)] // What happens between fork and exec has no safe interface.
fn without_hangups(mut command: Command) -> Command {
    // SAFETY: the call is allowed between fork and exec, and touches no memory.
    unsafe {
        command.pre_exec(|| match libc::signal(libc::SIGHUP, libc::SIG_IGN) == libc::SIG_ERR {
            true => Err(std::io::Error::last_os_error()),
            false => Ok(()),
        });
    }
    command
}

#[test]
fn a_shell_that_is_told_to_end_ends_its_command() {
    let world = World::with_device();
    for (number, code) in [(libc::SIGTERM, 143), (libc::SIGHUP, 129)] {
        // Whoever started the tests with hang-ups ignored (`nohup`) has asked for just that.
        if number == libc::SIGHUP && ignores_hangups() {
            continue;
        }
        let mark = mark_in(&world, &format!("ended-{number}"));
        let mut person = Person::start(&world, &["shell", "--target", "desk"]);
        person.wait_for("desk$ ");
        person.say(&stubborn(&mark));
        person.wait_for("ready");
        signal(&person.child, number);
        assert_eq!(exit_code(&mut person.child), code);
        wait_until("the command goes on", || mark.exists());
    }
}

#[test]
fn a_script_of_a_shell_that_is_told_to_end_ends_its_command() {
    let world = World::with_device();
    let mark = mark_in(&world, "ended");
    let mut command = world.command(&["shell", "--target", "desk"]);
    let mut shell = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = shell.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, format!("{}\n", stubborn(&mark)).as_bytes()).unwrap();
    let mut output = std::io::BufReader::new(shell.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut output, &mut line).unwrap();
    assert_eq!(line, "ready\n");
    signal(&shell, libc::SIGTERM);
    assert_eq!(exit_code(&mut shell), 143);
    wait_until("the command goes on", || mark.exists());
    // Between two lines there is nothing to end but the shell itself.
    let mut shell = command.spawn().unwrap();
    let mut input = shell.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, b"echo first\n").unwrap();
    let mut output = std::io::BufReader::new(shell.stdout.take().unwrap());
    line.clear();
    std::io::BufRead::read_line(&mut output, &mut line).unwrap();
    assert_eq!(line, "first\n");
    signal(&shell, libc::SIGTERM);
    assert_eq!(exit_code(&mut shell), 143);
}

#[test]
fn a_prompt_that_is_told_to_end_ends() {
    let world = World::set_up();
    let mut person = Person::start(&world, &["shell"]);
    person.wait_for("gsv$ ");
    signal(&person.child, libc::SIGTERM);
    assert_eq!(exit_code(&mut person.child), 143);
}

#[test]
fn a_shell_whose_terminal_goes_away_ends_its_command() {
    let world = World::with_device();
    for ignoring in [false, true] {
        let mark = mark_in(&world, &format!("ended-{ignoring}"));
        let command = world.command(&["shell", "--target", "desk"]);
        let mut person = Person::run(if ignoring { without_hangups(command) } else { command });
        person.wait_for("desk$ ");
        person.say(&stubborn(&mark));
        person.wait_for("ready");
        let Person { terminal, mut child, .. } = person;
        drop(terminal);
        assert_eq!(exit_code(&mut child), 129);
        wait_until("the command goes on", || mark.exists());
    }
}

#[test]
fn a_command_that_writes_to_a_terminal_that_went_away_is_ended() {
    let world = World::with_device();
    let mark = mark_in(&world, "ended");
    let loud = stubborn(&mark).replace("sleep 0.05", "echo loud; sleep 0.05");
    let mut person = Person::run(without_hangups(world.command(&["shell", "--target", "desk"])));
    person.wait_for("desk$ ");
    person.say(&loud);
    person.wait_for("ready");
    person.wait_for("loud\r\n");
    let Person { terminal, mut child, .. } = person;
    drop(terminal);
    assert_eq!(exit_code(&mut child), 129);
    wait_until("the command goes on", || mark.exists());
}

#[test]
fn prompts_whose_terminal_goes_away_are_gone() {
    let world = World::set_up();
    for (args, prompt, code) in [(["shell"], "gsv$ ", 129), (["chat"], "› ", 1)] {
        let mut person = Person::run(without_hangups(world.command(&args)));
        person.wait_for(prompt);
        let Person { terminal, mut child, .. } = person;
        drop(terminal);
        assert_eq!(exit_code(&mut child), code, "{args:?}");
    }
}
