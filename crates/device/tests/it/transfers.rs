//! `fs.pull` and `fs.push` over a real socket, with the test as the gateway.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use protocol::transfer::{Control, FailReason, Trailer};
use serde_json::{Value, json};
use sha2::Digest;
use transfer::{Sha256, hex};

use crate::gateway::{Gateway, Socket};

const CHUNK: usize = base::limits::transfer::CHUNK_MAX_BYTES;

fn content(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|n| (n.wrapping_mul(2_654_435_761) >> 9) as u8).collect()
}

fn digest(bytes: &[u8]) -> String {
    hex(Sha256::new_with_prefix(bytes))
}

async fn say(socket: &mut Socket, id: u32, words: &impl serde::Serialize) {
    socket.binary(id, serde_json::to_string(words).unwrap().as_bytes()).await;
}

/// Takes in a pulled file as a well-behaved receiver.
async fn pull(socket: &mut Socket, id: u32, path: &str, offset: u64) -> (Value, Vec<u8>, Trailer) {
    let args = json!({ "path": path, "offset": offset, "transferId": id });
    let opened = socket.call(&format!("pull-{id}"), "fs.pull", args).await;
    if opened["ok"] == json!(false) {
        return (opened, Vec::new(), Trailer::Failed("".into()));
    }
    let mut bytes = Vec::new();
    loop {
        let chunk = socket.chunk(id).await;
        if chunk.is_empty() {
            break;
        }
        assert!(chunk.len() <= CHUNK);
        bytes.extend(chunk);
        say(socket, id, &Control::Ack { ack: bytes.len() as u64 }).await;
    }
    let trailer: Trailer = serde_json::from_slice(&socket.chunk(id).await).unwrap();
    if let Trailer::Done { sha256 } = &trailer {
        say(socket, id, &Control::Stored { stored: sha256.clone() }).await;
    }
    (opened, bytes, trailer)
}

/// Opens an upload; returns the offset to go on from.
async fn open_push(socket: &mut Socket, id: u32, path: &str, bytes: &[u8], mode: Option<u32>) -> u64 {
    let args =
        json!({ "path": path, "size": bytes.len(), "sha256": digest(bytes), "mode": mode, "transferId": id });
    let opened = socket.call(&format!("push-{id}"), "fs.push", args).await;
    assert_eq!(opened["ok"], json!(true), "{opened}");
    opened["offset"].as_u64().unwrap()
}

async fn push_rest(socket: &mut Socket, id: u32, bytes: &[u8], sha256: &str) -> Control {
    for chunk in bytes.chunks(CHUNK) {
        socket.binary(id, chunk).await;
    }
    socket.binary(id, &[]).await;
    say(socket, id, &Trailer::Done { sha256: sha256.to_string() }).await;
    loop {
        match serde_json::from_slice(&socket.chunk(id).await).unwrap() {
            Control::Ack { .. } => {}
            end => return end,
        }
    }
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_file_is_pulled_byte_for_byte_also_in_its_second_half() {
    let temp = tempfile::tempdir().unwrap();
    let bytes = content(9 * 1024 * 1024 + 5);
    std::fs::write(temp.path().join("big"), &bytes).unwrap();
    std::fs::write(temp.path().join("empty"), b"").unwrap();
    let gateway = Gateway::start(temp.path(), |_| {}).await;
    let mut socket = gateway.accept().await;
    let half = 5_000_001;
    for (id, offset) in [(1, 0), (2, half), (3, bytes.len())] {
        let (opened, pulled, trailer) = pull(&mut socket, id, "big", offset as u64).await;
        assert_eq!((&opened["size"], &opened["transferId"]), (&json!(bytes.len()), &json!(id)));
        assert!(pulled == bytes[offset..]);
        assert_eq!(trailer, Trailer::Done { sha256: digest(&bytes) }, "the digest is the whole file's");
    }
    let (_, pulled, trailer) = pull(&mut socket, 4, "empty", 0).await;
    assert_eq!((pulled.len(), trailer), (0, Trailer::Done { sha256: digest(b"") }));
    for (id, path, offset, word) in
        [(5, "none", 0, "Failed to read"), (6, ".", 0, "irectory"), (7, "empty", 1, "beyond")]
    {
        let (failed, ..) = pull(&mut socket, id, path, offset).await;
        assert!(failed["error"].as_str().unwrap().contains(word), "{failed}");
    }
    gateway.stop(socket).await;
}

#[tokio::test]
async fn a_receiver_that_does_not_acknowledge_gets_one_window() {
    let temp = tempfile::tempdir().unwrap();
    std::fs::write(temp.path().join("big"), content(6 * 1024 * 1024)).unwrap();
    let gateway = Gateway::start(temp.path(), |_| {}).await;
    let mut socket = gateway.accept().await;
    socket.call("p", "fs.pull", json!({ "path": "big", "transferId": 9 })).await;
    let window = base::limits::transfer::WINDOW_BYTES as usize;
    let mut got = 0;
    while got < window {
        got += socket.chunk(9).await.len();
    }
    assert_eq!(got, window);
    // The driver goes on with everything else meanwhile, and with this one when told.
    socket.call("other", "fs.read", json!({ "path": "." })).await;
    say(&mut socket, 9, &Control::Ack { ack: got as u64 }).await;
    assert_eq!(socket.chunk(9).await.len(), CHUNK);
    say(&mut socket, 9, &Control::Failed("enough".into())).await;
    gateway.stop(socket).await;
}

#[tokio::test]
async fn a_file_is_pushed_into_place() {
    for confined in [false, true] {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().to_path_buf();
        let gateway = Gateway::start(temp.path(), |options| options.root = confined.then_some(root)).await;
        let mut socket = gateway.accept().await;
        let bytes = content(3 * 1024 * 1024 + 1);
        assert_eq!(open_push(&mut socket, 1, "a/b/file", &bytes, Some(0o750)).await, 0);
        assert!(!temp.path().join("a/b/file").exists(), "nothing is seen before the end");
        let stored = push_rest(&mut socket, 1, &bytes, &digest(&bytes)).await;
        assert_eq!(stored, Control::Stored { stored: digest(&bytes) });
        let path = temp.path().join("a/b/file");
        assert!(std::fs::read(&path).unwrap() == bytes);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
        assert_eq!(names(&temp.path().join("a/b")), ["file"]);
        for (id, mode) in [(2, None), (3, Some(0o600))] {
            assert_eq!(open_push(&mut socket, id, "a/b/file", b"", mode).await, 0);
            push_rest(&mut socket, id, b"", &digest(b"")).await;
            assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750, "kept");
        }
        // A new file gets what any program here would give it: the umask is taken off.
        std::fs::write(temp.path().join("made"), "").unwrap();
        let made = std::fs::metadata(temp.path().join("made")).unwrap().permissions().mode() & 0o777;
        for (id, mode, wanted) in [(4, Some(0o666), made), (5, None, made), (6, Some(0o600), 0o600)] {
            let name = format!("new-{id}");
            open_push(&mut socket, id, &name, b"", mode).await;
            push_rest(&mut socket, id, b"", &digest(b"")).await;
            let metadata = std::fs::metadata(temp.path().join(name)).unwrap();
            assert_eq!(metadata.permissions().mode() & 0o777, wanted);
        }
        gateway.stop(socket).await;
    }
}

#[tokio::test]
async fn a_cut_upload_goes_on_where_it_stopped() {
    let temp = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(temp.path(), |_| {}).await;
    let mut socket = gateway.accept().await;
    let bytes = content(5 * CHUNK + 100);
    assert_eq!(open_push(&mut socket, 1, "file", &bytes, None).await, 0);
    for chunk in bytes.chunks(CHUNK).take(4) {
        socket.binary(1, chunk).await;
    }
    // An acknowledgement says that the first mebibyte has been taken in.
    assert_eq!(
        serde_json::from_slice::<Control>(&socket.chunk(1).await).unwrap(),
        Control::Ack { ack: 4 * CHUNK as u64 }
    );
    drop(socket);
    let mut socket = gateway.accept().await;
    let partial = format!(".file.{}.gsv-part", &digest(&bytes)[..16]);
    assert_eq!(names(temp.path()), [partial.as_str()]);
    assert_eq!(std::fs::metadata(temp.path().join(&partial)).unwrap().permissions().mode() & 0o777, 0o600);
    let offset = open_push(&mut socket, 7, "file", &bytes, None).await as usize;
    assert_eq!(offset, 4 * CHUNK);
    let stored = push_rest(&mut socket, 7, &bytes[offset..], &digest(&bytes)).await;
    assert_eq!(stored, Control::Stored { stored: digest(&bytes) });
    assert!(std::fs::read(temp.path().join("file")).unwrap() == bytes);
    assert_eq!(names(temp.path()), ["file"]);
    gateway.stop(socket).await;
}

/// The caller has lost its connection, the driver has not: the next attempt must not wait for the first.
#[tokio::test]
async fn a_newer_upload_of_the_same_file_takes_over() {
    let temp = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(temp.path(), |_| {}).await;
    let mut socket = gateway.accept().await;
    let bytes = content(6 * CHUNK);
    open_push(&mut socket, 1, "file", &bytes, None).await;
    for chunk in bytes.chunks(CHUNK).take(4) {
        socket.binary(1, chunk).await;
    }
    socket.chunk(1).await;
    let offset = open_push(&mut socket, 2, "file", &bytes, None).await as usize;
    assert_eq!(offset, 4 * CHUNK);
    socket.binary(1, b"from the grave").await;
    let stored = push_rest(&mut socket, 2, &bytes[offset..], &digest(&bytes)).await;
    assert_eq!(stored, Control::Stored { stored: digest(&bytes) });
    assert!(std::fs::read(temp.path().join("file")).unwrap() == bytes);
    gateway.stop(socket).await;
}

#[tokio::test]
async fn wrong_bytes_are_not_stored_and_not_kept() {
    let temp = tempfile::tempdir().unwrap();
    std::fs::write(temp.path().join("file"), "old").unwrap();
    let gateway = Gateway::start(temp.path(), |_| {}).await;
    let mut socket = gateway.accept().await;
    let (meant, sent) = (content(1000), vec![7; 1000]);
    // Once the sender's digest disagrees with its bytes, once its bytes disagree with what it announced.
    for (id, trailer) in [(1, digest(&meant)), (2, digest(&sent))] {
        assert_eq!(open_push(&mut socket, id, "file", &meant, None).await, 0);
        let end = push_rest(&mut socket, id, &sent, &trailer).await;
        assert!(
            matches!(&end, Control::Failed(why) if why.reason() == Some(FailReason::DigestMismatch)),
            "{end:?}"
        );
    }
    // Too many bytes.
    open_push(&mut socket, 3, "file", &meant, None).await;
    socket.binary(3, &vec![1; 1001]).await;
    let end: Control = serde_json::from_slice(&socket.chunk(3).await).unwrap();
    assert!(matches!(end, Control::Failed(_)));
    assert_eq!(std::fs::read_to_string(temp.path().join("file")).unwrap(), "old");
    gateway.stop(socket).await;
}

#[tokio::test]
async fn uploads_that_cannot_be_are_refused() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().join("root");
    std::fs::create_dir_all(root.join("dir")).unwrap();
    std::os::unix::fs::symlink("..", root.join("up")).unwrap();
    let gateway = Gateway::start(temp.path(), |options| options.root = Some(root)).await;
    let mut socket = gateway.accept().await;
    let push = |path: &str| json!({ "path": path, "size": 1, "sha256": digest(b"x"), "transferId": 1 });
    assert_eq!(socket.call("dir", "fs.push", push("dir")).await["ok"], json!(false));
    for path in ["../file", "up/file", "/etc/file"] {
        socket.ask(path, "fs.push", push(path)).await;
        assert_eq!(socket.answer(path).await["error"]["code"], json!(403), "{path}");
    }
    for (n, args) in [
        json!({ "path": "x", "size": 1, "sha256": "short", "transferId": 1 }),
        json!({ "path": "x", "size": 1, "sha256": digest(b"x") }),
    ]
    .into_iter()
    .enumerate()
    {
        socket.ask(&format!("b{n}"), "fs.push", args).await;
        assert_eq!(socket.answer(&format!("b{n}")).await["error"]["code"], json!(400));
    }
    assert_eq!(names(temp.path()), ["root"]);
    gateway.stop(socket).await;
}

#[tokio::test]
async fn abandoned_uploads_are_cleaned_up() {
    let temp = tempfile::tempdir().unwrap();
    let tag = &digest(b"x")[..16];
    let week = std::time::Duration::from_millis(base::limits::device_files::UPLOAD_PARTIAL_KEPT_MS as u64);
    let now_ms = base::clock::Clock::system().now_ms() as u64;
    let now = std::time::UNIX_EPOCH + std::time::Duration::from_millis(now_ms);
    let make = |name: &str, age| {
        let file = std::fs::File::create(temp.path().join(name)).unwrap();
        file.set_modified(now - age).unwrap();
        file
    };
    let hour = std::time::Duration::from_secs(3600);
    let [old, locked, young] = ["old", "locked", "young"].map(|name| format!(".{name}.{tag}.gsv-part"));
    make(&old, week + hour);
    make(&young, week - hour);
    make("mine.gsv-part", week + hour);
    make(".mine.gsv-part", week + hour);
    let lock = make(&locked, week + hour);
    lock.lock().unwrap();
    let gateway = Gateway::start(temp.path(), |_| {}).await;
    let mut socket = gateway.accept().await;
    open_push(&mut socket, 1, "file", b"y", None).await;
    push_rest(&mut socket, 1, b"y", &digest(b"y")).await;
    let mut left = vec![locked, young, "mine.gsv-part".into(), ".mine.gsv-part".into(), "file".into()];
    left.sort();
    assert_eq!(names(temp.path()), left);
    gateway.stop(socket).await;
}
