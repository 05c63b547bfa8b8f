//! Crash test: `kill -9` in the middle of small writes: each file has what was last answered, or the write that was
//! under way, whether the machine has run on or not.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use base::clock::Clock;
use store::{Options, Store};
use vfs::Tree;
use vfs::view::{Work, Writing};

use crate::world::{Who, at, view};

const CHILD_DATA: &str = "GSV_VFS_KILLED_DATA";
const FILES: usize = 3;

fn path(number: usize) -> String {
    format!("/tmp/file-{}", number % FILES)
}

#[tokio::test]
async fn small_writes_are_whole_and_the_last_ones() {
    let (data, own) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = Store::open(&Options { data: own.path().to_path_buf(), url: None }).await.unwrap();
    let files = data.path().join("files");
    for round in 0..12u8 {
        let told = write_until_killed(data.path(), usize::from(round) * 5 + FILES);
        // Another run of the machine every other time.
        let tree = if round % 2 == 0 {
            Tree::open(&files, store.clone(), Clock::system())
        } else {
            Tree::open_in(&files, store.clone(), Clock::system(), [round; 16])
        };
        let ann = view(Arc::new(tree.unwrap()), Who::Ann, Work::Here);
        for number in told + 1 - FILES..=told {
            let text = String::from_utf8(ann.read(&at(&path(number))).await.unwrap()).unwrap();
            let (found, rest) = text.split_once(' ').unwrap();
            let found: usize = found.parse().unwrap();
            assert!(found >= number && found % FILES == number % FILES, "{found} instead of {number}");
            assert!(rest.len() == found % 3_000 && rest.bytes().all(|byte| byte == b'x'));
        }
    }
}

/// Starts this binary as a child that writes, kills it, and returns the last write it said was done.
fn write_until_killed(data: &Path, after: usize) -> usize {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::child", "--nocapture"])
        .env(CHILD_DATA, data)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut last = 0;
    for line in BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok) {
        let Some(number) = line.strip_prefix("written ") else { continue };
        last = number.parse().unwrap();
        if last == after {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    last
}

#[tokio::test]
async fn child() {
    let Some(data) = std::env::var_os(CHILD_DATA) else { return };
    let store = Store::open(&Options { data: data.clone().into(), url: None }).await.unwrap();
    let tree = Tree::open(&Path::new(&data).join("files"), store, Clock::system()).unwrap();
    let ann = view(Arc::new(tree), Who::Ann, Work::Here);
    for number in 0..100_000usize {
        let text = format!("{number} {}", "x".repeat(number % 3_000));
        ann.write(&at(&path(number)), text.into_bytes(), Writing::default()).await.unwrap();
        writeln!(std::io::stdout().lock(), "\nwritten {number}").unwrap();
    }
}
