//! `diff` the way people type it; what is expected is what GNU diff prints.

use crate::commands::stage::{Stage, text};

async fn with_files() -> Stage {
    let stage = Stage::new().await;
    for (path, content) in [
        ("~/a", "one\ntwo\nthree\nfour\nfive\n"),
        ("~/b", "one\n2\nthree\nfour\nfive\nsix"),
        ("~/d/same", "x\n"),
        ("~/d/sub/f", "1\n"),
        ("~/d/left", ""),
        ("~/e/same", "x\n"),
        ("~/e/sub/f", "2\n"),
        ("~/e/right", "r\n"),
        ("~/bin", "\0\n"),
    ] {
        stage.write("alice", path, content, 0o644).await;
    }
    stage
}

async fn differs(stage: &Stage, line: &[&str]) -> String {
    let done = stage.run("alice", line).await;
    assert_eq!((done.code, text(&done.stderr)), (1, String::new()), "{line:?}");
    text(&done.stdout)
}

#[tokio::test]
async fn files_are_compared_in_every_style() {
    let stage = with_files().await;
    assert_eq!(
        differs(&stage, &["diff", "a", "b"]).await,
        "2c2\n< two\n---\n> 2\n5a6\n> six\n\\ No newline at end of file\n"
    );
    assert_eq!(
        differs(&stage, &["diff", "-U1", "--label", "A", "--label", "B", "a", "b"]).await,
        "--- A\n+++ B\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n@@ -5 +5,2 @@\n five\n+six\n\
         \\ No newline at end of file\n"
    );
    let unified = differs(&stage, &["diff", "-u", "a", "b"]).await;
    assert!(unified.starts_with("--- a\t2026-11-15 11:59:00.000000000 +0000\n+++ b\t"), "{unified}");
    assert!(unified.contains("\n@@ -1,5 +1,6 @@\n one\n-two\n+2\n three\n four\n five\n+six\n"), "{unified}");
    assert_eq!(
        differs(&stage, &["diff", "-C1", "-L", "A", "-L", "B", "a", "b"]).await,
        "*** A\n--- B\n***************\n*** 1,3 ****\n  one\n! two\n  three\n--- 1,3 ----\n  one\n! 2\n  three\n\
         ***************\n*** 5 ****\n--- 5,6 ----\n  five\n+ six\n\\ No newline at end of file\n"
    );
    assert_eq!(
        differs(&stage, &["diff", "-y", "-W", "30", "a", "b"]).await,
        "one\t\tone\ntwo\t      |\t2\nthree\t\tthree\nfour\t\tfour\nfive\t\tfive\n\t      >\tsix"
    );
    assert_eq!(differs(&stage, &["diff", "-q", "a", "b"]).await, "Files a and b differ\n");
    assert_eq!(stage.prints(&["diff", "a", "a"]).await, "");
    assert_eq!(stage.prints(&["diff", "-s", "a", "a"]).await, "Files a and a are identical\n");
}

#[tokio::test]
async fn what_does_not_count_is_no_difference() {
    let mut stage = with_files().await;
    stage.stdin = b"A  b \n\nc\n".to_vec();
    stage.write("alice", "~/x", "a b\nc\n", 0o644).await;
    assert_eq!(stage.prints(&["diff", "-ibB", "x", "-"]).await, "");
    assert_eq!(stage.prints(&["diff", "-iwB", "x", "-"]).await, "");
    assert_eq!(differs(&stage, &["diff", "-ib", "x", "-"]).await, "1a2\n> \n");
    assert_eq!(differs(&stage, &["diff", "-bB", "x", "-"]).await, "1c1,2\n< a b\n---\n> A  b \n> \n");
}

#[tokio::test]
async fn directories_are_compared_with_all_that_is_in_them() {
    let stage = with_files().await;
    assert_eq!(
        differs(&stage, &["diff", "-r", "d", "e"]).await,
        "Only in d: left\nOnly in e: right\ndiff -r d/sub/f e/sub/f\n1c1\n< 1\n---\n> 2\n"
    );
    assert_eq!(
        differs(&stage, &["diff", "d", "e"]).await,
        "Only in d: left\nOnly in e: right\nCommon subdirectories: d/sub and e/sub\n"
    );
    assert_eq!(
        differs(&stage, &["diff", "-rqN", "-x", "s*", "d", "e"]).await,
        "Files d/right and e/right differ\n"
    );
    assert_eq!(stage.prints(&["diff", "d", "e/same"]).await, "");
}

#[tokio::test]
async fn trouble_is_another_code_than_a_difference() {
    let stage = with_files().await;
    let done = stage.run("alice", &["diff", "a", "bin"]).await;
    assert_eq!((done.code, text(&done.stdout)), (2, "Binary files a and bin differ\n".to_string()));
    assert_eq!(
        stage.fails(&["diff", "a", "nowhere"]).await,
        (2, "diff: nowhere: No such file or directory\n".to_string())
    );
    assert_eq!(stage.fails(&["diff", "a"]).await, (2, "diff: missing operand after 'a'\n".to_string()));
}
