//! `--root`: nothing leads out, whatever the path or the links.

use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::bench::Bench;

const SECRET: &str = "the secret outside";

/// A root with links of every kind in it, and a secret beside it.
fn with_links() -> Bench {
    let bench = Bench::confined();
    std::fs::write(bench.outside().join("secret"), SECRET).unwrap();
    std::fs::create_dir(bench.outside().join("secrets")).unwrap();
    std::fs::write(bench.outside().join("secrets/s"), SECRET).unwrap();
    bench.put("in/file", "inside");
    for (name, target) in [
        ("abs", bench.outside().to_path_buf()),
        ("abs-file", bench.outside().join("secret")),
        ("up", "..".into()),
        ("up-file", "../secret".into()),
        ("in/up2", "../..".into()),
        ("chain", "up/secrets".into()),
        ("loop", "loop".into()),
        ("ok", "in".into()),
        ("in/back", "../in/file".into()),
    ] {
        symlink(target, bench.path(name)).unwrap();
    }
    bench
}

#[tokio::test]
async fn links_inside_work_and_links_out_do_not() {
    let bench = with_links();
    for path in ["ok/file", "in/back", "in/../in/file", "ok/../in/file"] {
        assert_eq!(
            bench.call("fs.read", json!({ "path": path })).await["content"],
            json!("     1\tinside"),
            "{path}"
        );
    }
    for path in [
        "abs/secret",
        "abs-file",
        "up/secret",
        "up-file",
        "in/up2/secret",
        "chain/s",
        "../secret",
        "in/../../secret",
    ] {
        for (call, args) in [
            ("fs.read", json!({ "path": path })),
            ("fs.write", json!({ "path": path, "content": "changed" })),
            ("fs.write", json!({ "path": format!("{path}/new/x"), "content": "made" })),
            ("fs.edit", json!({ "path": path, "oldString": "secret", "newString": "changed" })),
            ("fs.search", json!({ "path": path, "query": "secret" })),
        ] {
            let (code, error) = bench.refused(call, args).await;
            assert!(
                code == 403 && error.contains("is outside the shared directory"),
                "{call} {path}: {error}"
            );
        }
    }
    for path in ["abs/secret", "up/secret", "chain/s", "../secret", "in/up2/secrets", ".."] {
        assert_eq!(bench.refused("fs.delete", json!({ "path": path })).await.0, 403, "{path}");
    }
    assert!(bench.fails("fs.read", json!({ "path": "loop" })).await.starts_with("Failed to read '"));
    assert_eq!(std::fs::read_to_string(bench.outside().join("secret")).unwrap(), SECRET);
    assert_eq!(std::fs::read_dir(bench.outside()).unwrap().count(), 3);
}

#[tokio::test]
async fn absolute_paths_must_start_with_the_root() {
    let bench = with_links();
    let inside = bench.path("in/file");
    assert_eq!(bench.call("fs.read", json!({ "path": inside })).await["content"], json!("     1\tinside"));
    let secret = bench.outside().join("secret");
    let climbing = bench.path("../secret");
    for path in ["/etc/passwd", "/", "~/.ssh/id_rsa", secret.to_str().unwrap(), climbing.to_str().unwrap()] {
        let (code, error) = bench.refused("fs.read", json!({ "path": path })).await;
        assert!(code == 403 && error.contains("is outside the shared directory"), "{path}: {error}");
    }
}

#[tokio::test]
async fn paths_with_nul_or_without_end_are_refused_and_nothing_dies() {
    let bench = with_links();
    for path in ["in/fi\0le".to_string(), "\0".to_string(), "x".repeat(300), "x/".repeat(5_000)] {
        for (call, args) in [
            ("fs.read", json!({ "path": path })),
            ("fs.search", json!({ "path": path, "query": "secret" })),
            ("fs.edit", json!({ "path": path, "oldString": "a", "newString": "b" })),
            ("fs.write", json!({ "path": path, "content": "x" })),
            ("fs.delete", json!({ "path": path })),
        ] {
            let data = bench.frame(call, args).await.to_string();
            assert!(data.contains("\"ok\":false"), "{call} {path:?}: {data}");
        }
    }
    let read = bench.frame("fs.read", json!({ "path": "in/file" })).await;
    assert!(read.to_string().contains("\"ok\":true"), "{read}");
}

/// A directory that turns into a link out while files below it are used.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_directory_that_becomes_a_link_leads_nowhere() {
    let bench = Arc::new(with_links());
    let (dir, parked, link) = (bench.path("swap"), bench.path("parked"), bench.path("link-out"));
    // It is there before the first write could make it.
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(dir.join("s"), "harmless").unwrap();
    symlink(bench.outside().join("secrets"), &link).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let swapping = std::thread::spawn({
        let stop = stop.clone();
        move || {
            let mut swaps = 0;
            while !stop.load(Ordering::Relaxed) {
                std::fs::rename(&dir, &parked).unwrap();
                // A write may have made the directory anew in between.
                if std::fs::rename(&link, &dir).is_ok() {
                    swaps += 1;
                    std::fs::rename(&dir, &link).unwrap();
                }
                while std::fs::rename(&parked, &dir).is_err() {
                    drop(std::fs::remove_dir_all(&dir));
                }
            }
            swaps
        }
    });
    for _ in 0..100 {
        let read = bench.frame("fs.read", json!({ "path": "swap/s" })).await;
        assert!(!read.to_string().contains(SECRET), "{read}");
        let found = bench.frame("fs.search", json!({ "query": "secret" })).await;
        assert!(!found.to_string().contains(SECRET), "{found}");
        bench.frame("fs.edit", json!({ "path": "swap/s", "oldString": "s", "newString": "s" })).await;
        bench.frame("fs.delete", json!({ "path": "swap/nothing" })).await;
        bench.frame("fs.write", json!({ "path": "swap/w", "content": "w" })).await;
    }
    stop.store(true, Ordering::Relaxed);
    assert!(swapping.join().unwrap() > 0);
    assert_eq!(std::fs::read_to_string(bench.outside().join("secrets/s")).unwrap(), SECRET);
    assert_eq!(std::fs::read_dir(bench.outside().join("secrets")).unwrap().count(), 1);
}

fn segment() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "..", ".", "", "in", "abs", "abs-file", "up", "up-file", "in/up2", "chain", "loop", "ok", "back",
        "file", "secret", "secrets", "s", "new", "~", "work", "tmp",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_path_leads_out(parts in prop::collection::vec(segment(), 0..7), absolute in 0..3) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let bench = with_links();
            let path = parts.join("/");
            let path = match absolute {
                0 => path,
                1 => format!("/{path}"),
                _ => format!("{}/{path}", bench.path("").display()),
            };
            for (call, args) in [
                ("fs.read", json!({ "path": path })),
                ("fs.search", json!({ "path": path, "query": "secret" })),
                ("fs.edit", json!({ "path": path, "oldString": "secret", "newString": "changed" })),
                ("fs.write", json!({ "path": path, "content": "changed" })),
                ("fs.delete", json!({ "path": path })),
            ] {
                let data: Value = bench.frame(call, args).await;
                let data = data.to_string();
                prop_assert!(!data.contains(SECRET), "{call} {path}: {data}");
            }
            let outside = std::fs::read_to_string(bench.outside().join("secret"));
            prop_assert_eq!(outside.unwrap(), SECRET);
            let outside = std::fs::read_to_string(bench.outside().join("secrets/s"));
            prop_assert_eq!(outside.unwrap(), SECRET);
            let mut names: Vec<_> =
                std::fs::read_dir(bench.outside()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            prop_assert_eq!(names, ["secret", "secrets", "work"]);
            Ok(())
        })?;
    }
}
