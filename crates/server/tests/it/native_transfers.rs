//! Tests of `fs.pull` and `fs.push` on the gateway's own files, with the real client library.

use base::limits;
use bytes::Bytes;
use client::{Connection, Error, Link};
use protocol::fs::{Pull, PullOpened, Push, PushOpened};
use protocol::outcome::Outcome;
use protocol::sys::{Auth, Client, Connect};
use protocol::transfer::{Control, message};
use serde_json::json;
use testkit::Gateway;
use testkit::gateway::{PASSWORD, USER};
use transfer::{Sha256, hex};

const MIB: usize = 1024 * 1024;

fn content(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|n| (n.wrapping_mul(2_654_435_761) >> 11) as u8).collect()
}

async fn digest(mut bytes: &[u8]) -> String {
    let size = bytes.len() as u64;
    hex(transfer::hash(&mut bytes, size).await.unwrap())
}

async fn connect(gateway: &Gateway, username: &str) -> Connection {
    let (connection, _events) = Connection::open(&gateway.url()).await.unwrap();
    let client = Client {
        id: base::random::uuid(),
        version: String::new(),
        platform: String::new(),
        role: "user".to_string(),
        channel: None,
        features: Vec::new(),
    };
    let auth = Auth { username: username.to_string(), password: Some(PASSWORD.to_string()), token: None };
    connection
        .connect(&Connect {
            protocol: 1,
            client,
            driver: None,
            auth: Some(auth),
            resume: None,
            streams: None,
        })
        .await
        .unwrap();
    connection
}

async fn open_pull(user: &Connection, path: &str, offset: u64) -> Result<Outcome<PullOpened>, Error> {
    user.call(&Pull { path: path.to_string(), offset: Some(offset), transfer_id: None }).await
}

async fn open_push(
    user: &Connection,
    path: &str,
    bytes: &[u8],
    mode: Option<u32>,
) -> Result<Outcome<PushOpened>, Error> {
    let (size, sha256) = (bytes.len() as u64, digest(bytes).await);
    user.call(&Push { path: path.to_string(), size, sha256, mode, transfer_id: None }).await
}

/// The file and its mode.
async fn pull(user: &Connection, path: &str) -> (Vec<u8>, u32) {
    let opened = open_pull(user, path, 0).await.unwrap().into_result().unwrap();
    let mut link = user.link(opened.transfer_id);
    let mut file = Vec::new();
    let hash = Sha256::default();
    let sha256 = transfer::receive(&mut link, &mut file, 0, opened.size, hash, |_| {}).await.unwrap();
    link.stored(&sha256).await.unwrap();
    (file, opened.mode.unwrap())
}

/// Pushes the rest of a file, and tells how much of it was there already.
async fn push(user: &Connection, path: &str, bytes: &[u8], mode: Option<u32>) -> u64 {
    let opened = open_push(user, path, bytes, mode).await.unwrap().into_result().unwrap();
    send(&mut user.link(opened.transfer_id), bytes, opened.offset).await.unwrap();
    opened.offset
}

async fn send(link: &mut Link, mut bytes: &[u8], offset: u64) -> Result<String, transfer::Error> {
    let size = bytes.len() as u64;
    let hash = transfer::hash(&mut bytes, offset).await?;
    transfer::send(link, &mut bytes, offset, size, hash, |_| {}).await
}

/// Begins an upload and loses the connection in the middle; returns how much was acknowledged.
async fn begin_and_vanish(gateway: &Gateway, path: &str, bytes: &[u8]) -> u64 {
    let user = connect(gateway, USER).await;
    let opened = open_push(&user, path, bytes, None).await.unwrap().into_result().unwrap();
    assert_eq!(opened.offset, 0);
    let mut messages = user.transfer(opened.transfer_id);
    for chunk in bytes[..2 * MIB].chunks(limits::transfer::CHUNK_MAX_BYTES) {
        user.send_binary(message(opened.transfer_id, chunk).into()).await.unwrap();
    }
    let mut acknowledged = 0;
    while acknowledged < 2 * MIB as u64 {
        match serde_json::from_slice(&messages.recv().await.unwrap()).unwrap() {
            Control::Ack { ack } => acknowledged = ack,
            other => panic!("{other:?}"),
        }
    }
    user.close().await;
    acknowledged
}

#[tokio::test]
async fn files_of_every_size_come_back_as_they_went() {
    let gateway = Gateway::set_up().await;
    let user = connect(&gateway, USER).await;
    for size in [0, 1, limits::transfer::CHUNK_MAX_BYTES, 5 * MIB, 70 * MIB] {
        let bytes = content(size);
        assert_eq!(push(&user, "new/directory/file.bin", &bytes, None).await, 0);
        let (back, _) = pull(&user, "~/new/directory/file.bin").await;
        assert!(back == bytes, "{size} bytes came back different");
    }
    let on_disk = gateway.data().join("files/home").join(USER).join("new/directory");
    let names: Vec<_> =
        std::fs::read_dir(&on_disk).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["file.bin"], "nothing else is left");
    assert!(std::fs::read(on_disk.join("file.bin")).unwrap() == content(70 * MIB));
}

#[tokio::test]
async fn a_pull_goes_on_where_it_stopped() {
    let gateway = Gateway::set_up().await;
    let user = connect(&gateway, USER).await;
    let bytes = content(3 * MIB);
    push(&user, "file", &bytes, None).await;
    let opened = open_pull(&user, "file", MIB as u64).await.unwrap().into_result().unwrap();
    let mut link = user.link(opened.transfer_id);
    let mut rest = Vec::new();
    let hash = transfer::hash(&mut &bytes[..MIB], MIB as u64).await.unwrap();
    let got = transfer::receive(&mut link, &mut rest, MIB as u64, opened.size, hash, |_| {}).await.unwrap();
    link.stored(&got).await.unwrap();
    assert!(got == digest(&bytes).await && rest == bytes[MIB..]);
    let beyond = open_pull(&user, "file", bytes.len() as u64 + 1).await.unwrap();
    assert!(beyond.into_result().unwrap_err().contains("beyond"));
}

#[tokio::test]
async fn a_broken_upload_goes_on_where_it_stopped() {
    let gateway = Gateway::set_up().await;
    let bytes = content(5 * MIB);
    let acknowledged = begin_and_vanish(&gateway, "file", &bytes).await;
    let user = connect(&gateway, USER).await;
    let missing = open_pull(&user, "file", 0).await.unwrap();
    assert!(missing.into_result().is_err(), "a file that is not whole is not there");
    let offset = push(&user, "file", &bytes, None).await;
    assert!(offset >= acknowledged, "{offset} bytes are left of {acknowledged}");
    assert!(pull(&user, "file").await.0 == bytes);
}

#[tokio::test]
async fn a_broken_upload_goes_on_after_a_restart() {
    let gateway = Gateway::set_up().await;
    let bytes = content(5 * MIB);
    let acknowledged = begin_and_vanish(&gateway, "file", &bytes).await;
    let gateway = gateway.restart().await;
    let user = connect(&gateway, USER).await;
    let offset = push(&user, "file", &bytes, None).await;
    assert!(offset >= acknowledged, "{offset} bytes are left of {acknowledged}");
    assert!(pull(&user, "file").await.0 == bytes);
}

#[tokio::test]
async fn an_upload_that_is_begun_again_ends_the_older_one() {
    let gateway = Gateway::set_up().await;
    let (older, newer) = (connect(&gateway, USER).await, connect(&gateway, USER).await);
    let bytes = content(2 * MIB);
    let opened = open_push(&older, "file", &bytes, None).await.unwrap().into_result().unwrap();
    let mut link = older.link(opened.transfer_id);
    push(&newer, "file", &bytes, None).await;
    let error = send(&mut link, &bytes, 0).await.unwrap_err().to_string();
    assert!(error.contains("newer transfer"), "{error}");
    assert!(pull(&newer, "file").await.0 == bytes);
}

#[tokio::test]
async fn a_wrong_digest_leaves_the_file_as_it_was() {
    let gateway = Gateway::set_up().await;
    let user = connect(&gateway, USER).await;
    push(&user, "file", b"precious", None).await;
    let opened = open_push(&user, "file", b"promised", None).await.unwrap().into_result().unwrap();
    let error = send(&mut user.link(opened.transfer_id), b"deliverd", 0).await.unwrap_err().to_string();
    assert!(error.contains("digest does not match"), "{error}");
    assert_eq!(pull(&user, "file").await.0, b"precious");
    // What was spoiled is not gone on with.
    assert_eq!(push(&user, "file", b"promised", None).await, 0);
    assert_eq!(pull(&user, "file").await.0, b"promised");
    let args = json!({ "path": "file", "size": 1, "sha256": "12" }).to_string();
    let error = user.call_raw("fs.push", &args, limits::client::CALL_TIMEOUT).await.unwrap_err();
    assert!(matches!(&error, Error::Gateway(error) if error.code == 400), "{error}");
}

#[tokio::test]
async fn a_new_file_gets_the_senders_mode_and_an_old_one_keeps_its_own() {
    let gateway = Gateway::set_up().await;
    let user = connect(&gateway, USER).await;
    push(&user, "tool", b"#!/bin/sh", Some(0o4777)).await;
    assert_eq!(pull(&user, "tool").await.1, 0o755);
    push(&user, "tool", b"#!/bin/bash", Some(0o600)).await;
    assert_eq!(pull(&user, "tool").await, (b"#!/bin/bash".to_vec(), 0o755));
    push(&user, "secret", b"x", Some(0o600)).await;
    assert_eq!(pull(&user, "secret").await.1, 0o600);
}

#[tokio::test]
async fn what_is_not_there_or_not_allowed_is_refused() {
    let gateway = Gateway::set_up().await;
    drop(gateway.add_user("bob").await);
    let (alice, bob) = (connect(&gateway, USER).await, connect(&gateway, "bob").await);
    push(&alice, "secret", b"x", Some(0o600)).await;
    let secret = format!("/home/{USER}/secret");
    let is_refused = |error: &Error| matches!(error, Error::Gateway(error) if error.code == 403);
    let error = open_pull(&bob, &secret, 0).await.unwrap_err();
    assert!(is_refused(&error), "{error}");
    for path in [secret, format!("/home/{USER}/new"), "/new".to_string()] {
        let error = open_push(&bob, &path, b"y", None).await.unwrap_err();
        assert!(is_refused(&error), "{path}: {error}");
    }
    let directory = open_pull(&alice, "~", 0).await.unwrap().into_result().unwrap_err();
    assert!(directory.starts_with("EISDIR"), "{directory}");
    let directory = open_push(&alice, "~", b"y", None).await.unwrap().into_result().unwrap_err();
    assert!(directory.starts_with("EISDIR"), "{directory}");
    let missing = open_pull(&alice, "nothing", 0).await.unwrap().into_result().unwrap_err();
    assert!(missing.starts_with("ENOENT"), "{missing}");
    let through = open_push(&alice, "secret/file", b"y", None).await.unwrap().into_result().unwrap_err();
    assert!(through.starts_with("ENOTDIR"), "{through}");
    for reserved in [".gsv-part-0", ".gsv-tmp-0"] {
        let refused = open_push(&alice, reserved, b"y", None).await;
        assert!(refused.is_err_and(|error| is_refused(&error)), "{reserved}");
    }
    assert_eq!(pull(&alice, "secret").await.0, b"x");
}

/// An upload may take hours; what the sender may do at its end counts.
#[tokio::test]
async fn an_upload_ends_with_the_rights_of_its_end() {
    let gateway = Gateway::set_up().await;
    let (mut root, alice) = (gateway.root().await, connect(&gateway, USER).await);
    root.call("sys.group.create", json!({ "name": "team" })).await.unwrap();
    root.call("sys.user.update", json!({ "username": USER, "groups": ["team"] })).await.unwrap();
    let input = "mkdir /tmp/shared && chown root:team /tmp/shared && chmod 770 /tmp/shared";
    let made = root.call("shell.exec", json!({ "input": input })).await.unwrap();
    assert_eq!(made["exitCode"], 0, "{made}");
    push(&alice, "/tmp/shared/first", b"x", None).await;
    let opened = open_push(&alice, "/tmp/shared/second", b"x", None).await.unwrap().into_result().unwrap();
    root.call("sys.user.update", json!({ "username": USER, "groups": [] })).await.unwrap();
    let error = send(&mut alice.link(opened.transfer_id), b"x", 0).await.unwrap_err().to_string();
    assert!(error.contains("EACCES"), "{error}");
    let opened = open_push(&alice, "file", b"x", None).await.unwrap().into_result().unwrap();
    let everything = json!({ "gid": 100, "capability": "fs.*" });
    root.call("sys.capability.revoke", everything).await.unwrap();
    let error = send(&mut alice.link(opened.transfer_id), b"x", 0).await.unwrap_err().to_string();
    assert!(error.contains("Permission denied"), "{error}");
}

#[tokio::test]
async fn refused_transfers_leave_nothing_open() {
    let gateway = Gateway::set_up().await;
    let user = connect(&gateway, USER).await;
    for _ in 0..2 * limits::transfer::PER_SOCKET_MAX {
        assert!(open_pull(&user, "nothing", 0).await.unwrap().into_result().is_err());
    }
    for _ in 0..limits::transfer::PER_SOCKET_MAX {
        open_push(&user, &base::random::uuid(), b"x", None).await.unwrap().into_result().unwrap();
    }
    let error = open_push(&user, "one more", b"x", None).await.unwrap_err();
    assert!(matches!(&error, Error::Gateway(error) if error.code == 429), "{error}");
}

#[tokio::test]
async fn a_reader_that_never_acknowledges_gets_one_window() {
    let gateway = Gateway::set_up().await;
    let user = connect(&gateway, USER).await;
    let bytes = content(12 * MIB);
    push(&user, "file", &bytes, None).await;
    let opened = open_pull(&user, "file", 0).await.unwrap().into_result().unwrap();
    let mut messages = user.transfer(opened.transfer_id);
    let mut got = 0;
    while got < limits::transfer::WINDOW_BYTES {
        got += messages.recv().await.unwrap().len() as u64;
    }
    for _ in 0..100 {
        user.call_raw("sys.device.list", "{}", limits::client::CALL_TIMEOUT).await.unwrap();
    }
    assert!(messages.try_recv().is_err(), "more than the window was sent");
    let ack = protocol::frame::to_json(&Control::Ack { ack: got });
    user.send_binary(Bytes::from(message(opened.transfer_id, ack.as_bytes()))).await.unwrap();
    assert!(!messages.recv().await.unwrap().is_empty(), "it goes on once it is asked to");
}

#[tokio::test]
async fn many_pulls_over_one_slow_socket_all_arrive() {
    let gateway = Gateway::set_up().await;
    let user = connect(&gateway, USER).await;
    let bytes = content(3 * MIB + 1);
    push(&user, "file", &bytes, None).await;
    let pulls = (0..limits::transfer::PER_SOCKET_MAX).map(|_| {
        let user = user.clone();
        tokio::spawn(async move { pull(&user, "file").await.0 })
    });
    for pull in pulls.collect::<Vec<_>>() {
        assert!(pull.await.unwrap() == bytes);
    }
}
