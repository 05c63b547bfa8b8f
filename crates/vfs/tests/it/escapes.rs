//! Escape tests: no dots, links, races or odd files of the host lead out of the tree.

use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use vfs::view::{Opened, Writing};
use vfs::{Code, Follow, VPath};

use crate::world::{Who, World, at, code};

const SECRET: &[u8] = b"canary";

#[tokio::test]
async fn no_link_leads_out() {
    let world = World::new().await;
    let (ann, root) = (world.as_(Who::Ann), world.as_(Who::Root));
    let canary = world.data.path().join("canary");
    std::fs::write(&canary, SECRET).unwrap();
    let canary = canary.to_str().unwrap();
    let dots = "../".repeat(40);
    let targets = [
        canary.to_string(),
        "../../../canary".into(),
        format!("{dots}{}", &canary[1..]),
        "/../../canary".into(),
        format!("/home/ann/{dots}{canary}"),
    ];
    for (number, target) in targets.iter().enumerate() {
        let (ours, theirs) = (at(&format!("/home/ann/{number}")), at(&format!("/home/ann/host-{number}")));
        ann.symlink(target, &ours).await.unwrap();
        symlink(target, world.host(theirs.as_str())).unwrap();
        for path in [&ours, &theirs] {
            for view in [&ann, &root] {
                assert_eq!(code(view.read(path).await), Some(Code::NotFound), "{target}");
                assert_eq!(code(view.stat(path, Follow::Yes).await), Some(Code::NotFound), "{target}");
                assert!(view.open_now(path).is_none());
            }
        }
    }
    symlink("..", world.host("/home/ann/up")).unwrap();
    assert_eq!(code(root.read(&at("/home/ann/up/../../canary")).await), Some(Code::NotFound));
    symlink(world.data.path(), world.host("/home/ann/out")).unwrap();
    let written = root.write(&at("/home/ann/out/new"), b"x".to_vec(), Writing::default()).await;
    assert_eq!(code(written), Some(Code::NotFound));
    assert!(!world.data.path().join("new").exists());
    root.remove(&at("/home/ann/out"), true).await.unwrap();
    assert_eq!(std::fs::read(canary).unwrap(), SECRET);
}

#[tokio::test]
async fn links_work_inside_the_tree() {
    let world = World::new().await;
    let ann = world.as_(Who::Ann);
    ann.mkdir(&at("/home/ann/d/e"), true, 0o755).await.unwrap();
    ann.write(&at("/home/ann/d/f"), b"here".to_vec(), Writing::default()).await.unwrap();
    for (link, target) in [
        ("absolute", "/home/ann/d/f"),
        ("relative", "d/f"),
        ("over", "d/e/../f"),
        ("around", "../../home/./ann//d/f"),
        ("dir", "d"),
        ("self", "."),
        ("top", "/"),
    ] {
        ann.symlink(target, &at("/home/ann").join(link)).await.unwrap();
    }
    for path in ["absolute", "relative", "over", "around", "dir/f", "self/d/f", "dir/e/../../relative"] {
        let path = format!("/home/ann/{path}");
        // The text `..` of a path is dropped by its text, that of a link by where the link leads.
        assert_eq!(ann.read(&at(&path)).await.unwrap(), b"here", "{path}");
    }
    assert_eq!(ann.read(&at("/home/ann/top/home/ann/d/f")).await.unwrap(), b"here");
    assert_eq!(ann.list(&at("/home/ann/dir")).await.unwrap().len(), 2);
    // A link to what is not there yet makes that when written to.
    ann.symlink("d/new", &at("/home/ann/coming")).await.unwrap();
    ann.write(&at("/home/ann/coming"), b"came".to_vec(), Writing::default()).await.unwrap();
    assert_eq!(ann.read(&at("/home/ann/d/new")).await.unwrap(), b"came");
}

#[tokio::test]
async fn loops_and_long_names_end() {
    let world = World::new().await;
    let ann = world.as_(Who::Ann);
    ann.symlink("b", &at("/home/ann/a")).await.unwrap();
    ann.symlink("a", &at("/home/ann/b")).await.unwrap();
    ann.symlink("me/me", &at("/home/ann/me")).await.unwrap();
    for path in ["/home/ann/a", "/home/ann/a/x", "/home/ann/me"] {
        assert_eq!(code(ann.read(&at(path)).await), Some(Code::Loop), "{path}");
        let how = Writing { parents: true, ..Writing::default() };
        assert_eq!(code(ann.write(&at(path), b"x".to_vec(), how).await), Some(Code::Loop), "{path}");
    }
    // Forty links may be followed, each to the next.
    ann.write(&at("/home/ann/l0"), b"end".to_vec(), Writing::default()).await.unwrap();
    for number in 1..=41 {
        let target = format!("l{}", number - 1);
        ann.symlink(&target, &at(&format!("/home/ann/l{number}"))).await.unwrap();
    }
    assert_eq!(ann.read(&at("/home/ann/l40")).await.unwrap(), b"end");
    assert_eq!(code(ann.read(&at("/home/ann/l41")).await), Some(Code::Loop));
    // A link that goes in and out many times is given up before it takes long.
    ann.mkdir(&at("/home/ann/deep/er"), true, 0o755).await.unwrap();
    let target = "deep/er/../../".repeat(280);
    for number in 0..40 {
        let next = if number == 39 { "l0".to_string() } else { format!("w{}", number + 1) };
        ann.symlink(&format!("{target}{next}"), &at(&format!("/home/ann/w{number}"))).await.unwrap();
    }
    assert_eq!(code(ann.read(&at("/home/ann/w0")).await), Some(Code::Loop));
    assert_eq!(ann.read(&at("/home/ann/w39")).await.unwrap(), b"end");
    let long = "x".repeat(256);
    assert_eq!(VPath::absolute(&long).unwrap_err().code, Code::NameTooLong);
    assert_eq!(VPath::absolute("/a\0b").unwrap_err().code, Code::Invalid);
    ann.symlink(&long, &at("/home/ann/long")).await.unwrap();
    assert_eq!(code(ann.read(&at("/home/ann/long")).await), Some(Code::NameTooLong));
    assert_eq!(code(ann.symlink("a\0b", &at("/home/ann/nul")).await), Some(Code::Invalid));
    assert_eq!(code(ann.symlink(&"x".repeat(5_000), &at("/home/ann/xl")).await), Some(Code::NameTooLong));
}

/// Somebody swaps a directory for a link to the outside, as fast as possible, while others read through it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_swapped_link_never_shows_the_outside() {
    let world = Arc::new(World::new().await);
    let ann = world.as_(Who::Ann);
    std::fs::write(world.data.path().join("file"), SECRET).unwrap();
    ann.mkdir(&at("/home/ann/real"), false, 0o755).await.unwrap();
    ann.write(&at("/home/ann/real/file"), b"inside".to_vec(), Writing::default()).await.unwrap();
    symlink(world.data.path(), world.host("/home/ann/link")).unwrap();
    std::fs::rename(world.host("/home/ann/real"), world.host("/home/ann/x")).unwrap();
    let (done, seen) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let readers: Vec<_> = (0..4)
        .map(|number| {
            let (world, seen) = (world.clone(), seen.clone());
            std::thread::spawn(move || {
                let view = world.as_(if number % 2 == 0 { Who::Ann } else { Who::Root });
                let path = at("/home/ann/x/file");
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                for _ in 0..4_000 {
                    if let Some(Ok(Opened::File(file, stat))) = view.open_now(&path) {
                        let bytes = vfs::disk::fast::read_now(&file, stat.size);
                        assert_ne!(bytes.as_deref(), Some(SECRET));
                    }
                    match runtime.block_on(view.read(&path)) {
                        Ok(bytes) => {
                            assert_eq!(bytes, b"inside");
                            seen.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(fault) => assert!(
                            matches!(fault.code, Code::NotFound | Code::NotDirectory | Code::Invalid),
                            "{fault}"
                        ),
                    }
                    let path = at("/home/ann/x/new");
                    drop(runtime.block_on(view.append(&path, b"x".to_vec())));
                }
            })
        })
        .collect();
    let swapper = {
        let (world, done) = (world.clone(), done.clone());
        std::thread::spawn(move || {
            let host = |name: &str| world.host(&format!("/home/ann/{name}"));
            while !done.load(Ordering::Relaxed) {
                std::fs::rename(host("x"), host("real")).unwrap();
                std::fs::rename(host("link"), host("x")).unwrap();
                std::fs::rename(host("x"), host("link")).unwrap();
                std::fs::rename(host("real"), host("x")).unwrap();
            }
        })
    };
    for reader in readers {
        reader.join().unwrap();
    }
    done.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
    assert!(seen.load(Ordering::Relaxed) > 0);
    assert!(!world.data.path().join("new").exists());
}

#[tokio::test]
async fn odd_files_of_the_host_are_refused_and_never_waited_for() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let world = World::new().await;
    let ann = world.as_(Who::Ann);
    let pipe = world.host("/home/ann/pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(world.host("/home/ann/socket")).unwrap();
    for name in ["pipe", "socket"] {
        let path = at("/home/ann").join(name);
        assert!(code(ann.read(&path).await).is_some(), "{name}");
        assert!(ann.open(&path).await.is_err(), "{name}");
        assert!(ann.append(&path, b"x".to_vec()).await.is_err(), "{name}");
        assert!(ann.write(&path, b"x".to_vec(), Writing::default()).await.is_err(), "{name}");
        assert!(ann.open_now(&path).is_none());
    }
    assert_eq!(ann.list(&at("/home/ann")).await.unwrap().len(), 2);
    ann.remove(&at("/home/ann/pipe"), false).await.unwrap();
    assert!(!pipe.exists());
}
