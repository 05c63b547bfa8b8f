//! Tests of fingerprints: one changes with every change below a directory, and says when it cannot tell.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::symlink;

use base::limits;
use vfs::view::Writing;
use vfs::{Fingerprint, View};

use crate::world::{Who, World, at};

const ROOTS: [&str; 3] = ["/home/ann/d", "/home/ann/absent", "/home/ann/note.md"];

fn fingerprint(view: &View) -> Option<Fingerprint> {
    view.fingerprint(&ROOTS.map(at))
}

/// Changes something until the fingerprint is another one: a change may hide within one tick of the clock.
async fn tells(view: &View, what: &str, change: impl AsyncFn(usize)) {
    let before = fingerprint(view).unwrap();
    assert_eq!(fingerprint(view), Some(before), "nothing changed before {what}");
    for attempt in 0..1_000 {
        change(attempt).await;
        if fingerprint(view).is_none_or(|now| now != before) {
            return;
        }
    }
    panic!("{what} is not seen");
}

#[tokio::test]
async fn every_change_is_seen() {
    let world = World::new().await;
    let ann = world.as_(Who::Ann);
    let how = Writing { parents: true, ..Writing::default() };
    ann.write(&at("/home/ann/d/e/file"), b"x".to_vec(), how).await.unwrap();
    ann.write(&at("/home/ann/note.md"), b"x".to_vec(), how).await.unwrap();
    tells(&ann, "new content", async |attempt| {
        ann.write(&at("/home/ann/d/e/file"), format!("{attempt:04}").into_bytes(), how).await.unwrap();
    })
    .await;
    tells(&ann, "an edit in place", async |attempt| {
        fs::write(world.host("/home/ann/d/e/file"), format!("{:04}", attempt + 5_000)).unwrap();
    })
    .await;
    tells(&ann, "another mode", async |attempt| {
        ann.chmod(&at("/home/ann/d/e"), if attempt % 2 == 0 { 0o700 } else { 0o750 }).await.unwrap();
    })
    .await;
    tells(&ann, "the mode of the way", async |attempt| {
        ann.chmod(&at("/home/ann"), if attempt % 2 == 0 { 0o711 } else { 0o750 }).await.unwrap();
    })
    .await;
    tells(&ann, "a file by its name", async |attempt| {
        ann.write(&at("/home/ann/note.md"), format!("{attempt}").into_bytes(), how).await.unwrap();
    })
    .await;
    tells(&ann, "something that was absent", async |_| {
        ann.write(&at("/home/ann/absent/file"), b"x".to_vec(), how).await.unwrap();
    })
    .await;
    tells(&ann, "a removal", async |_| drop(ann.remove(&at("/home/ann/d/e/file"), false).await)).await;
}

#[tokio::test]
async fn what_a_fingerprint_cannot_know_it_does_not_claim() {
    let world = World::new().await;
    let ann = world.as_(Who::Ann);
    let how = Writing { parents: true, ..Writing::default() };
    ann.write(&at("/home/ann/d/file"), b"x".to_vec(), how).await.unwrap();
    assert!(fingerprint(&ann).is_some());
    symlink("../elsewhere", world.host("/home/ann/d/link")).unwrap();
    assert_eq!(fingerprint(&ann), None, "a link may lead anywhere");
    fs::remove_file(world.host("/home/ann/d/link")).unwrap();
    assert!(fingerprint(&ann).is_some());
    for number in 0..limits::files::FINGERPRINT_NAMES_MAX {
        fs::write(world.host(&format!("/home/ann/d/{number}")), "x").unwrap();
    }
    assert_eq!(fingerprint(&ann), None, "too much to look at");
}
