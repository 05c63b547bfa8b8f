//! Tests of garbage collection after broken writes.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base::clock::Clock;
use vfs::Tree;
use vfs::view::{Work, Writing};

use crate::world::{Who, World, at, view};

const HOUR: Duration = Duration::from_secs(60 * 60);

fn ago(age: Duration) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(Clock::system().now_ms() as u64) - age
}

fn leave(path: &Path, age: Duration) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let file = std::fs::File::create(path).unwrap();
    file.set_modified(ago(age)).unwrap();
}

fn leave_directory(path: &Path, age: Duration) {
    std::fs::create_dir_all(path).unwrap();
    std::fs::File::open(path).unwrap().set_modified(ago(age)).unwrap();
}

#[tokio::test]
async fn leftovers_are_removed_at_start_wherever_they_are() {
    let world = World::new().await;
    let deep = world.host("/home/ann/a/b/c");
    leave(&deep.join(".gsv-tmp-old"), 2 * HOUR);
    leave(&deep.join(".gsv-tmp-new"), HOUR / 2);
    leave(&deep.join("file"), 1_000 * HOUR);
    leave(&deep.join(".gsv-part-old"), 1_000 * HOUR);
    leave(&deep.join(".gsv-part-new"), HOUR);
    leave(&deep.join(".gsv-tmp-full/file"), 2 * HOUR);
    leave_directory(&deep.join(".gsv-tmp-full"), 2 * HOUR);
    leave_directory(&deep.join(".gsv-tmp-dir"), 2 * HOUR);
    std::os::unix::fs::symlink("/etc", deep.join("link")).unwrap();
    let tree = Tree::open(&world.files(), world.store.clone(), Clock::system()).unwrap();
    let started = Clock::system().instant();
    let left = || {
        let names = std::fs::read_dir(&deep).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    };
    let expected = [".gsv-part-new", ".gsv-tmp-full", ".gsv-tmp-new", "file", "link"];
    while left() != expected {
        assert!(started.elapsed() < Duration::from_secs(60), "{:?} are left", left());
        tokio::task::yield_now().await;
    }
    drop(tree);
}

#[tokio::test]
async fn a_leftover_that_stays_stops_nobody() {
    let world = World::new().await;
    // A directory in a draft's place that is not empty cannot be removed.
    leave(&world.host("/home/ann/.gsv-tmp-full/file"), 2 * HOUR);
    leave_directory(&world.host("/home/ann/.gsv-tmp-full"), 2 * HOUR);
    leave_directory(&world.host("/home/ann/.gsv-tmp-empty"), 2 * HOUR);
    let ann = view(Arc::clone(&world.tree), Who::Ann, Work::Here);
    ann.write(&at("/home/ann/file"), b"x".to_vec(), Writing::default()).await.unwrap();
    assert!(world.host("/home/ann/.gsv-tmp-full/file").exists());
    assert!(!world.host("/home/ann/.gsv-tmp-empty").exists());
}
