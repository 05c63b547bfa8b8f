//! `fs.search`

use serde_json::json;

use crate::bench::Bench;

#[tokio::test]
async fn finds_plain_text_with_path_and_line() {
    for bench in [Bench::whole(), Bench::confined()] {
        bench.put("a/b.txt", "one\n(.*) two\nthree (.*)\n");
        bench.put("c.md", "(.*)\n");
        let data = bench.call("fs.search", json!({ "query": " (.*) " })).await;
        assert_eq!(
            data,
            json!({ "ok": true, "count": 3, "matches": [
                { "path": bench.path("a/b.txt"), "line": 2, "content": "(.*) two" },
                { "path": bench.path("a/b.txt"), "line": 3, "content": "three (.*)" },
                { "path": bench.path("c.md"), "line": 1, "content": "(.*)" },
            ] })
        );
        let some =
            bench.call("fs.search", json!({ "pattern": "(.*)", "include": "*.{md,rs}", "path": "." })).await;
        assert_eq!(some["count"], json!(1));
        let file = bench.call("fs.search", json!({ "query": "three", "path": "a/b.txt" })).await;
        assert_eq!(file["matches"][0]["path"], json!(bench.path("a/b.txt")));
        assert_eq!(bench.call("fs.search", json!({ "query": "THREE" })).await["count"], json!(0));
    }
}

#[tokio::test]
async fn ignored_and_binary_files_are_passed_over_and_hidden_ones_are_not() {
    let bench = Bench::whole();
    bench.put(".gitignore", "target/\n*.log\n");
    for name in ["target/x", "y.log", "z.txt", ".hidden/h", ".git/config"] {
        bench.put(name, "needle\n");
    }
    bench.put("program", b"needle\n\0\x01");
    bench.put("latin.txt", b"caf\xe9 needle\n");
    let data = bench.call("fs.search", json!({ "query": "needle" })).await;
    let found: Vec<_> =
        data["matches"].as_array().unwrap().iter().map(|found| found["path"].as_str().unwrap()).collect();
    let expected: Vec<_> = [".hidden/h", "latin.txt", "z.txt"].map(|name| bench.path(name)).to_vec();
    assert_eq!(found, expected.iter().map(|path| path.to_str().unwrap()).collect::<Vec<_>>());
}

#[tokio::test]
async fn there_is_an_end_to_matches_and_lines() {
    let bench = Bench::whole();
    bench.put("long", format!("needle {}\n", "é".repeat(500)));
    bench.put("many", "needle\n".repeat(500));
    let data = bench.call("fs.search", json!({ "query": "needle" })).await;
    assert_eq!((&data["count"], &data["truncated"]), (&json!(100), &json!(true)));
    assert_eq!(data["matches"][0]["content"].as_str().unwrap().chars().count(), 200);
}

#[tokio::test]
async fn links_are_not_followed_and_nonsense_is_refused() {
    let bench = Bench::whole();
    std::fs::write(bench.outside().join("secret"), "needle").unwrap();
    std::os::unix::fs::symlink(bench.outside(), bench.path("out")).unwrap();
    assert_eq!(bench.call("fs.search", json!({ "query": "needle" })).await["count"], json!(0));
    assert_eq!(bench.fails("fs.search", json!({ "query": "  " })).await, "query is required");
    assert!(
        bench
            .fails("fs.search", json!({ "query": "x", "include": "[" }))
            .await
            .starts_with("Invalid include")
    );
    assert!(bench.fails("fs.search", json!({ "query": "a\nb" })).await.starts_with("query cannot"));
    assert!(
        bench
            .fails("fs.search", json!({ "query": "x", "path": "no" }))
            .await
            .starts_with("Failed to search '")
    );
}

/// An ignore file that is no file says nothing, and nobody waits for it.
#[tokio::test]
async fn odd_ignore_files_are_not_honoured() {
    for bench in [Bench::whole(), Bench::confined()] {
        let names = ["zero/x", "pipe/x", "out/x", "huge/x", "dir/.ignore/x", "git/x", "exclude/x", "top"];
        for name in names {
            bench.put(name, "needle\n");
        }
        std::fs::write(bench.outside().join("rules"), "x\n").unwrap();
        std::os::unix::fs::symlink("/dev/zero", bench.path("zero/.ignore")).unwrap();
        std::os::unix::fs::symlink(bench.outside().join("rules"), bench.path("out/.gitignore")).unwrap();
        let pipe = format!("mkfifo {0}/pipe/.gitignore {0}/.ignore {0}/git/.git", bench.path("").display());
        assert!(std::process::Command::new("sh").args(["-c", &pipe]).status().unwrap().success());
        bench.put("huge/.gitignore", "x\n".repeat(1024 * 1024));
        std::fs::create_dir_all(bench.path("exclude/.git/info")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", bench.path("exclude/.git/info/exclude")).unwrap();
        let data = bench.call("fs.search", json!({ "query": "needle" })).await;
        assert_eq!((&data["count"], data.get("truncated")), (&json!(names.len()), None), "{data}");
    }
}

#[tokio::test]
async fn the_nearest_rule_decides_and_a_repository_stands_for_itself() {
    for bench in [Bench::whole(), Bench::confined()] {
        bench.put(".gitignore", "*.log\n/only-here\n");
        bench.put("sub/.gitignore", "!keep.log\n");
        bench.put("sub/.ignore", "never\n");
        bench.put("repo/.git/info/exclude", "*.tmp\n");
        let shown = ["repo/a.log", "sub/keep.log", "sub/only-here"];
        let hidden = ["a.log", "only-here", "sub/b.log", "sub/never", "repo/a.tmp", "repo/.git/x"];
        for name in shown.iter().chain(&hidden) {
            bench.put(name, "needle\n");
        }
        let data = bench.call("fs.search", json!({ "query": "needle" })).await;
        let found: Vec<_> =
            data["matches"].as_array().unwrap().iter().map(|found| found["path"].clone()).collect();
        assert_eq!(found, shown.map(|name| json!(bench.path(name))));
    }
    let bench = Bench::whole();
    bench.put(".gitignore", "*.log\n");
    bench.put("sub/a.log", "needle\n");
    bench.put("sub/b", "needle\n");
    let below = bench.call("fs.search", json!({ "query": "needle", "path": "sub" })).await;
    assert_eq!(below["count"], json!(1), "rules above the top count too");
}
