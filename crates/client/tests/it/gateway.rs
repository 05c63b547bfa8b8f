//! Fake gateway: a bare WebSocket server that a test drives by hand.

use client::{Connection, Events};
use futures_util::{SinkExt, StreamExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

/// The server's end of one socket.
pub struct Peer {
    pub socket: WebSocketStream<TcpStream>,
}

/// Opens both ends.
pub async fn pair() -> (Connection, Events, Peer) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let accept = async {
        let (stream, _) = listener.accept().await.unwrap();
        let config = WebSocketConfig::default();
        tokio_tungstenite::accept_async_with_config(stream, Some(config)).await.unwrap()
    };
    let (opened, socket) = tokio::join!(Connection::open(&url), accept);
    let (connection, events) = opened.unwrap();
    (connection, events, Peer { socket })
}

impl Peer {
    /// The next message that is no ping, pong or close.
    pub async fn next(&mut self) -> Message {
        loop {
            let message = self.socket.next().await.unwrap().unwrap();
            if message.is_text() || message.is_binary() {
                return message;
            }
        }
    }

    /// The next request: id, call, args.
    pub async fn request(&mut self) -> (String, String, serde_json::Value) {
        let message = self.next().await;
        let value: serde_json::Value = serde_json::from_str(message.to_text().unwrap()).unwrap();
        assert_eq!(value["type"], "req");
        let text = |key: &str| value[key].as_str().unwrap().to_string();
        (text("id"), text("call"), value["args"].clone())
    }

    /// Sends a text.
    pub async fn say(&mut self, text: &str) {
        self.socket.send(Message::text(text)).await.unwrap();
    }

    /// Answers a request.
    pub async fn answer(&mut self, id: &str, raw_data: &str) {
        self.say(&protocol::frame::response(id, Some(raw_data))).await;
    }
}
