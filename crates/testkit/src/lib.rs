//! Test fixtures: a whole gateway on a free port, and raw sockets that speak to it.

// A helper of tests that cannot do its work has nothing better to do than to end the test.
#![allow(clippy::expect_used)]

mod data;
pub mod gateway;
pub mod guest_program;
pub mod peer;
pub mod postgres;
pub mod tls;

pub use gateway::Gateway;
/// A model provider for tests: scripted turns over the wire formats of the real ones.
pub use model::fake as fake_model;
pub use peer::Peer;
pub use postgres::Postgres;

/// What `GET path` answers, head and body.
pub async fn http_get(address: std::net::SocketAddr, path: &str) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::TcpStream::connect(address).await.expect("the gateway listens");
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("the gateway reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("the gateway answers");
    answer
}
