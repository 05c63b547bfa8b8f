//! Tests of `repo.import` over real sockets, from a server that speaks git's protocol with the git program behind it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::{Gateway, Peer};

fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=g", "-c", "user.email=g@x", "-c", "protocol.file.allow=always"])
        .args(args)
        .current_dir(dir)
        .output()
        .unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_string()
}

/// A repository with a history, and a server in front of it.
struct Origin {
    dir: tempfile::TempDir,
    url: String,
}

impl Origin {
    fn new() -> Origin {
        let dir = tempfile::tempdir().unwrap();
        let work = dir.path().join("x");
        std::fs::create_dir(&work).unwrap();
        git(&work, &["init", "-q", "-b", "trunk"]);
        for number in 0..20 {
            std::fs::write(work.join("file"), format!("{number}\n").repeat(200 + number)).unwrap();
            git(&work, &["add", "."]);
            git(&work, &["commit", "-qm", &format!("commit {number}")]);
        }
        git(&work, &["tag", "-a", "v1", "-m", "one", "HEAD~5"]);
        git(&work, &["gc", "-q"]);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/x", listener.local_addr().unwrap());
        let root = work.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let root = root.clone();
                std::thread::spawn(move || serve(stream.unwrap(), &root));
            }
        });
        Origin { dir, url }
    }

    fn work(&self) -> PathBuf {
        self.dir.path().join("x")
    }
}

/// One request, answered by `git upload-pack`.
fn serve(mut stream: TcpStream, root: &Path) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return,
        }
    }
    let head = String::from_utf8(head).unwrap();
    let length =
        head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).unwrap();
    let is_list = head.starts_with("GET");
    let mut child = Command::new("git")
        .args(["upload-pack", "--stateless-rpc"])
        .args(is_list.then_some("--advertise-refs"))
        .arg(root)
        .env("GIT_PROTOCOL", "version=2")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&body).unwrap();
    let output = child.wait_with_output().unwrap().stdout;
    let mut answer = Vec::new();
    if is_list {
        answer.extend(b"001e# service=git-upload-pack\n0000");
    }
    answer.extend(output);
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", answer.len());
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&answer)).ok();
}

async fn done(peer: &mut Peer, call: &str, args: Value) -> Value {
    peer.call(call, args.clone()).await.unwrap_or_else(|refused| panic!("{call} {args}: {refused:?}"))
}

async fn allow_private(gateway: &Gateway) {
    let args = json!({ "key": "config/repo/network_private", "value": "true" });
    gateway.root().await.call("sys.config.set", args).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_is_imported_and_brought_up_to_date() {
    let (gateway, origin) = (Gateway::set_up().await, Origin::new());
    allow_private(&gateway).await;
    let mut alice = gateway.user().await;
    let args = json!({ "repo": "alice/copy", "remoteUrl": origin.url });
    let id = alice.send_call("repo.import", args.clone()).await;
    let stage = alice.signal("repo.import.progress").await["stage"].clone();
    assert_eq!(stage, "receiving");
    let imported = alice.answer(&id).await.unwrap();
    let head = git(&origin.work(), &["rev-parse", "HEAD"]);
    assert_eq!((&imported["head"], &imported["remoteRef"]), (&json!(head), &json!("trunk")));
    assert_eq!((&imported["changed"], &imported["ref"]), (&json!(true), &json!("main")));
    let path = gateway.data().join("repos/alice/copy.git");
    assert_eq!(git(&path, &["fsck", "--strict", "--full"]), "");
    assert_eq!(git(&path, &["rev-list", "--count", "main"]), "20");
    let left = |path: &Path| {
        path.read_dir()
            .unwrap()
            .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("gsv-"))
            .count()
    };
    assert_eq!(left(&path), 0);

    // Again: nothing new, then what is new, as a pack on top of what is here.
    assert_eq!(done(&mut alice, "repo.import", args.clone()).await["changed"], false);
    std::fs::write(origin.work().join("file"), "changed\n").unwrap();
    git(&origin.work(), &["commit", "-qam", "later"]);
    let again = done(&mut alice, "repo.import", json!({ "repo": "alice/copy" })).await;
    assert_eq!(again["changed"], true);
    assert_eq!(git(&path, &["rev-list", "--count", "main"]), "21");
    assert_eq!(git(&path, &["fsck", "--strict", "--full"]), "");

    // A tag, into another ref.
    let tag = json!({ "repo": "alice/copy", "ref": "one", "remoteUrl": origin.url, "remoteRef": "v1" });
    assert_eq!(
        done(&mut alice, "repo.import", tag).await["head"],
        git(&origin.work(), &["rev-parse", "v1^{}"])
    );

    // What is here only is not lost.
    let own = json!({ "repo": "alice/copy", "message": "own", "ops": [{ "type": "put", "path": "own", "content": "x" }] });
    done(&mut alice, "repo.apply", own).await;
    assert_eq!(done(&mut alice, "repo.import", args.clone()).await["changed"], false, "it is ahead");
    git(&origin.work(), &["commit", "-q", "--allow-empty", "-m", "meanwhile"]);
    assert_eq!(alice.call("repo.import", args).await.unwrap_err().code, 409);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_imported_leaves_nothing() {
    let (gateway, origin) = (Gateway::set_up().await, Origin::new());
    let mut alice = gateway.user().await;
    let import = |url: &str, reference: &str| json!({ "repo": "alice/copy", "remoteUrl": url, "remoteRef": reference });
    let refused = alice.call("repo.import", import(&origin.url, "trunk")).await.unwrap_err();
    assert_eq!(refused.code, 403);
    assert!(refused.message.contains("config/repo/network_private"), "{}", refused.message);
    allow_private(&gateway).await;
    for (url, reference, code) in [
        (origin.url.as_str(), "nothing", 404),
        ("ssh://host/x", "x", 400),
        ("file:///etc", "x", 403),
        ("nonsense", "x", 400),
        ("http://127.0.0.1:1/x", "x", 503),
        (origin.url.as_str(), "a\nwant b", 400),
    ] {
        assert_eq!(alice.call("repo.import", import(url, reference)).await.unwrap_err().code, code, "{url}");
    }
    assert!(!gateway.data().join("repos/alice/copy.git").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_names_in_a_repository_are_refused() {
    let (gateway, origin) = (Gateway::set_up().await, Origin::new());
    allow_private(&gateway).await;
    let mut alice = gateway.user().await;
    let blob = git(&origin.work(), &["rev-parse", "HEAD:file"]);
    for name in [".git", "..", ".GIT", "git~1"] {
        // Git itself would not make such a directory.
        let mut tree = format!("100644 {name}\0").into_bytes();
        tree.extend((0..20).map(|at| u8::from_str_radix(&blob[2 * at..2 * at + 2], 16).unwrap()));
        std::fs::write(origin.work().join("../tree"), tree).unwrap();
        let tree = git(&origin.work(), &["hash-object", "-t", "tree", "--literally", "-w", "../tree"]);
        let commit = git(&origin.work(), &["commit-tree", &tree, "-m", "bad"]);
        git(&origin.work(), &["update-ref", "refs/heads/bad", &commit]);
        let args = json!({ "repo": "alice/copy", "remoteUrl": origin.url, "remoteRef": "bad" });
        let refused = alice.call("repo.import", args).await.unwrap_err();
        assert_eq!(refused.code, 400, "{name}");
        assert!(refused.message.contains(name), "{}", refused.message);
        let refs = done(&mut alice, "repo.refs", json!({ "repo": "alice/copy" })).await;
        assert_eq!(refs["heads"], json!({}));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn root_imports_from_a_path() {
    let (gateway, origin) = (Gateway::set_up().await, Origin::new());
    let mut root = gateway.root().await;
    let url = format!("file://{}", origin.work().display());
    let imported = done(&mut root, "repo.import", json!({ "repo": "root/copy", "remoteUrl": url })).await;
    assert_eq!(imported["head"], git(&origin.work(), &["rev-parse", "HEAD"]));
    let path = gateway.data().join("repos/root/copy.git");
    assert_eq!(git(&path, &["fsck", "--strict", "--full"]), "");
    assert_eq!(git(&path, &["rev-list", "--count", "main"]), "20");
}
