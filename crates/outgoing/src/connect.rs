//! Connector of the connection pool: resolves, checks, opens TCP to a checked address (Happy Eyeballs, RFC 8305), then
//! TLS.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use base::clock::Clock;
use base::limits;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use http::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tower_service::Service;
use url::Host;

use crate::error::{Error, Stage};
use crate::guard;
use crate::settings::{Peer, Settings};

/// Opens connections for the pool.
#[derive(Clone)]
pub(crate) struct Connector(pub(crate) Arc<Settings>);

impl Service<Uri> for Connector {
    type Response = TokioIo<Stream>;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<TokioIo<Stream>, Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let settings = self.0.clone();
        Box::pin(async move {
            let limit = settings.connect_timeout;
            let opened = tokio::time::timeout(limit, open(&settings, &uri)).await;
            opened.unwrap_or(Err(Error::TimedOut { stage: Stage::Connecting, limit })).map(TokioIo::new)
        })
    }
}

/// Opens TCP to a host by way of the guard, for what is no HTTP of ours: one lookup, every address checked, and the
/// connection goes to a checked one.
pub async fn open_tcp(settings: &Settings, host: &str, port: u16) -> Result<(TcpStream, Peer), Error> {
    let limit = settings.connect_timeout;
    let host = Host::parse(host).map_err(|why| Error::BadUrl(why.to_string()))?;
    let opened = tokio::time::timeout(limit, open_checked(settings, &host, port)).await;
    opened.unwrap_or(Err(Error::TimedOut { stage: Stage::Connecting, limit }))
}

async fn open_checked(settings: &Settings, host: &Host, port: u16) -> Result<(TcpStream, Peer), Error> {
    let started = Clock::system().instant();
    let addresses = guard::addresses(settings, host, port).await?;
    let (stream, address) = open_first(addresses).await.map_err(|error| Error::Connect {
        host: host.to_string(),
        port,
        why: error.to_string(),
    })?;
    let connect_time = Clock::system().instant().saturating_duration_since(started);
    Ok((stream, Peer { address, connect_time }))
}

async fn open(settings: &Settings, uri: &Uri) -> Result<Stream, Error> {
    let name = uri.host().unwrap_or_default();
    let host = Host::parse(name).map_err(|why| Error::BadUrl(why.to_string()))?;
    let encrypted = uri.scheme_str() != Some("http");
    let port = uri.port_u16().unwrap_or(if encrypted { 443 } else { 80 });
    let (stream, peer) = open_checked(settings, &host, port).await?;
    if !encrypted {
        return Ok(Stream { inner: Box::new(stream), peer });
    }
    match tls::connect(name, stream).await {
        Ok(stream) => Ok(Stream { inner: Box::new(stream), peer }),
        Err(error) => Err(match tls::refusal(&error) {
            Some(refusal) => Error::Untrusted { host: host.to_string(), refusal },
            None => Error::Connect { host: host.to_string(), port, why: format!("TLS: {error}") },
        }),
    }
}

/// Opens a connection to the first address that takes one. A silent address does not hold up the others: after a moment
/// the next one is tried beside it.
async fn open_first(addresses: Vec<SocketAddr>) -> io::Result<(TcpStream, SocketAddr)> {
    let mut waiting = addresses.into_iter();
    let mut attempts = FuturesUnordered::new();
    let mut last = io::Error::other("no address");
    loop {
        let more = waiting.next().map(|address| attempts.push(attempt(address))).is_some();
        tokio::select! {
            Some(ended) = attempts.next() => match ended {
                Ok(opened) => return Ok(opened),
                Err(error) => last = error,
            },
            () = tokio::time::sleep(limits::outgoing::CONNECT_STAGGER), if more => {}
            else => return Err(last),
        }
    }
}

async fn attempt(address: SocketAddr) -> io::Result<(TcpStream, SocketAddr)> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok((stream, address))
}

trait Io: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}

/// An open connection that knows whom it leads to.
pub(crate) struct Stream {
    inner: Box<dyn Io>,
    peer: Peer,
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        Connected::new().extra(self.peer)
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}
