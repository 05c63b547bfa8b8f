//! Tests of quotas, which are off unless set.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use protocol::ids::{Gid, Uid};
use vfs::Code;
use vfs::view::Writing;

use crate::world::{TEAM, Who, World, at, code};

#[tokio::test]
async fn a_quota_bounds_the_bytes_a_user_owns() {
    let world = World::new().await;
    let (ann, bob, root) = (world.as_(Who::Ann), world.as_(Who::Bob), world.as_(Who::Root));
    let write = |view: &vfs::View, path: &str, length: usize| {
        let (view, path) = (view.clone(), at(path));
        async move { code(view.write(&path, vec![b'x'; length], Writing::default()).await) }
    };
    // Off: anything goes. What is there then counts later, wherever it is.
    assert_eq!(write(&ann, "/home/ann/a", 600).await, None);
    assert_eq!(write(&ann, "/tmp/a", 300).await, None);
    world.store.config().set("config/files/quota_bytes", "1000").await.unwrap();
    assert_eq!(write(&ann, "/home/ann/b", 101).await, Some(Code::Quota));
    assert_eq!(code(ann.stat(&at("/home/ann/b"), vfs::Follow::Yes).await), Some(Code::NotFound));
    assert_eq!(write(&ann, "/home/ann/b", 100).await, None);
    assert_eq!(code(ann.append(&at("/home/ann/b"), vec![b'x']).await), Some(Code::Quota));
    assert_eq!(code(ann.copy(&at("/tmp/a"), &at("/tmp/c")).await), Some(Code::Quota));
    let grown = ann.edit(&at("/tmp/a"), |text| Ok::<_, ()>(([text, vec![b'y']].concat(), ()))).await;
    assert_eq!(code(grown), Some(Code::Quota));
    // Less is always possible, and makes room; so do removal and giving away.
    assert_eq!(write(&ann, "/home/ann/a", 500).await, None);
    assert_eq!(code(ann.append(&at("/home/ann/b"), vec![b'x'; 100]).await), None);
    assert_eq!(write(&ann, "/home/ann/c", 1).await, Some(Code::Quota));
    ann.remove(&at("/tmp/a"), false).await.unwrap();
    assert_eq!(write(&ann, "/home/ann/c", 300).await, None);
    root.chown(&at("/home/ann/c"), Some(Uid::ROOT), None).await.unwrap();
    assert_eq!(write(&ann, "/home/ann/d", 300).await, None);
    // Another user has another count, root none.
    assert_eq!(write(&bob, "/home/bob/a", 1_000).await, None);
    assert_eq!(write(&root, "/root/a", 5_000).await, None);
    // One user's own quota takes precedence.
    world.store.config().set("users/1000/files/quota_bytes", "2000").await.unwrap();
    assert_eq!(write(&ann, "/home/ann/e", 1_000).await, None);
    assert_eq!(write(&ann, "/home/ann/f", 1).await, Some(Code::Quota));
    // Who writes into somebody's file uses up that one's quota.
    ann.chown(&at("/home/ann/e"), None, Some(Gid(TEAM))).await.unwrap();
    ann.chmod(&at("/home/ann/e"), 0o660).await.unwrap();
    ann.chmod(&at("/home/ann"), 0o755).await.unwrap();
    let cat = world.as_(Who::Cat);
    assert_eq!(code(cat.append(&at("/home/ann/e"), vec![b'x'; 10]).await), Some(Code::Quota));
    world.store.config().set("users/1000/files/quota_bytes", "0").await.unwrap();
    assert_eq!(write(&ann, "/home/ann/f", 10_000).await, None);
}

/// One directory with more names than are ever shown.
#[tokio::test]
async fn odd_directories_do_not_stop_others() {
    let world = World::new().await;
    let bob = world.as_(Who::Bob);
    let many = world.host("/home/ann/many");
    std::fs::create_dir(&many).unwrap();
    for number in 0..=base::limits::files::DIRECTORY_NAMES_MAX {
        std::os::unix::fs::symlink("x", many.join(number.to_string())).unwrap();
    }
    world.store.config().set("config/files/quota_bytes", "1000").await.unwrap();
    assert_eq!(code(bob.write(&at("/home/bob/a"), vec![b'x'; 900], Writing::default()).await), None);
    assert_eq!(
        code(bob.write(&at("/home/bob/b"), vec![b'x'; 200], Writing::default()).await),
        Some(Code::Quota)
    );
}

#[tokio::test]
async fn what_is_not_finished_counts_too() {
    let world = World::new().await;
    let ann = world.as_(Who::Ann);
    for name in [".gsv-part-1000-x", ".gsv-tmp-x"] {
        std::fs::write(world.host("/home/ann").join(name), [b'x'; 300]).unwrap();
    }
    world.store.config().set("config/files/quota_bytes", "1000").await.unwrap();
    let write = |length| {
        let ann = ann.clone();
        async move { ann.write(&at("/home/ann/a"), vec![b'x'; length], Writing::default()).await }
    };
    assert_eq!(code(write(401).await), Some(Code::Quota));
    assert_eq!(code(write(400).await), None);
    // Writing the same again needs no more room, though both are there for a moment.
    assert_eq!(code(write(400).await), None);
}

/// A copy that does not fit is not poured to its end.
#[tokio::test]
async fn a_copy_that_does_not_fit_stops_early() {
    let world = World::new().await;
    let (ann, root) = (world.as_(Who::Ann), world.as_(Who::Root));
    std::fs::File::create(world.host("/tmp/big")).unwrap().set_len(300_000_000).unwrap();
    root.chmod(&at("/tmp/big"), 0o644).await.unwrap();
    world.store.config().set("config/files/quota_bytes", "3000000").await.unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let watcher = {
        let (home, done) = (world.host("/home/ann"), done.clone());
        std::thread::spawn(move || {
            while !done.load(Ordering::Relaxed) {
                for entry in std::fs::read_dir(&home).unwrap() {
                    let size = entry.unwrap().metadata().map_or(0, |metadata| metadata.len());
                    assert!(size <= 3_000_000, "{size} bytes were written");
                }
            }
        })
    };
    assert_eq!(code(ann.copy(&at("/tmp/big"), &at("/home/ann/big")).await), Some(Code::Quota));
    assert_eq!(std::fs::read_dir(world.host("/home/ann")).unwrap().count(), 0);
    done.store(true, Ordering::Relaxed);
    watcher.join().unwrap();
    // What was charged meanwhile is free again.
    assert_eq!(code(ann.write(&at("/home/ann/a"), vec![b'x'; 2_999_999], Writing::default()).await), None);
}

#[tokio::test]
async fn a_quota_beyond_all_numbers_is_a_quota() {
    let world = World::new().await;
    let ann = world.as_(Who::Ann);
    let all = u64::MAX.to_string();
    world.store.config().set("config/files/quota_bytes", &all).await.unwrap();
    assert_eq!(code(ann.write(&at("/home/ann/a"), b"x".to_vec(), Writing::default()).await), None);
}
