//! Client side of a socket, the same for every server: opening it, frames, and one call at a time.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

/// An open socket.
pub(crate) type Socket = WebSocketStream<TcpStream>;

/// How long opening a socket and a single call may take.
pub(crate) const CALL_LIMIT: Duration = Duration::from_secs(30);

/// Buffers for busy sockets: the library's own, which are large.
pub(crate) fn busy() -> WebSocketConfig {
    WebSocketConfig::default()
}

/// Buffers for sockets that mostly wait.
pub(crate) fn idle() -> WebSocketConfig {
    WebSocketConfig::default().read_buffer_size(2 * 1024).write_buffer_size(0)
}

/// Opens a socket to a local server.
pub(crate) async fn open(address: SocketAddr, path: &str, config: WebSocketConfig) -> Result<Socket> {
    let opening = async {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let url = format!("ws://{address}{path}");
        let (socket, _response) =
            tokio_tungstenite::client_async_with_config(url, stream, Some(config)).await?;
        anyhow::Ok(socket)
    };
    tokio::time::timeout(CALL_LIMIT, opening)
        .await
        .with_context(|| format!("no answer from {address}"))?
        .with_context(|| format!("open a socket to {address}{path}"))
}

/// The text of a request.
pub(crate) fn request(id: &str, call: &str, args: &Value) -> String {
    // Written by hand so that the fields stand in the order every client writes them.
    format!(r#"{{"type":"req","id":"{id}","call":"{call}","args":{args}}}"#)
}

/// Makes one call and returns its data.
pub(crate) async fn call(socket: &mut Socket, name: &str, args: &Value) -> Result<Value> {
    let asking = async {
        socket.send(Message::text(request("1", name, args))).await?;
        loop {
            let Some(message) = socket.next().await else { bail!("the socket closed during {name}") };
            let Message::Text(text) = message? else { continue };
            let mut frame: Value = serde_json::from_str(&text)?;
            if frame["type"] != "res" {
                continue;
            }
            if frame["ok"] != true {
                bail!("{name} was refused: {}", frame["error"]);
            }
            return Ok(frame["data"].take());
        }
    };
    tokio::time::timeout(CALL_LIMIT, asking).await.with_context(|| format!("no answer to {name}"))?
}

/// Arguments of `sys.connect` for a person's session.
pub(crate) fn user_login(client_id: &str, auth: Value) -> Value {
    json!({
        "protocol": 1,
        "client": {"id": client_id, "version": "0.0.0", "platform": "linux", "role": "user"},
        "auth": auth,
    })
}

/// Arguments of `sys.connect` for a device.
pub(crate) fn driver_login(device_id: &str, auth: Value) -> Value {
    json!({
        "protocol": 1,
        "client": {"id": device_id, "version": "0.0.0", "platform": "linux", "role": "driver"},
        "driver": {"implements": ["fs.*", "shell.exec"], "instance": "bench"},
        "auth": auth,
    })
}

/// The text between `"id":"` and the next quote. Only the head of the frame is looked at: every server here
/// writes the id first.
pub(crate) fn frame_id(text: &[u8]) -> Option<&[u8]> {
    const MARK: &[u8] = br#""id":""#;
    let head = &text[..text.len().min(256)];
    let start = head.windows(MARK.len()).position(|window| window == MARK)? + MARK.len();
    let length = head[start..].iter().position(|byte| *byte == b'"')?;
    Some(&head[start..start + length])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_found_in_the_head_of_a_frame() {
        let text = request("abc", "fs.read", &json!({"path": "/x"}));
        assert_eq!(text, r#"{"type":"req","id":"abc","call":"fs.read","args":{"path":"/x"}}"#);
        assert_eq!(frame_id(text.as_bytes()), Some(b"abc".as_slice()));
        assert_eq!(frame_id(br#"{"type":"sig"}"#), None);
        assert_eq!(frame_id(br#"{"id":"never closed"#), None);
    }
}
