//! Escape corpus, processes and time: others cannot be seen, signalled or read, and nothing outlives its call.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command};

use sandbox::{Confined, Outcome};

use crate::stage::{HELPER, SECRET, Stage};

/// A process of the machine that is to live, with a secret in its environment.
struct Victim(Child);

impl Victim {
    fn new() -> Victim {
        Victim(
            Command::new("/bin/sleep")
                .arg("600")
                .env("SECRET", SECRET)
                .process_group(0)
                .spawn()
                .expect("a child"),
        )
    }

    fn lives(&mut self) -> bool {
        self.0.try_wait().expect("a status").is_none()
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn others_are_not_seen_not_signalled_and_not_read() {
    let stage = Stage::new();
    let mut victim = Victim::new();
    let pid = victim.0.id().to_string();
    let done = stage.sh(&format!(
        "kill -9 {pid}; kill -9 -{pid}; cat /proc/{pid}/environ /proc/[0-9]*/environ; echo; ls /proc | grep -c '^[0-9]'"
    ));
    assert!(!done.out.contains(SECRET), "{done:?}");
    let seen: usize =
        done.out.split_whitespace().last().and_then(|count| count.parse().ok()).expect("a number");
    assert!(seen <= 5, "{done:?}");
    for (number, arguments) in [
        (libc::SYS_kill, vec![pid.as_str(), "9"]),
        (libc::SYS_ptrace, vec!["16", &pid, "0", "0"]),
        (libc::SYS_pidfd_open, vec![&pid, "0"]),
    ] {
        let done = stage.call(number, &arguments);
        assert_eq!(done.errno(), Some(libc::ESRCH), "{number}: {done:?}");
    }
    stage.sh("kill -9 -1; kill -9 0");
    stage.sh("kill -9 0");
    assert!(victim.lives());
}

/// Whether any process of the machine has a text in its environment. Those that end while this looks do not count.
pub fn alive(token: &str) -> bool {
    let has = |pid: &std::ffi::OsStr| {
        let environ =
            std::fs::read(std::path::Path::new("/proc").join(pid).join("environ")).unwrap_or_default();
        environ.windows(token.len()).any(|part| part == token.as_bytes())
    };
    let entries = std::fs::read_dir("/proc").expect("a list").flatten();
    entries
        .map(|entry| entry.file_name())
        .any(|name| name.to_string_lossy().parse::<u32>().is_ok() && has(&name))
}

#[test]
fn nothing_outlives_its_call() {
    let stage = Stage::new();
    let scripts = [
        "setsid sleep 600 >/dev/null 2>&1 & nohup sleep 600 >/dev/null 2>&1 &",
        "(sleep 600 &) ; (trap '' TERM HUP INT; sleep 600) &",
        "sleep 600 & kill -STOP $!",
        "$HELPER linger",
    ];
    for (index, script) in scripts.into_iter().enumerate() {
        let token = format!("TOKEN-{index}-{}", std::process::id());
        let mut spec = stage.spec(&["/bin/sh", "-c", script]);
        spec.env.push(("TOKEN".into(), token.clone().into()));
        let done = stage.run(&spec);
        assert_eq!(done.outcome, Outcome::Started, "{script}");
        assert!(!alive(&token), "{script}: {done:?}");
    }
}

/// Starts a script and waits until it says that it is ready.
fn started(stage: &Stage, script: &str) -> (Child, BufReader<std::process::ChildStdout>) {
    let Confined { mut command, setup: _kept } = stage.confined(&stage.spec(&["/bin/sh", "-c", script]));
    let mut child = command.process_group(0).spawn().expect("a child");
    let mut out = BufReader::new(child.stdout.take().expect("its output"));
    let mut line = String::new();
    out.read_line(&mut line).expect("a line");
    assert_eq!(line, "ready\n");
    (child, out)
}

#[test]
fn killing_the_helper_ends_everything() {
    let stage = Stage::new();
    let (mut child, mut out) =
        started(&stage, "trap '' TERM HUP INT; sleep 600 & setsid sleep 600 & echo ready; wait");
    child.kill().expect("a signal");
    assert_eq!(child.wait().expect("an end").signal(), Some(libc::SIGKILL));
    // Ends when the last process that holds it has ended.
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("text");
    assert_eq!(rest, "");
}

#[test]
fn a_signal_to_the_helpers_group_reaches_the_command() {
    let stage = Stage::new();
    let script = "trap 'echo got; exit 3' TERM; echo ready; while :; do sleep 0.05; done";
    let (mut child, mut out) = started(&stage, script);
    let group = i32::try_from(child.id()).expect("a number");
    assert_eq!(unsafe { libc::kill(-group, libc::SIGTERM) }, 0);
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("text");
    assert_eq!((rest.as_str(), child.wait().expect("an end").code()), ("got\n", Some(3)));
    let (mut child, _out) = started(&stage, "echo ready; exec sleep 600");
    let group = i32::try_from(child.id()).expect("a number");
    assert_eq!(unsafe { libc::kill(-group, libc::SIGINT) }, 0);
    assert_eq!(child.wait().expect("an end").signal(), Some(libc::SIGINT));
}

#[test]
fn the_exit_status_is_the_commands_own() {
    let stage = Stage::new();
    for code in [0, 1, 7, 125, 126, 127, 255] {
        let done = stage.sh(&format!("exit {code}"));
        assert_eq!((done.outcome, done.code), (Outcome::Started, Some(code)));
    }
    for signal in [libc::SIGTERM, libc::SIGKILL, libc::SIGINT, libc::SIGSEGV, libc::SIGPIPE, libc::SIGUSR1] {
        let done = stage.sh(&format!("kill -{signal} $$"));
        assert_eq!((done.outcome, done.signal), (Outcome::Started, Some(signal)));
    }
    let done = stage.sh("echo out; echo err >&2; exit 7");
    assert_eq!((done.out.as_str(), done.err.as_str()), ("out\n", "err\n"));
}

#[test]
fn processes_and_threads_are_bounded() {
    let stage = Stage::new();
    for word in ["processes", "threads"] {
        let mut spec = stage.spec(&[HELPER, word, "1000"]);
        spec.limits.processes = 320;
        let done = stage.run(&spec);
        let made: usize =
            done.out.trim().strip_prefix("ok ").and_then(|made| made.parse().ok()).expect("a number");
        assert!((10..=320).contains(&made), "{word}: {done:?}");
    }
}

#[test]
fn memory_is_bounded() {
    let stage = Stage::new();
    let mut spec = stage.spec(&[HELPER, "memory", "300000000"]);
    spec.limits.memory_bytes = 100_000_000;
    let done = stage.run(&spec);
    assert_eq!((done.outcome.clone(), done.signal), (Outcome::OutOfMemory, Some(libc::SIGKILL)), "{done:?}");
}
