//! Escape corpus, files: writing, renaming, linking, changing modes and times outside, and in protected places inside.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;

use sandbox::{Outcome, Spec};

use crate::stage::{Stage, shells};

/// What is tried, with `$OUT`, `$HOME` and `$WORK`; nothing of it may change anything there. The last line of each says
/// what must have worked, so that an attempt which fails for another reason is noticed.
const ATTEMPTS: &[(&str, &str)] = &[
    (
        "write outside",
        "echo x > $OUT/file; echo x >> $OUT/file; echo x > $OUT/new; echo x > /etc/sandbox-test; echo x > /sandbox-test",
    ),
    (
        "write in the home",
        "echo x > $HOME/.bashrc; echo x > $HOME/.config/new; echo x >> $HOME/.gitconfig; mkdir $HOME/bin",
    ),
    ("delete outside", "rm -rf $OUT/file $OUT/directory $HOME/.config; rmdir $OUT/directory"),
    ("write through a link", "ln -s $OUT/file l; echo x > l; ln -s $OUT d; echo x > d/new; cp file d/new2"),
    ("write through a link to a link", "ln -s $OUT a1; ln -s a1/directory a2; echo x > a2/file"),
    ("hard link", "ln $OUT/file h && echo x > h; cp -l $OUT/directory/file h2; echo x > h2"),
    ("move in", "mv $OUT/file taken; mv $OUT/directory taken2; mv $HOME/.gitconfig taken3"),
    ("move out", "mv file $OUT/file; mv a $OUT/a"),
    (
        "cut off",
        "truncate -s 0 $OUT/file; true > $OUT/file; dd if=/dev/zero of=$OUT/file count=1 conv=notrunc",
    ),
    (
        "modes, owners, times",
        "chmod 777 $OUT/file; chown 1:1 $OUT/file; touch $OUT/file; touch -d 1999-01-01 $OUT/directory",
    ),
    (
        "up from here",
        "cd ..; echo x > outside/file; cd /; echo x > $OUT/file; cd $WORK/../outside && echo x > file",
    ),
    (
        "by the descriptor of a directory",
        "exec 9< .; cd /proc/self/fd/9/..; echo x > outside/file; echo x > /proc/self/cwd/outside/file",
    ),
    (
        "by /proc",
        "echo x > /proc/self/root$OUT/file; echo x > /proc/1/root$OUT/file; echo x > /proc/self/cwd/../outside/file",
    ),
    ("rebuild the hooks", "mv .git .old; mkdir .git; cp -r .old/. .git; echo x > .git/hooks/pre-commit"),
    (
        "write the hooks",
        "echo x > .git/hooks/pre-commit; echo x > .git/hooks/post-commit; rm -rf .git/hooks; mv .git/hooks h",
    ),
    (
        "write the configuration",
        "echo x > .git/config; echo x > c; mv c .git/config; ln -sf /tmp .git/config; rm -f .git/config",
    ),
    ("rename what is above", "mv a z; mv a/b z; mv a/b/.vscode z; rmdir a/b; rm -rf a"),
    ("exchange what is above", "mkdir -p n/b/.vscode; mv -T --exchange n a; mv -T n a"),
    (
        "protected by another name",
        "ln a/b/.vscode/tasks.json t && echo x > t; echo x > a/../a/b/.vscode/tasks.json; chmod 777 a/b/.vscode",
    ),
    (
        "swap a link all the time",
        "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do ln -sfn $OUT s; echo x > s/file & ln -sfn . s; echo x > s/file & done; wait",
    ),
    (
        "a deep tree",
        "i=0; while [ $i -lt 120 ]; do mkdir dddddddddddddddddddddddddddddddddddddddd && cd dddddddddddddddddddddddddddddddddddddddd; i=$((i+1)); done; echo x > deep; cd $WORK; echo x > $OUT/file",
    ),
    (
        "unmount and remount",
        "umount $WORK/.git/hooks; umount -l $HOME; mount -o remount,rw /; mount --bind $OUT $WORK; echo x > $OUT/file",
    ),
];

#[test]
fn nothing_outside_and_nothing_protected_can_be_changed() {
    let stage = Stage::new();
    let before = stage.canaries();
    for (what, script) in ATTEMPTS {
        for shell in shells() {
            let whole = format!("cd $WORK; {script}\necho done > $WORK/worked");
            let done = stage.run(&stage.spec(&[shell, "-c", &whole]));
            assert_eq!(done.outcome, Outcome::Started, "{what} in {shell}");
            let after = stage.canaries();
            let changed: Vec<_> =
                before.iter().filter(|(path, seen)| after.get(*path) != Some(seen)).collect();
            assert!(changed.is_empty(), "{what} in {shell}: {changed:?}, {done:?}");
            assert_eq!(after.len(), before.len(), "{what} in {shell}: {:?}", after.keys());
            assert!(stage.workspace.join("worked").exists(), "{what} in {shell}: {done:?}");
            renew(&stage);
        }
    }
    for stray in ["/etc/sandbox-test", "/sandbox-test"] {
        assert!(!std::path::Path::new(stray).exists(), "{stray}");
    }
}

/// Takes away what an attempt left in the workspace; what is protected stays as it was.
fn renew(stage: &Stage) {
    for entry in std::fs::read_dir(&stage.workspace).expect("a directory") {
        let entry = entry.expect("an entry");
        let name = entry.file_name();
        if !["file", ".git", "a"].iter().any(|kept| name == *kept) {
            let done = std::process::Command::new("/bin/rm").arg("-rf").arg(entry.path()).status();
            assert!(done.expect("rm").success());
        }
    }
    stage.write("work/file", "mine");
    stage.write("work/.git/HEAD", "ref: refs/heads/main\n");
}

#[test]
fn raw_changes_outside_are_refused() {
    let stage = Stage::new();
    let before = stage.canaries();
    let file = format!("s:{}", stage.outside.join("file").display());
    let new = format!("s:{}", stage.outside.join("new").display());
    let here = format!("s:{}", stage.workspace.join("file").display());
    let cwd = libc::AT_FDCWD.to_string();
    let cases: &[(libc::c_long, &[&str])] = &[
        (libc::SYS_truncate, &[&file, "0"]),
        (libc::SYS_fchmodat, &[&cwd, &file, "511"]),
        (libc::SYS_fchownat, &[&cwd, &file, "0", "0", "0"]),
        (libc::SYS_utimensat, &[&cwd, &file, "0", "0"]),
        (libc::SYS_setxattr, &[&file, "s:user.x", "s:y", "1", "0"]),
        (libc::SYS_linkat, &[&cwd, &here, &cwd, &new, "0"]),
        (libc::SYS_renameat2, &[&cwd, &here, &cwd, &new, "0"]),
        (libc::SYS_renameat2, &[&cwd, &here, &cwd, &file, "2"]),
        (libc::SYS_symlinkat, &["s:x", &cwd, &new]),
        (libc::SYS_mkdirat, &[&cwd, &new, "511"]),
        (libc::SYS_unlinkat, &[&cwd, &file, "0"]),
        (libc::SYS_openat, &[&cwd, &file, "2"]),
        (libc::SYS_mknodat, &[&cwd, &new, "4480", "0"]),
    ];
    for (number, arguments) in cases {
        let done = stage.call(*number, arguments);
        assert!(done.errno().is_some(), "{number}: {done:?}");
    }
    let outside = stage.outside.join("new");
    let unnamed = ["link-unnamed", stage.workspace.to_str().expect("text"), outside.to_str().expect("text")];
    assert!(stage.attempt(&unnamed).errno().is_some());
    let security = stage.call(libc::SYS_setxattr, &[&here, "s:security.capability", "s:y", "1", "0"]);
    assert!(security.errno().is_some(), "{security:?}");
    assert_eq!(stage.canaries(), before);
}

#[test]
fn a_named_pipe_outside_gets_no_bytes() {
    let stage = Stage::new();
    let path = stage.outside.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.expect("mkfifo").success());
    let mut reader =
        OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&path).expect("a pipe");
    let done = stage.sh("echo x > $OUT/pipe; echo $?");
    assert_ne!(done.out.trim(), "0", "{done:?}");
    assert_eq!(reader.read(&mut [0; 16]).expect("nobody writes"), 0);
}

#[test]
fn there_are_few_devices_and_none_can_be_made() {
    let stage = Stage::new();
    let done = stage.sh("ls /dev; echo x > /dev/null; head -c 3 /dev/zero | wc -c");
    let names: Vec<_> = done.out.split_whitespace().collect();
    let expected = [
        "fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "tty", "urandom",
        "zero", "3",
    ];
    assert_eq!(names, expected, "{done:?}");
    let cwd = libc::AT_FDCWD.to_string();
    for (mode, device) in [("8576", "259"), ("24960", "1792")] {
        let done = stage.call(libc::SYS_mknodat, &[&cwd, "s:node", mode, device]);
        assert_eq!(done.errno(), Some(libc::EPERM), "{done:?}");
    }
}

#[test]
fn a_file_has_a_largest_size() {
    let stage = Stage::new();
    let mut spec = stage.spec(&["/bin/sh", "-c", "head -c 3000000 /dev/zero > big"]);
    spec.limits.file_bytes = 1_000_000;
    let done = stage.run(&spec);
    assert_ne!(done.code, Some(0), "{done:?}");
    assert_eq!(std::fs::metadata(stage.workspace.join("big")).expect("a file").len(), 1_000_000);
}

#[test]
fn a_place_that_a_person_allowed_can_be_written_and_no_other() {
    let stage = Stage::new();
    let script = "echo x > $OUT/directory/new && ! echo x > $OUT/file";
    let mut spec: Spec = stage.spec(&["/bin/sh", "-c", script]);
    spec.writable = vec![stage.outside.join("directory")];
    let done = stage.run(&spec);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(stage.outside.join("directory/new").exists());
}

#[test]
fn links_that_lead_to_themselves_stop_nothing() {
    let stage = Stage::new();
    stage.sh("ln -s loop loop; mkdir -p missing; ln -s .envrc missing/.envrc");
    let mut spec = stage.spec(&["/bin/true"]);
    spec.hidden.push(stage.workspace.join("loop"));
    let done = stage.run(&spec);
    assert_eq!((done.outcome.clone(), done.code), (Outcome::Started, Some(0)), "{done:?}");
}

#[test]
fn what_cannot_be_right_is_not_started() {
    let stage = Stage::new();
    let mut missing = stage.spec(&["/bin/true"]);
    missing.workspace = stage.root.join("nowhere");
    let mut everything = stage.spec(&["/bin/true"]);
    everything.workspace = "/".into();
    let mut hidden = stage.spec(&["/bin/true"]);
    hidden.hidden.push(stage.workspace.clone());
    let mut elsewhere = stage.spec(&["/bin/true"]);
    elsewhere.cwd = stage.home.join(".ssh");
    let relative = stage.spec(&["true"]);
    let absent = stage.spec(&["/no/such/program"]);
    for (index, spec) in [missing, everything, hidden, elsewhere, relative, absent].iter().enumerate() {
        let done = stage.run(spec);
        assert!(matches!(done.outcome, Outcome::NotStarted(_)), "{index}: {done:?}");
        assert_ne!(done.code, Some(0), "{index}");
    }
}
