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
        let (code, error) = bench.refused("fs.delete", json!({ "path": path })).await;
        assert!(code == 403 && error.starts_with("Refused to delete '"), "{path}: {error}");
    }
    assert_eq!(bench.text("sub/x"), "x");
    let confined = Bench::confined();
    confined.put("sub/x", "x");
    for path in [".", "sub/.."] {
        assert_eq!(confined.refused("fs.delete", json!({ "path": path })).await.0, 403, "{path}");
    }
    assert_eq!(confined.text("sub/x"), "x");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn mount_points_and_the_homes_of_others_are_not_deleted() {
    let bench = Bench::whole();
    for path in ["/proc", "/proc/"] {
        let (code, error) = bench.refused("fs.delete", json!({ "path": path })).await;
        assert!(code == 403 && error.contains("the mount point '/proc"), "{error}");
    }
    // An account that every system has, and that is not the one the tests run as.
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap();
    let home = passwd.lines().find_map(|line| line.strip_prefix("bin:")?.split(':').nth(4)).unwrap();
    let (code, error) = bench.refused("fs.delete", json!({ "path": home })).await;
    assert!(code == 403 && error.contains("a home directory"), "{error}");
}

/// Runs on a thread of its own with fewer rights, so that root's tests meet a refusal too.
#[cfg(target_os = "linux")]
#[test]
fn a_writable_file_in_a_closed_directory_is_written_in_place() {
    let bench = Bench::whole();
    bench.put("closed/file", "a long old content");
    let inode = std::fs::metadata(bench.path("closed/file")).unwrap().ino();
    for (path, mode) in [("..", 0o755), ("closed/file", 0o666), ("closed", 0o555)] {
        std::fs::set_permissions(bench.path(path), PermissionsExt::from_mode(mode)).unwrap();
    }
    let workspace = bench.path("");
    let written = std::thread::spawn(move || {
        drop_rights();
        let files = device::files::Files::whole(&workspace).unwrap();
        let entry = |path| files.entry_to_write(&files.local_path(path).unwrap()).unwrap();
        let refused = entry("closed/new").replace(b"x").unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::PermissionDenied);
        entry("closed/file").replace(b"new")
    });
    written.join().unwrap().unwrap();
    assert_eq!(bench.text("closed/file"), "new");
    let metadata = std::fs::metadata(bench.path("closed/file")).unwrap();
    assert_eq!((metadata.ino(), metadata.permissions().mode() & 0o777), (inode, 0o666));
    assert_eq!(std::fs::read_dir(bench.path("closed")).unwrap().count(), 1);
    std::fs::set_permissions(bench.path("closed"), PermissionsExt::from_mode(0o755)).unwrap();
}

/// Takes this thread's rights over foreign files, which only root has.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn drop_rights() {
    // SAFETY: the call takes no pointers and concerns this thread only.
    unsafe { libc::setfsuid(65_534) };
}
