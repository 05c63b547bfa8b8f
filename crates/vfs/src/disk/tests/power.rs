//! Simulated power cuts: whatever the disk has kept of the files that only their records make durable, everything is
//! as it was.

use std::os::fd::AsFd;
use std::sync::Barrier;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;
use crate::fault::Code;

#[derive(Clone, Debug)]
enum Op {
    Write(String, u16),
    Edit(String),
    Append(String),
    Rename(String, String),
    Remove(String),
    Mkdir(String),
    Chmod(String, u32),
    Checkpoint,
}

/// What the disk has kept of a file that was not durable by itself.
#[derive(Clone, Copy, Debug)]
enum Survived {
    Before,
    Present,
    NameOnly,
}

fn path() -> impl Strategy<Value = String> {
    let name = || prop_oneof![Just("a"), Just("b"), Just("c")];
    proptest::collection::vec(name(), 1..4).prop_map(|names| format!("/tmp/{}", names.join("/")))
}

fn directory() -> impl Strategy<Value = String> {
    prop_oneof![Just("/tmp/a"), Just("/tmp/b"), Just("/tmp/c"), Just("/tmp/a/b")].prop_map(str::to_string)
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (path(), any::<u16>()).prop_map(|(path, size)| Op::Write(path, size)),
        3 => path().prop_map(Op::Edit),
        2 => path().prop_map(Op::Append),
        4 => (path(), path()).prop_map(|(from, to)| Op::Rename(from, to)),
        2 => (directory(), directory()).prop_map(|(from, to)| Op::Rename(from, to)),
        2 => path().prop_map(Op::Remove),
        4 => path().prop_map(Op::Mkdir),
        2 => (path(), 0..0o2000u32).prop_map(|(path, mode)| Op::Chmod(path, mode)),
        1 => Just(Op::Checkpoint),
    ]
}

fn kept() -> impl Strategy<Value = Survived> {
    prop_oneof![Just(Survived::Before), Just(Survived::Present), Just(Survived::NameOnly)]
}

#[test]
fn every_answered_write_is_there_after_a_power_cut() {
    let config = Config { cases: 48, failure_persistence: None, ..Config::default() };
    let plan = (proptest::collection::vec(op(), 1..80), proptest::collection::vec(kept(), 16));
    let cut = TestRunner::new(config).run(&plan, |(ops, kept)| {
        cut_power(&ops, &kept);
        Ok(())
    });
    if let Err(failure) = cut {
        panic!("{failure}");
    }
}

/// Directories move while files are written into them: a record always tells where its file is.
#[test]
fn directories_may_move_under_the_writers() {
    let mut ground = Ground::new();
    let disk = ground.disk();
    disk.make_directory(&root(), &ground.entry("/tmp/a"), 0o755).unwrap();
    let start = Barrier::new(3);
    for round in 0..120 {
        let write = |thread: usize| {
            for number in 0..4 {
                let path = format!("/tmp/{}/{thread}-{number}", ["a", "b"][(number + round) % 2]);
                let found = disk.find(&root(), &VPath::absolute(&path).unwrap(), Follow::No);
                let Ok(Found::Entry(entry)) = found else { continue };
                if number == 0 {
                    start.wait();
                }
                let text = format!("{round} {number}");
                let how = Writing::default();
                disk.replace(&root(), &entry, how, |draft| draft.add(text.as_bytes())).unwrap();
            }
        };
        let (from, to) = if round % 2 == 0 { ("/tmp/a", "/tmp/b") } else { ("/tmp/b", "/tmp/a") };
        std::thread::scope(|scope| {
            scope.spawn(|| write(0));
            scope.spawn(|| write(1));
            let (from, to) = (ground.entry(from), ground.entry(to));
            start.wait();
            disk.rename(&root(), &from, &to).unwrap();
        });
        for path in ground.logged().keys() {
            assert!(ground.host(path).exists(), "{path} in round {round}");
        }
    }
    let (pending, before) = (ground.pending(), snapshot(ground.data.path()));
    assert_eq!(ground.logged().into_keys().collect::<Vec<_>>(), pending);
    ground.kill();
    for path in &pending {
        std::fs::remove_file(ground.host(path)).unwrap();
    }
    ground.open(LATER);
    assert_eq!(snapshot(ground.data.path()), before);
}

/// The files as they were when they were last durable by themselves, kept by other names outside of the tree.
struct Stash {
    dir: TempDir,
    files: BTreeMap<String, Option<std::path::PathBuf>>,
    count: usize,
}

impl Stash {
    /// Before a path is written: unless the journal is what makes it durable, it is so by itself.
    fn keep(&mut self, ground: &Ground, path: &str) {
        if self.files.contains_key(path) && ground.pending().iter().any(|pending| pending == path) {
            return;
        }
        self.count += 1;
        let aside = self.dir.path().join(self.count.to_string());
        let linked = std::fs::hard_link(ground.host(path), &aside).is_ok();
        self.files.insert(path.to_string(), linked.then_some(aside));
    }
}

fn cut_power(ops: &[Op], kept: &[Survived]) {
    let mut ground = Ground::new();
    let mut stash = Stash { dir: tempfile::tempdir().unwrap(), files: BTreeMap::new(), count: 0 };
    for path in ["/tmp/a", "/tmp/a/b", "/tmp/b"] {
        run(&ground, &mut stash, &Op::Mkdir(path.to_string()), 0);
    }
    for (number, op) in ops.iter().enumerate() {
        run(&ground, &mut stash, op, number);
    }
    let pending = ground.pending();
    let before = snapshot(ground.data.path());
    assert_eq!(ground.logged().into_keys().collect::<Vec<_>>(), pending);
    ground.kill();
    for (path, kept) in pending.iter().zip(kept.iter().cycle()) {
        lose(&ground, &stash, path, *kept);
    }
    let journal: Vec<Vec<u8>> = ["0", "1"].iter().filter_map(|name| journal_file(&ground, name)).collect();
    ground.open(LATER);
    assert_eq!(snapshot(ground.data.path()), before);
    // Killed in the middle, it is done again.
    ground.disk = None;
    for (name, bytes) in ["0", "1"].iter().zip(&journal) {
        std::fs::write(ground.host(JOURNAL).join(name), bytes).unwrap();
    }
    ground.open([3; 16]);
    assert_eq!(snapshot(ground.data.path()), before);
}

fn journal_file(ground: &Ground, name: &str) -> Option<Vec<u8>> {
    std::fs::read(ground.host(JOURNAL).join(name)).ok()
}

/// What cannot be done is not: the tree is compared with itself.
fn run(ground: &Ground, stash: &mut Stash, op: &Op, number: usize) {
    let (disk, who) = (ground.disk(), root());
    let find = |path: &str| match disk.find(&who, &VPath::absolute(path).unwrap(), Follow::No) {
        Ok(Found::Entry(entry)) => Some(entry),
        _ => None,
    };
    let done = match op {
        Op::Write(path, size) => find(path).map(|entry| {
            stash.keep(ground, path);
            let text = format!("{number} ").repeat(usize::from(*size) / 1_000 + 1);
            let how = Writing::default();
            disk.replace(&who, &entry, how, |draft| draft.add(text.as_bytes())).map(drop)
        }),
        Op::Edit(path) => find(path).map(|entry| {
            stash.keep(ground, path);
            let edit = |text: Vec<u8>| Ok::<_, ()>(([&text[..], b"edited"].concat(), ()));
            disk.edit(&who, &entry, edit).map(drop)
        }),
        Op::Append(path) => find(path).map(|entry| disk.append(&who, &entry, b"more")),
        Op::Rename(from, to) => find(from).zip(find(to)).map(|(from, to)| disk.rename(&who, &from, &to)),
        Op::Remove(path) => find(path).map(|entry| disk.remove(&who, &entry, true)),
        Op::Mkdir(path) => find(path).map(|entry| disk.make_directory(&who, &entry, 0o755)),
        Op::Chmod(path, mode) => find(path).map(|entry| disk.change_mode(&who, Found::Entry(entry), *mode)),
        Op::Checkpoint => {
            ground.checkpoint();
            None
        }
    };
    if let Some(Err(fail)) = done {
        assert_ne!(fail.code, Code::Io, "{fail:?}");
    }
}

fn lose(ground: &Ground, stash: &Stash, path: &str, kept: Survived) {
    let host = ground.host(path);
    match kept {
        Survived::Present => {}
        Survived::NameOnly => {
            let at = host.metadata().unwrap().modified().unwrap();
            let file = File::options().write(true).open(&host).unwrap();
            file.set_len(0).unwrap();
            file.set_modified(at).unwrap();
        }
        Survived::Before => match &stash.files[path] {
            Some(aside) => std::fs::rename(aside, host).unwrap(),
            None => std::fs::remove_file(host).unwrap(),
        },
    }
}

/// Everything in the tree, with owners and modes.
fn snapshot(files: &Path) -> BTreeMap<String, (Option<Vec<u8>>, Option<Meta>)> {
    let (mut found, mut todo) = (BTreeMap::new(), vec![files.join("tmp")]);
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let file = File::open(&path).unwrap();
            let meta = Meta::read(file.as_fd()).unwrap();
            let content = path.is_file().then(|| std::fs::read(&path).unwrap());
            found.insert(path.to_string_lossy().into_owned(), (content, meta));
            if path.is_dir() {
                todo.push(path);
            }
        }
    }
    found
}
