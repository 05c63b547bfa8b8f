//! Fake gateway: accepts drivers on a free port and is driven by the test.

use std::path::Path;
use std::time::Duration;

use base::shutdown::{self, Trigger};
use device::{Options, Report, RunError};
use futures_util::{SinkExt, StreamExt};
use protocol::error::Error;
use protocol::frame;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

pub const LIMIT: Duration = Duration::from_secs(30);

/// A running driver and the listener it connects to.
pub struct Gateway {
    listener: TcpListener,
    pub reports: mpsc::Receiver<Report>,
    pub running: JoinHandle<Result<(), RunError>>,
    pub trigger: Trigger,
}

/// The gateway's end of a socket.
pub struct Socket {
    pub stream: WebSocketStream<TcpStream>,
    /// What `sys.connect` said.
    pub hello: Value,
    /// Messages that came while another was waited for.
    aside: Vec<Message>,
}

impl Gateway {
    pub async fn start(workspace: &Path, change: impl FnOnce(&mut Options)) -> Gateway {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut options = Options {
            url: format!("ws://{}/ws", listener.local_addr().unwrap()),
            username: "alice".into(),
            token: Some("gsv_node_x".into()),
            device_id: "mac".into(),
            workspace: workspace.to_path_buf(),
            root: None,
            allow: Vec::new(),
            agents: Default::default(),
            state: None,
            version: "1.2.3".into(),
        };
        change(&mut options);
        let (trigger, stop) = shutdown::channel();
        let (sender, reports) = mpsc::channel(1000);
        let running =
            tokio::spawn(device::run(options, stop, move |report| sender.try_send(report).unwrap()));
        Gateway { listener, reports, running, trigger }
    }

    /// Accepts the driver and its login.
    pub async fn accept(&self) -> Socket {
        let mut socket = self.accept_unanswered().await;
        let id = socket.hello["id"].as_str().unwrap().to_string();
        socket.text(frame::response(&id, Some("{}"))).await;
        socket
    }

    /// Accepts the socket and reads the login.
    pub async fn accept_unanswered(&self) -> Socket {
        let (stream, _) = tokio::time::timeout(LIMIT, self.listener.accept()).await.unwrap().unwrap();
        let stream = tokio_tungstenite::accept_async(stream).await.unwrap();
        let mut socket = Socket { stream, hello: Value::Null, aside: Vec::new() };
        socket.hello = socket.frame(|frame| frame["call"] == "sys.connect").await;
        socket
    }

    /// Accepts the socket and refuses the login.
    pub async fn refuse(&self, error: &Error) {
        let mut socket = self.accept_unanswered().await;
        let id = socket.hello["id"].as_str().unwrap().to_string();
        socket.text(frame::failure(&id, error)).await;
    }

    /// The next report that fits.
    pub async fn report(&mut self, fits: impl Fn(&Report) -> bool) -> Report {
        let waiting = async {
            loop {
                let report = self.reports.recv().await.expect("the driver has ended");
                if fits(&report) {
                    return report;
                }
            }
        };
        tokio::time::timeout(LIMIT, waiting).await.expect("no such report")
    }

    /// Stops the driver; a socket that is not read any more would only keep it waiting.
    pub async fn stop(self, socket: Socket) {
        self.trigger.stop();
        drop(socket);
        tokio::time::timeout(LIMIT, self.running).await.unwrap().unwrap().unwrap();
    }
}

impl Socket {
    pub async fn text(&mut self, text: String) {
        self.stream.send(Message::text(text)).await.unwrap();
    }

    pub async fn binary(&mut self, id: u32, payload: &[u8]) {
        self.stream.send(Message::binary(protocol::transfer::message(id, payload))).await.unwrap();
    }

    pub async fn ask(&mut self, id: &str, call: &str, args: Value) {
        self.text(frame::request(id, call, &args.to_string())).await;
    }

    /// Asks and waits for the answer's data.
    pub async fn call(&mut self, id: &str, call: &str, args: Value) -> Value {
        self.ask(id, call, args).await;
        let answer = self.answer(id).await;
        assert_eq!(answer["ok"], json!(true), "{answer}");
        answer["data"].clone()
    }

    /// The answer to a request.
    pub async fn answer(&mut self, id: &str) -> Value {
        self.frame(|frame| frame["type"] == "res" && frame["id"] == id).await
    }

    /// The first text frame that fits; others wait aside.
    pub async fn frame(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        let parse = |message: &Message| match message {
            Message::Text(text) => serde_json::from_str::<Value>(text).ok(),
            _ => None,
        };
        if let Some(at) =
            self.aside.iter().position(|message| parse(message).is_some_and(|frame| fits(&frame)))
        {
            return parse(&self.aside.remove(at)).unwrap();
        }
        loop {
            let message = self.message().await.expect("the socket ended");
            match parse(&message) {
                Some(frame) if fits(&frame) => return frame,
                _ => self.aside.push(message),
            }
        }
    }

    /// The next binary message of a transfer.
    pub async fn chunk(&mut self, id: u32) -> Vec<u8> {
        let of_transfer = |message: &Message| match message {
            Message::Binary(bytes) => protocol::transfer::split(bytes)
                .filter(|(found, _)| *found == id)
                .map(|(_, payload)| payload.to_vec()),
            _ => None,
        };
        if let Some(at) = self.aside.iter().position(|message| of_transfer(message).is_some()) {
            return of_transfer(&self.aside.remove(at)).unwrap();
        }
        loop {
            let message = self.message().await.expect("the socket ended");
            match of_transfer(&message) {
                Some(payload) => return payload,
                None => self.aside.push(message),
            }
        }
    }

    /// Texts that came while others were waited for.
    pub fn left_aside(&self) -> Vec<String> {
        self.aside.iter().filter_map(|message| message.to_text().ok().map(str::to_string)).collect()
    }

    /// The next message that is no ping or pong; `None` when the socket has ended.
    pub async fn message(&mut self) -> Option<Message> {
        loop {
            let next = tokio::time::timeout(LIMIT, self.stream.next()).await.expect("nothing came");
            match next? {
                Ok(Message::Ping(_) | Message::Pong(_)) => {}
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(message) => return Some(message),
            }
        }
    }
}
