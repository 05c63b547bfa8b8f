//! Tests of `fs.*` on the native target, over real sockets.

use std::path::PathBuf;

use base::limits;
use serde_json::{Value, json};
use testkit::{Gateway, Peer};

/// Where a path of the tree is on the machine.
fn on_disk(gateway: &Gateway, path: &str) -> PathBuf {
    gateway.data().join("files").join(path.trim_start_matches('/'))
}

/// Puts a file there from outside, as an editor on the machine would.
fn put(gateway: &Gateway, path: &str, content: impl AsRef<[u8]>) {
    let path = on_disk(gateway, path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

async fn done(peer: &mut Peer, call: &str, args: Value) -> Value {
    let data = peer.call(call, args.clone()).await.unwrap_or_else(|refused| panic!("{args}: {refused:?}"));
    assert_eq!(data["ok"], true, "{call} {args}: {data}");
    data
}

async fn fails(peer: &mut Peer, call: &str, args: Value) -> String {
    let data = peer.call(call, args.clone()).await.unwrap_or_else(|refused| panic!("{args}: {refused:?}"));
    assert_eq!(data["ok"], false, "{call} {args}: {data}");
    data["error"].as_str().unwrap().to_string()
}

async fn refused(peer: &mut Peer, call: &str, args: Value) -> (i64, String) {
    match peer.call(call, args.clone()).await {
        Ok(data) => panic!("{call} {args} is not refused: {data}"),
        Err(refused) => (refused.code, refused.message),
    }
}

async fn read(peer: &mut Peer, path: &str) -> Value {
    done(peer, "fs.read", json!({ "path": path })).await
}

async fn write(peer: &mut Peer, path: &str, content: &str) {
    done(peer, "fs.write", json!({ "path": path, "content": content })).await;
}

#[tokio::test]
async fn text_is_written_and_read_with_numbered_lines() {
    let gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    assert_eq!(
        alice
            .call("fs.write", json!({ "path": "notes/a.txt", "content": "one\nzwölf\r\n\nvier\n" }))
            .await
            .unwrap(),
        json!({ "ok": true, "path": "/home/alice/notes/a.txt", "size": 18 })
    );
    let whole = json!({
        "ok": true, "path": "/home/alice/notes/a.txt", "lines": 4, "size": 18,
        "content": "     1\tone\n     2\tzwölf\r\n     3\t\n     4\tvier",
    });
    for path in
        ["notes/a.txt", "~/notes/a.txt", "/home/alice/notes/../notes//./a.txt", "../alice/notes/a.txt"]
    {
        assert_eq!(read(&mut alice, path).await, whole, "{path}");
    }
    let args = json!({ "path": "~/notes/a.txt", "offset": 1, "limit": 1, "target": "gsv" });
    let window = done(&mut alice, "fs.read", args).await;
    assert_eq!((&window["content"], &window["lines"]), (&json!("     2\tzwölf\r"), &json!(1)));
    assert_eq!(window["size"], 18);
    let beyond = done(&mut alice, "fs.read", json!({ "path": "notes/a.txt", "offset": 4 })).await;
    assert_eq!((&beyond["content"], &beyond["lines"]), (&json!(""), &json!(0)));
    write(&mut alice, "empty", "").await;
    assert_eq!(
        read(&mut alice, "empty").await,
        json!({ "ok": true, "path": "/home/alice/empty", "content": "", "lines": 0, "size": 0 })
    );
    write(&mut alice, "empty", "no end").await;
    assert_eq!(read(&mut alice, "empty").await["content"], "     1\tno end");
    assert_eq!(std::fs::read(on_disk(&gateway, "/home/alice/empty")).unwrap(), b"no end");
    assert_eq!(fails(&mut alice, "fs.read", json!({ "path": "nope" })).await, "Not found: /home/alice/nope");
    let into = fails(&mut alice, "fs.write", json!({ "path": "notes", "content": "" })).await;
    assert!(into.starts_with("EISDIR"), "{into}");
}

#[tokio::test]
async fn paths_that_cannot_be_are_bad_arguments() {
    let gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    for path in ["a\0b".to_string(), "x".repeat(300), "x/".repeat(3000)] {
        for (call, more) in [
            ("fs.read", json!({})),
            ("fs.write", json!({ "content": "" })),
            ("fs.edit", json!({ "oldString": "a", "newString": "b" })),
            ("fs.delete", json!({})),
            ("fs.search", json!({ "query": "x" })),
        ] {
            let mut args = more;
            args["path"] = json!(path);
            let (code, message) = refused(&mut alice, call, args).await;
            assert_eq!(code, 400, "{call}: {message}");
            assert!(message.starts_with(&format!("{call}: path: ")), "{message}");
        }
    }
    assert_eq!(refused(&mut alice, "fs.read", json!({})).await, (400, "fs.read requires path".into()));
    let negative = refused(&mut alice, "fs.read", json!({ "path": "x", "offset": -1 })).await;
    assert!(negative.0 == 400 && negative.1.starts_with("fs.read: offset"), "{negative:?}");
}

#[tokio::test]
async fn directories_are_listed_and_links_count_as_what_they_lead_to() {
    let gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    for path in ["dir/z", "dir/B", "dir/sub/x", "dir/.hidden"] {
        put(&gateway, &format!("/home/alice/{path}"), "");
    }
    let dir = on_disk(&gateway, "/home/alice/dir");
    for (target, link) in
        [("sub", "to-dir"), ("/home/alice/dir/sub", "absolute"), ("z", "to-file"), ("no", "to-none")]
    {
        std::os::unix::fs::symlink(target, dir.join(link)).unwrap();
    }
    assert_eq!(
        read(&mut alice, "dir/").await,
        json!({
            "ok": true, "path": "/home/alice/dir",
            "files": [".hidden", "B", "to-file", "to-none", "z"], "directories": ["absolute", "sub", "to-dir"],
        })
    );
    let through = read(&mut alice, "dir/absolute").await;
    assert_eq!((&through["path"], &through["files"]), (&json!("/home/alice/dir/absolute"), &json!(["x"])));
    let root = read(&mut alice, "/").await;
    for name in ["dev", "etc", "home", "proc", "sys", "tmp", "usr", "var"] {
        assert!(root["directories"].as_array().unwrap().contains(&json!(name)), "{name} in {root}");
    }
}

/// Each of these links costs as much as thousands of files.
#[tokio::test]
async fn links_that_take_too_long_count_as_files() {
    let gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    put(&gateway, "/home/alice/maze/a/x", "");
    let maze = on_disk(&gateway, "/home/alice/maze");
    let around = "/../a".repeat(600);
    std::os::unix::fs::symlink(format!("a{around}"), maze.join("0")).unwrap();
    for n in 1..5 {
        std::os::unix::fs::symlink(format!("{}{around}", n - 1), maze.join(n.to_string())).unwrap();
    }
    std::fs::create_dir(on_disk(&gateway, "/home/alice/dir")).unwrap();
    for n in 0..1_000 {
        std::os::unix::fs::symlink("../maze/4", on_disk(&gateway, "/home/alice/dir").join(n.to_string()))
            .unwrap();
    }
    let listed = read(&mut alice, "dir").await;
    let names = |kind: &str| listed[kind].as_array().unwrap().clone();
    assert_eq!(names("files").len() + names("directories").len(), 1_000);
    assert_eq!(names("directories").first(), Some(&json!("0")), "the first ones are followed");
    assert!(!names("files").is_empty(), "the rest is not");
}

#[tokio::test]
async fn images_and_binaries_are_told_by_their_bytes() {
    use base64::Engine;
    let gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    let png = [&b"\x89PNG\r\n\x1a\n"[..], &[0xFF; 2000]].concat();
    put(&gateway, "/home/alice/picture.txt", &png);
    let picture = read(&mut alice, "picture.txt").await;
    assert_eq!(
        picture["content"][0],
        json!({ "type": "text", "text": "Read image /home/alice/picture.txt [image/png, 2.0 KB]" })
    );
    let data = base64::engine::general_purpose::STANDARD.encode(&png);
    assert_eq!(picture["content"][1], json!({ "type": "image", "mimeType": "image/png", "data": data }));
    assert!(picture["size"] == json!(png.len()) && picture.get("lines").is_none());

    let huge =
        std::fs::OpenOptions::new().write(true).open(on_disk(&gateway, "/home/alice/picture.txt")).unwrap();
    huge.set_len(25 * 1024 * 1024).unwrap();
    assert_eq!(read(&mut alice, "picture.txt").await["size"], json!(25 * 1024 * 1024));
    huge.set_len(25 * 1024 * 1024 + 1).unwrap();
    assert_eq!(
        fails(&mut alice, "fs.read", json!({ "path": "picture.txt" })).await,
        "Image too large (25.0 MB, max 25.0 MB)"
    );

    put(&gateway, "/home/alice/archive.md", [&b"\x1f\x8b\x08"[..], &[0xFF; 2000]].concat());
    assert_eq!(
        fails(&mut alice, "fs.read", json!({ "path": "archive.md" })).await,
        "Binary file (application/gzip, 2.0 KB) — not readable as text"
    );
    for bytes in [&b"text\0text"[..], b"caf\xe9\n"] {
        put(&gateway, "/home/alice/data", bytes);
        let why = fails(&mut alice, "fs.read", json!({ "path": "data", "offset": 0 })).await;
        assert!(why.starts_with("Binary file (application/octet-stream, "), "{why}");
    }
    put(&gateway, "/home/alice/drawing.svg", "<svg/>\n");
    assert_eq!(read(&mut alice, "drawing.svg").await["content"], "     1\t<svg/>");
}

#[tokio::test]
async fn a_large_file_can_be_paged_through() {
    let gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    let line = "x".repeat(99) + "\n";
    put(&gateway, "/home/alice/large", line.repeat(100_000));
    let whole = read(&mut alice, "large").await;
    assert_eq!((&whole["lines"], &whole["size"]), (&json!(100_000), &json!(10_000_000)));
    for (offset, limit, lines) in [(0, 1, 1), (50_000, 10, 10), (99_999, 10, 1), (100_000, 10, 0)] {
        let args = json!({ "path": "large", "offset": offset, "limit": limit });
        let page = done(&mut alice, "fs.read", args).await;
        assert_eq!((&page["lines"], &page["size"]), (&json!(lines), &json!(10_000_000)));
        let first = page["content"].as_str().unwrap().lines().next().unwrap_or_default().to_string();
        let expected =
            if lines == 0 { String::new() } else { format!("{:6}\t{}", offset + 1, line.trim_end()) };
        assert_eq!(first, expected);
    }
    put(&gateway, "/home/alice/huge", line.repeat(260_000));
    let why = fails(&mut alice, "fs.read", json!({ "path": "huge" })).await;
    assert!(why.starts_with("File too large (24.8 MB)") && why.contains("offset and limit"), "{why}");
    let page = done(&mut alice, "fs.read", json!({ "path": "huge", "offset": 259_999 })).await;
    assert_eq!(page["lines"], 1);
    put(&gateway, "/home/alice/controls", vec![1; 12 * 1024 * 1024]);
    let why = fails(&mut alice, "fs.read", json!({ "path": "controls" })).await;
    assert!(why.starts_with("File too large (12.0 MB)"), "its answer would be six times as large: {why}");
}

#[tokio::test]
async fn edits_replace_exact_text() {
    let gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    write(&mut alice, "a", "grün rot\r\ngrün $1\n").await;
    let edit = |old: &str, new: &str| json!({ "path": "~/a", "oldString": old, "newString": new });
    assert_eq!(
        alice.call("fs.edit", edit("rot\r\n", "$& \\1\r\n")).await.unwrap(),
        json!({ "ok": true, "path": "/home/alice/a", "replacements": 1 })
    );
    assert_eq!(
        fails(&mut alice, "fs.edit", edit("grün", "blau")).await,
        "oldString found 2 times in /home/alice/a. Use replaceAll or provide more context."
    );
    assert_eq!(
        fails(&mut alice, "fs.edit", edit("gelb", "blau")).await,
        "oldString not found in /home/alice/a"
    );
    assert!(fails(&mut alice, "fs.edit", edit("", "blau")).await.starts_with("oldString is empty"));
    let mut all = edit("grün", "");
    all["replaceAll"] = json!(true);
    assert_eq!(done(&mut alice, "fs.edit", all).await["replacements"], 2);
    assert_eq!(std::fs::read_to_string(on_disk(&gateway, "/home/alice/a")).unwrap(), " $& \\1\r\n $1\n");
    let missing = json!({ "path": "b", "oldString": "x", "newString": "y" });
    assert_eq!(fails(&mut alice, "fs.edit", missing).await, "File not found: /home/alice/b");
    put(&gateway, "/home/alice/data", b"caf\xe9");
    let binary = json!({ "path": "data", "oldString": "caf", "newString": "y" });
    assert!(fails(&mut alice, "fs.edit", binary).await.ends_with("not a text file"));
    let directory = json!({ "path": "/home/alice", "oldString": "caf", "newString": "y" });
    assert!(fails(&mut alice, "fs.edit", directory).await.starts_with("EISDIR"));
}

#[tokio::test]
async fn an_edit_that_would_grow_beyond_all_bounds_is_refused() {
    let gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    let text = "a".repeat(1024 * 1024);
    put(&gateway, "/home/alice/bomb", &text);
    let args = json!({ "path": "bomb", "oldString": "a", "newString": text, "replaceAll": true });
    let why = fails(&mut alice, "fs.edit", args).await;
    assert!(why.contains("it would have more than 24.0 MB"), "{why}");
    assert_eq!(std::fs::read(on_disk(&gateway, "/home/alice/bomb")).unwrap().len(), text.len());
}

#[tokio::test]
async fn no_edit_is_lost_when_two_sockets_edit_one_file() {
    const EDITS: usize = 50;
    let gateway = Gateway::set_up().await;
    let text: String = (0..2 * EDITS).map(|n| format!("<{n}>\n")).collect();
    let mut one = gateway.user().await;
    let mut two = gateway.user().await;
    write(&mut one, "a", &text).await;
    let mut waiting = Vec::new();
    for n in 0..EDITS {
        for (peer, n) in [(&mut one, n), (&mut two, EDITS + n)] {
            let args =
                json!({ "path": "a", "oldString": format!("<{n}>"), "newString": format!("done {n}.") });
            waiting.push((n, peer.send_call("fs.edit", args).await));
        }
    }
    for (n, id) in waiting {
        let peer = if n < EDITS { &mut one } else { &mut two };
        assert_eq!(peer.answer(&id).await.unwrap()["replacements"], 1, "edit {n}");
    }
    let expected: String = (0..2 * EDITS).map(|n| format!("done {n}.\n")).collect();
    assert_eq!(std::fs::read_to_string(on_disk(&gateway, "/home/alice/a")).unwrap(), expected);
}

#[tokio::test]
async fn what_changes_on_the_machine_shows_at_once() {
    let gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    let find = json!({ "query": "round", "path": "~/from/outside" });
    for round in 0..20 {
        put(&gateway, "/home/alice/from/outside/note.txt", format!("round {round}\n"));
        let path = "from/outside/note.txt";
        assert_eq!(read(&mut alice, path).await["content"], format!("     1\tround {round}"));
        let found = done(&mut alice, "fs.search", find.clone()).await;
        assert_eq!(found["matches"][0]["content"], format!("round {round}"));
    }
    // Another file by the same name, and then a directory, and then nothing.
    let path = on_disk(&gateway, "/home/alice/from/outside/note.txt");
    std::fs::remove_file(&path).unwrap();
    put(&gateway, "/home/alice/new", "renamed\n");
    std::fs::rename(on_disk(&gateway, "/home/alice/new"), &path).unwrap();
    assert_eq!(read(&mut alice, "from/outside/note.txt").await["content"], "     1\trenamed");
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert_eq!(read(&mut alice, "from/outside/note.txt").await["files"], json!([]));
    std::fs::remove_dir_all(on_disk(&gateway, "/home/alice/from")).unwrap();
    assert!(
        fails(&mut alice, "fs.read", json!({ "path": "from/outside/note.txt" }))
            .await
            .starts_with("Not found: ")
    );
    assert_eq!(done(&mut alice, "fs.write", json!({ "path": "from/x", "content": "back" })).await["size"], 4);
}

#[tokio::test]
async fn users_are_kept_apart_and_root_is_not() {
    let gateway = Gateway::set_up().await;
    let (mut alice, mut root) = (gateway.user().await, gateway.root().await);
    let mut bob = gateway.add_user("bob").await;
    write(&mut alice, "secret/a", "hers alone\n").await;
    let path = "/home/alice/secret/a";
    for (call, args) in [
        ("fs.read", json!({ "path": path })),
        ("fs.read", json!({ "path": "/home/alice" })),
        ("fs.read", json!({ "path": "/home/alice/nope" })),
        ("fs.read", json!({ "path": "~/../alice/secret" })),
        ("fs.write", json!({ "path": path, "content": "his" })),
        ("fs.write", json!({ "path": "/home/alice/new", "content": "his" })),
        ("fs.write", json!({ "path": "/home/carol/new", "content": "his" })),
        ("fs.write", json!({ "path": "/etc/new", "content": "his" })),
        ("fs.edit", json!({ "path": path, "oldString": "hers", "newString": "his" })),
        ("fs.delete", json!({ "path": path })),
        ("fs.delete", json!({ "path": "/home/alice/secret" })),
        ("fs.search", json!({ "path": "/home/alice", "query": "hers" })),
    ] {
        let (code, message) = refused(&mut bob, call, args.clone()).await;
        assert!(
            code == 403 && message.starts_with("EACCES: permission denied, "),
            "{call} {args}: {message}"
        );
    }
    let found = done(&mut bob, "fs.search", json!({ "path": "/home", "query": "hers alone" })).await;
    assert_eq!(found["count"], 0, "what may not be read is passed over");
    std::os::unix::fs::symlink(path, on_disk(&gateway, "/home/bob/link")).unwrap();
    assert_eq!(refused(&mut bob, "fs.read", json!({ "path": "link" })).await.0, 403);
    assert_eq!(
        refused(&mut bob, "fs.edit", json!({ "path": "link", "oldString": "h", "newString": "" })).await.0,
        403
    );

    assert_eq!(read(&mut root, path).await["content"], "     1\thers alone");
    let found = done(&mut root, "fs.search", json!({ "path": "/home", "query": "hers alone" })).await;
    assert_eq!(found["matches"][0]["path"], path);
    write(&mut root, "/etc/motd", "for all\n").await;
    assert_eq!(read(&mut bob, "/etc/motd").await["content"], "     1\tfor all");
    assert_eq!(refused(&mut bob, "fs.delete", json!({ "path": "/etc/motd" })).await.0, 403);
    write(&mut bob, "/tmp/shared", "from bob").await;
    assert_eq!(read(&mut alice, "/tmp/shared").await["content"], "     1\tfrom bob");
    assert_eq!(refused(&mut alice, "fs.delete", json!({ "path": "/tmp/shared" })).await.0, 403, "sticky");
}

#[tokio::test]
async fn deleting_takes_everything_below_but_never_a_mount() {
    let gateway = Gateway::set_up().await;
    let (mut alice, mut root) = (gateway.user().await, gateway.root().await);
    for path in ["d/a", "d/e/f/b", "keep"] {
        write(&mut alice, path, "x").await;
    }
    std::os::unix::fs::symlink("keep", on_disk(&gateway, "/home/alice/d/link")).unwrap();
    std::os::unix::fs::symlink("nowhere", on_disk(&gateway, "/home/alice/dangling")).unwrap();
    assert_eq!(
        alice.call("fs.delete", json!({ "path": "d" })).await.unwrap(),
        json!({ "ok": true, "path": "/home/alice/d" })
    );
    done(&mut alice, "fs.delete", json!({ "path": "dangling" })).await;
    let home = read(&mut alice, "~").await;
    assert!(home["files"] == json!(["keep"]) || home["files"].as_array().unwrap().contains(&json!("keep")));
    assert!(!home["directories"].as_array().unwrap().contains(&json!("d")), "{home}");
    for path in ["d", "dangling"] {
        let why = fails(&mut alice, "fs.delete", json!({ "path": path })).await;
        assert_eq!(why, format!("File not found: /home/alice/{path}"));
    }
    for path in [
        "/",
        "/home",
        "/home/alice",
        "/etc",
        "/usr",
        "/usr/local",
        "/var",
        "/tmp",
        "/sys",
        "/proc",
        "/dev",
        "/etc/passwd",
    ] {
        for peer in [&mut alice, &mut root] {
            let (code, message) = refused(peer, "fs.delete", json!({ "path": path })).await;
            assert_eq!(code, 403, "{path}: {message}");
        }
    }
    assert_eq!(read(&mut alice, "keep").await["content"], "     1\tx");
}

/// Paths and lines of a search's matches.
fn places(found: &Value) -> Vec<(String, u64)> {
    let place =
        |found: &Value| (found["path"].as_str().unwrap().to_string(), found["line"].as_u64().unwrap());
    found["matches"].as_array().unwrap().iter().map(place).collect()
}

#[tokio::test]
async fn search_finds_plain_text() {
    let gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    for (path, content) in [
        ("s/b.txt", "one\n(.*) two\r\nthree (.*)\n"),
        ("s/a/c.md", "(.*)\n"),
        ("s/a.txt", "(.*)"),
        ("s/.hidden/h", "(.*)\n"),
        ("s/.gitignore", "b.txt\n"),
        ("s/.git/config", "(.*)\n"),
        ("s/program", "(.*)\n\0"),
    ] {
        put(&gateway, &format!("/home/alice/{path}"), content);
    }
    std::os::unix::fs::symlink("a", on_disk(&gateway, "/home/alice/s/link")).unwrap();
    let search = |query: &str, path: &str| json!({ "query": query, "path": path });
    assert_eq!(
        alice.call("fs.search", search(" (.*) ", "s")).await.unwrap(),
        json!({ "ok": true, "count": 5, "matches": [
            { "path": "/home/alice/s/.hidden/h", "line": 1, "content": "(.*)" },
            { "path": "/home/alice/s/a/c.md", "line": 1, "content": "(.*)" },
            { "path": "/home/alice/s/a.txt", "line": 1, "content": "(.*)" },
            { "path": "/home/alice/s/b.txt", "line": 2, "content": "(.*) two" },
            { "path": "/home/alice/s/b.txt", "line": 3, "content": "three (.*)" },
        ] })
    );
    let from_home = done(&mut alice, "fs.search", json!({ "query": "(.*)" })).await;
    assert_eq!(from_home["count"], 5, "the working directory is where a search starts");
    assert_eq!(done(&mut alice, "fs.search", search("THREE", "s")).await["count"], 0);
    for (include, count) in
        [("*.txt", 3), ("*.{md,rs}", 1), ("a/*", 1), (".hidden/**", 1), ("s/*", 0), ("?.md", 1)]
    {
        let mut args = search("(.*)", "~/s");
        args["include"] = json!(include);
        assert_eq!(done(&mut alice, "fs.search", args).await["count"], count, "{include}");
    }
    let one = done(&mut alice, "fs.search", search("three", "s/b.txt")).await;
    assert_eq!(places(&one), [("/home/alice/s/b.txt".to_string(), 3)]);
    let through = done(&mut alice, "fs.search", search("(.*)", "s/link")).await;
    assert_eq!(places(&through), [("/home/alice/s/link/c.md".to_string(), 1)]);
    assert_eq!(fails(&mut alice, "fs.search", search(" \n", "s")).await, "Search query is required.");
    assert_eq!(fails(&mut alice, "fs.search", search("x", "no")).await, "Not found: /home/alice/no");
    let mut bad = search("x", "s");
    bad["include"] = json!("[");
    assert!(fails(&mut alice, "fs.search", bad).await.starts_with("Invalid include pattern: "));
}

#[tokio::test]
async fn include_fits_the_ends_of_paths() {
    let gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    for path in ["x/src/a.rs", "x/y/src/b.rs", "x/src/deep/c.rs", "x/other/d.rs"] {
        put(&gateway, &format!("/home/alice/{path}"), "needle");
    }
    for (include, count) in
        [("src/?.rs", 2), ("y/src/*", 1), ("*.{rs,md}", 4), ("rc/*.rs", 0), ("x/src/?.rs", 1)]
    {
        let args = json!({ "query": "needle", "include": include });
        assert_eq!(done(&mut alice, "fs.search", args).await["count"], count, "{include}");
    }
}

#[tokio::test]
async fn a_line_that_is_too_long_ends_the_search_of_its_file_only() {
    let gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    let long = "x".repeat(limits::device_files::SEARCH_HEAP_MAX_BYTES + 1);
    put(&gateway, "/home/alice/s/a", format!("needle\n{long}\nneedle\n"));
    put(&gateway, "/home/alice/s/b", "needle\n");
    let found = done(&mut alice, "fs.search", json!({ "query": "needle", "path": "s" })).await;
    assert_eq!(places(&found), [("/home/alice/s/a".to_string(), 1), ("/home/alice/s/b".to_string(), 1)]);
    assert_eq!(found["truncated"], true, "not all of it was looked into");
}

#[tokio::test]
async fn a_search_ends_at_500_matches_and_always_with_the_same_ones() {
    let gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    for n in 0..300 {
        put(&gateway, &format!("/home/alice/s/d{}/f{:03}", n % 7, n), "needle\nhay\nneedle\nneedle\n");
    }
    put(&gateway, "/home/alice/s/a/long", format!("needle {}\n", "é".repeat(500)));
    let args = json!({ "query": "needle", "path": "s" });
    let first = done(&mut alice, "fs.search", args.clone()).await;
    assert_eq!((&first["count"], &first["truncated"]), (&json!(500), &json!(true)));
    assert_eq!(first["matches"][0]["content"].as_str().unwrap().chars().count(), 200);
    let found = places(&first);
    assert!(found.is_sorted(), "in the order of paths and lines");
    assert!(
        found.iter().all(|(path, _)| path.as_str() < "/home/alice/s/d4"),
        "the first in the order of paths"
    );
    for _ in 0..5 {
        assert_eq!(places(&done(&mut alice, "fs.search", args.clone()).await), found);
    }
    let exact = json!({ "query": "needle", "path": "s/d0" });
    assert_eq!(done(&mut alice, "fs.search", exact).await.get("truncated"), None);
}

#[tokio::test]
async fn live_files_are_read_and_searched_like_others() {
    let gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    let passwd = read(&mut alice, "/etc/passwd").await;
    let content = passwd["content"].as_str().unwrap();
    assert!(content.starts_with("     1\troot:"), "{content}");
    let bytes: usize = content.lines().map(|line| line.len() - 7 + 1).sum();
    assert_eq!(passwd["size"], json!(bytes));
    write(&mut alice, "who", "alice:x\n").await;
    for (start, expected) in [
        ("/etc/passwd", vec!["/etc/passwd"]),
        ("/etc", vec!["/etc/group", "/etc/passwd"]),
        ("/", vec!["/etc/group", "/etc/passwd", "/home/alice/who"]),
    ] {
        let found = done(&mut alice, "fs.search", json!({ "query": "alice:", "path": start })).await;
        let mut paths: Vec<_> = places(&found).into_iter().map(|(path, _)| path).collect();
        paths.dedup();
        for path in expected {
            assert!(paths.contains(&path.to_string()), "{path} from {start} in {paths:?}");
        }
        assert!(!paths.contains(&"/etc/shadow".to_string()));
    }
    assert_eq!(refused(&mut alice, "fs.read", json!({ "path": "/etc/shadow" })).await.0, 403);
    assert_eq!(done(&mut alice, "fs.search", json!({ "query": "x", "path": "/dev" })).await["count"], 0);
}
