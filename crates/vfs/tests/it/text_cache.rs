//! Tests of the text cache: a small file is shown as it is now, to those who may see it now.
#![cfg(target_os = "linux")]

use std::fs::{self, FileTimes};
use std::os::unix::fs::{MetadataExt, symlink};
use std::sync::Arc;

use base::clock::Clock;
use base::limits;
use content::lines::Window;
use protocol::fs::FileContent;
use protocol::ids::{Gid, Uid};
use vfs::view::Writing;
use vfs::{Code, VPath, View};

use crate::world::{Who, World, at};

const WHOLE: Window = Window { offset: None, limit: None };
const FILE: &str = "/home/ann/d/file";

/// A world that keeps files from the second time on, with a file that everybody may read.
async fn world() -> World {
    let mut world = World::new().await;
    Arc::get_mut(&mut world.tree).unwrap().trust_young_files();
    let ann = world.as_(Who::Ann);
    let how = Writing { parents: true, ..Writing::default() };
    ann.write(&at(FILE), b"old".to_vec(), how).await.unwrap();
    ann.chmod(&at("/home/ann"), 0o755).await.unwrap();
    world
}

impl World {
    fn again(&self, view: &View, path: &VPath) -> Option<FileContent> {
        self.tree.show_again(view.who(), path, WHOLE, Clock::system().instant())
    }

    /// Shows a file until it is kept, and returns when a change of it can be told.
    async fn keep(&self, path: &str) {
        let (root, path) = (self.as_(Who::Root), at(path));
        for _ in 0..1_000 {
            root.open(&path).await.unwrap();
            self.tree.show_now(root.who(), &path, WHOLE, Clock::system().instant());
            self.tree.show_now(root.who(), &path, WHOLE, Clock::system().instant());
            if self.again(&root, &path).is_some() && self.has_ticked(&path) {
                return;
            }
        }
        panic!("{path} is not kept");
    }

    /// Whether the file system's clock has gone on since the file was changed.
    fn has_ticked(&self, path: &VPath) -> bool {
        let probe = self.files().join("probe");
        fs::write(&probe, "x").unwrap();
        let changed = |path| fs::metadata(path).map(|host| (host.ctime(), host.ctime_nsec())).unwrap();
        changed(probe) > changed(self.host(path.as_str()))
    }

    /// What somebody is told, as `fs.read` asks: at once if that can be, else the ordinary way.
    async fn told(&self, who: Who, path: &str) -> Result<String, Code> {
        let (view, path) = (self.as_(who), at(path));
        if let Some(shown) = self.tree.show_now(view.who(), &path, WHOLE, Clock::system().instant()) {
            let content = shown.map_err(|fault| fault.code)?.unwrap();
            let text = serde_json::to_value(&content).unwrap()["content"].as_str().unwrap().to_string();
            return Ok(text.split_once('\t').unwrap().1.to_string());
        }
        view.read(&path).await.map(|bytes| String::from_utf8(bytes).unwrap()).map_err(|fault| fault.code)
    }
}

#[tokio::test]
async fn edits_made_on_the_host_show_at_once() {
    let world = world().await;
    let host = world.host(FILE);
    world.keep(FILE).await;
    assert_eq!(world.told(Who::Ann, FILE).await, Ok("old".into()));
    // In place, of the same size, with the old time of its content.
    let times = FileTimes::new().set_modified(fs::metadata(&host).unwrap().modified().unwrap());
    fs::write(&host, "new").unwrap();
    fs::File::options().write(true).open(&host).unwrap().set_times(times).unwrap();
    assert_eq!(world.again(&world.as_(Who::Ann), &at(FILE)), None);
    assert_eq!(world.told(Who::Ann, FILE).await, Ok("new".into()));
    // Another file in its place.
    world.keep(FILE).await;
    fs::write(world.host("/home/ann/other"), "two").unwrap();
    fs::rename(world.host("/home/ann/other"), &host).unwrap();
    assert_eq!(world.told(Who::Ann, FILE).await, Ok("two".into()));
    world.keep(FILE).await;
    fs::remove_file(&host).unwrap();
    assert_eq!(world.told(Who::Ann, FILE).await, Err(Code::NotFound));
    fs::write(&host, "two").unwrap();
    assert_eq!(world.told(Who::Ann, FILE).await, Ok("two".into()));
}

#[tokio::test]
async fn another_directory_on_the_way_shows_at_once() {
    let world = world().await;
    fs::create_dir(world.host("/home/ann/e")).unwrap();
    fs::write(world.host("/home/ann/e/file"), "far").unwrap();
    world.keep(FILE).await;
    fs::rename(world.host("/home/ann/d"), world.host("/home/ann/gone")).unwrap();
    assert_eq!(world.told(Who::Ann, FILE).await, Err(Code::NotFound));
    symlink("e", world.host("/home/ann/d")).unwrap();
    assert_eq!(world.told(Who::Ann, FILE).await, Ok("far".into()));
    fs::remove_file(world.host("/home/ann/d")).unwrap();
    fs::rename(world.host("/home/ann/gone"), world.host("/home/ann/d")).unwrap();
    // The same by the tree's own means.
    let ann = world.as_(Who::Ann);
    world.keep(FILE).await;
    ann.rename(&at("/home/ann/d"), &at("/home/ann/f")).await.unwrap();
    assert_eq!(world.told(Who::Ann, FILE).await, Err(Code::NotFound));
    ann.symlink("e", &at("/home/ann/d")).await.unwrap();
    assert_eq!(world.told(Who::Ann, FILE).await, Ok("far".into()));
    assert_eq!(world.told(Who::Ann, "/home/ann/f/file").await, Ok("old".into()));
}

#[tokio::test]
async fn rights_are_those_of_now() {
    let world = world().await;
    let (root, ann) = (world.as_(Who::Root), world.as_(Who::Ann));
    world.keep(FILE).await;
    assert_eq!(world.told(Who::Bob, FILE).await, Ok("old".into()));
    // Nobody changed the file's content, so only its rights can tell.
    ann.chmod(&at(FILE), 0o640).await.unwrap();
    assert_eq!(world.told(Who::Bob, FILE).await, Err(Code::Denied));
    world.keep(FILE).await;
    assert_eq!(world.again(&world.as_(Who::Bob), &at(FILE)), None, "what root was shown is not for bob");
    assert_eq!(world.told(Who::Bob, FILE).await, Err(Code::Denied));
    root.chown(&at(FILE), Some(Uid(Who::Bob.uid())), Some(Gid(Who::Bob.uid()))).await.unwrap();
    assert_eq!(world.told(Who::Bob, FILE).await, Ok("old".into()));
    assert_eq!(world.told(Who::Ann, FILE).await, Err(Code::Denied));
    world.keep(FILE).await;
    ann.chmod(&at("/home/ann/d"), 0o700).await.unwrap();
    assert_eq!(world.told(Who::Bob, FILE).await, Err(Code::Denied));
    ann.chmod(&at("/home/ann/d"), 0o755).await.unwrap();
    world.keep(FILE).await;
    ann.chmod(&at("/home/ann"), 0o750).await.unwrap();
    assert_eq!(world.told(Who::Bob, FILE).await, Err(Code::Denied));
    // By the hand of somebody on the host.
    world.keep(FILE).await;
    let flags = rustix::fs::XattrFlags::empty();
    rustix::fs::setxattr(world.host(FILE), "user.gsv", b"1000:1000:600", flags).unwrap();
    assert_eq!(world.told(Who::Ann, FILE).await, Ok("old".into()));
}

#[tokio::test]
async fn writing_and_removing_show_at_once() {
    let world = world().await;
    let ann = world.as_(Who::Ann);
    for text in ["one", "two"] {
        world.keep(FILE).await;
        ann.write(&at(FILE), text.into(), Writing::default()).await.unwrap();
        assert_eq!(world.told(Who::Ann, FILE).await, Ok(text.into()));
    }
    world.keep(FILE).await;
    ann.append(&at(FILE), b"!".to_vec()).await.unwrap();
    assert_eq!(world.told(Who::Ann, FILE).await, Ok("two!".into()));
    world.keep(FILE).await;
    ann.remove(&at(FILE), false).await.unwrap();
    assert_eq!(world.told(Who::Ann, FILE).await, Err(Code::NotFound));
}

#[tokio::test]
async fn one_look_is_enough_for_all_who_had_asked_before_it() {
    let world = world().await;
    let ann = world.as_(Who::Ann);
    world.keep(FILE).await;
    let asked = |since| world.tree.show_again(ann.who(), &at(FILE), WHOLE, since);
    let before = Clock::system().instant();
    let looked = asked(Clock::system().instant());
    assert!(looked.is_some());
    let after = Clock::system().instant();
    fs::write(world.host(FILE), "new").unwrap();
    assert_eq!(asked(before), looked, "the look was later than the question");
    assert_eq!(asked(after), None, "the look was earlier than the question");
    assert_eq!(world.told(Who::Ann, FILE).await.unwrap(), "new");
    world.keep(FILE).await;
    assert_ne!(asked(before), looked, "what was kept anew is no older than any question");
}

#[tokio::test]
async fn only_the_same_lines_of_small_texts_are_kept() {
    let world = world().await;
    let ann = world.as_(Who::Ann);
    fs::write(world.host(FILE), "a\nb\nc\n").unwrap();
    world.keep(FILE).await;
    let second = Window { offset: Some(1), limit: Some(1) };
    assert_eq!(world.tree.show_again(ann.who(), &at(FILE), second, Clock::system().instant()), None);
    let large = "x".repeat(limits::files::TEXT_CACHE_FILE_MAX_BYTES as usize + 1);
    for content in [large.as_str(), "a\0b"] {
        fs::write(world.host(FILE), content).unwrap();
        for _ in 0..3 {
            ann.open(&at(FILE)).await.unwrap();
            world.tree.show_now(ann.who(), &at(FILE), WHOLE, Clock::system().instant());
            assert_eq!(world.again(&ann, &at(FILE)), None);
        }
    }
}

#[tokio::test]
async fn a_file_that_has_just_changed_is_not_kept() {
    let world = World::new().await;
    let ann = world.as_(Who::Ann);
    let began = Clock::system().instant();
    ann.write(&at("/home/ann/file"), b"x".to_vec(), Writing::default()).await.unwrap();
    let mut kept = false;
    for _ in 0..3 {
        ann.open(&at("/home/ann/file")).await.unwrap();
        world.tree.show_now(ann.who(), &at("/home/ann/file"), WHOLE, Clock::system().instant());
        kept |= world.again(&ann, &at("/home/ann/file")).is_some();
    }
    // A machine that stood still meanwhile proves nothing.
    assert!(!kept || began.elapsed() >= limits::files::UNCHANGED_MIN_FINE);
}
