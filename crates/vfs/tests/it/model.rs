//! Model-based test: random operations by two users and root, on the real tree and on a simple one in memory, with the
//! same answers.

mod simple;

use std::sync::Arc;

use base::clock::Clock;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use protocol::ids::{Gid, Uid};
use store::{Options, Store};
use vfs::view::{Work, Writing};
use vfs::{Fault, FileKind, Follow, Tree, View};

use self::simple::Model;
use crate::world::{TEAM, Who, at, view};

#[derive(Clone, Debug)]
enum Op {
    Read(String),
    Write(String, u8),
    Append(String, u8),
    Mkdir(String, u32),
    Remove(String, bool),
    Rename(String, String),
    Symlink(String, String),
    Chmod(String, u32),
    Chgrp(String, u32),
    List(String),
    Stat(String, bool),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Answer {
    Done,
    Bytes(Vec<u8>),
    Names(Vec<String>),
    Meta(u8, u32, u32, u32),
}

fn path() -> impl Strategy<Value = String> {
    let base = prop_oneof![
        4 => Just("/home/ann"),
        3 => Just("/tmp"),
        2 => Just("/tmp/a"),
        3 => Just("/home/ann/b"),
        1 => Just("/var"),
    ];
    (base, proptest::collection::vec(prop_oneof![Just("a"), Just("b")], 1..3))
        .prop_map(|(base, names)| format!("{base}/{}", names.join("/")))
}

fn target() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("a".to_string()),
        Just("../a".to_string()),
        Just("b/../a".to_string()),
        Just("/tmp".to_string()),
        path(),
    ]
}

fn mode() -> impl Strategy<Value = u32> {
    prop_oneof![
        4 => Just(0o755),
        2 => Just(0o777),
        2 => Just(0o770),
        1 => Just(0o700),
        1 => Just(0o1777),
        1 => Just(0o6640),
        1 => 0..0o2000u32,
    ]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => path().prop_map(Op::Read),
        2 => (path(), any::<u8>()).prop_map(|(path, byte)| Op::Write(path, byte)),
        5 => (path(), any::<u8>()).prop_map(|(path, byte)| Op::Append(path, byte)),
        6 => (path(), mode()).prop_map(|(path, mode)| Op::Mkdir(path, mode)),
        2 => (path(), any::<bool>()).prop_map(|(path, all)| Op::Remove(path, all)),
        4 => (path(), path()).prop_map(|(from, to)| Op::Rename(from, to)),
        3 => (target(), path()).prop_map(|(target, path)| Op::Symlink(target, path)),
        3 => (path(), mode()).prop_map(|(path, mode)| Op::Chmod(path, mode)),
        2 => (path(), prop_oneof![Just(TEAM), Just(100), Just(1_001)])
            .prop_map(|(path, gid)| Op::Chgrp(path, gid)),
        2 => path().prop_map(Op::List),
        2 => (path(), any::<bool>()).prop_map(|(path, follow)| Op::Stat(path, follow)),
    ]
}

fn who() -> impl Strategy<Value = Who> {
    prop_oneof![3 => Just(Who::Ann), 2 => Just(Who::Cat), 1 => Just(Who::Root)]
}

#[test]
fn the_tree_is_like_a_simple_one() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let data = tempfile::tempdir().unwrap();
    let options = Options { data: data.path().to_path_buf(), url: None };
    let store = runtime.block_on(Store::open(&options)).unwrap();
    let config = Config { cases: 96, failure_persistence: None, ..Config::default() };
    let ops = proptest::collection::vec((who(), op()), 1..200);
    let compared = TestRunner::new(config).run(&ops, |ops| {
        runtime.block_on(compare(store.clone(), ops));
        Ok(())
    });
    if let Err(failure) = compared {
        panic!("{failure}");
    }
}

async fn compare(store: Store, ops: Vec<(Who, Op)>) {
    let data = tempfile::tempdir().unwrap();
    let tree = Arc::new(Tree::open(&data.path().join("files"), store, Clock::system()).unwrap());
    let view_of = |who| view(tree.clone(), who, Work::Here);
    let root = view_of(Who::Root);
    root.mkdir(&at("/home/ann"), false, 0o755).await.unwrap();
    root.chown(&at("/home/ann"), Some(Uid(1_000)), Some(Gid(TEAM))).await.unwrap();
    root.chmod(&at("/home/ann"), 0o775).await.unwrap();
    let mut model = Model::new();
    for (number, (who, op)) in ops.iter().enumerate() {
        let Some(expected) = model.run(*who, op) else { continue };
        let told = run(&view_of(*who), op).await.map_err(|fault| fault.code);
        assert_eq!(told, expected, "number {number}: {who:?} {op:?}");
    }
    for base in ["/tmp", "/home/ann", "/var"] {
        let mut found = Vec::new();
        describe(&root, base, &mut found).await;
        assert_eq!(found, model.describe(base), "{base}");
    }
}

async fn run(view: &View, op: &Op) -> Result<Answer, Fault> {
    let done = |()| Answer::Done;
    match op {
        Op::Read(path) => view.read(&at(path)).await.map(Answer::Bytes),
        Op::Write(path, byte) => {
            view.write(&at(path), vec![*byte; 3], Writing::default()).await.map(|_| Answer::Done)
        }
        Op::Append(path, byte) => view.append(&at(path), vec![*byte]).await.map(done),
        Op::Mkdir(path, mode) => view.mkdir(&at(path), false, *mode).await.map(done),
        Op::Remove(path, all) => view.remove(&at(path), *all).await.map(done),
        Op::Rename(from, to) => view.rename(&at(from), &at(to)).await.map(done),
        Op::Symlink(target, path) => view.symlink(target, &at(path)).await.map(done),
        Op::Chmod(path, mode) => view.chmod(&at(path), *mode).await.map(done),
        Op::Chgrp(path, gid) => view.chown(&at(path), None, Some(Gid(*gid))).await.map(done),
        Op::List(path) => {
            let named = view.list(&at(path)).await?;
            Ok(Answer::Names(named.into_iter().map(|named| named.name).collect()))
        }
        Op::Stat(path, follow) => {
            let stat = view.stat(&at(path), if *follow { Follow::Yes } else { Follow::No }).await?;
            let kind = match stat.kind {
                FileKind::File => b'f',
                FileKind::Directory => b'd',
                FileKind::Link => b'l',
            };
            Ok(Answer::Meta(kind, stat.uid.0, stat.gid.0, stat.mode))
        }
    }
}

/// Everything below a directory, one line each.
async fn describe(root: &View, path: &str, lines: &mut Vec<String>) {
    for named in root.list(&at(path)).await.unwrap() {
        let child = format!("{path}/{}", named.name);
        let (stat, child_at) = (named.stat, at(&child));
        let what = match stat.kind {
            FileKind::File => format!("{:?}", root.read(&child_at).await.unwrap()),
            FileKind::Link => root.read_link(&child_at).await.unwrap(),
            FileKind::Directory => String::new(),
        };
        lines.push(format!("{child} {} {} {:o} {what}", stat.uid, stat.gid, stat.mode));
        if stat.kind == FileKind::Directory {
            Box::pin(describe(root, &child, lines)).await;
        }
    }
}
