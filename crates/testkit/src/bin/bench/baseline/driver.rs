//! Fake driver: one process that answers `fs.read` with prepared data, on the relay and on the gateway, so that its
//! cost is the same on both sides of a comparison.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use clap::Args;
use futures_util::{FutureExt, SinkExt, StreamExt};
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::announce;
use super::relay::NAME_BYTES;
use crate::wire::{Socket, busy, call, driver_login, frame_id, open};

/// The device id of the fake driver.
pub(crate) const DEVICE: &str = "bench-driver";
/// The path that is answered with 4 MiB; any other with 1 KiB.
pub(crate) const LARGE_PATH: &str = "/large";
/// Size of a small answer's text.
pub(crate) const SMALL_BYTES: usize = 1024;
/// Size of a large answer's text.
pub(crate) const LARGE_BYTES: usize = 4 * 1024 * 1024;

/// Everything before the id of an answer.
const HEAD: &str = r#"{"type":"res","id":""#;

/// Where the driver connects to.
#[derive(Args)]
pub(crate) struct Attachments {
    /// Address of the bare relay, whose driver it is first.
    #[arg(long)]
    relay: SocketAddr,
    /// Address of the gateway under test, whose driver it is as well.
    #[arg(long)]
    gateway: SocketAddr,
    /// Whose device it is.
    #[arg(long)]
    username: String,
    /// The device's token.
    #[arg(long)]
    token: String,
}

/// Connects to both, prints that it is ready, and answers until a socket closes.
pub(crate) async fn run(attachments: &Attachments) -> Result<()> {
    let relay = open(attachments.relay, "/driver", busy()).await?;
    let mut gateway = open(attachments.gateway, "/ws", busy()).await?;
    let auth = json!({"username": attachments.username, "token": attachments.token});
    call(&mut gateway, "sys.connect", &driver_login(DEVICE, auth)).await?;
    announce(&format!("listening on http://{}", attachments.gateway))?;
    tokio::try_join!(tokio::spawn(answer_relay(relay)), tokio::spawn(answer_gateway(gateway)))
        .context("the driver panicked")
        .and_then(|(relay, gateway)| relay.and(gateway))
}

/// Answers on a relay's driver socket.
pub(crate) async fn answer_relay(mut socket: Socket) -> Result<()> {
    let answers = Answers::prepare();
    while let Some(message) = socket.next().await {
        let mut ready = Some(Some(message));
        while let Some(Some(message)) = ready {
            if let Message::Text(request) = message?
                && let Some((name, request)) = request.split_at_checked(NAME_BYTES)
            {
                let [head, id, tail] = answers.parts(request)?;
                socket.feed(Message::text([name, head, id, tail].concat())).await?;
            }
            ready = socket.next().now_or_never();
        }
        socket.flush().await?;
    }
    Ok(())
}

async fn answer_gateway(mut socket: Socket) -> Result<()> {
    let answers = Answers::prepare();
    while let Some(message) = socket.next().await {
        let mut ready = Some(Some(message));
        while let Some(Some(message)) = ready {
            if let Message::Text(request) = message?
                && request.starts_with(r#"{"type":"req""#)
            {
                let answer = answers.parts(&request)?.concat();
                socket.feed(Message::text(answer)).await?;
            }
            ready = socket.next().now_or_never();
        }
        socket.flush().await?;
    }
    Ok(())
}

/// Everything after the id of an answer, made once.
struct Answers {
    small: String,
    large: String,
}

impl Answers {
    fn prepare() -> Answers {
        Answers { small: tail("/x", SMALL_BYTES), large: tail(LARGE_PATH, LARGE_BYTES) }
    }

    /// What an answer consists of; the caller joins the parts in one copy.
    fn parts<'a>(&'a self, request: &'a str) -> Result<[&'a str; 3]> {
        let wants_large = request.contains(LARGE_PATH);
        let id = frame_id(request.as_bytes()).context("a request has no id")?;
        Ok([HEAD, std::str::from_utf8(id)?, if wants_large { &self.large } else { &self.small }])
    }
}

/// Numbered lines as `fs.read` returns them, `bytes` long before JSON escapes the line ends.
fn tail(path: &str, bytes: usize) -> String {
    let mut content = String::with_capacity(bytes);
    let mut line = 1;
    while content.len() < bytes {
        content
            .push_str(&format!("{line:>6}\tthe quick brown fox jumps over the lazy dog, again and again\n"));
        line += 1;
    }
    content.truncate(bytes);
    let data = json!({"ok": true, "content": content, "path": path, "lines": line, "size": bytes});
    format!(r#"","ok":true,"data":{data}}}"#)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_carries_the_id_and_the_asked_size() {
        let answers = Answers::prepare();
        for (path, bytes) in [("/x", SMALL_BYTES), (LARGE_PATH, LARGE_BYTES)] {
            let request =
                format!(r#"{{"type":"req","id":"q7","call":"fs.read","args":{{"path":"{path}"}}}}"#);
            let answer = answers.parts(&request).unwrap().concat();
            let frame: serde_json::Value = serde_json::from_str(&answer).unwrap();
            assert_eq!(frame["id"], "q7");
            assert_eq!(frame["data"]["content"].as_str().map(str::len), Some(bytes));
        }
        assert!(answers.parts("{}").is_err());
    }
}
