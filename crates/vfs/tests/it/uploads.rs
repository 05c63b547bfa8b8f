//! Tests of resumable uploads: going on, taking their place, and what is in the way of that.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base::clock::Clock;
use base::limits;
use vfs::upload::{Sweeper, Upload, Wanted};
use vfs::{Code, Fault, Follow, View};

use crate::world::{Who, World, at, code};

const TAG: &str = "0123456789abcdef";

async fn begin(view: &View, path: &str, size: u64) -> Result<(Upload, File), Fault> {
    let wanted = Wanted { size, tag: TAG.to_string(), mode: Some(0o777) };
    let opened = view.upload(&at(path), wanted, Arc::default(), drop).await?;
    Ok((opened.0, opened.1))
}

async fn upload(view: &View, path: &str, bytes: &[u8]) -> Result<(), Fault> {
    let (upload, mut file) = begin(view, path, bytes.len() as u64).await?;
    assert_eq!(upload.offset, 0);
    file.write_all(bytes).unwrap();
    upload.store(view.who(), file)
}

fn partials(world: &World, directory: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(world.host(directory)).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(".gsv-part-")).collect()
}

#[tokio::test]
async fn a_new_file_is_the_callers_and_an_old_one_stays_whose_it_was() {
    let world = World::new().await;
    let (ann, root) = (world.aside(Who::Ann), world.as_(Who::Root));
    upload(&ann, "/home/ann/deep/er/file", b"new").await.unwrap();
    let stat = root.stat(&at("/home/ann/deep/er/file"), Follow::No).await.unwrap();
    assert_eq!((stat.uid.0, stat.gid.0, stat.mode, stat.size), (1_000, 1_000, 0o755, 3));
    ann.chmod(&at("/home/ann/deep/er/file"), 0o640).await.unwrap();
    upload(&root, "/home/ann/deep/er/file", b"newer").await.unwrap();
    let stat = root.stat(&at("/home/ann/deep/er/file"), Follow::No).await.unwrap();
    assert_eq!((stat.uid.0, stat.gid.0, stat.mode, stat.size), (1_000, 1_000, 0o640, 5));
    assert_eq!(ann.read(&at("/home/ann/deep/er/file")).await.unwrap(), b"newer");
    // A link is written through.
    ann.symlink("deep/er/file", &at("/home/ann/link")).await.unwrap();
    upload(&ann, "/home/ann/link", b"newest").await.unwrap();
    assert_eq!(ann.read(&at("/home/ann/deep/er/file")).await.unwrap(), b"newest");
    assert!(partials(&world, "/home/ann").is_empty() && partials(&world, "/home/ann/deep/er").is_empty());
}

#[tokio::test]
async fn an_upload_goes_on_for_its_user_only() {
    let world = World::new().await;
    let (ann, bob) = (world.as_(Who::Ann), world.as_(Who::Bob));
    let (_, mut file) = begin(&ann, "/tmp/file", 6).await.unwrap();
    file.write_all(b"abc").unwrap();
    drop(file);
    assert_eq!(ann.list(&at("/tmp")).await.unwrap(), [], "what is not whole is not there");
    assert_eq!(begin(&bob, "/tmp/file", 6).await.unwrap().0.offset, 0);
    assert_eq!(begin(&ann, "/tmp/other", 6).await.unwrap().0.offset, 0);
    // More than the file shall have cannot be its beginning.
    let (upload, mut file) = begin(&ann, "/tmp/file", 6).await.unwrap();
    assert_eq!(upload.offset, 3);
    file.seek(SeekFrom::End(0)).unwrap();
    file.write_all(b"def").unwrap();
    upload.store(ann.who(), file).unwrap();
    assert_eq!(ann.read(&at("/tmp/file")).await.unwrap(), b"abcdef");
    let (_, mut file) = begin(&ann, "/tmp/file", 6).await.unwrap();
    file.write_all(b"longer than that").unwrap();
    drop(file);
    assert_eq!(begin(&ann, "/tmp/file", 6).await.unwrap().0.offset, 0);
}

#[tokio::test]
async fn whether_it_is_allowed_is_asked_at_both_ends() {
    let world = World::new().await;
    let (ann, root) = (world.as_(Who::Ann), world.as_(Who::Root));
    assert_eq!(code(upload(&ann, "/home/bob/file", b"x").await), Some(Code::Denied));
    assert_eq!(code(upload(&ann, "/etc/file", b"x").await), Some(Code::Denied));
    assert_eq!(code(upload(&ann, "/home/ann", b"x").await), Some(Code::IsDirectory));
    assert_eq!(code(upload(&ann, "/home/ann/.gsv-part-x", b"x").await), Some(Code::NotPermitted));
    root.mkdir(&at("/tmp/open"), false, 0o777).await.unwrap();
    root.chmod(&at("/tmp/open"), 0o777).await.unwrap();
    let (upload, mut file) = begin(&ann, "/tmp/open/file", 1).await.unwrap();
    file.write_all(b"x").unwrap();
    root.chmod(&at("/tmp/open"), 0o755).await.unwrap();
    assert_eq!(code(upload.store(ann.who(), file)), Some(Code::Denied));
    assert_eq!(code(root.stat(&at("/tmp/open/file"), Follow::No).await), Some(Code::NotFound));
    // The sender at the end counts, not the one at the beginning.
    let (upload, mut file) = begin(&ann, "/home/ann/mine", 1).await.unwrap();
    file.write_all(b"x").unwrap();
    assert_eq!(code(upload.store(world.as_(Who::Bob).who(), file)), Some(Code::Denied));
    // And a directory that took the name meanwhile is not replaced.
    let (upload, mut file) = begin(&ann, "/home/ann/file", 1).await.unwrap();
    file.write_all(b"x").unwrap();
    ann.mkdir(&at("/home/ann/file"), false, 0o755).await.unwrap();
    assert_eq!(code(upload.store(ann.who(), file)), Some(Code::IsDirectory));
}

#[tokio::test]
async fn the_quota_refuses_before_the_first_byte() {
    let world = World::new().await;
    let ann = world.as_(Who::Ann);
    world.store.config().set("config/files/quota_bytes", "1000").await.unwrap();
    assert_eq!(code(begin(&ann, "/home/ann/file", 1_001).await), Some(Code::Quota));
    upload(&ann, "/home/ann/file", &[7; 900]).await.unwrap();
    assert_eq!(code(begin(&ann, "/home/ann/other", 101).await), Some(Code::Quota));
    upload(&ann, "/home/ann/file", &[8; 1_000]).await.unwrap();
}

#[tokio::test]
async fn what_is_under_way_takes_its_room_from_the_beginning() {
    let world = World::new().await;
    let ann = world.as_(Who::Ann);
    world.store.config().set("config/files/quota_bytes", "1000").await.unwrap();
    let (first, mut file) = begin(&ann, "/home/ann/a", 600).await.unwrap();
    assert_eq!(code(begin(&ann, "/home/ann/b", 401).await), Some(Code::Quota));
    // When it breaks off, what has arrived counts and the rest is free again.
    file.write_all(&[1; 100]).unwrap();
    drop((file, first));
    assert_eq!(code(begin(&ann, "/home/ann/b", 901).await), Some(Code::Quota));
    let (second, file) = begin(&ann, "/home/ann/b", 900).await.unwrap();
    drop(file);
    second.discard();
    // It goes on with what has arrived, which is not counted twice.
    let (first, file) = begin(&ann, "/home/ann/a", 1_000).await.unwrap();
    assert_eq!(first.offset, 100);
    assert_eq!(code(begin(&ann, "/home/ann/b", 1).await), Some(Code::Quota));
    drop(file);
    first.discard();
    assert!(partials(&world, "/home/ann").is_empty());
    upload(&ann, "/home/ann/all", &[1; 1_000]).await.unwrap();
    assert_eq!(code(begin(&ann, "/home/ann/b", 1).await), Some(Code::Quota));
}

#[tokio::test]
async fn a_file_makes_room_for_one_successor_at_a_time() {
    let world = World::new().await;
    let ann = world.as_(Who::Ann);
    world.store.config().set("config/files/quota_bytes", "1000").await.unwrap();
    upload(&ann, "/home/ann/file", &[1; 900]).await.unwrap();
    let (upload, mut file) = begin(&ann, "/home/ann/file", 1_000).await.unwrap();
    let wanted = || Wanted { size: 1_000, tag: "fedcba9876543210".to_string(), mode: None };
    let path = at("/home/ann/file");
    let another = || ann.upload(&path, wanted(), Arc::default(), drop);
    assert_eq!(code(another().await), Some(Code::Quota));
    file.write_all(&[2; 1_000]).unwrap();
    upload.store(ann.who(), file).unwrap();
    assert_eq!(code(another().await), None);
}

#[tokio::test]
async fn what_is_swept_counts_no_more() {
    let world = World::new().await;
    let ann = world.as_(Who::Ann);
    let long_ago_ms = Clock::system().now_ms() - limits::device_files::UPLOAD_PARTIAL_KEPT_MS - 60_000;
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_millis(long_ago_ms as u64);
    let mut is_free_again = false;
    // What looks through everything at the start may be faster, once, and leaves the count to the next counting.
    for quota in ["1000", "1900"] {
        world.store.config().set("config/files/quota_bytes", quota).await.unwrap();
        let (upload, mut old) = begin(&ann, "/home/ann/old", 900).await.unwrap();
        old.write_all(&[1; 900]).unwrap();
        old.set_modified(long_ago).unwrap();
        drop((old, upload));
        is_free_again = begin(&ann, "/home/ann/new", 1_000).await.is_ok();
        if is_free_again {
            break;
        }
    }
    assert!(is_free_again);
}

#[tokio::test]
async fn a_busy_partial_file_is_waited_for_and_not_for_ever() {
    let world = World::new().await;
    let ann = world.aside(Who::Ann);
    let (_, file) = begin(&ann, "/home/ann/file", 9).await.unwrap();
    let waiting = tokio::spawn({
        let ann = ann.clone();
        async move { begin(&ann, "/home/ann/file", 9).await.map(|(upload, _)| upload.offset) }
    });
    assert!(code(begin(&ann, "/home/ann/file", 9).await).is_some(), "somebody else has it");
    assert!(waiting.await.unwrap().is_err());
    let waiting = begin(&ann, "/home/ann/file", 9);
    let freeing = async { drop(file) };
    assert!(tokio::join!(waiting, freeing).0.is_ok());
}

#[tokio::test]
async fn what_was_abandoned_long_ago_is_swept() {
    let world = World::new().await;
    let ann = world.as_(Who::Ann);
    let (_, old) = begin(&ann, "/home/ann/old", 9).await.unwrap();
    let (_, busy) = begin(&ann, "/home/ann/busy", 9).await.unwrap();
    let (_, young) = begin(&ann, "/home/ann/young", 9).await.unwrap();
    let long_ago_ms = Clock::system().now_ms() - limits::device_files::UPLOAD_PARTIAL_KEPT_MS - 60_000;
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_millis(long_ago_ms as u64);
    old.set_modified(long_ago).unwrap();
    busy.set_modified(long_ago).unwrap();
    drop((old, young));
    assert_eq!(partials(&world, "/home/ann").len(), 3);
    let sweeper = Arc::<Sweeper>::default();
    let wanted = Wanted { size: 1, tag: TAG.to_string(), mode: None };
    let (upload, file, ()) = ann.upload(&at("/home/ann/new"), wanted, sweeper, drop).await.unwrap();
    drop(file);
    upload.discard();
    assert_eq!(partials(&world, "/home/ann").len(), 2, "the busy one and the young one stay");
    drop(busy);
}
