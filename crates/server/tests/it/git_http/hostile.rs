//! Tests of what a client with bad intentions sends over git's protocol: it is refused clearly and leaves nothing behind.

use std::io::Write;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::bed::{Bed, PASSWORD_OF_ALL, Work, basic, line, noise, request_head};

const ZEROS: &str = "0000000000000000000000000000000000000000";

/// A commit whose tree has one entry, whatever its name; returns the commit.
async fn commit_of_entry(work: &Work, mode: &str, name: &[u8], content: &[u8]) -> String {
    let blob =
        if mode == "40000" { work.object("tree", b"").await } else { work.object("blob", content).await };
    let id = (0..20).map(|n| u8::from_str_radix(&blob[2 * n..2 * n + 2], 16).unwrap());
    let mut tree = format!("{mode} ").into_bytes();
    tree.extend_from_slice(name);
    tree.push(0);
    tree.extend(id);
    let tree = work.object("tree", &tree).await;
    work.ok(&["commit-tree", "-m", "odd", &tree]).await.trim().to_string()
}

/// A push of these commands with an empty pack, as no client of ours would make it.
async fn push_raw(bed: &Bed, repo: &str, commands: &[String]) -> String {
    let mut body = String::new();
    for (at, command) in commands.iter().enumerate() {
        let end = if at == 0 { "\0report-status" } else { "" };
        body += &line(&format!("{command}{end}"));
    }
    let mut body = (body + "0000").into_bytes();
    let pack = b"PACK\0\0\0\x02\0\0\0\0";
    body.extend_from_slice(pack);
    body.extend_from_slice(&sha1_smol::Sha1::from(pack).digest().bytes());
    let path = format!("/git/{repo}/git-receive-pack");
    let answer = bed.post(&path, &[basic("alice", PASSWORD_OF_ALL)], &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.text()
}

#[tokio::test]
async fn names_that_lead_out_of_a_work_tree_are_refused() {
    let bed = Bed::new().await;
    let (work, url) = (bed.work("work"), bed.url("alice", "alice/odd"));
    work.push_first(&url).await;
    let before = bed.at(&bed.bare("alice/odd")).ok(&["for-each-ref"]).await;
    let entries: [(&str, &[u8], &[u8]); 12] = [
        ("100644", b"..", b"x"),
        ("40000", b"..", b""),
        ("100644", b".", b"x"),
        ("40000", b".git", b""),
        ("40000", b".GIT", b""),
        ("40000", b".gIt", b""),
        ("40000", b"git~1", b""),
        ("40000", ".g\u{200c}it".as_bytes(), b""),
        ("100644", b"a/b", b"x"),
        ("100644", b"", b"x"),
        ("120000", b".gitmodules", b"/etc/passwd"),
        ("100644", b".gitmodules", b"[submodule \"x\"]\n\tpath = x\n\turl = -u./evil\n"),
    ];
    for (mode, name, content) in entries {
        let commit = commit_of_entry(&work, mode, name, content).await;
        let did = work.git(&["push", &url, &format!("{commit}:refs/heads/odd")]).await;
        let shown = String::from_utf8_lossy(name).into_owned();
        assert!(did.code != 0 && did.err.contains("remote"), "{mode} {shown:?}: {did:?}");
    }
    let url_of_submodule = b"[submodule \"../../x\"]\n\tpath = x\n\turl = https://example.org/x\n";
    let commit = commit_of_entry(&work, "100644", b".gitmodules", url_of_submodule).await;
    assert_ne!(work.git(&["push", &url, &format!("{commit}:refs/heads/odd")]).await.code, 0);
    // A link is only a text until somebody follows it, which the gateway never does.
    let link = commit_of_entry(&work, "120000", b"link", b"/etc/passwd").await;
    work.ok(&["push", &url, &format!("{link}:refs/heads/link")]).await;
    work.ok(&["push", &url, ":refs/heads/link"]).await;
    assert_eq!(bed.at(&bed.bare("alice/odd")).ok(&["for-each-ref"]).await, before);
    bed.fsck("alice/odd").await;
}

#[tokio::test]
async fn objects_that_are_none_are_refused() {
    let bed = Bed::new().await;
    let (work, url) = (bed.work("work"), bed.url("alice", "alice/bad"));
    work.push_first(&url).await;
    let tree = work.ok(&["rev-parse", "HEAD^{tree}"]).await.trim().to_string();
    for text in [
        format!("tree {tree}\nauthor nobody\ncommitter nobody\n\nbad\n"),
        format!("tree {tree}\n\n"),
        format!("tree {tree}\nauthor A <a@b\n> 1 +0000\ncommitter A <a@b> 1 +0000\n\nbad\n"),
    ] {
        let commit = work.object("commit", text.as_bytes()).await;
        let did = work.git(&["push", &url, &format!("{commit}:refs/heads/bad")]).await;
        assert!(did.code != 0, "{text:?}: {did:?}");
    }
    // Not even the format.
    let login = basic("alice", PASSWORD_OF_ALL);
    let path = "/git/alice/bad/git-receive-pack";
    for body in [&b"garbage"[..], b"0003", b"0009zzzz", b"", b"fffftoo short"] {
        let answer = bed.post(path, std::slice::from_ref(&login), body).await;
        assert_eq!(answer.status, 400, "{body:?}: {}", answer.text());
    }
    let head = line(&format!("{ZEROS} {} refs/heads/x\0report-status", "1".repeat(40)));
    let broken = [head.as_bytes(), b"0000PACK\0\0\0\x02\0\0\0\x01garbage"].concat();
    let answer = bed.post(path, &[login], &broken).await;
    assert!(answer.text().contains("unpack ") && !answer.text().contains("unpack ok"), "{}", answer.text());
    bed.fsck("alice/bad").await;
}

#[tokio::test]
async fn refs_are_branches_tags_and_notes_with_proper_names() {
    let bed = Bed::new().await;
    let (work, url) = (bed.work("work"), bed.url("alice", "alice/refs"));
    work.push_first(&url).await;
    let head = work.ok(&["rev-parse", "HEAD"]).await.trim().to_string();
    let names = [
        "refs/heads/../../../evil",
        "refs/heads/a..b",
        "refs/heads/.hidden",
        "refs/heads/x.lock",
        "refs/heads/a b",
        "refs/heads/a~1",
        "refs/heads/\u{1b}[2J",
        "HEAD",
        "config",
        "../x",
        "refs/gsv/inner",
        "refs/remotes/origin/x",
    ];
    for name in names {
        let told = push_raw(&bed, "alice/refs", &[format!("{ZEROS} {head} {name}")]).await;
        assert!(told.contains("ng ") && !told.contains("ok refs"), "{name}: {told:?}");
    }
    let good = ["refs/heads/ok", "refs/tags/v1", "refs/notes/commits"];
    let commands: Vec<String> = good.iter().map(|name| format!("{ZEROS} {head} {name}")).collect();
    let told = push_raw(&bed, "alice/refs", &commands).await;
    assert_eq!(told.matches("ok refs/").count(), 3, "{told:?}");
    // What the gateway keeps in other refs is not shown.
    bed.at(&bed.bare("alice/refs")).ok(&["update-ref", "refs/gsv/inner", &head]).await;
    let shown = bed.git(&["ls-remote", &url]).await.assert_ok();
    assert!(shown.contains("refs/tags/v1") && !shown.contains("refs/gsv"), "{shown}");
    let owners = std::fs::read_dir(bed.gateway.data().join("repos")).unwrap();
    let owners: Vec<_> = owners.map(|entry| entry.unwrap().file_name()).collect();
    assert!(owners.iter().all(|owner| owner == "alice" || owner == "root"), "{owners:?}");
    bed.fsck("alice/refs").await;
}

#[tokio::test]
async fn a_push_that_is_too_large_is_refused_and_leaves_nothing() {
    let bed = Bed::new().await;
    let (work, url) = (bed.work("work"), bed.url("alice", "alice/big"));
    work.push_first(&url).await;
    let set = json!({ "key": "config/git/push_max_bytes", "value": "1048576" });
    bed.gateway.root().await.call("sys.config.set", set).await.unwrap();
    work.commit_bytes("big.bin", &noise(4 << 20, 1), "big").await;
    let did = work.git(&["push", &url, "main"]).await;
    assert!(did.code != 0 && did.err.contains("exceeds maximum allowed size"), "{did:?}");
    let bare = bed.bare("alice/big");
    assert_eq!(bed.at(&bare).ok(&["rev-list", "--count", "main"]).await.trim(), "1");
    let objects = std::fs::read_dir(bare.join("objects")).unwrap();
    let names: Vec<String> =
        objects.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    assert!(names.iter().all(|name| !name.starts_with("tmp_")), "{names:?}");
    work.ok(&["reset", "-q", "--hard", "HEAD~1"]).await;
    work.commit("small", "small", "small").await;
    work.ok(&["push", &url, "main"]).await;
    bed.fsck("alice/big").await;
}

const TEN_GIB: u64 = 10 << 30;

/// What stands before a file in a pack: its kind and size.
fn blob_head(size: u64) -> Vec<u8> {
    let (mut head, mut left) = (vec![0xb0 | (size & 0xf) as u8], size >> 4);
    while left > 0 {
        head.push((left & 0x7f) as u8 | if left > 0x7f { 0x80 } else { 0 });
        left >>= 7;
    }
    head
}

#[tokio::test]
async fn a_push_of_ten_gigabytes_is_refused_long_before_its_end() {
    let bed = Bed::new().await;
    let (work, url) = (bed.work("work"), bed.url("alice", "alice/huge"));
    work.push_first(&url).await;
    let path = "/git/alice/huge/git-receive-pack";
    let kind = ("content-type".to_string(), "application/x-git-receive-pack-request".to_string());
    let login = basic("alice", PASSWORD_OF_ALL);
    // Whoever says how much it will be is told at once.
    let head = request_head("POST", path, &[login.clone(), kind.clone()], TEN_GIB as usize);
    let mut socket = TcpStream::connect(bed.gateway.address).await.unwrap();
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    // Whoever does not is cut off when it is too much.
    let set = json!({ "key": "config/git/push_max_bytes", "value": "1048576" });
    bed.gateway.root().await.call("sys.config.set", set).await.unwrap();
    let head = request_head("POST", path, &[login, kind], 0)
        .replace("content-length: 0", "transfer-encoding: chunked");
    let command = line(&format!("{ZEROS} {} refs/heads/x\0report-status", "1".repeat(40)));
    let begin =
        [command.as_bytes(), b"0000PACK\0\0\0\x02\0\0\0\x01", &blob_head(TEN_GIB), b"\x78\x01"].concat();
    let (mut reading, mut writing) = TcpStream::connect(bed.gateway.address).await.unwrap().into_split();
    writing.write_all(head.as_bytes()).await.unwrap();
    let first = [format!("{:x}\r\n", begin.len()).as_bytes(), &begin, b"\r\n"].concat();
    writing.write_all(&first).await.unwrap();
    // Sixteen stored blocks of zlib's format.
    let block = [b"\0\xff\xff\0\0".as_slice(), &[7; 65_535]].concat();
    let chunk = [b"100040\r\n".as_slice(), &block.repeat(16), b"\r\n"].concat();
    let sending = async {
        let mut sent = 0;
        while sent < TEN_GIB && writing.write_all(&chunk).await.is_ok() {
            sent += 1 << 20;
        }
        sent
    };
    let receiving = async {
        let mut answer = Vec::new();
        // It may be reset when it is closed while something is on its way.
        drop(reading.read_to_end(&mut answer).await);
        answer
    };
    let (sent, _answer) = tokio::join!(sending, receiving);
    assert!(sent < TEN_GIB / 20, "{sent} bytes were taken");
    assert_eq!(bed.at(&bed.bare("alice/huge")).ok(&["for-each-ref"]).await.lines().count(), 1);
    let left = std::fs::read_dir(bed.bare("alice/huge").join("objects")).unwrap();
    let left: Vec<_> = left.flatten().map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with("tmp_")), "{left:?}");
    work.commit("small", "small", "small").await;
    work.ok(&["push", &url, "main"]).await;
}

#[tokio::test]
async fn bombs_cost_the_gateway_little() {
    let bed = Bed::new().await;
    let (work, url) = (bed.work("work"), bed.url("alice", "alice/bomb"));
    work.push_first(&url).await;
    // A request that inflates to a thousand times its size.
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(&vec![b'0'; 64 << 20]).unwrap();
    let bomb = gzip.finish().unwrap();
    let headers = [basic("alice", PASSWORD_OF_ALL), ("content-encoding".to_string(), "gzip".to_string())];
    let fetched = bed.post("/git/alice/bomb/git-upload-pack", &headers, &bomb).await;
    assert!(fetched.status >= 400 || !fetched.text().contains("PACK"), "{}", fetched.text());
    // Zeros are flushes: the push has no commands, and git does not read on.
    let pushed = bed.post("/git/alice/bomb/git-receive-pack", &headers, &bomb).await;
    assert!(pushed.body.len() < 1_000, "{}", pushed.text());
    // A file that is small only while it is packed: taken as it is, not unpacked in memory.
    work.commit_bytes("zeros", &vec![0; 200 << 20], "zeros").await;
    work.ok(&["push", &url, "main"]).await;
    let bare = bed.at(&bed.bare("alice/bomb"));
    let size = bare.ok(&["cat-file", "-s", "main:zeros"]).await;
    assert_eq!(size.trim(), (200 << 20).to_string());
    bed.fsck("alice/bomb").await;
}

#[tokio::test]
async fn nothing_that_was_pushed_is_run() {
    let bed = Bed::new().await;
    let (work, url) = (bed.work("work"), bed.url("alice", "alice/hooks"));
    work.push_first(&url).await;
    // Even a hook that somehow got into the repository itself.
    let (hooks, ran) = (bed.bare("alice/hooks").join("hooks"), bed.dir("ran"));
    std::fs::create_dir_all(&hooks).unwrap();
    for hook in ["pre-receive", "update", "post-receive", "post-update", "reference-transaction"] {
        let path = hooks.join(hook);
        std::fs::write(&path, format!("#!/bin/sh\ntouch {}\n", ran.display())).unwrap();
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    work.commit("x", "y", "more").await;
    work.ok(&["push", &url, "main"]).await;
    assert!(!ran.exists());
}
