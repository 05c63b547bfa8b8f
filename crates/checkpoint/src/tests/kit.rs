//! A small workspace that is on memory where that is to be had: these tests take thousands of checkpoints.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Budget, Checkpoints, Label, Restore, When};

/// The hour at which tests take place.
pub(super) const NOW_MS: i64 = 1_800_000_000_000;

pub(super) fn directory() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.expect("a directory")
}

pub(super) fn open(dir: &Path) -> Checkpoints {
    fs::create_dir_all(dir.join("work")).expect("a workspace");
    Checkpoints::open(&dir.join("store"), &dir.join("work")).expect("a store")
}

pub(super) fn label(run: &str, when: When) -> Label {
    Label { pid: "p".into(), run: run.into(), call: None, when }
}

/// What is done to a store, from which nothing must be lost whenever it ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum Deed {
    Take,
    Prune,
    Restore,
}

/// A workspace with a run in it: a checkpoint before, one after, and two that are old.
pub(super) fn prepare(dir: &Path) {
    let at = open(dir);
    let take = |run: &str, when, now_ms| {
        at.take(&label(run, when), now_ms, &Budget::default()).expect("a checkpoint")
    };
    let old_ms = NOW_MS - base::limits::checkpoint::KEPT_MS + 1_000;
    write(dir, "old", &"only old checkpoints hold this ".repeat(500));
    take("old", When::Before, old_ms);
    fs::remove_file(dir.join("work/old")).expect("removed");
    for (name, content) in ORIGINAL {
        write(dir, name, content);
    }
    take("old", When::After, old_ms);
    take("run", When::Before, NOW_MS);
    fs::remove_dir_all(dir.join("work/d")).expect("removed");
    write(dir, "a", "overwritten");
    write(dir, "made/by/run", "x");
    take("run", When::After, NOW_MS);
}

/// What the workspace holds before the run.
pub(super) const ORIGINAL: &[(&str, &str)] =
    &[("a", "one"), ("d/b", "two"), ("d/e/c", "three"), ("kept", "four")];

pub(super) fn write(dir: &Path, name: &str, content: &str) {
    let path = dir.join("work").join(name);
    fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
    fs::write(path, content).expect("a file");
}

/// The files of the workspace, with their content.
pub(super) fn files(dir: &Path) -> Vec<(PathBuf, String)> {
    let (mut found, mut dirs) = (Vec::new(), vec![dir.join("work")]);
    while let Some(next) = dirs.pop() {
        for entry in fs::read_dir(next).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                dirs.push(path);
            } else {
                found.push((path.clone(), fs::read_to_string(&path).expect("a file")));
            }
        }
    }
    found.sort();
    found
}

/// Does it. The checkpoint before the run is the third.
pub(super) fn act(at: &Checkpoints, deed: Deed) -> Result<(), crate::Error> {
    let later_ms = NOW_MS + 10_000;
    match deed {
        Deed::Take => at.take(&label("next", When::Before), NOW_MS, &Budget::default()).map(|_| ()),
        Deed::Prune => at.prune(later_ms).map(|_| ()),
        Deed::Restore => {
            let how = Restore { force: true, ..Default::default() };
            at.restore(crate::Id(3), &how, NOW_MS, &Budget::default()).map(|_| ())
        }
    }
}

/// Every checkpoint in the list can be read to the last byte, and another one can be taken.
pub(super) fn check(at: &Checkpoints) {
    let objects = at.store.objects().expect("objects");
    for summary in at.list().expect("a list") {
        let snapshot = at.store.snapshot(summary.id).expect("a snapshot");
        for oid in snapshot.entries.values().filter_map(|entry| entry.oid) {
            objects.read(&oid, crate::objects::ObjectKind::Blob).expect("an object");
        }
    }
    let last = at.list().expect("a list").last().map(|summary| summary.id);
    let taken = at.take(&label("check", When::Before), NOW_MS, &Budget::default()).expect("a checkpoint");
    assert!(Some(taken.id) > last);
    at.store.snapshot(taken.id).expect("a snapshot");
}
