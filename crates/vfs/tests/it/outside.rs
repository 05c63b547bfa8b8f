//! Tests of files that appear below `files/` from outside: they belong to the right people.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

use protocol::ids::{Gid, Uid};
use vfs::view::Writing;
use vfs::{Code, Follow};

use crate::world::{TEAM, Who, World, at, code};

#[tokio::test]
async fn what_appears_belongs_to_the_owner_of_the_place() {
    let world = World::new().await;
    let (root, ann, bob) = (world.as_(Who::Root), world.as_(Who::Ann), world.as_(Who::Bob));
    root.mkdir(&at("/workspaces/ws_1"), false, 0o755).await.unwrap();
    root.chown(&at("/workspaces/ws_1"), Some(Uid(1_001)), Some(Gid(TEAM))).await.unwrap();
    for place in ["/home/ann", "/workspaces/ws_1", "/etc", "/home/new"] {
        std::fs::create_dir_all(world.host(place).join("dir")).unwrap();
        std::fs::write(world.host(place).join("dir/file"), "x").unwrap();
    }
    std::fs::write(world.host("/home/note"), "x").unwrap();
    let expected = [
        ("/home/ann/dir", 1_000, 1_000, 0o750),
        ("/home/ann/dir/file", 1_000, 1_000, 0o640),
        ("/workspaces/ws_1/dir", 1_001, TEAM, 0o750),
        ("/workspaces/ws_1/dir/file", 1_001, TEAM, 0o640),
        ("/etc/dir", 0, 0, 0o755),
        ("/etc/dir/file", 0, 0, 0o644),
        ("/home/note", 0, 0, 0o644),
        ("/home/new", 0, 0, 0o700),
        ("/home/new/dir/file", 0, 0, 0o640),
    ];
    for (path, uid, gid, mode) in expected {
        let stat = root.stat(&at(path), Follow::Yes).await.unwrap();
        assert_eq!((stat.uid.0, stat.gid.0, stat.mode), (uid, gid, mode), "{path}");
    }
    assert_eq!(ann.read(&at("/home/ann/dir/file")).await.unwrap(), b"x");
    assert_eq!(code(bob.read(&at("/home/ann/dir/file")).await), Some(Code::Denied));
    // A home without an owner of its own belongs to the account of that name.
    world.tree.homes([("new".to_string(), (Uid(1_002), Gid(1_002)))].into());
    let home = root.stat(&at("/home/new"), Follow::Yes).await.unwrap();
    let file = root.stat(&at("/home/new/dir/file"), Follow::Yes).await.unwrap();
    assert_eq!((home.uid, home.mode, file.uid), (Uid(1_002), 0o750, Uid(1_002)));
    // Writing keeps the owner it had.
    root.write(&at("/home/ann/dir/file"), b"y".to_vec(), Writing::default()).await.unwrap();
    let stat = root.stat(&at("/home/ann/dir/file"), Follow::Yes).await.unwrap();
    assert_eq!((stat.uid, stat.mode), (Uid(1_000), 0o640));
}

#[tokio::test]
async fn moving_does_not_change_hands() {
    let world = World::new().await;
    let ann = world.as_(Who::Ann);
    std::fs::create_dir_all(world.host("/home/ann/dir/sub")).unwrap();
    std::fs::write(world.host("/home/ann/dir/sub/file"), "x").unwrap();
    std::fs::write(world.host("/home/ann/file"), "x").unwrap();
    for name in ["dir", "file"] {
        ann.rename(&at("/home/ann").join(name), &at("/tmp").join(name)).await.unwrap();
    }
    for path in ["/tmp/dir", "/tmp/dir/sub", "/tmp/dir/sub/file", "/tmp/file"] {
        let stat = ann.stat(&at(path), Follow::Yes).await.unwrap();
        assert_eq!((stat.uid, stat.mode & 0o027), (Uid(1_000), stat.mode & 0o020), "{path}");
    }
}

#[tokio::test]
async fn read_only_files_from_outside_can_be_given_a_mode() {
    let world = World::new().await;
    let ann = world.as_(Who::Ann);
    let host = world.host("/home/ann/file");
    std::fs::write(&host, "x").unwrap();
    std::fs::set_permissions(&host, std::fs::Permissions::from_mode(0o444)).unwrap();
    ann.chmod(&at("/home/ann/file"), 0o604).await.unwrap();
    assert_eq!(ann.stat(&at("/home/ann/file"), Follow::Yes).await.unwrap().mode, 0o604);
}

#[tokio::test]
async fn edits_made_on_the_host_show_at_once() {
    let world = World::new().await;
    let ann = world.as_(Who::Ann);
    let path = at("/home/ann/file");
    ann.write(&path, b"ours".to_vec(), Writing::default()).await.unwrap();
    std::fs::write(world.host("/home/ann/file"), "theirs").unwrap();
    assert_eq!(ann.read(&path).await.unwrap(), b"theirs");
    std::fs::remove_file(world.host("/home/ann/file")).unwrap();
    assert_eq!(code(ann.read(&path).await), Some(Code::NotFound));
}

#[tokio::test]
async fn names_that_are_no_text_are_not_shown_but_removed_and_moved() {
    let world = World::new().await;
    let ann = world.as_(Who::Ann);
    std::fs::create_dir(world.host("/home/ann/d")).unwrap();
    let name = OsStr::from_bytes(b"bad\xffname");
    std::fs::write(world.host("/home/ann/d").join(name), "x").unwrap();
    std::fs::create_dir(world.host("/home/ann/d").join(OsStr::from_bytes(b"dir\xff"))).unwrap();
    std::fs::write(world.host("/home/ann/d").join(OsStr::from_bytes(b"dir\xff")).join("f"), "x").unwrap();
    assert_eq!(ann.list(&at("/home/ann/d")).await.unwrap(), []);
    assert_eq!(code(ann.read(&at("/home/ann/d/bad\u{fffd}name")).await), Some(Code::NotFound));
    // They are there all the same: they keep their directory from being empty, and their owner when it moves.
    assert_eq!(code(ann.remove(&at("/home/ann/d"), false).await), Some(Code::NotEmpty));
    ann.rename(&at("/home/ann/d"), &at("/tmp/d")).await.unwrap();
    let stamp = rustix::fs::getxattr(world.host("/tmp/d").join(name), "user.gsv", &mut [0u8; 64][..]);
    assert!(stamp.is_ok());
    ann.remove(&at("/tmp/d"), true).await.unwrap();
    assert!(!world.host("/tmp/d").exists());
}
