//! `fs.read`

use base64::Engine;
use serde_json::json;

use crate::bench::Bench;

#[tokio::test]
async fn text_comes_with_numbered_lines() {
    let bench = Bench::whole();
    bench.put("a/b.txt", "one\ntwo\r\nthree\n");
    let path = bench.path("a/b.txt");
    assert_eq!(
        bench.call("fs.read", json!({ "path": "a/b.txt" })).await,
        json!({ "ok": true, "content": "     1\tone\n     2\ttwo\n     3\tthree", "path": path, "lines": 3, "size": 15 })
    );
    let window = bench.call("fs.read", json!({ "path": path, "offset": 1, "limit": 1 })).await;
    assert_eq!((&window["content"], &window["lines"]), (&json!("     2\ttwo"), &json!(1)));
    let beyond = bench.call("fs.read", json!({ "path": path, "offset": 9 })).await;
    assert_eq!((&beyond["content"], &beyond["lines"]), (&json!(""), &json!(0)));
    bench.put("empty", "");
    assert_eq!(bench.call("fs.read", json!({ "path": "empty" })).await["lines"], json!(0));
    bench.put("tail", "x\n\ny");
    assert_eq!(
        bench.call("fs.read", json!({ "path": "tail" })).await["content"],
        json!("     1\tx\n     2\t\n     3\ty")
    );
}

#[tokio::test]
async fn directories_are_listed_sorted_and_links_are_files() {
    let bench = Bench::whole();
    for name in ["z.txt", "B.txt", "a/x", "c/x"] {
        bench.put(name, "");
    }
    std::os::unix::fs::symlink(bench.path("a"), bench.path("link")).unwrap();
    assert_eq!(
        bench.call("fs.read", json!({ "path": "." })).await,
        json!({ "ok": true, "path": bench.path(""), "files": ["B.txt", "link", "z.txt"], "directories": ["a", "c"] })
            .as_object()
            .map(|object| {
                let mut object = object.clone();
                object.insert("path".into(), json!(bench.path("").components().collect::<std::path::PathBuf>()));
                serde_json::Value::Object(object)
            })
            .unwrap()
    );
    assert_eq!(bench.call("fs.read", json!({ "path": "link" })).await["files"], json!(["x"]));
    assert!(bench.call("fs.read", json!({ "path": "/" })).await["directories"].as_array().unwrap().len() > 3);
}

#[tokio::test]
async fn images_are_told_by_their_bytes() {
    let bench = Bench::whole();
    let png = [&b"\x89PNG\r\n\x1a\n"[..], &[0xFF; 100]].concat();
    bench.put("picture.dat", &png);
    let data = bench.call("fs.read", json!({ "path": "picture.dat" })).await;
    assert_eq!(data["content"][0]["type"], "text");
    assert_eq!(
        (&data["content"][1]["type"], &data["content"][1]["mimeType"]),
        (&json!("image"), &json!("image/png"))
    );
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(data["content"][1]["data"].as_str().unwrap())
        .unwrap();
    assert!(bytes == png && data["size"] == json!(108) && data.get("lines").is_none());
    bench.put("huge.png", [&png[..], &vec![0xFF; 10 * 1024 * 1024]].concat());
    assert!(
        bench
            .fails("fs.read", json!({ "path": "huge.png" }))
            .await
            .starts_with("Image file too large (10.0 MB")
    );
    bench.put("drawing.svg", "<svg/>");
    assert_eq!(
        bench.call("fs.read", json!({ "path": "drawing.svg" })).await["content"],
        json!("     1\t<svg/>")
    );
}

#[tokio::test]
async fn what_is_no_text_is_refused() {
    let bench = Bench::whole();
    bench.put("data.bin", [0u8, 159, 146, 150]);
    assert_eq!(
        bench.fails("fs.read", json!({ "path": "data.bin" })).await,
        "Binary file (unknown type, 4 bytes) - not a text file"
    );
    bench.put("archive", [&b"\x1f\x8b\x08"[..], &[0xFF; 2000]].concat());
    assert_eq!(
        bench.fails("fs.read", json!({ "path": "archive" })).await,
        "Binary file (application/gzip, 2.0 KB) - not a text file"
    );
    let missing = bench.fails("fs.read", json!({ "path": "nope.txt" })).await;
    assert!(
        missing.starts_with(&format!("Failed to read '{}': ", bench.path("nope.txt").display())),
        "{missing}"
    );
    assert!(bench.fails("fs.read", json!({ "path": "a\u{0}b" })).await.contains("NUL"));
    assert_eq!(bench.refused("fs.read", json!({ "path": 7 })).await.0, 400);
    assert_eq!(bench.refused("fs.copy", json!({})).await, (404, "Unknown syscall: fs.copy".into()));
}

/// A pipe nobody writes to must not hold the request.
#[tokio::test]
async fn pipes_are_not_waited_for() {
    let bench = Bench::whole();
    let path = bench.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    assert!(bench.fails("fs.read", json!({ "path": "pipe" })).await.ends_with("not a regular file"));
    assert!(
        bench
            .fails("fs.write", json!({ "path": "pipe", "content": "" }))
            .await
            .ends_with("not a regular file")
    );
}

#[tokio::test]
async fn a_huge_file_can_be_paged_through() {
    let bench = Bench::whole();
    let line = "x".repeat(1023) + "\n";
    bench.put("huge.txt", line.repeat(25 * 1024));
    let refused = bench.fails("fs.read", json!({ "path": "huge.txt" })).await;
    assert!(refused.contains("offset and limit") && refused.contains("gsv cp"), "{refused}");
    let page = bench.call("fs.read", json!({ "path": "huge.txt", "offset": 25_000, "limit": 2 })).await;
    assert_eq!(page["lines"], json!(2));
    assert!(page["content"].as_str().unwrap().starts_with(" 25001\txxx"));
    let rest = bench.call("fs.read", json!({ "path": "huge.txt", "offset": 25_599 })).await;
    assert_eq!(rest["lines"], json!(1));
    let everything = bench.fails("fs.read", json!({ "path": "huge.txt", "offset": 0 })).await;
    assert!(everything.starts_with("File too large"), "{everything}");
}

/// Escapes can make an answer much larger than the file; the gateway would not take it.
#[tokio::test]
async fn an_answer_too_large_for_the_wire_is_refused() {
    let bench = Bench::whole();
    let line = "\u{1}".repeat(1023) + "\n";
    bench.put("controls.txt", line.repeat(8 * 1024));
    let (code, message) = bench.refused("fs.read", json!({ "path": "controls.txt" })).await;
    assert_eq!(code, 413, "{message}");
}
