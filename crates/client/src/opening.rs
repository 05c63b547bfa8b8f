//! Connection establishment: TCP, TLS where the address asks for it, then the WebSocket handshake.

use base::limits;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use crate::Error;
use crate::address::Address;

/// What carries a socket: a connection, or TLS over one.
pub(crate) trait Carrier: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Carrier for S {}

/// An open socket.
pub(crate) type Socket = WebSocketStream<Box<dyn Carrier>>;

/// Opens a socket. The caller sets the limit of time.
pub(crate) async fn open(url: &str) -> Result<Socket, Error> {
    let unreachable = |why: String| Error::Unreachable { url: url.to_string(), why };
    let address = Address::parse(url).map_err(unreachable)?;
    let stream = TcpStream::connect((address.host.as_str(), address.port))
        .await
        .map_err(|error| unreachable(error.to_string()))?;
    stream.set_nodelay(true).map_err(|error| unreachable(error.to_string()))?;
    let carrier: Box<dyn Carrier> = if address.is_tls {
        let secured = tls::connect(&address.host, stream).await;
        Box::new(secured.map_err(|error| untrusted(url, &error))?)
    } else {
        Box::new(stream)
    };
    let config = WebSocketConfig::default()
        .max_message_size(Some(limits::frame::OUT_MAX_BYTES))
        .max_frame_size(Some(limits::frame::OUT_MAX_BYTES));
    let (socket, _) = client_async_with_config(address.url, carrier, Some(config))
        .await
        .map_err(|error| unreachable(error.to_string()))?;
    Ok(socket)
}

fn untrusted(url: &str, error: &std::io::Error) -> Error {
    let url = url.to_string();
    match tls::refusal(error) {
        Some(refusal) => Error::Untrusted { url, why: refusal.why, hint: refusal.hint },
        None => Error::Unreachable { url, why: format!("TLS failed: {error}") },
    }
}
