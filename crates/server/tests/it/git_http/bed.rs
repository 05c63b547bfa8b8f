//! Test bed: a gateway, the real git program with nothing of the machine's settings, and raw requests.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use testkit::gateway::{Gateway, PASSWORD, ROOT_PASSWORD};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::Command;

/// The password of every user but root.
pub const PASSWORD_OF_ALL: &str = PASSWORD;

pub struct Bed {
    pub gateway: Gateway,
    home: tempfile::TempDir,
}

/// What git did.
#[derive(Debug)]
pub struct Did {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Did {
    #[track_caller]
    pub fn assert_ok(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.out
    }
}

impl Bed {
    pub async fn new() -> Bed {
        let gateway = Gateway::set_up().await;
        Bed { gateway, home: tempfile::Builder::new().prefix("home-").tempdir().unwrap() }
    }

    pub async fn add_user(&self, name: &str) {
        self.gateway.add_user(name).await;
    }

    pub fn dir(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub fn plain_url(&self, repo: &str) -> String {
        format!("http://{}/git/{repo}", self.gateway.address)
    }

    pub fn url_with(&self, user: &str, secret: &str, repo: &str) -> String {
        format!("http://{user}:{secret}@{}/git/{repo}", self.gateway.address)
    }

    pub fn url(&self, user: &str, repo: &str) -> String {
        self.url_with(user, if user == "root" { ROOT_PASSWORD } else { PASSWORD }, repo)
    }

    pub async fn user_token(&self, user: &str) -> String {
        let mut peer = self.gateway.login(user, PASSWORD).await;
        let made = peer.call("sys.token.create", json!({ "kind": "user", "label": "git" })).await.unwrap();
        made["token"]["token"].as_str().unwrap().to_string()
    }

    pub async fn git(&self, args: &[&str]) -> Did {
        self.at(self.home.path()).git(args).await
    }

    pub fn at(&self, path: &Path) -> Work {
        Work { path: path.to_path_buf(), home: self.home.path().to_path_buf() }
    }

    /// A fresh work tree.
    pub fn work(&self, name: &str) -> Work {
        let work = self.at(&self.dir(name));
        std::fs::create_dir(&work.path).unwrap();
        let made =
            std::process::Command::new("git").args(["init", "-q", "-b", "main"]).arg(&work.path).status();
        assert!(made.unwrap().success());
        work
    }

    /// The bare repository on the gateway's disk.
    pub fn bare(&self, repo: &str) -> PathBuf {
        self.gateway.data().join("repos").join(format!("{repo}.git"))
    }

    /// Git itself finds nothing wrong with it.
    pub async fn fsck(&self, repo: &str) {
        let did = self.at(&self.bare(repo)).git(&["fsck", "--strict", "--full"]).await;
        assert_eq!(did.code, 0, "{did:?}");
    }

    pub async fn get(&self, path: &str, headers: &[(String, String)]) -> Answer {
        exchange(self.gateway.address, "GET", path, headers, b"").await
    }

    pub async fn post(&self, path: &str, headers: &[(String, String)], body: &[u8]) -> Answer {
        let service = path.rsplit('/').next().unwrap();
        self.post_as(path, &format!("application/x-{service}-request"), headers, body).await
    }

    pub async fn post_as(&self, path: &str, kind: &str, headers: &[(String, String)], body: &[u8]) -> Answer {
        let headers = [headers, &[("content-type".to_string(), kind.to_string())]].concat();
        exchange(self.gateway.address, "POST", path, &headers, body).await
    }
}

/// A directory that git works in.
pub struct Work {
    path: PathBuf,
    home: PathBuf,
}

impl Work {
    pub fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new("git");
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", &self.home)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .env("GIT_ASKPASS", "false")
            .current_dir(&self.path)
            .kill_on_drop(true);
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "Ann").env(format!("GIT_{who}_EMAIL"), "ann@example.org");
        }
        command
    }

    pub async fn git(&self, args: &[&str]) -> Did {
        self.git_with(args, b"").await
    }

    pub async fn git_with(&self, args: &[&str], stdin: &[u8]) -> Did {
        let piped = std::process::Stdio::piped;
        let mut command = self.command();
        let mut child = command.args(args).stdin(piped()).stdout(piped()).stderr(piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let writing = async move {
            // What does not read its input is in its right.
            drop(input.write_all(stdin).await);
        };
        let (output, ()) = tokio::join!(child.wait_with_output(), writing);
        let output = output.unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Did { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
    }

    pub async fn ok(&self, args: &[&str]) -> String {
        let did = self.git(args).await;
        assert_eq!(did.code, 0, "git {args:?}: {did:?}");
        did.out
    }

    /// An object from its content, whatever it is.
    pub async fn object(&self, kind: &str, content: &[u8]) -> String {
        let args = ["hash-object", "-w", "--literally", "-t", kind, "--stdin"];
        let did = self.git_with(&args, content).await;
        assert_eq!(did.code, 0, "{did:?}");
        did.out.trim().to_string()
    }

    pub async fn commit(&self, name: &str, content: &str, message: &str) {
        self.commit_bytes(name, content.as_bytes(), message).await;
    }

    pub async fn commit_bytes(&self, name: &str, content: &[u8], message: &str) {
        std::fs::write(self.path(name), content).unwrap();
        self.ok(&["add", "."]).await;
        self.ok(&["commit", "-q", "--allow-empty", "-m", message]).await;
    }

    /// A first commit, pushed.
    pub async fn push_first(&self, url: &str) {
        self.commit("README.md", "hello\n", "first").await;
        self.ok(&["push", "-q", url, "main"]).await;
    }
}

/// What was answered over HTTP.
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

pub fn basic(user: &str, secret: &str) -> (String, String) {
    ("authorization".to_string(), format!("Basic {}", STANDARD.encode(format!("{user}:{secret}"))))
}

/// The text of a request up to its body.
pub fn request_head(method: &str, path: &str, headers: &[(String, String)], length: usize) -> String {
    let lines: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: gateway\r\nconnection: close\r\ncontent-length: {length}\r\n{lines}\r\n"
    )
}

/// One request over a socket of its own.
pub async fn exchange(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(String, String)],
    body: &[u8],
) -> Answer {
    let mut socket = TcpStream::connect(address).await.unwrap();
    socket.write_all(request_head(method, path, headers, body.len()).as_bytes()).await.unwrap();
    // It may be refused before it was read.
    drop(socket.write_all(body).await);
    let mut answer = Vec::new();
    drop(socket.read_to_end(&mut answer).await);
    parse(&answer)
}

/// An answer from its bytes; chunks are put together.
pub fn parse(answer: &[u8]) -> Answer {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let body = &answer[end + 4..];
    let body = if head.contains("transfer-encoding: chunked") { unchunked(body) } else { body.to_vec() };
    Answer { status, head, body }
}

fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = body.windows(2).position(|two| two == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&body[..end]).unwrap(), 16).unwrap();
        let Some(chunk) = body.get(end + 2..end + 2 + size) else { break };
        whole.extend_from_slice(chunk);
        body = body.get(end + 4 + size..).unwrap_or_default();
    }
    whole
}

/// One line of git's format.
pub fn line(text: &str) -> String {
    format!("{:04x}{text}", text.len() + 4)
}

/// Bytes that cannot be compressed, the same for the same seed.
pub fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..length / 8).flat_map(|_| next().to_le_bytes()).collect()
}
