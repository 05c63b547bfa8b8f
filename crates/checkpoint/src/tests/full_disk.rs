//! The disk full at every step: it is said in words, nothing that was kept is lost, and it works when there is room.

use std::io;

use super::kit::{Deed, act, check, directory, open, prepare, write};
use crate::{Error, faults};

/// Lets the disk be full from a step on; whether that step was reached.
fn full_from(step: usize, what: impl FnOnce() -> Result<(), Error>) -> (Result<(), Error>, bool) {
    let reached = std::rc::Rc::new(std::cell::Cell::new(0));
    let count = reached.clone();
    faults::set(Some(Box::new(move |_| {
        count.set(count.get() + 1);
        if count.get() > step { Err(io::Error::from(io::ErrorKind::StorageFull)) } else { Ok(()) }
    })));
    let result = what();
    faults::set(None);
    (result, reached.get() > step)
}

#[test]
fn taking_says_so() {
    for step in 0..1_000 {
        let dir = directory();
        prepare(dir.path());
        write(dir.path(), "new", "new content");
        let at = open(dir.path());
        let (result, reached) = full_from(step, || act(&at, Deed::Take));
        if !reached {
            result.expect("enough room");
            assert!(step >= 8, "{step}");
            return;
        }
        let error = result.expect_err("no room");
        assert!(matches!(error, Error::DiskFull { .. }), "step {step}: {error}");
        assert!(error.to_string().starts_with("no checkpoint could be taken because the disk is full"));
        assert_eq!(at.list().expect("a list").len(), 4);
        check(&at);
    }
}

#[test]
fn restoring_and_pruning_lose_nothing() {
    for deed in [Deed::Prune, Deed::Restore] {
        for step in 0..1_000 {
            let dir = directory();
            prepare(dir.path());
            let at = open(dir.path());
            let (result, reached) = full_from(step, || act(&at, deed));
            check(&at);
            act(&at, deed).expect("there is room again");
            if !reached {
                result.expect("enough room");
                assert!(step >= 4, "{deed:?} {step}");
                break;
            }
        }
    }
}
