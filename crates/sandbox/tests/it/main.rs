//! The sandbox against real attempts: each runs inside, and what it must not do is looked for outside.

// A helper of tests that can not do its work has nothing better to do than to end the test.
#![allow(clippy::expect_used)]
#![cfg(target_os = "linux")]

mod stage;

use sandbox::Outcome;
use stage::Stage;

#[test]
fn a_command_runs_and_its_exit_code_is_its_own() {
    let stage = Stage::new();
    let done = stage.sh("echo out; echo err >&2; exit 7");
    assert_eq!((done.outcome.clone(), done.code), (Outcome::Started, Some(7)), "{done:?}");
    assert_eq!((done.out.as_str(), done.err.as_str()), ("out\n", "err\n"));
    let done = stage.sh("kill -TERM $$");
    assert_eq!((done.code, done.signal), (None, Some(15)), "{done:?}");
}

#[test]
fn nothing_outside_the_workspace_can_be_written() {
    let stage = Stage::new();
    let done = stage.sh("echo x > inside && echo y > ../canary");
    assert_ne!(done.code, Some(0), "{done:?}");
    assert!(stage.workspace.join("inside").exists(), "{done:?}");
    assert_eq!(std::fs::read_to_string(stage.root.join("canary")).expect("read"), "canary");
}
