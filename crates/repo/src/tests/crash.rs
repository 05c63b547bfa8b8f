//! Killed at every step of a commit: the repository is sound, the branch is where it was or where it was to be, and
//! the next commit goes on.

use std::path::Path;
use std::process::Command;

use super::kit::{Repository, make, new, put};
use crate::faults;
use crate::git::bare::Bare;
use crate::git::edit::Change;

const STEP: &str = "GSV_TEST_REPO_CRASH_STEP";
const AT: &str = "GSV_TEST_REPO_CRASH_AT";

fn changes() -> Vec<Change> {
    vec![put("a", "new"), put("d/e/f", "new too"), put("d/b", "x")]
}

/// The child: makes a commit, and dies at a step. Without being told so it does nothing.
#[test]
fn child() {
    let (Ok(step), Ok(at)) = (std::env::var(STEP), std::env::var(AT)) else { return };
    let mut left: usize = step.parse().expect("a number");
    faults::set(Some(Box::new(move |_| {
        if left == 0 {
            // Nothing is cleaned up, as when somebody kills it.
            std::process::abort();
        }
        left -= 1;
        Ok(())
    })));
    let bare = Bare::open(Path::new(&at)).expect("open");
    make(&bare, &new("second", changes())).expect("a commit");
}

#[test]
fn killed_at_every_step_of_a_commit() {
    let mut step = 0;
    loop {
        let repository = Repository::new();
        let first = make(&repository.open(), &new("first", vec![put("a", "old")])).expect("a commit");
        let status = Command::new(std::env::current_exe().expect("a path"))
            .args(["--exact", "tests::crash::child", "--nocapture"])
            .env(STEP, step.to_string())
            .env(AT, repository.path())
            .output()
            .expect("a child")
            .status;
        repository.is_sound();
        let bare = repository.open();
        let head = bare.reference("refs/heads/main").expect("a ref");
        if head == first {
            assert!(!status.success());
        } else {
            let commit = bare.commit(&head.expect("a head")).expect("a commit");
            assert_eq!((commit.message.as_str(), commit.parents.first()), ("second", first.as_ref()));
        }
        // It goes on, at once, and git too.
        crate::git::lock::tidy(&repository.path()).expect("tidied");
        make(&bare, &new("third", vec![put("c", "third")])).expect("a commit");
        repository.git(&["update-ref", "refs/heads/other", "main"]);
        repository.git(&["gc", "-q", "--prune=now"]);
        repository.is_sound();
        if status.success() {
            break;
        }
        step += 1;
        assert!(step < 1_000, "it never comes to its end");
    }
    assert!(step >= 12, "{step}");
}
