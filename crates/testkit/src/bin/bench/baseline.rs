//! Baseline servers that the gateway is compared with, and the driver that answers for both. They are written to be
//! fast: the gateway's own WebSocket library on plain TCP without HTTP routing, no delay on small packets, everything
//! that is ready handled before one flush, every socket owned by one task without locks.

pub(crate) mod driver;
pub(crate) mod echo;
pub(crate) mod relay;

use std::io::Write;
use std::net::SocketAddr;

use anyhow::{Context, Result};
use clap::Args;
use tokio::net::{TcpListener, TcpStream};
use tokio_websockets::{Config, ServerBuilder};

/// Where a bare server listens.
#[derive(Args)]
pub(crate) struct ListenArgs {
    /// A free port when absent.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
}

impl ListenArgs {
    /// Listens, and prints the address as the gateway does.
    pub(crate) async fn listen(&self) -> Result<TcpListener> {
        let listener = TcpListener::bind(self.listen).await.context("listen")?;
        announce(&format!("listening on http://{}", listener.local_addr()?))?;
        Ok(listener)
    }
}

/// Prints a line at once.
pub(crate) fn announce(line: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// The next connection, set up as every server here wants it.
pub(crate) async fn accept(listener: &TcpListener) -> Result<TcpStream> {
    let (stream, _peer) = listener.accept().await.context("accept a connection")?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// How both servers speak WebSocket: large writes, and messages in one piece.
pub(crate) fn server() -> ServerBuilder {
    const FLUSH_BYTES: usize = 64 * 1024;
    const FRAME_BYTES: usize = 64 * 1024 * 1024;
    ServerBuilder::new().config(Config::default().flush_threshold(FLUSH_BYTES).frame_size(FRAME_BYTES))
}
