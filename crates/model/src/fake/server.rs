//! Fake HTTP server on a free port of this machine: answers what it is told to, in pieces of any size.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base::limits;
use base::sync::lock;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Received {
    /// Such as `POST`.
    pub method: String,
    /// With its query.
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The bytes of the body.
    pub body: Vec<u8>,
}

impl Received {
    /// The value of a header; empty when there is none.
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    /// The body as JSON; null when it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// What the server answers.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Such as 200.
    pub status: u16,
    /// Beside those of the body's framing.
    pub headers: Vec<(String, String)>,
    /// The body, piece by piece.
    pub chunks: Vec<Chunk>,
}

/// A piece of what the server does.
#[derive(Clone, Debug)]
pub enum Chunk {
    /// Sends these bytes at once.
    Bytes(Vec<u8>),
    /// Waits.
    Pause(Duration),
    /// Waits until somebody notifies.
    Gate(Arc<Notify>),
    /// Sends these bytes over and over.
    Endless(Vec<u8>),
    /// Does nothing until the client goes away.
    Hang,
    /// Closes the connection in the middle.
    Close,
}

impl Reply {
    /// A stream of server-sent events, cut into pieces of `size` bytes.
    pub fn events(body: &str, size: usize) -> Reply {
        Reply::cut("text/event-stream", body, size)
    }

    /// A body cut into pieces of `size` bytes.
    pub fn cut(content_type: &str, body: &str, size: usize) -> Reply {
        let chunks = body.as_bytes().chunks(size.max(1)).map(|piece| Chunk::Bytes(piece.to_vec())).collect();
        let headers = vec![("content-type".to_owned(), content_type.to_owned())];
        Reply { status: 200, headers, chunks }
    }

    /// A status with a body of JSON.
    pub fn json(status: u16, body: Value) -> Reply {
        Reply { status, ..Reply::cut("application/json", &body.to_string(), usize::MAX) }
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Reply {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds a piece.
    pub fn then(mut self, chunk: Chunk) -> Reply {
        self.chunks.push(chunk);
        self
    }
}

type Answers = dyn Fn(&Received) -> Reply + Send + Sync;

struct Shared {
    answers: Box<Answers>,
    received: Mutex<Vec<Received>>,
    connections: AtomicUsize,
    /// Answers that ended because the client went away.
    left: watch::Sender<usize>,
}

/// The server; it stops when it is dropped.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

impl Server {
    /// Starts a server that answers each request with what `answers` makes of it.
    pub async fn start(answers: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> io::Result<Server> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let left = watch::channel(0).0;
        let shared = Arc::new(Shared {
            answers: Box::new(answers),
            received: Mutex::default(),
            connections: AtomicUsize::new(0),
            left,
        });
        let accepting = tokio::spawn(accept(listener, shared.clone()));
        Ok(Server { address, shared, accepting })
    }

    /// Starts a server that gives these replies one after the other, the last one for ever.
    pub async fn replying(replies: Vec<Reply>) -> io::Result<Server> {
        let count = Mutex::new(0);
        Server::start(move |_| {
            let mut count = lock(&count);
            let reply = replies.get(*count).or(replies.last());
            *count += 1;
            reply.cloned().unwrap_or_else(|| Reply::json(500, Value::Null))
        })
        .await
    }

    /// Its address, with the version path.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// What it was asked, oldest first.
    pub fn received(&self) -> Vec<Received> {
        lock(&self.shared.received).clone()
    }

    /// How many connections were made to it.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// Returns once so many answers ended because the client closed its connection.
    pub async fn clients_left(&self, count: usize) {
        let mut left = self.shared.left.subscribe();
        // The sender lives as long as the server.
        if left.wait_for(|seen| *seen >= count).await.is_err() {
            tracing::debug!("the server is gone");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        shared.connections.fetch_add(1, Ordering::Relaxed);
        let shared = shared.clone();
        while connections.try_join_next().is_some() {}
        connections.spawn(async move {
            if let Err(error) = serve(stream, &shared).await {
                tracing::debug!(%error, "a connection to the fake model ended");
            }
        });
    }
}

async fn serve(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::new();
    while let Some(request) = read_request(&mut stream, &mut buffer).await? {
        let reply = (shared.answers)(&request);
        lock(&shared.received).push(request);
        if !answer(&mut stream, reply, shared).await? {
            return Ok(());
        }
    }
    Ok(())
}

async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<Option<Received>> {
    let end = loop {
        if let Some(at) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(buffer).await? == 0 || buffer.len() > limits::frame::MAX_BYTES {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
    buffer.drain(..end + 4);
    let mut lines = head.split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ').map(str::to_owned);
    let (method, path) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_lowercase(), value.trim().to_owned()))
        .collect();
    let mut request = Received { method, path, headers, body: Vec::new() };
    let length: usize = request.header("content-length").parse().unwrap_or(0);
    while buffer.len() < length.min(limits::frame::MAX_BYTES) {
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
    request.body = buffer.drain(..length.min(buffer.len())).collect();
    Ok(Some(request))
}

/// Plays a reply; false when the connection cannot be used again.
async fn answer(stream: &mut TcpStream, reply: Reply, shared: &Shared) -> io::Result<bool> {
    if matches!(reply.chunks.first(), Some(Chunk::Close)) && reply.status == 0 {
        return Ok(false);
    }
    let mut head = format!("HTTP/1.1 {} X\r\ntransfer-encoding: chunked\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{head}\r\n").as_bytes()).await?;
    for chunk in reply.chunks {
        let (mut from, mut to) = stream.split();
        let play = async {
            match chunk {
                Chunk::Bytes(bytes) => write_chunk(&mut to, &bytes).await.map(|()| true),
                Chunk::Endless(bytes) => loop {
                    write_chunk(&mut to, &bytes).await?;
                },
                Chunk::Pause(pause) => {
                    tokio::time::sleep(pause).await;
                    Ok(true)
                }
                Chunk::Gate(gate) => {
                    gate.notified().await;
                    Ok(true)
                }
                Chunk::Hang => std::future::pending().await,
                Chunk::Close => Ok(false),
            }
        };
        let mut byte = [0u8; 1];
        tokio::select! {
            biased;
            going = play => match going {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(error) => {
                    shared.left.send_modify(|left| *left += 1);
                    return Err(error);
                }
            },
            // A client that waits for its answer sends nothing: a read ends only when it goes away.
            _ = from.read(&mut byte) => {
                shared.left.send_modify(|left| *left += 1);
                return Ok(false);
            }
        }
    }
    stream.write_all(b"0\r\n\r\n").await?;
    Ok(true)
}

async fn write_chunk(to: &mut (impl AsyncWriteExt + Unpin), bytes: &[u8]) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    let mut piece = format!("{:x}\r\n", bytes.len()).into_bytes();
    piece.extend_from_slice(bytes);
    piece.extend_from_slice(b"\r\n");
    to.write_all(&piece).await
}
