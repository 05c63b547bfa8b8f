//! Files that change exactly while they are read.

use std::fs::{self, OpenOptions};
use std::io::Write;

use super::kit::{NOW_MS, directory, label, open, write};
use crate::{Budget, Taken, When, Why, faults};

/// Takes a checkpoint; after each reading of a file something happens, with the number of the reading.
fn take_while(dir: &std::path::Path, mut what: impl FnMut(usize) + 'static) -> (Taken, Option<Vec<u8>>) {
    let at = open(dir);
    let mut reading = 0;
    faults::set(Some(Box::new(move |name| {
        if name == "file read" {
            what(reading);
            reading += 1;
        }
        Ok(())
    })));
    let taken = at.take(&label("r", When::Before), NOW_MS, &Budget::default());
    faults::set(None);
    let taken = taken.expect("a checkpoint");
    let content = at.content(taken.id, "busy".as_ref(), 100).expect("read");
    (taken, content)
}

#[test]
fn a_change_during_the_first_reading_makes_a_second() {
    let dir = directory();
    write(dir.path(), "busy", "old content");
    let path = dir.path().join("work/busy");
    let (taken, content) = take_while(dir.path(), move |reading| {
        if reading == 0 {
            fs::write(&path, "new").expect("a file");
        }
    });
    assert_eq!((taken.is_whole, content), (true, Some(b"new".to_vec())));
}

#[test]
fn a_file_that_always_grows_is_kept_and_marked() {
    let dir = directory();
    write(dir.path(), "busy", "line\n");
    write(dir.path(), "quiet", "x");
    let path = dir.path().join("work/busy");
    let (taken, content) = take_while(dir.path(), move |_| {
        let mut file = OpenOptions::new().append(true).open(&path).expect("a file");
        file.write_all(b"more\n").expect("written");
    });
    assert!(!taken.is_whole);
    assert_eq!((taken.left_out.len(), taken.left_out[0].why), (1, Why::Torn));
    assert_eq!(content, Some(b"line\nmore\n".to_vec()), "as long as it was when it was read the second time");
    // And it is read again the next time, whatever its state looks like.
    let at = open(dir.path());
    let next = at.take(&label("r", When::Before), NOW_MS, &Budget::default()).expect("a checkpoint");
    assert!(next.is_whole);
}

#[test]
fn a_file_that_always_shrinks_is_left_out() {
    let dir = directory();
    write(dir.path(), "busy", "0123456789");
    let path = dir.path().join("work/busy");
    let (taken, content) = take_while(dir.path(), move |reading| {
        let file = OpenOptions::new().write(true).open(&path).expect("a file");
        file.set_len(8 - 2 * reading as u64).expect("shorter");
    });
    assert_eq!((taken.is_whole, content), (false, None));
    assert_eq!(taken.left_out[0].why, Why::Torn);
}

#[test]
fn a_file_that_becomes_a_link_or_goes_is_not_followed() {
    let dir = directory();
    write(dir.path(), "busy", "content");
    let path = dir.path().join("work/busy");
    let (taken, content) = take_while(dir.path(), move |_| {
        fs::remove_file(&path).ok();
        std::os::unix::fs::symlink("/etc/passwd", &path).expect("a link");
    });
    // It is read through the descriptor that was opened; that it lost its name shows as a change.
    assert!(content.is_none_or(|content| content == b"content"), "{taken:?}");
}
