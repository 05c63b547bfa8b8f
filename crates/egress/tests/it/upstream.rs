//! Servers behind the proxy: one that answers HTTP and tells every byte it heard, and one that echoes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

pub struct Upstream {
    pub address: SocketAddr,
    heard: mpsc::Receiver<String>,
    connections: Arc<AtomicUsize>,
}

impl Upstream {
    /// Answers `hello` once it has heard a head, or a text with `END` at its end, and goes on listening.
    pub async fn http() -> Upstream {
        Upstream::http_with("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello".into())
            .await
    }

    pub async fn http_with(answer: String) -> Upstream {
        let answer: Arc<str> = answer.into();
        Upstream::start("127.0.0.1:0", move |stream, told| serve_http(stream, told, answer.clone())).await
    }

    /// Sends back what it hears.
    pub async fn echo() -> Upstream {
        Upstream::echo_at("127.0.0.1:0").await
    }

    pub async fn echo_at(address: &str) -> Upstream {
        Upstream::start(address, |stream, _| async move {
            let (mut read, mut write) = stream.into_split();
            let _ended = tokio::io::copy(&mut read, &mut write).await;
        })
        .await
    }

    async fn start<Served>(
        address: &str,
        serve: impl Fn(TcpStream, mpsc::Sender<String>) -> Served + Send + 'static,
    ) -> Upstream
    where
        Served: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind(address).await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (told, heard) = mpsc::channel(64);
        let connections = Arc::<AtomicUsize>::default();
        let counted = connections.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(stream, told.clone()));
            }
        });
        Upstream { address, heard, connections }
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Everything that the next connection said, once it has ended.
    pub async fn heard(&mut self) -> String {
        self.heard.recv().await.expect("a connection")
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

async fn serve_http(mut stream: TcpStream, told: mpsc::Sender<String>, answer: Arc<str>) {
    let mut bytes = Vec::new();
    let mut answered = false;
    let mut chunk = [0; 4_096];
    loop {
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => break,
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
        }
        let has_body = bytes.windows(8).any(|part| part == b"\r\nX-Body");
        let is_whole =
            if has_body { bytes.windows(3).any(|part| part == b"END") } else { bytes.ends_with(b"\r\n\r\n") };
        if is_whole && !answered {
            answered = true;
            // A client that has heard enough may be gone.
            let _sent = stream.write_all(answer.as_bytes()).await;
            let _sent = stream.shutdown().await;
        }
    }
    told.send(String::from_utf8_lossy(&bytes).into_owned()).await.expect("a test that listens");
}
