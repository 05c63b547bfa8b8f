//! The probe on this machine, and on one where each means of confining is taken away.

use std::path::PathBuf;

use sandbox::{Sandbox, Strength};

use crate::stage::HELPER;

fn probe(sandbox: &Sandbox) -> Strength {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let strength = sandbox.probe(dir.path());
    assert_eq!(std::fs::read_dir(dir.path()).expect("a directory").count(), 0, "nothing is left behind");
    strength
}

#[test]
fn everything_holds_here() {
    let strength = probe(&Sandbox::with_helper(HELPER.into()));
    let failed: Vec<_> = strength.trials.iter().filter(|trial| !trial.passed).collect();
    assert!(failed.is_empty(), "{failed:#?} {:?}", strength.cause);
    assert_eq!(strength.words, ["fs", "secrets", "network", "processes", "limits", "rehearse"]);
    assert!(strength.is_full() && strength.cause.is_none());
}

/// A helper in which a system call always fails.
fn without(call: libc::c_long) -> (tempfile::TempDir, Sandbox) {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let script: PathBuf = dir.path().join("helper");
    std::fs::write(&script, format!("#!/bin/sh\nSANDBOX_TEST_FAULT={call} exec {HELPER} \"$@\"\n"))
        .expect("a file");
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
    (dir, Sandbox::with_helper(script))
}

#[test]
fn without_namespaces_it_is_landlock_and_says_why() {
    for call in [libc::SYS_unshare, libc::SYS_setns, libc::SYS_mount_setattr, libc::SYS_mount] {
        let (_dir, sandbox) = without(call);
        let strength = probe(&sandbox);
        assert_eq!(strength.words, ["fs-write"], "{call}: {strength:#?}");
        assert!(!strength.is_full() && strength.cause.is_some_and(|cause| cause.starts_with("could not ")));
    }
}

#[test]
fn without_a_filter_there_is_nothing() {
    let (_dir, sandbox) = without(libc::SYS_seccomp);
    let strength = probe(&sandbox);
    assert!(strength.words.is_empty() && strength.cause.is_some(), "{strength:#?}");
    let strength = probe(&Sandbox::with_helper("/bin/true".into()));
    assert!(strength.words.is_empty() && strength.cause.is_some(), "{strength:#?}");
}
