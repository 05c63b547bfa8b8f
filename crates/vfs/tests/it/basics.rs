//! Tests of every operation: what it does, and its errors.

use protocol::ids::{Gid, Uid};
use vfs::view::{Opened, Writing};
use vfs::{Code, FileKind, Follow};

use crate::world::{TEAM, Who, World, at, code};

#[tokio::test]
async fn the_root_holds_the_mounts() {
    let world = World::new().await;
    let ann = world.as_(Who::Ann);
    let names: Vec<String> = ann.list(&at("/")).await.unwrap().into_iter().map(|named| named.name).collect();
    for name in ["etc", "home", "root", "src", "tmp", "usr", "var", "workspaces"] {
        assert!(names.contains(&name.to_string()), "{name} in {names:?}");
    }
    let modes = [("/", 0o755), ("/usr", 0o755), ("/usr/local", 0o755), ("/tmp", 0o1777), ("/root", 0o700)];
    for (path, mode) in modes {
        let stat = ann.stat(&at(path), Follow::Yes).await.unwrap();
        assert_eq!((stat.kind, stat.mode, stat.uid), (FileKind::Directory, mode, Uid::ROOT), "{path}");
    }
    std::fs::write(world.host("/stranger"), "x").unwrap();
    assert_eq!(code(ann.stat(&at("/stranger"), Follow::Yes).await), Some(Code::NotFound));
}

#[tokio::test]
async fn made_up_directories_take_nothing_from_anybody() {
    let world = World::new().await;
    let root = world.as_(Who::Root);
    std::fs::write(world.host("/stranger"), "x").unwrap();
    for path in ["/new", "/usr/new", "/stranger"] {
        for result in [
            root.write(&at(path), b"x".to_vec(), Writing::default()).await.map(drop),
            root.mkdir(&at(path), false, 0o755).await,
            root.symlink("/tmp", &at(path)).await,
            root.append(&at(path), b"x".to_vec()).await,
        ] {
            let fault = result.unwrap_err();
            assert_eq!(fault.code, Code::NotPermitted, "{path}");
            assert!(fault.to_string().contains("is part of the system"), "{fault}");
        }
    }
    for path in ["/", "/usr", "/home", "/tmp", "/home/ann", "/root"] {
        assert_eq!(code(root.remove(&at(path), true).await), Some(Code::NotPermitted), "{path}");
        let moved = root.rename(&at(path), &at("/var/x")).await;
        assert_eq!(code(moved), Some(Code::NotPermitted), "{path}");
    }
    assert_eq!(code(root.mkdir(&at("/home"), false, 0o755).await), Some(Code::Exists));
    root.mkdir(&at("/home"), true, 0o755).await.unwrap();
    root.mkdir(&at("/"), true, 0o755).await.unwrap();
    assert_eq!(code(root.chmod(&at("/usr"), 0o777).await), Some(Code::NotPermitted));
    assert!(!root.may(&at("/"), 2).await.unwrap());
}

#[tokio::test]
async fn overwriting_keeps_owner_group_and_mode() {
    let world = World::new().await;
    let (root, ann, cat) = (world.as_(Who::Root), world.as_(Who::Ann), world.as_(Who::Cat));
    let path = at("/tmp/shared");
    let new = ann.write(&path, b"one".to_vec(), Writing { mode: 0o666, ..Writing::default() }).await.unwrap();
    assert_eq!((new.uid, new.gid, new.mode, new.size), (Uid(1_000), Gid(1_000), 0o644, 3));
    ann.chown(&path, None, Some(Gid(TEAM))).await.unwrap();
    ann.chmod(&path, 0o6664).await.unwrap();
    for who in [&cat, &root] {
        who.write(&path, b"two".to_vec(), Writing::default()).await.unwrap();
        let after = ann.stat(&path, Follow::Yes).await.unwrap();
        assert_eq!((after.uid, after.gid, after.mode), (Uid(1_000), Gid(TEAM), 0o6664));
    }
    cat.edit(&path, |text| Ok::<_, ()>(([text, b"!".to_vec()].concat(), ()))).await.unwrap().unwrap();
    cat.append(&path, b"?".to_vec()).await.unwrap();
    assert_eq!(ann.read(&path).await.unwrap(), b"two!?");
    assert_eq!(ann.stat(&path, Follow::Yes).await.unwrap().uid, Uid(1_000));
    let twice = Writing { exclusive: true, ..Writing::default() };
    assert_eq!(code(ann.write(&path, b"x".to_vec(), twice).await), Some(Code::Exists));
}

#[tokio::test]
async fn directories_on_the_way_are_made_when_asked() {
    let world = World::new().await;
    let ann = world.as_(Who::Ann);
    let deep = at("/home/ann/a/b/c/file");
    assert_eq!(code(ann.write(&deep, b"x".to_vec(), Writing::default()).await), Some(Code::NotFound));
    let how = Writing { parents: true, ..Writing::default() };
    ann.write(&deep, b"x".to_vec(), how).await.unwrap();
    let made = ann.stat(&at("/home/ann/a/b"), Follow::Yes).await.unwrap();
    assert_eq!((made.uid, made.mode), (Uid(1_000), 0o755));
    ann.mkdir(&at("/home/ann/p/q/r"), true, 0o700).await.unwrap();
    assert_eq!(ann.stat(&at("/home/ann/p/q/r"), Follow::Yes).await.unwrap().mode, 0o700);
    assert_eq!(ann.stat(&at("/home/ann/p/q"), Follow::Yes).await.unwrap().mode, 0o755);
    assert_eq!(code(ann.mkdir(&deep, true, 0o755).await), Some(Code::Exists));
    let below_file = at("/home/ann/a/b/c/file/x");
    assert_eq!(code(ann.write(&below_file, b"x".to_vec(), how).await), Some(Code::NotDirectory));
    let foreign = at("/home/bob/x/y");
    assert_eq!(code(ann.write(&foreign, b"x".to_vec(), how).await), Some(Code::Denied));
}

#[tokio::test]
async fn copies_belong_to_the_copier() {
    let world = World::new().await;
    let (ann, bob) = (world.as_(Who::Ann), world.as_(Who::Bob));
    ann.write(&at("/tmp/tool"), vec![7; 700_000], Writing::default()).await.unwrap();
    ann.chmod(&at("/tmp/tool"), 0o775).await.unwrap();
    bob.copy(&at("/tmp/tool"), &at("/home/bob/tool")).await.unwrap();
    let copy = bob.stat(&at("/home/bob/tool"), Follow::Yes).await.unwrap();
    assert_eq!((copy.uid, copy.mode, copy.size), (Uid(1_001), 0o755, 700_000));
    assert_eq!(code(bob.copy(&at("/tmp"), &at("/home/bob/x")).await), Some(Code::IsDirectory));
    assert_eq!(code(bob.copy(&at("/tmp/tool"), &at("/tmp/tool")).await), Some(Code::Invalid));
    assert_eq!(code(ann.copy(&at("/home/bob/tool"), &at("/tmp/y")).await), Some(Code::Denied));
}

#[tokio::test]
async fn times_are_the_owners_to_set() {
    let world = World::new().await;
    let (ann, bob) = (world.as_(Who::Ann), world.as_(Who::Bob));
    let path = at("/tmp/dated");
    ann.write(&path, b"x".to_vec(), Writing::default()).await.unwrap();
    ann.set_modified(&path, 1_234_567_890_123).await.unwrap();
    assert_eq!(ann.stat(&path, Follow::Yes).await.unwrap().modified_ms, 1_234_567_890_123);
    ann.set_modified(&path, -1_500).await.unwrap();
    assert_eq!(ann.stat(&path, Follow::Yes).await.unwrap().modified_ms, -1_500);
    assert_eq!(code(bob.set_modified(&path, 5).await), Some(Code::NotPermitted));
}

#[tokio::test]
async fn faults_speak_unix() {
    let world = World::new().await;
    let ann = world.as_(Who::Ann);
    let missing = ann.read(&at("/home/ann/none")).await.unwrap_err();
    assert_eq!(missing.to_string(), "ENOENT: no such file or directory, open '/home/ann/none'");
    let directory = ann.read(&at("/home/ann")).await.unwrap_err();
    assert_eq!(directory.to_string(), "EISDIR: illegal operation on a directory, read '/home/ann'");
    let denied = ann.list(&at("/root")).await.unwrap_err();
    assert_eq!(denied.to_string(), "EACCES: permission denied, '/root'");
    ann.mkdir(&at("/home/ann/d"), false, 0o755).await.unwrap();
    ann.write(&at("/home/ann/d/f"), Vec::new(), Writing::default()).await.unwrap();
    assert_eq!(code(ann.remove(&at("/home/ann/d"), false).await), Some(Code::NotEmpty));
    assert_eq!(code(ann.remove(&at("/home/ann/none"), true).await), Some(Code::NotFound));
    assert!(matches!(ann.open(&at("/home/ann/d")).await.unwrap(), Opened::Directory(_)));
}

#[tokio::test]
async fn links_have_no_place_in_shared_directories() {
    let world = World::new().await;
    let (ann, root) = (world.as_(Who::Ann), world.as_(Who::Root));
    let refused = ann.symlink("/home/ann", &at("/tmp/link")).await.unwrap_err();
    assert_eq!(refused.code, Code::NotPermitted);
    assert!(refused.to_string().contains("shared directory"), "{refused}");
    ann.mkdir(&at("/tmp/mine"), false, 0o755).await.unwrap();
    ann.symlink("/home/ann", &at("/tmp/mine/link")).await.unwrap();
    assert_eq!(ann.read_link(&at("/tmp/mine/link")).await.unwrap(), "/home/ann");
    let moved = ann.rename(&at("/tmp/mine/link"), &at("/tmp/link")).await;
    assert_eq!(code(moved), Some(Code::NotPermitted));
    root.symlink("/home", &at("/tmp/link")).await.unwrap();
    assert_eq!(code(ann.remove(&at("/tmp/link"), false).await), Some(Code::NotPermitted));
    let stat = ann.stat(&at("/tmp/link"), Follow::No).await.unwrap();
    assert_eq!((stat.kind, stat.mode), (FileKind::Link, 0o777));
}

#[tokio::test]
async fn reserved_names_are_neither_seen_nor_made() {
    let world = World::new().await;
    let ann = world.as_(Who::Ann);
    std::fs::write(world.host("/home/ann/.gsv-tmp-x"), "half").unwrap();
    std::fs::write(world.host("/home/ann/.gsv-part-x"), "half").unwrap();
    assert!(ann.list(&at("/home/ann")).await.unwrap().is_empty());
    for name in [".gsv-tmp-x", ".gsv-part-x", ".gsv-tmp-new"] {
        let path = at("/home/ann").join(name);
        assert_eq!(code(ann.read(&path).await), Some(Code::NotFound));
        let written = ann.write(&path, b"x".to_vec(), Writing::default()).await;
        assert_eq!(code(written), Some(Code::NotPermitted));
        assert_eq!(code(ann.mkdir(&path, false, 0o755).await), Some(Code::NotPermitted));
        assert_eq!(code(ann.symlink("x", &path).await), Some(Code::NotPermitted));
    }
    ann.mkdir(&at("/home/ann/d"), false, 0o755).await.unwrap();
    std::fs::write(world.host("/home/ann/d/.gsv-tmp-y"), "half").unwrap();
    ann.remove(&at("/home/ann/d"), false).await.unwrap();
}

#[tokio::test]
async fn old_drafts_are_swept_by_the_next_write() {
    let world = World::new().await;
    let ann = world.as_(Who::Ann);
    let (old, young) = (world.host("/home/ann/.gsv-tmp-old"), world.host("/home/ann/.gsv-tmp-young"));
    for path in [&old, &young] {
        std::fs::write(path, "half").unwrap();
    }
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    std::fs::File::options().write(true).open(&old).unwrap().set_modified(long_ago).unwrap();
    ann.write(&at("/home/ann/f"), b"x".to_vec(), Writing::default()).await.unwrap();
    assert!(!old.exists() && young.exists());
}
