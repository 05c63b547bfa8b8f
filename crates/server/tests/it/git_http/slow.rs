//! Tests of clients that do not read: they are bounded, and nobody else is harmed.

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::bed::{Bed, PASSWORD_OF_ALL, basic, line, noise, request_head};

const CLONES: usize = 1_000;

/// Requests that git works on now.
async fn under_way(bed: &Bed) -> usize {
    let metrics = testkit::http_get(bed.gateway.address, "/metrics").await;
    let line = metrics.lines().find_map(|line| line.strip_prefix("gsv_git_requests "));
    line.unwrap().parse().unwrap()
}

async fn wait_until(bed: &Bed, mut is_so: impl FnMut(usize) -> bool) {
    while !is_so(under_way(bed).await) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_thousand_clones_that_are_not_read_harm_nobody() {
    let bed = Bed::new().await;
    bed.add_user("bob").await;
    let work = bed.work("work");
    // More than the sockets in between take up.
    work.commit_bytes("noise", &noise(24 << 20, 7), "noise").await;
    work.ok(&["push", "-q", &bed.url("alice", "alice/large"), "main"]).await;
    bed.work("bobs").push_first(&bed.url("bob", "bob/small")).await;
    let head = work.ok(&["rev-parse", "HEAD"]).await;
    let token = bed.user_token("alice").await;
    let body = format!("{}0000{}", line(&format!("want {}\n", head.trim())), line("done\n"));
    let headers = [
        basic("alice", &token),
        ("content-type".to_string(), "application/x-git-upload-pack-request".to_string()),
    ];
    let text = request_head("POST", "/git/alice/large/git-upload-pack", &headers, body.len()) + &body;
    let mut clones = Vec::new();
    for _ in 0..CLONES {
        let mut socket = TcpStream::connect(bed.gateway.address).await.unwrap();
        socket.write_all(text.as_bytes()).await.unwrap();
        clones.push(socket);
    }
    let most = base::limits::git::REQUESTS_PER_CALLER_MAX;
    wait_until(&bed, |count| count == most).await;
    // Others work as ever.
    bed.git(&["clone", "-q", &bed.url("bob", "bob/small"), "bobs-copy"]).await.assert_ok();
    bed.gateway.login("bob", PASSWORD_OF_ALL).await.call("sys.device.list", json!({})).await.unwrap();
    assert!(under_way(&bed).await <= most + 1);
    // Those that are neither served nor wait were told so.
    let mut told = 0;
    for socket in &mut clones {
        let mut start = [0; 12];
        if socket.try_read(&mut start).is_ok_and(|read| read == 12) && &start == b"HTTP/1.1 429" {
            told += 1;
        }
    }
    assert!(told >= CLONES - most - base::limits::git::WAITING_PER_CALLER_MAX, "{told}");
    drop(clones);
    wait_until(&bed, |count| count == 0).await;
    bed.git(&["clone", "-q", &bed.url("alice", "alice/large"), "copy"]).await.assert_ok();
}

#[tokio::test]
async fn a_push_that_breaks_off_leaves_the_old_ref_and_no_objects() {
    let bed = Bed::new().await;
    let work = bed.work("work");
    work.push_first(&bed.url("alice", "alice/half")).await;
    let first = work.ok(&["rev-parse", "HEAD"]).await.trim().to_string();
    work.commit_bytes("noise", &noise(1 << 20, 3), "noise").await;
    let second = work.ok(&["rev-parse", "HEAD"]).await.trim().to_string();
    let packed = {
        let mut command = work.command();
        command.args(["pack-objects", "--stdout", "--revs"]).stdin(std::process::Stdio::piped());
        let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(format!("{second}\n^{first}\n").as_bytes()).await.unwrap();
        drop(stdin);
        child.wait_with_output().await.unwrap().stdout
    };
    let command = line(&format!("{first} {second} refs/heads/main\0report-status")) + "0000";
    let body = [command.as_bytes(), &packed].concat();
    let headers = [
        basic("alice", PASSWORD_OF_ALL),
        ("content-type".to_string(), "application/x-git-receive-pack-request".to_string()),
    ];
    let head = request_head("POST", "/git/alice/half/git-receive-pack", &headers, body.len());
    let bare = bed.at(&bed.bare("alice/half"));
    for sent in [0, 50, command.len(), command.len() + 100, body.len() / 2, body.len() - 1] {
        let mut socket = TcpStream::connect(bed.gateway.address).await.unwrap();
        socket.write_all(head.as_bytes()).await.unwrap();
        socket.write_all(&body[..sent]).await.unwrap();
        if sent > command.len() {
            wait_until(&bed, |count| count == 1).await;
        }
        drop(socket);
        wait_until(&bed, |count| count == 0).await;
        assert_eq!(bare.ok(&["rev-parse", "main"]).await.trim(), first, "{sent}");
        bed.fsck("alice/half").await;
        let objects = std::fs::read_dir(bed.bare("alice/half").join("objects")).unwrap();
        let left = objects
            .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("tmp_objdir"));
        assert_eq!(left.count(), 0, "{sent}");
    }
    // The same, whole.
    let mut socket = TcpStream::connect(bed.gateway.address).await.unwrap();
    socket.write_all(head.as_bytes()).await.unwrap();
    socket.write_all(&body).await.unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).await.unwrap();
    assert!(String::from_utf8_lossy(&answer).contains("ok refs/heads/main"));
    assert_eq!(bare.ok(&["rev-parse", "main"]).await.trim(), second);
}
