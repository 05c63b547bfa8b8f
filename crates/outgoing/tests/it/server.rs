//! Test server on a free port of this machine that answers with raw text and records what it was asked.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

struct Shared {
    answer: Box<dyn Fn(&str) -> String + Send + Sync>,
    asked: Mutex<Vec<String>>,
    connections: AtomicUsize,
    keeps: bool,
}

pub struct Server {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

impl Server {
    /// Answers each request with what `answer` makes of it, and closes the connection.
    pub async fn start(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Server {
        Server::with(answer, false).await
    }

    /// The same, and the connection stays open.
    pub async fn keeping_connections(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Server {
        Server::with(answer, true).await
    }

    async fn with(answer: impl Fn(&str) -> String + Send + Sync + 'static, keeps: bool) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            answer: Box::new(answer),
            asked: Mutex::default(),
            connections: AtomicUsize::new(0),
            keeps,
        });
        let served = shared.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                served.connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(stream, served.clone()));
            }
        });
        Server { address, shared }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn asked(&self) -> Vec<String> {
        self.shared.asked.lock().expect("not poisoned").clone()
    }

    pub fn last(&self) -> String {
        self.asked().pop().expect("a request")
    }

    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }
}

async fn serve(mut stream: TcpStream, shared: Arc<Shared>) {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4_096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
            if body.len() >= length.map_or(0, |length| length.parse().expect("a number")) {
                shared.asked.lock().expect("not poisoned").push(text.clone());
                // A client that has heard enough may be gone.
                if stream.write_all((shared.answer)(&text).as_bytes()).await.is_err() || !shared.keeps {
                    return;
                }
                bytes.clear();
            }
        }
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => return,
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
        }
    }
}

/// The path of a request.
pub fn path(asked: &str) -> &str {
    asked.split(' ').nth(1).unwrap_or_default()
}

pub fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

pub fn to(status: u16, location: &str) -> String {
    format!("HTTP/1.1 {status} Elsewhere\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n")
}

/// An address at which nobody listens any more.
pub async fn closed_port() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    listener.local_addr().expect("an address")
}

/// Somebody who speaks first, and not HTTP.
pub async fn greeting(words: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a client");
        stream.write_all(words.as_bytes()).await.expect("a client that reads");
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.unwrap_or_default()
    });
    address
}
