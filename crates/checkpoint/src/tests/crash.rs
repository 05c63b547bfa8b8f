//! Killed at every step: what was in the list stays whole, what was not finished is not in it, and it goes on.

use std::path::Path;
use std::process::Command;

use super::kit::{Deed, ORIGINAL, act, check, directory, files, open, prepare, write};
use crate::{Id, faults};

const STEP: &str = "GSV_TEST_CRASH_STEP";
const PLACE: &str = "GSV_TEST_CRASH_PLACE";
const DEED: &str = "GSV_TEST_CRASH_DEED";

/// The child: does it, and dies at a step. Without being told so it does nothing.
#[test]
fn child() {
    let (Ok(step), Ok(place), Ok(deed)) = (std::env::var(STEP), std::env::var(PLACE), std::env::var(DEED))
    else {
        return;
    };
    let mut left: usize = step.parse().expect("a number");
    faults::set(Some(Box::new(move |_| {
        if left == 0 {
            // Nothing is cleaned up, as when somebody kills it.
            std::process::abort();
        }
        left -= 1;
        Ok(())
    })));
    let deed = [Deed::Take, Deed::Prune, Deed::Restore].into_iter().find(|each| format!("{each:?}") == deed);
    act(&open(Path::new(&place)), deed.expect("a deed")).expect("done");
}

/// Whether the child died at this step; it does not when there are not so many.
fn dies_at(dir: &Path, deed: Deed, step: usize) -> bool {
    let status = Command::new(std::env::current_exe().expect("a path"))
        .args(["--exact", "tests::crash::child", "--nocapture"])
        .env(STEP, step.to_string())
        .env(PLACE, dir)
        .env(DEED, format!("{deed:?}"))
        .output()
        .expect("a child")
        .status;
    !status.success()
}

/// Does it with a death at each step in turn, and looks after each. The number of steps at which it died.
fn at_every_step(deed: Deed, look: impl Fn(&Path)) -> usize {
    let mut step = 0;
    loop {
        let dir = directory();
        prepare(dir.path());
        let died = dies_at(dir.path(), deed, step);
        look(dir.path());
        check(&open(dir.path()));
        if !died {
            return step;
        }
        step += 1;
        assert!(step < 1_000, "it never comes to its end");
    }
}

#[test]
fn killed_while_taking() {
    let steps = at_every_step(Deed::Take, |dir| {
        // Something changed, so that there is something to write.
        let list = open(dir).list().expect("a list");
        assert!(list.len() == 4 || list.len() == 5, "{list:?}");
    });
    assert!(steps >= 4, "{steps}");
}

#[test]
fn killed_while_taking_what_is_new() {
    let mut step = 0;
    loop {
        let dir = directory();
        prepare(dir.path());
        write(dir.path(), "new/file", "new content");
        write(dir.path(), "a", "changed again");
        let died = dies_at(dir.path(), Deed::Take, step);
        let list = open(dir.path()).list().expect("a list");
        assert_eq!(list.len(), if died { 4 } else { 5 }, "step {step}");
        check(&open(dir.path()));
        if !died {
            break;
        }
        step += 1;
    }
    assert!(step >= 12, "{step}");
}

#[test]
fn killed_while_pruning() {
    let steps = at_every_step(Deed::Prune, |dir| {
        let ids: Vec<Id> = open(dir).list().expect("a list").iter().map(|summary| summary.id).collect();
        assert!(ids.ends_with(&[Id(3), Id(4)]), "{ids:?}");
        // What was begun is finished the next time.
        act(&open(dir), Deed::Prune).expect("pruned");
        let packs = open(dir).store.objects().expect("objects").packs().len();
        assert!((1..=3).contains(&packs), "{packs}");
        assert_eq!(open(dir).list().expect("a list").len(), 2);
    });
    assert!(steps >= 6, "{steps}");
}

#[test]
fn killed_while_restoring() {
    let steps = at_every_step(Deed::Restore, |dir| {
        // Whatever was reached, doing it again brings all of it back, and no temporary file stays.
        act(&open(dir), Deed::Restore).expect("restored");
        let mut expected: Vec<_> = ORIGINAL
            .iter()
            .map(|(name, content)| (dir.join("work").join(name), (*content).to_owned()))
            .collect();
        expected.sort();
        assert_eq!(files(dir), expected);
    });
    assert!(steps >= 12, "{steps}");
}
