//! Raw test client: sends any message, well-formed or not, and waits for what comes.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

/// No test waits longer than this for anything.
const PATIENCE: Duration = Duration::from_secs(20);

/// One socket.
pub struct Peer {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    aside: VecDeque<Value>,
    bytes_aside: VecDeque<Vec<u8>>,
    next_id: u64,
}

/// An error as it stood on the wire: code and message.
#[derive(Debug, PartialEq)]
pub struct Refused {
    pub code: i64,
    pub message: String,
    /// The details, or null.
    pub details: Value,
}

impl Refused {
    /// Code and message, for comparing.
    pub fn pair(&self) -> (i64, &str) {
        (self.code, &self.message)
    }
}

impl Peer {
    /// Opens a socket.
    pub async fn open(url: &str) -> Peer {
        Peer::try_open(url).await.expect("the gateway accepts sockets")
    }

    /// The same for a gateway that may be gone.
    pub async fn try_open(url: &str) -> Result<Peer, tokio_tungstenite::tungstenite::Error> {
        let config = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
        let (socket, _) = tokio_tungstenite::connect_async_with_config(url, Some(config), true).await?;
        Ok(Peer { socket, aside: VecDeque::new(), bytes_aside: VecDeque::new(), next_id: 0 })
    }

    /// Opens a socket whose upgrade request has further headers, as one that a proxy passes on.
    pub async fn open_with(url: &str, headers: &[(&'static str, &str)]) -> Peer {
        let mut request = url.into_client_request().expect("a URL");
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().expect("a header"));
        }
        let (socket, _) =
            tokio_tungstenite::connect_async(request).await.expect("the gateway accepts sockets");
        Peer { socket, aside: VecDeque::new(), bytes_aside: VecDeque::new(), next_id: 0 }
    }

    /// Opens a socket with the limits of shipped clients: frames above 1 MiB, and messages above 64 MiB, end it.
    pub async fn open_strict(url: &str) -> Peer {
        let config =
            WebSocketConfig::default().max_message_size(Some(64 << 20)).max_frame_size(Some(1 << 20));
        let opened = tokio_tungstenite::connect_async_with_config(url, Some(config), true).await;
        let (socket, _) = opened.expect("the gateway accepts sockets");
        Peer { socket, aside: VecDeque::new(), bytes_aside: VecDeque::new(), next_id: 0 }
    }

    /// Sends `sys.connect` for a role with further members such as `auth`.
    pub async fn connect(&mut self, role: &str, id: &str, more: Value) -> Result<Value, Refused> {
        let mut args = json!({
            "protocol": 1,
            "client": {
                "id": id, "version": "0.3.0", "platform": "linux", "role": role, "features": ["sessions"],
            },
        });
        for (key, value) in more.as_object().cloned().unwrap_or_default() {
            if key == "channel" { args["client"]["channel"] = value } else { args[key] = value }
        }
        self.call("sys.connect", args).await
    }

    /// Makes a call and waits for its answer; what comes in between is kept for [`Peer::next`].
    pub async fn call(&mut self, call: &str, args: Value) -> Result<Value, Refused> {
        let id = self.send_call(call, args).await;
        self.answer(&id).await
    }

    /// The same for a gateway that may be gone: `None` when no answer will ever come.
    pub async fn try_call(&mut self, call: &str, args: Value) -> Option<Result<Value, Refused>> {
        self.next_id += 1;
        let id = format!("req-{}", self.next_id);
        let frame = json!({ "type": "req", "id": id, "call": call, "args": args });
        self.socket.send(Message::text(frame.to_string())).await.ok()?;
        loop {
            let frame = self.receive().await?;
            if frame["id"] == id.as_str() {
                return Some(outcome(frame));
            }
        }
    }

    /// Sends a request and returns its id.
    pub async fn send_call(&mut self, call: &str, args: Value) -> String {
        self.next_id += 1;
        let id = format!("req-{}", self.next_id);
        self.send(json!({ "type": "req", "id": id, "call": call, "args": args })).await;
        id
    }

    /// Waits for the answer to a request.
    pub async fn answer(&mut self, id: &str) -> Result<Value, Refused> {
        let frame = self.next_where(|frame| frame["type"] == "res" && frame["id"] == id).await;
        outcome(frame)
    }

    /// Sends a frame as JSON text.
    pub async fn send(&mut self, frame: Value) {
        self.send_text(frame.to_string()).await;
    }

    /// Sends any text.
    pub async fn send_text(&mut self, text: impl Into<String>) {
        self.socket.send(Message::text(text.into())).await.expect("the socket takes it");
    }

    /// Sends one text message in pieces.
    pub async fn send_pieces(&mut self, pieces: &[&[u8]]) {
        use tokio_tungstenite::tungstenite::protocol::frame::Frame;
        use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
        for (at, piece) in pieces.iter().enumerate() {
            let code = if at == 0 { Data::Text } else { Data::Continue };
            let last = at + 1 == pieces.len();
            let frame = Frame::message(piece.to_vec(), OpCode::Data(code), last);
            // The other side may have had enough before the end.
            if self.socket.send(Message::Frame(frame)).await.is_err() {
                return;
            }
        }
    }

    /// Begins a text message of so many bytes and sends the first of them.
    pub async fn send_beginning(&mut self, size: usize, first: &[u8]) {
        let mut frame = vec![0x81, 0xff];
        frame.extend_from_slice(&(size as u64).to_be_bytes());
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(first);
        let MaybeTlsStream::Plain(stream) = self.socket.get_mut() else { panic!("no TLS here") };
        stream.write_all(&frame).await.expect("the socket takes it");
    }

    /// Sends any bytes.
    pub async fn send_binary(&mut self, bytes: Vec<u8>) {
        self.socket.send(Message::binary(bytes)).await.expect("the socket takes it");
    }

    /// The next frame.
    pub async fn next(&mut self) -> Value {
        self.try_next().await.expect("a frame, not the end")
    }

    /// The same; `None` when no more will ever come.
    pub async fn try_next(&mut self) -> Option<Value> {
        match self.aside.pop_front() {
            Some(frame) => Some(frame),
            None => self.receive().await,
        }
    }

    /// The next frame that fits; others are kept.
    pub async fn next_where(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.aside.iter().position(&fits) {
            return self.aside.remove(at).expect("it is there");
        }
        loop {
            let frame = self.receive().await.expect("a frame, not the end");
            if fits(&frame) {
                return frame;
            }
            self.aside.push_back(frame);
        }
    }

    /// The next signal of that name: its payload.
    pub async fn signal(&mut self, name: &str) -> Value {
        self.next_where(|frame| frame["type"] == "sig" && frame["signal"] == name).await["payload"].take()
    }

    /// For drivers: the next request from the gateway.
    pub async fn request(&mut self) -> Value {
        self.next_where(|frame| frame["type"] == "req").await
    }

    /// For drivers: answers a request.
    pub async fn reply(&mut self, request: &Value, data: Value) {
        self.send(json!({ "type": "res", "id": request["id"], "ok": true, "data": data })).await;
    }

    /// True when everything that arrives until the answer to a fresh call has been looked at and nothing fits.
    pub async fn saw_no(&mut self, fits: impl Fn(&Value) -> bool) -> bool {
        // The answer to a later request comes behind whatever was sent before it.
        let id = self.send_call("sys.no.such.call", json!({})).await;
        let marker = self.next_where(|frame| frame["id"] == id.as_str()).await;
        assert_eq!(marker["ok"], false);
        !self.aside.iter().any(fits)
    }

    /// The next text as it came.
    pub async fn next_text(&mut self) -> String {
        match self.message().await {
            Some(Message::Text(text)) => text.to_string(),
            other => panic!("waited for a text, got {other:?}"),
        }
    }

    /// Waits for the next binary message.
    pub async fn binary(&mut self) -> Vec<u8> {
        if let Some(bytes) = self.bytes_aside.pop_front() {
            return bytes;
        }
        loop {
            match self.message().await {
                Some(Message::Binary(bytes)) => return bytes.to_vec(),
                Some(Message::Text(text)) => {
                    self.aside.push_back(serde_json::from_str(&text).expect("frames are JSON"));
                }
                other => panic!("waited for bytes, got {other:?}"),
            }
        }
    }

    /// Waits for the end; returns the close code and reason.
    pub async fn ended(&mut self) -> Option<(u16, String)> {
        loop {
            match self.message().await {
                Some(Message::Close(frame)) => {
                    return frame.map(|frame| (frame.code.into(), frame.reason.to_string()));
                }
                Some(_) => {}
                None => return None,
            }
        }
    }

    /// Closes the socket properly.
    pub async fn close(mut self) {
        self.socket.close(None).await.expect("the socket closes");
    }

    async fn receive(&mut self) -> Option<Value> {
        loop {
            match self.message().await? {
                Message::Text(text) => return Some(serde_json::from_str(&text).expect("frames are JSON")),
                Message::Close(_) => return None,
                Message::Binary(bytes) => self.bytes_aside.push_back(bytes.to_vec()),
                _ => {}
            }
        }
    }

    async fn message(&mut self) -> Option<Message> {
        let next = tokio::time::timeout(PATIENCE, self.socket.next()).await;
        next.expect("something arrives in time")?.ok()
    }
}

/// A response frame as a result.
pub fn outcome(mut frame: Value) -> Result<Value, Refused> {
    if frame["ok"] == true {
        return Ok(frame["data"].take());
    }
    let error = &mut frame["error"];
    Err(Refused {
        code: error["code"].as_i64().expect("codes are integers"),
        message: error["message"].as_str().expect("messages are text").to_string(),
        details: error["details"].take(),
    })
}
