//! Tests of the non-blocking fast path: it gives the same answers as the ordinary one, or none.
#![cfg(target_os = "linux")]

use vfs::view::{Opened, Writing};
use vfs::{Code, VPath, View};

use crate::world::{Who, World, at};

/// What the quick way says: the content, a refusal, or nothing.
fn now(view: &View, path: &VPath) -> Option<Result<Vec<u8>, Code>> {
    match view.open_now(path)? {
        Ok(Opened::File(file, stat)) => {
            let bytes = vfs::disk::fast::read_now(&file, stat.size)?;
            assert_eq!(bytes.len() as u64, stat.size);
            Some(Ok(bytes))
        }
        Ok(_) => panic!("not a file"),
        Err(fault) => Some(Err(fault.code)),
    }
}

#[tokio::test]
async fn the_quick_way_follows_every_change() {
    let world = World::new().await;
    let (root, ann, bob) = (world.as_(Who::Root), world.as_(Who::Ann), world.as_(Who::Bob));
    let path = at("/home/ann/d/file");
    let how = Writing { parents: true, ..Writing::default() };
    ann.write(&path, vec![b'x'; 100_000], how).await.unwrap();
    assert!(now(&ann, &path).is_none(), "nothing is known about the directory yet");
    // What one caller's walk found holds for all, each with their own rights.
    root.open(&path).await.unwrap();
    assert_eq!(now(&ann, &path), Some(Ok(vec![b'x'; 100_000])));
    assert_eq!(now(&bob, &path), Some(Err(Code::Denied)));
    ann.write(&path, b"new".to_vec(), Writing::default()).await.unwrap();
    assert_eq!(now(&ann, &path), Some(Ok(b"new".to_vec())));
    ann.chmod(&path, 0o200).await.unwrap();
    assert_eq!(now(&ann, &path), Some(Err(Code::Denied)));
    ann.chmod(&path, 0o644).await.unwrap();
    ann.chmod(&at("/home/ann"), 0o755).await.unwrap();
    assert_eq!(now(&bob, &path), None, "a directory has changed");
    bob.open(&path).await.unwrap();
    assert_eq!(now(&bob, &path), Some(Ok(b"new".to_vec())));
    ann.chmod(&at("/home/ann/d"), 0o700).await.unwrap();
    assert_ne!(now(&bob, &path), Some(Ok(b"new".to_vec())));
    root.open(&path).await.unwrap();
    ann.rename(&at("/home/ann/d"), &at("/home/ann/e")).await.unwrap();
    assert_eq!(now(&ann, &path), None);
    ann.open(&at("/home/ann/e/file")).await.unwrap();
    ann.remove(&at("/home/ann/e/file"), false).await.unwrap();
    assert_eq!(now(&ann, &at("/home/ann/e/file")), None);
}

#[tokio::test]
async fn what_is_not_plain_is_left_to_the_ordinary_way() {
    let world = World::new().await;
    let ann = world.as_(Who::Ann);
    ann.write(&at("/home/ann/file"), b"x".to_vec(), Writing::default()).await.unwrap();
    ann.mkdir(&at("/home/ann/dir"), false, 0o755).await.unwrap();
    ann.symlink("file", &at("/home/ann/link")).await.unwrap();
    ann.symlink("/home/ann", &at("/home/ann/dir/home")).await.unwrap();
    std::fs::write(world.host("/home/ann/.gsv-tmp-x"), "half").unwrap();
    std::fs::write(world.files().join("stranger"), "x").unwrap();
    ann.open(&at("/home/ann/file")).await.unwrap();
    ann.open(&at("/home/ann/dir/home/file")).await.unwrap();
    assert!(now(&ann, &at("/home/ann/file")).is_some());
    for path in ["/", "/stranger", "/home", "/home/ann", "/home/ann/dir", "/home/ann/link", "/home/ann/none"]
    {
        assert!(now(&ann, &at(path)).is_none(), "{path}");
    }
    for path in ["/home/ann/dir/home/file", "/home/ann/.gsv-tmp-x", "/sys/x", "/home/ann/file/x"] {
        assert!(now(&ann, &at(path)).is_none(), "{path}");
    }
}

#[tokio::test]
async fn files_from_outside_have_the_right_owner_quickly_too() {
    let world = World::new().await;
    let (ann, bob) = (world.as_(Who::Ann), world.as_(Who::Bob));
    ann.chmod(&at("/home/ann"), 0o755).await.unwrap();
    std::fs::write(world.host("/home/ann/file"), "x").unwrap();
    ann.open(&at("/home/ann/file")).await.unwrap();
    assert_eq!(now(&ann, &at("/home/ann/file")), Some(Ok(b"x".to_vec())));
    assert_eq!(now(&bob, &at("/home/ann/file")), Some(Err(Code::Denied)));
}
