//! Tests that the journal of small writes is no part of the tree.

use std::path::Path;
use std::time::{Duration, SystemTime};

use base::clock::Clock;
use vfs::view::Writing;
use vfs::{Code, Follow, Tree};

use crate::world::{Who, World, at, code};

const TEXT: &str = "a text that nothing else has";

async fn world() -> World {
    let world = World::new().await;
    let ann = world.as_(Who::Ann);
    ann.write(&at("/home/ann/file"), TEXT.into(), Writing::default()).await.unwrap();
    world
}

fn journal_has(files: &Path, text: &str) -> bool {
    ["0", "1"].iter().any(|name| {
        let bytes = std::fs::read(files.join(".journal").join(name)).unwrap();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    })
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn it_is_there_for_the_gateway_alone() {
    use std::os::unix::fs::PermissionsExt;

    let world = world().await;
    assert!(journal_has(&world.files(), TEXT));
    let mode = |name: &str| world.host(name).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("/.journal"), mode("/.journal/0"), mode("/.journal/1")), (0o700, 0o600, 0o600));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn nobody_sees_it_or_touches_it() {
    let world = world().await;
    let root = world.as_(Who::Root);
    let names = root.list(&at("/")).await.unwrap();
    assert!(!names.iter().any(|named| named.name.starts_with('.')));
    for path in ["/.journal", "/.journal/0", "/home/ann/../../.journal/0"] {
        assert_eq!(code(root.stat(&at(path), Follow::Yes).await), Some(Code::NotFound), "{path}");
        assert_eq!(code(root.read(&at(path)).await), Some(Code::NotFound), "{path}");
        assert!(root.write(&at(path), b"x".to_vec(), Writing::default()).await.is_err(), "{path}");
        assert!(root.append(&at(path), b"x".to_vec()).await.is_err(), "{path}");
        assert!(root.remove(&at(path), true).await.is_err(), "{path}");
        assert!(root.chmod(&at(path), 0o777).await.is_err(), "{path}");
        assert!(root.rename(&at(path), &at("/tmp/stolen")).await.is_err(), "{path}");
        assert!(root.open_now(&at(path)).is_none(), "{path}");
    }
    assert!(root.mkdir(&at("/.journal"), false, 0o755).await.is_err());
    root.symlink("/.journal/0", &at("/tmp/link")).await.unwrap();
    assert_eq!(code(root.read(&at("/tmp/link")).await), Some(Code::NotFound));
    let args = serde_json::from_value(serde_json::json!({ "query": TEXT })).unwrap();
    let query = content::query::Query::new(content::Side::Native, &args).unwrap();
    let found = root.search(&at("/"), query).await.unwrap();
    let paths: Vec<&str> = found.matches.iter().map(|found| found.path.as_str()).collect();
    assert_eq!(paths, ["/home/ann/file"]);
    assert!(journal_has(&world.files(), TEXT));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn it_is_not_swept() {
    let world = world().await;
    let journal = world.host("/.journal");
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000);
    for name in ["0", "1", "."] {
        std::fs::File::open(journal.join(name)).unwrap().set_modified(long_ago).unwrap();
    }
    // What is swept at start comes after it: then the sweeping has been there.
    let leftover = world.host("/workspaces/.gsv-tmp-old");
    std::fs::write(&leftover, "x").unwrap();
    std::fs::File::open(&leftover).unwrap().set_modified(long_ago).unwrap();
    let tree = Tree::open(&world.files(), world.store.clone(), Clock::system()).unwrap();
    let started = Clock::system().instant();
    while leftover.exists() {
        assert!(started.elapsed() < Duration::from_secs(60));
        tokio::task::yield_now().await;
    }
    drop(tree);
    assert!(journal.join("0").exists() && journal.join("1").exists());
}
