//! Crash test: `kill -9` in the middle of writes leaves one whole content or the other.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use base::clock::Clock;
use store::{Options, Store};
use vfs::Tree;
use vfs::view::{Work, Writing};

use crate::world::{Who, at, view};

const CHILD_DATA: &str = "GSV_VFS_CRASH_DATA";
const CONTENTS: [(u8, usize); 2] = [(b'a', 150_000), (b'b', 90_000)];

#[test]
fn a_killed_gateway_leaves_no_mix() {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("files/tmp/file");
    for round in 0..25 {
        let written = write_until_killed(data.path(), round % 7);
        assert!(written > 0);
        let bytes = std::fs::read(&file).unwrap();
        let whole = CONTENTS
            .iter()
            .any(|(byte, length)| bytes.len() == *length && bytes.iter().all(|found| found == byte));
        assert!(whole, "{} bytes, beginning with {:?}", bytes.len(), bytes.first());
    }
}

/// Starts this binary as a child that writes, kills it, and returns how many writes it said were done.
fn write_until_killed(data: &Path, after: usize) -> usize {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child", "--nocapture"])
        .env(CHILD_DATA, data)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut written = 0;
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    while let Some(Ok(line)) = lines.next() {
        written += usize::from(line.ends_with("written"));
        if written == after + 1 {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    written
}

#[tokio::test]
async fn child() {
    let Some(data) = std::env::var_os(CHILD_DATA) else { return };
    let store = Store::open(&Options { data: data.clone().into(), url: None }).await.unwrap();
    let tree = Tree::open(&Path::new(&data).join("files"), store, Clock::system()).unwrap();
    let ann = view(Arc::new(tree), Who::Ann, Work::Here);
    for round in 0..100_000 {
        let (byte, length) = CONTENTS[round % 2];
        ann.write(&at("/tmp/file"), vec![byte; length], Writing::default()).await.unwrap();
        writeln!(std::io::stdout().lock(), "\nwritten").unwrap();
    }
}
