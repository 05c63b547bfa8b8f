//! Somebody who works in the workspace while it is brought back.

use std::fs;
use std::path::Path;

use super::kit::{NOW_MS, directory, open, prepare};
use crate::{Budget, Id, Restore, Restored, faults};

/// Restores the checkpoint before the run; at a step, the first time it is reached, something happens.
fn restore_while(dir: &Path, step: &'static str, what: impl FnOnce() + 'static) -> Restored {
    let mut what = Some(what);
    faults::set(Some(Box::new(move |name| {
        if name == step
            && let Some(what) = what.take()
        {
            what();
        }
        Ok(())
    })));
    let restored = open(dir).restore(Id(3), &Restore::default(), NOW_MS, &Budget::default());
    faults::set(None);
    restored.expect("a restore")
}

#[test]
fn a_file_that_changes_at_the_last_moment_is_left_alone() {
    let dir = directory();
    prepare(dir.path());
    let path = dir.path().join("work/a");
    let person = path.clone();
    // The file is overwritten between the look at it and its turn.
    let restored = restore_while(dir.path(), "restore: write", move || {
        fs::write(person, "typed just now").expect("a file");
    });
    let failed: Vec<_> =
        restored.failed.iter().map(|failed| (failed.path.as_path(), failed.why.as_str())).collect();
    assert_eq!(failed, [(Path::new("a"), "it changed just now")]);
    assert_eq!(fs::read_to_string(path).expect("a file"), "typed just now");
    assert_eq!(fs::read_to_string(dir.path().join("work/d/b")).expect("the others came back"), "two");
    assert!(!dir.path().join("work/.gsv-restore.tmp").exists());
}

#[test]
fn a_file_that_appears_at_the_last_moment_is_left_alone() {
    let dir = directory();
    prepare(dir.path());
    let path = dir.path().join("work/d/b");
    let person = path.clone();
    let restored = restore_while(dir.path(), "restore: write", move || {
        fs::write(person, "typed just now").expect("a file");
    });
    assert_eq!(restored.failed.len(), 1, "{restored:?}");
    assert_eq!(fs::read_to_string(path).expect("a file"), "typed just now");
}

#[test]
fn a_directory_that_becomes_a_link_leads_nowhere() {
    let dir = directory();
    prepare(dir.path());
    let (work, outside) = (dir.path().join("work"), dir.path().join("outside"));
    fs::create_dir(&outside).expect("a directory");
    let (place, target) = (work.join("d"), outside.clone());
    restore_while(dir.path(), "restore: write", move || {
        fs::rename(&place, place.with_file_name("moved")).expect("moved");
        std::os::unix::fs::symlink(target, place).expect("a link");
    });
    assert_eq!(fs::read_dir(outside).expect("a directory").count(), 0);
}
