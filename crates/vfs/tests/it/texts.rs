//! Tests of error texts, word by word.

use protocol::ids::{Gid, Uid};
use vfs::view::Writing;
use vfs::{Follow, VPath};

use crate::world::{Who, World, at};

#[tokio::test]
async fn failures_say_what_clients_know() {
    let world = World::new().await;
    let (root, ann, bob) = (world.as_(Who::Root), world.as_(Who::Ann), world.as_(Who::Bob));
    ann.symlink("loop", &at("/home/ann/loop")).await.unwrap();
    ann.mkdir(&at("/home/ann/full/d"), true, 0o755).await.unwrap();
    root.mkdir(&at("/workspaces/ws_1"), false, 0o755).await.unwrap();
    root.chown(&at("/workspaces/ws_1"), Some(Uid(1_000)), Some(Gid(1_000))).await.unwrap();
    let says = |result: Result<(), vfs::Fault>| result.unwrap_err().to_string();
    let write = |view: &vfs::View, path: VPath| {
        let view = view.clone();
        async move { view.write(&path, b"x".to_vec(), Writing::default()).await.map(drop) }
    };
    let denied = "EACCES: permission denied, '/home/ann/x'";
    assert_eq!(says(bob.read(&at("/home/ann/x")).await.map(drop)), denied);
    assert_eq!(says(write(&bob, at("/home/ann/x")).await), denied);
    assert_eq!(says(bob.mkdir(&at("/home/ann/x"), false, 0o755).await), denied);
    assert_eq!(says(bob.remove(&at("/home/ann/x"), false).await), denied);
    let looped = "ELOOP: too many symbolic links, '/home/ann/loop'";
    assert_eq!(says(ann.stat(&at("/home/ann/loop"), Follow::Yes).await.map(drop)), looped);
    for (path, said) in [
        ("/home/ann/full", "ENOTEMPTY: directory not empty, rmdir '/home/ann/full'"),
        ("/home/ann/none", "ENOENT: no such file or directory, unlink '/home/ann/none'"),
    ] {
        assert_eq!(says(ann.remove(&at(path), false).await), said);
    }
    for view in [&ann, &root] {
        for (path, said) in [
            ("/home/ann", "EPERM: cannot remove home mount '/home/ann'"),
            ("/workspaces/ws_1", "EPERM: cannot remove workspace root '/workspaces/ws_1'"),
            ("/workspaces", "EPERM: cannot remove workspace mount '/workspaces'"),
        ] {
            assert_eq!(says(view.remove(&at(path), true).await), said);
        }
        let moved = view.rename(&at("/workspaces/ws_1"), &at("/workspaces/ws_2")).await;
        assert_eq!(says(moved), "EPERM: '/workspaces/ws_1' is a workspace and cannot be renamed");
    }
    root.chmod(&at("/workspaces/ws_1"), 0o750).await.unwrap();
    for path in ["/workspaces/ws_1", "/workspaces/ws_1/x"] {
        let foreign = says(bob.stat(&at(path), Follow::No).await.map(drop));
        assert_eq!(foreign, "EACCES: permission denied, workspace 'ws_1'");
        assert_eq!(says(bob.read(&at(path)).await.map(drop)), foreign);
    }
    for path in ["/workspaces/ws_none", "/workspaces/ws_none/x"] {
        for view in [&ann, &root] {
            let unknown = says(view.stat(&at(path), Follow::No).await.map(drop));
            assert_eq!(unknown, "ENOENT: workspace not found 'ws_none'");
            assert_eq!(says(view.read(&at(path)).await.map(drop)), unknown);
        }
    }
    let gone = says(ann.mkdir(&at("/home/ann/no/x"), false, 0o755).await);
    assert_eq!(gone, "ENOENT: no such file or directory, mkdir '/home/ann/no/x'");
    let there = says(ann.mkdir(&at("/home/ann/full"), false, 0o755).await);
    assert_eq!(there, "EEXIST: file already exists, mkdir '/home/ann/full'");
}

#[tokio::test]
async fn any_time_can_be_set_or_is_refused() {
    let world = World::new().await;
    let (ann, bob) = (world.as_(Who::Ann), world.as_(Who::Bob));
    ann.write(&at("/tmp/file"), b"x".to_vec(), Writing::default()).await.unwrap();
    for ms in [i64::MIN, i64::MIN + 1, -1, i64::MAX] {
        assert!(bob.set_modified(&at("/tmp/file"), ms).await.is_err());
        // How far back times go is the disk's affair; a number is all that is asked for.
        if ann.set_modified(&at("/tmp/file"), ms).await.is_ok() {
            ann.stat(&at("/tmp/file"), Follow::Yes).await.unwrap();
        }
    }
}

#[tokio::test]
async fn names_of_the_system_are_so_in_any_case() {
    let world = World::new().await;
    let ann = world.as_(Who::Ann);
    for name in [".gsv-tmp-x", ".GSV-TMP-x", ".Gsv-Part-x"] {
        let refused = write_refused(&ann, name).await;
        assert!(refused.contains("keeps for itself"), "{refused}");
    }
    async fn write_refused(ann: &vfs::View, name: &str) -> String {
        let path = at("/home/ann").join(name);
        ann.write(&path, b"x".to_vec(), Writing::default()).await.unwrap_err().to_string()
    }
}
