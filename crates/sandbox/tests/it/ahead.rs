//! A helper that was started ahead: what it has while it waits, that it serves like any other, and that the end it tells
//! is an end.

use std::fs;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use sandbox::{Ahead, Outcome, Told, Waiting};

use crate::processes::alive;
use crate::stage::{SECRET, Stage};

/// Starts a helper and waits until it waits.
fn waiting(stage: &Stage) -> (Child, Waiting) {
    let Ahead { mut command, helper } = stage.sandbox.ahead().expect("a helper");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("a child");
    drop(command);
    while open_files(child.id()).is_some_and(|open| open.len() != 4) {
        std::thread::yield_now();
    }
    (child, helper)
}

/// What a process has open; nothing when one may not look.
fn open_files(pid: u32) -> Option<Vec<String>> {
    let of = |name: PathBuf| Some(fs::read_link(name).ok()?.display().to_string());
    let list = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten();
    Some(list.filter_map(|entry| of(entry.path())).collect())
}

#[test]
fn a_helper_that_waits_has_a_socket_and_nothing_else_of_ours() {
    let stage = Stage::new();
    // A descriptor that somebody forgot to close.
    let file = fs::File::open(stage.home.join(".ssh/id")).expect("a file");
    let forgotten = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD, 100) };
    assert!(forgotten >= 100);
    let (mut child, helper) = waiting(&stage);
    unsafe { libc::close(forgotten) };
    let own = |name: &str| fs::read(format!("/proc/{}/{name}", child.id())).expect("a table");
    // Only root may look at all.
    let open = open_files(child.id());
    assert_eq!(open.is_some(), rustix::process::getuid().is_root());
    if let Some(open) = open {
        let sockets = open.iter().filter(|name| name.starts_with("socket:")).count();
        assert!(sockets == 1 && !open.iter().any(|name| name.contains(".ssh")), "{open:?}");
        assert_eq!(own("environ"), b"");
    }
    let arguments = String::from_utf8_lossy(&own("cmdline")).into_owned();
    assert_eq!(arguments.split('\0').filter(|word| !word.is_empty()).count(), 3, "{arguments}");
    assert!(child.try_wait().expect("a status").is_none());
    // Without whoever could ask it for anything it ends.
    drop(helper);
    assert!(!child.wait().expect("an end").success());
}

#[test]
fn what_its_command_sees_is_what_is_there_when_it_is_handed_over() {
    let stage = Stage::new();
    let (child, helper) = waiting(&stage);
    stage.write("home/.ssh/later", SECRET);
    stage.write("home/.config/gsv/later", SECRET);
    stage.write("home/note", "for all to see");
    stage.write("outside/new/keys", SECRET);
    let mut spec = stage.spec(&[
        "/bin/sh",
        "-c",
        "cat ~/note; cat ~/.ssh/later ~/.config/gsv/later $OUT/new/keys; cat /proc/*/environ; ls /proc/self/fd",
    ]);
    spec.hidden.push(stage.outside.join("new"));
    let before = stage.canaries();
    let mut setup = helper.run(&spec, Some(&stage.network)).expect("handed over");
    let output = child.wait_with_output().expect("an end");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(out.starts_with("for all to see"), "{out} {err}");
    assert!(!out.contains(SECRET) && !stage.secret_is_out(), "{out}");
    assert!(out.ends_with("0\n1\n2\n3\n"), "{out}");
    assert_eq!(setup.listen(), Told::Ended(output.status));
    assert_eq!((setup.outcome(), stage.canaries()), (Outcome::Started, before));
}

#[test]
fn when_the_end_is_told_nothing_is_left_that_runs() {
    let stage = Stage::new();
    for number in 0..10 {
        let token = format!("AHEAD-{number}-{}", std::process::id());
        let script = "setsid sleep 600 & (trap '' TERM HUP; sleep 600) & echo started; exit 7";
        let mut spec = stage.spec(&["/bin/sh", "-c", script]);
        spec.env.push(("TOKEN".into(), token.clone().into()));
        let (child, helper) = waiting(&stage);
        let mut setup = helper.run(&spec, Some(&stage.network)).expect("handed over");
        let status = setup.wait().expect("a socket").expect("an end");
        assert!(!alive(&token), "something is left");
        let output = child.wait_with_output().expect("an end");
        assert_eq!((status.code(), output.status.code()), (Some(7), Some(7)), "{output:?}");
        assert_eq!(output.stdout, b"started\n");
    }
}

#[test]
fn a_helper_that_is_gone_is_noticed() {
    let stage = Stage::new();
    let spec = stage.spec(&["/bin/sh", "-c", "echo x > started"]);
    let (mut child, helper) = waiting(&stage);
    child.kill().expect("a signal");
    child.wait().expect("an end");
    assert!(helper.run(&spec, Some(&stage.network)).is_err());
    // One that is stopped before it has read the request starts nothing when it is ended.
    let (mut child, helper) = waiting(&stage);
    let pid = i32::try_from(child.id()).expect("a number");
    assert_eq!(unsafe { libc::kill(pid, libc::SIGSTOP) }, 0);
    let mut setup = helper.run(&spec, Some(&stage.network)).expect("sent");
    child.kill().expect("a signal");
    child.wait().expect("an end");
    assert_eq!(setup.wait().expect("a socket"), None);
    assert!(matches!(setup.outcome(), Outcome::NotStarted(_)));
    assert!(!stage.workspace.join("started").exists());
}
