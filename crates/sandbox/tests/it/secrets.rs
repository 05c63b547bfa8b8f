//! Escape corpus, secrets: reading what is hidden, by every name it has, and what appears while a command runs.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::symlink;

use sandbox::{Confined, Outcome};

use crate::stage::{SECRET, Stage, shells};

const ATTEMPTS: &[(&str, &str)] = &[
    ("by name", "cat $HOME/.ssh/id $HOME/.aws/credentials $HOME/.config/gsv/token $OUT/keys"),
    ("by the real name of a link", "cat $OUT/aws/credentials; ls $OUT/aws"),
    (
        "by a link",
        "ln -s $HOME/.ssh s; cat s/id; ln -s $OUT/keys k; cat k; cp -rL s copy; tar cf t.tar -h s k",
    ),
    ("by a hard link", "ln $OUT/keys h; cat h; cp -l $HOME/.ssh/id h2; cat h2"),
    (
        "by dots",
        "cat ../home/.ssh/id ../outside/../home/.ssh/id; cd $HOME && cat .ssh/id; cd .. && cat home/./.ssh//id",
    ),
    (
        "by /proc",
        "cat /proc/self/root$HOME/.ssh/id /proc/1/root$HOME/.ssh/id /proc/self/cwd/../home/.ssh/id /proc/thread-self/root$OUT/keys",
    ),
    (
        "by the descriptors of process 1",
        "cat /proc/1/environ; ls -l /proc/1/fd; cat /proc/1/fd/*; cat /proc/[0-9]*/environ",
    ),
    ("by changing modes", "chmod 700 $HOME/.ssh; chmod 600 $OUT/keys; cat $HOME/.ssh/id $OUT/keys"),
    ("by copying blocks", "cp --reflink=always $OUT/keys r; cp $OUT/keys r; dd if=$OUT/keys of=r; cat r"),
    ("by moving", "mv $OUT/keys k; mv $HOME/.ssh s; mv $OUT/aws a2; cat k s/id a2/credentials"),
    (
        "by searching",
        "grep -rs sesame $HOME $OUT; find $HOME $OUT -type f -exec cat {} +; tar cf all.tar $HOME $OUT; cp -r $HOME $OUT .",
    ),
    ("by unmounting", "umount $HOME/.ssh; umount -l $OUT/keys; umount $HOME; cat $HOME/.ssh/id $OUT/keys"),
];

#[test]
fn what_is_hidden_cannot_be_read_by_any_name() {
    let stage = Stage::new();
    let before = stage.canaries();
    for (what, script) in ATTEMPTS {
        for shell in shells() {
            let done = stage.run(&stage.spec(&[shell, "-c", script]));
            assert_eq!(done.outcome, Outcome::Started, "{what}");
            let told = done.out.contains(SECRET) || done.err.contains(SECRET);
            assert!(!told && !stage.secret_is_out(), "{what} in {shell}: {done:?}");
        }
    }
    assert_eq!(stage.canaries(), before);
    let done = stage.sh("cat $HOME/.gitconfig $HOME/.config/tool/settings $OUT/file");
    assert!(done.out.contains("example.org") && done.out.contains("settings"), "{done:?}");
}

#[test]
fn a_secret_with_an_odd_name_is_hidden_too() {
    let stage = Stage::new();
    let long = "x".repeat(255);
    for name in ["with\nline", "with space", "with,comma:colon\\", &long] {
        let path = stage.outside.join(name);
        fs::write(&path, SECRET).expect("a file");
        let mut spec = stage.spec(&["/bin/cat"]);
        spec.command.push(path.clone().into());
        spec.hidden.push(path);
        let done = stage.run(&spec);
        assert!(!done.out.contains(SECRET), "{name}: {done:?}");
        assert_eq!(done.code, Some(1), "{name}: {done:?}");
    }
}

#[test]
fn a_secret_in_the_workspace_is_hidden_and_cannot_be_moved_away() {
    let stage = Stage::new();
    stage.write("work/conf/.env", SECRET);
    let script =
        "cat conf/.env; mv conf other; mv conf/.env x; ln conf/.env y; cat x y other/.env conf/.env; ls";
    for _ in 0..2 {
        let mut spec = stage.spec(&["/bin/sh", "-c", script]);
        spec.hidden.push(stage.workspace.join("conf/.env"));
        let done = stage.run(&spec);
        assert!(!done.out.contains(SECRET) && done.out.contains("conf\n"), "{done:?}");
    }
    assert_eq!(fs::read_to_string(stage.workspace.join("conf/.env")).expect("a file"), SECRET);
}

#[test]
fn a_workspace_inside_a_hidden_directory_is_all_that_is_seen_of_it() {
    let stage = Stage::new();
    stage.write("home/project/file", "mine");
    let mut spec =
        stage.spec(&["/bin/sh", "-c", "cat file; echo x > new; ls -A ..; cat ../.ssh/id ../.gitconfig"]);
    (spec.workspace, spec.cwd) = (stage.home.join("project"), stage.home.join("project"));
    (spec.hidden, spec.inverted) = (vec![stage.home.clone()], Vec::new());
    let done = stage.run(&spec);
    assert_eq!(done.out, "mineproject\n", "{done:?}");
    assert!(stage.home.join("project/new").exists());
}

#[test]
fn a_workspace_in_the_temporary_directory_is_seen_there() {
    let stage = Stage::new();
    let dir = tempfile::tempdir_in("/tmp").expect("a directory");
    let workspace = fs::canonicalize(dir.path()).expect("a path");
    let mut spec = stage.spec(&["/bin/sh", "-c", "echo x > new; echo y > /tmp/other; ls -A /tmp"]);
    (spec.workspace, spec.cwd) = (workspace.clone(), workspace.clone());
    let done = stage.run(&spec);
    assert_eq!(fs::read_to_string(workspace.join("new")).expect("a file"), "x\n", "{done:?}");
    assert!(stage.tmp.join("other").exists() && !std::path::Path::new("/tmp/other").exists());
    assert_eq!(done.out.lines().count(), 2, "{done:?}");
}

/// Runs a script that says when it is ready, does something outside, and lets it go on.
fn meanwhile(stage: &Stage, script: &str, act: impl FnOnce()) -> String {
    let whole = format!("echo ready; while ! test -e go; do :; done; {script}");
    let Confined { mut command, setup } = stage.confined(&stage.spec(&["/bin/sh", "-c", &whole]));
    let mut child = command.spawn().expect("a child");
    let mut out = BufReader::new(child.stdout.take().expect("its output"));
    let mut line = String::new();
    out.read_line(&mut line).expect("a line");
    assert_eq!(line, "ready\n", "{:?}", setup.outcome());
    act();
    stage.write("work/go", "");
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("text");
    child.wait().expect("an end");
    fs::remove_file(stage.workspace.join("go")).expect("a file");
    rest
}

#[test]
fn a_secret_that_appears_meanwhile_is_not_seen() {
    let stage = Stage::new();
    let script = "cat $HOME/.netrc $HOME/.config/new/token $HOME/.link/credentials; ls -A $HOME";
    for round in 0..5 {
        let told = meanwhile(&stage, script, || {
            stage.write("home/.netrc", SECRET);
            stage.write("home/.config/new/token", SECRET);
            symlink(stage.outside.join("aws"), stage.home.join(".link")).expect("a link");
        });
        assert!(!told.contains(SECRET), "{round}: {told}");
        assert!(told.contains(".gitconfig") && !told.contains(".netrc"), "{round}: {told}");
        for made in [".netrc", ".link"] {
            fs::remove_file(stage.home.join(made)).expect("a file");
        }
        fs::remove_dir_all(stage.home.join(".config/new")).expect("a directory");
    }
}

#[test]
fn calls_at_the_same_time_hide_all_the_same() {
    let stage = Stage::new();
    std::thread::scope(|scope| {
        for number in 0..4 {
            let stage = &stage;
            scope.spawn(move || {
                for round in 0..5 {
                    let script = format!(
                        "cat $HOME/.ssh/id $OUT/keys; echo x > $OUT/file; echo x > .git/hooks/h{number}; echo {round} > r{number}"
                    );
                    let done = stage.sh(&script);
                    assert_eq!(done.outcome, Outcome::Started, "{number} {round}");
                    assert!(!done.out.contains(SECRET), "{number} {round}: {done:?}");
                }
            });
        }
    });
    assert_eq!(fs::read_to_string(stage.outside.join("file")).expect("a file"), "canary");
    assert_eq!(fs::read_dir(stage.workspace.join(".git/hooks")).expect("a directory").count(), 1);
}

#[test]
fn the_environment_is_the_one_that_was_given() {
    let stage = Stage::new();
    let mut spec = stage.spec(&["/usr/bin/env"]);
    spec.env = vec![("A".into(), OsString::from("b c\nd"))];
    let done = stage.run(&spec);
    assert_eq!(done.out, "A=b c\nd\n", "{done:?}");
}

#[test]
fn a_hidden_place_that_comes_and_goes_keeps_no_command_from_starting() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let stage = Stage::new();
    let place = stage.outside.join("flickers");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                std::fs::create_dir(&place).expect("a directory");
                std::fs::write(place.join("secret"), SECRET).expect("a file");
                std::fs::remove_dir_all(&place).expect("removed");
            }
        });
        let mut spec = stage.spec(&["/bin/sh", "-c", "cat $OUT/flickers/secret"]);
        spec.hidden.push(place.clone());
        let runs: Vec<_> = (0..60).map(|_| stage.run(&spec)).collect();
        done.store(true, Ordering::Relaxed);
        for run in runs {
            assert_eq!(run.outcome, Outcome::Started, "{run:?}");
        }
    });
}
