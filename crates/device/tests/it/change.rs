//! `fs.write`, `fs.edit` and `fs.delete`

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use serde_json::json;

use crate::bench::Bench;

fn mode(path: impl AsRef<std::path::Path>) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn writing_makes_parents_and_replaces_content() {
    for bench in [Bench::whole(), Bench::confined()] {
        let data = bench.call("fs.write", json!({ "path": "a/b/c.txt", "content": "zoë\n" })).await;
        assert_eq!((&data["size"], &data["ok"]), (&json!(5), &json!(true)));
        assert_eq!(bench.text("a/b/c.txt"), "zoë\n");
        bench.call("fs.write", json!({ "path": "a/b/c.txt", "content": "" })).await;
        assert_eq!(bench.text("a/b/c.txt"), "");
        let names: Vec<_> = std::fs::read_dir(bench.path("a/b")).unwrap().collect();
        assert_eq!(names.len(), 1, "no temporary file is left");
    }
}

#[tokio::test]
async fn a_rewritten_file_keeps_its_mode_and_its_link() {
    for bench in [Bench::whole(), Bench::confined()] {
        bench.put("tool.sh", "old");
        std::fs::set_permissions(bench.path("tool.sh"), PermissionsExt::from_mode(0o750)).unwrap();
        symlink("tool.sh", bench.path("link")).unwrap();
        bench.call("fs.write", json!({ "path": "link", "content": "new" })).await;
        assert_eq!((bench.text("tool.sh").as_str(), mode(bench.path("tool.sh"))), ("new", 0o750));
        assert!(std::fs::symlink_metadata(bench.path("link")).unwrap().is_symlink());
        let before = std::fs::metadata(bench.path("tool.sh")).unwrap().ino();
        bench.call("fs.edit", json!({ "path": "link", "oldString": "new", "newString": "newer" })).await;
        assert_eq!((bench.text("tool.sh").as_str(), mode(bench.path("tool.sh"))), ("newer", 0o750));
        assert_ne!(
            std::fs::metadata(bench.path("tool.sh")).unwrap().ino(),
            before,
            "replaced, not overwritten"
        );
    }
}

#[tokio::test]
async fn directories_and_dangling_links_are_not_written_to() {
    let bench = Bench::whole();
    bench.put("dir/x", "");
    symlink("nowhere", bench.path("dangling")).unwrap();
    bench.put("file", "");
    for path in ["dir", ".", "/", "dangling", "file/below", "dir/.."] {
        let error = bench.fails("fs.write", json!({ "path": path, "content": "x" })).await;
        assert!(error.starts_with("Failed to write '"), "{path}: {error}");
    }
    assert!(!bench.path("nowhere").exists());
}

#[tokio::test]
async fn device_files_are_not_replaced() {
    let bench = Bench::whole();
    for path in ["/dev/null", "/dev/tty"] {
        let error = bench.fails("fs.write", json!({ "path": path, "content": "x" })).await;
        assert!(error.ends_with("not a regular file"), "{error}");
    }
}

#[tokio::test]
async fn edits_are_exact_and_unambiguous() {
    let bench = Bench::whole();
    bench.put("f", "a $1 b a $1 c");
    let path = bench.path("f");
    let edit = |old: &str, new: &str, all: Option<bool>| json!({ "path": "f", "oldString": old, "newString": new, "replaceAll": all });
    assert_eq!(
        bench.fails("fs.edit", edit("zzz", "", None)).await,
        format!("oldString not found in '{}'", path.display())
    );
    assert_eq!(
        bench.fails("fs.edit", edit("a $1", "x", Some(false))).await,
        format!(
            "oldString found 2 times in '{}'. Use replaceAll: true or provide more context to make it unique.",
            path.display()
        )
    );
    assert!(bench.fails("fs.edit", edit("", "x", None)).await.starts_with("oldString is empty"));
    let one = bench.call("fs.edit", edit("$1 b", "$& $$", None)).await;
    assert_eq!((bench.text("f").as_str(), &one["replacements"]), ("a $& $$ a $1 c", &json!(1)));
    let all = bench.call("fs.edit", edit("a ", "", Some(true))).await;
    assert_eq!((bench.text("f").as_str(), &all["replacements"]), ("$& $$ $1 c", &json!(2)));
    assert!(
        bench
            .fails("fs.edit", json!({ "path": "no", "oldString": "a", "newString": "b" }))
            .await
            .starts_with("Failed to read '")
    );
    bench.put("bin", [0xFF, 0xFE]);
    assert!(
        bench
            .fails("fs.edit", json!({ "path": "bin", "oldString": "a", "newString": "b" }))
            .await
            .ends_with("not a text file")
    );
}

#[tokio::test]
async fn edits_at_the_same_time_lose_nothing() {
    let bench = Bench::whole();
    let words: Vec<String> = (0..20).map(|n| format!("<{n}>")).collect();
    bench.put("f", words.concat());
    let edits = words
        .iter()
        .map(|word| bench.call("fs.edit", json!({ "path": "f", "oldString": word, "newString": "x" })));
    futures_util::future::join_all(edits).await;
    assert_eq!(bench.text("f"), "x".repeat(20));
}

#[tokio::test]
async fn deleting_is_recursive_and_does_not_follow_links() {
    for bench in [Bench::whole(), Bench::confined()] {
        bench.put("keep/x", "x");
        bench.put("gone/deep/y", "y");
        symlink("../keep", bench.path("gone/link")).unwrap();
        symlink("keep", bench.path("keep-link")).unwrap();
        let data = bench.call("fs.delete", json!({ "path": "gone" })).await;
        assert_eq!(data["ok"], json!(true));
        bench.call("fs.delete", json!({ "path": "keep-link" })).await;
        assert!(!bench.path("gone").exists() && bench.text("keep/x") == "x");
        assert!(std::fs::symlink_metadata(bench.path("keep-link")).is_err());
        assert!(bench.fails("fs.delete", json!({ "path": "gone" })).await.starts_with("Failed to delete '"));
    }
}

#[tokio::test]
async fn what_the_machine_stands_on_is_not_deleted() {
    let bench = Bench::whole();
    bench.put("sub/x", "x");
    let parent = bench.outside().to_str().unwrap().to_string();
    for path in ["/", ".", "", "..", "sub/..", "~", "/usr/..", &parent] {
        let error = bench.fails("fs.delete", json!({ "path": path })).await;
        assert!(error.starts_with("Refused to delete '"), "{path}: {error}");
    }
    assert_eq!(bench.text("sub/x"), "x");
    let confined = Bench::confined();
    confined.put("sub/x", "x");
    for path in [".", "sub/.."] {
        assert!(confined.fails("fs.delete", json!({ "path": path })).await.starts_with("Refused"), "{path}");
    }
    assert_eq!(confined.text("sub/x"), "x");
}
