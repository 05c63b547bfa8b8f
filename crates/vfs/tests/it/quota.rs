//! A user's quota, off unless set.

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
    world.store.config_set("config/files/quota_bytes", "1000").await.unwrap();
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
    world.store.config_set("users/1000/files/quota_bytes", "2000").await.unwrap();
    assert_eq!(write(&ann, "/home/ann/e", 1_000).await, None);
    assert_eq!(write(&ann, "/home/ann/f", 1).await, Some(Code::Quota));
    // Who writes into somebody's file uses up that one's quota.
    ann.chown(&at("/home/ann/e"), None, Some(Gid(TEAM))).await.unwrap();
    ann.chmod(&at("/home/ann/e"), 0o660).await.unwrap();
    ann.chmod(&at("/home/ann"), 0o755).await.unwrap();
    let cat = world.as_(Who::Cat);
    assert_eq!(code(cat.append(&at("/home/ann/e"), vec![b'x'; 10]).await), Some(Code::Quota));
    world.store.config_set("users/1000/files/quota_bytes", "0").await.unwrap();
    assert_eq!(write(&ann, "/home/ann/f", 10_000).await, None);
}
