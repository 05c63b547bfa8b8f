//! A walk that runs out of time goes on from there.

use base::clock::Clock;

use super::kit::{NOW_MS, directory, label, open, write};
use crate::{Budget, Error, When, faults};

#[test]
fn a_large_workspace_is_read_in_several_tries() {
    let dir = directory();
    for at in 0..12 {
        write(dir.path(), &format!("f{at:02}"), &format!("content {at}"));
    }
    let clock = Clock::manual(0);
    let at = open(dir.path()).with_clock(clock.clone());
    // Only what is new is packed, and each takes a second of the five there are.
    faults::set(Some(Box::new(move |name| {
        if name == "object" {
            clock.advance(1_000);
        }
        Ok(())
    })));
    let mut tries = 0;
    let taken = loop {
        tries += 1;
        match at.take(&label("r", When::Before), NOW_MS, &Budget::default()) {
            Err(Error::TimedOut { seconds: 5 }) => assert_eq!(at.list().expect("a list"), []),
            taken => break taken.expect("a checkpoint"),
        }
        assert!(tries < 12, "it does not come further");
    };
    faults::set(None);
    assert_eq!((tries, taken.files), (3, 12));
    let content = at.content(taken.id, "f11".as_ref(), 100).expect("read");
    assert_eq!(content, Some(b"content 11".to_vec()));
}
