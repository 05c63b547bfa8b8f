//! `patch` over real files, and against what `diff` writes.

use proptest::prelude::*;

use super::apply::{Fit, apply};
use super::read::read;
use crate::commands::stage::Stage;

const PATCH: &str =
    "--- a/d/f\t2024-01-01\n+++ b/d/f\t2024-01-02\n@@ -1,4 +1,4 @@\n one\n-two\n+2\n three\n four\n";
const OLD: &str = "one\ntwo\nthree\nfour\nfive\n";
const NEW: &str = "one\n2\nthree\nfour\nfive\n";

async fn with_file(old: &str) -> Stage {
    let mut stage = Stage::new().await;
    stage.write("alice", "~/d/f", old, 0o644).await;
    stage.stdin = PATCH.as_bytes().to_vec();
    stage
}

#[tokio::test]
async fn changes_are_brought_in_and_taken_back() {
    let stage = with_file(OLD).await;
    assert_eq!(stage.prints(&["patch", "-p1", "--dry-run"]).await, "checking file d/f\n");
    assert_eq!(stage.prints(&["patch", "-p1"]).await, "patching file d/f\n");
    assert_eq!(stage.text("/home/alice/d/f").await, NEW);
    assert_eq!(stage.prints(&["patch", "-s", "-R", "d/f"]).await, "");
    assert_eq!(stage.text("/home/alice/d/f").await, OLD);
    stage.write("alice", "~/p", PATCH, 0o644).await;
    assert_eq!(stage.prints(&["patch", "-s", "-b", "d/f", "p"]).await, "");
    assert_eq!(stage.text("/home/alice/d/f.orig").await, OLD);
    assert_eq!(stage.prints(&["patch", "-sRo", "-", "d/f", "p"]).await, OLD);
}

#[tokio::test]
async fn files_are_made_and_removed() {
    let mut stage = Stage::new().await;
    stage.stdin =
        b"--- /dev/null\n+++ b/n/new\n@@ -0,0 +1 @@\n+hello\n\\ No newline at end of file\n".to_vec();
    assert_eq!(stage.prints(&["patch", "-p1"]).await, "patching file n/new\n");
    assert_eq!(stage.text("/home/alice/n/new").await, "hello");
    assert_eq!(stage.prints(&["patch", "-p1", "-R"]).await, "patching file n/new\n");
    assert_eq!(stage.prints(&["ls", "n"]).await, "");
}

#[tokio::test]
async fn a_hunk_is_found_where_it_went() {
    let stage = with_file(&format!("zero\n{OLD}")).await;
    let said = stage.prints(&["patch", "-p1"]).await;
    assert_eq!(said, "patching file d/f\nHunk #1 succeeded at 2 (offset 1 line).\n");
    assert_eq!(stage.text("/home/alice/d/f").await, format!("zero\n{NEW}"));
    let stage = with_file("ONE\ntwo\nthree\nfour\n").await;
    let said = stage.prints(&["patch", "-p1"]).await;
    assert_eq!(said, "patching file d/f\nHunk #1 succeeded at 1 with fuzz 1.\n");
    assert_eq!(stage.text("/home/alice/d/f").await, "ONE\n2\nthree\nfour\n");
}

#[tokio::test]
async fn what_does_not_fit_is_kept_aside() {
    let stage = with_file("quite\nanother\ntext\n").await;
    let done = stage.run("alice", &["patch", "-p1"]).await;
    let said =
        "patching file d/f\nHunk #1 FAILED at 1.\n1 out of 1 hunk FAILED -- saving rejects to file d/f.rej\n";
    assert_eq!((done.code, String::from_utf8(done.stdout).unwrap()), (1, said.to_string()));
    assert_eq!(stage.text("/home/alice/d/f").await, "quite\nanother\ntext\n");
    assert!(stage.text("/home/alice/d/f.rej").await.contains("\n-two\n+2\n"));
    let stage = with_file(NEW).await;
    let done = stage.run("alice", &["patch", "-p1", "-N"]).await;
    assert!(String::from_utf8(done.stdout).unwrap().contains("previously applied"), "{}", done.code);
}

#[tokio::test]
async fn nonsense_is_refused() {
    let mut stage = with_file(OLD).await;
    stage.stdin = b"hello\n".to_vec();
    let garbage = "patch: **** Only garbage was found in the patch input.\n";
    assert_eq!(stage.fails(&["patch"]).await, (2, garbage.to_string()));
    stage.stdin = b"--- a\n+++ b\n@@ -1,2 +1 @@\nx\n".to_vec();
    assert_eq!(stage.fails(&["patch"]).await, (2, "patch: **** malformed patch at line 4\n".to_string()));
    stage.stdin = PATCH.replace("a/d/f", "a/../../bob/f").replace("b/d/f", "/home/bob/f").into_bytes();
    assert_eq!(stage.run("alice", &["patch", "-p1"]).await.code, 1);
}

proptest! {
    #[test]
    fn what_diff_writes_patch_brings_in(
        old in "([a-c]\n){0,25}",
        new in "([a-c]\n){0,25}[a-c]?",
        around in 0_usize..4,
    ) {
        let patch = crate::commands::diff::unified(old.as_bytes(), new.as_bytes(), around);
        let lines: Vec<&[u8]> = old.as_bytes().split_inclusive(|byte| *byte == b'\n').collect();
        let hunks = read(&patch).unwrap().pop().map(|file| file.hunks).unwrap_or_default();
        let (patched, fits) = apply(&lines, &hunks);
        prop_assert!(fits.iter().all(|fit| matches!(fit, Fit::At { offset: 0, fuzz: 0, .. })), "{fits:?}");
        prop_assert_eq!(String::from_utf8(patched).unwrap(), new);
    }
}
