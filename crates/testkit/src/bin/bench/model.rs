//! Fake model server of negligible cost: HTTP in this program, speaking Chat Completions. What it says is in a
//! message: `stream COUNT PACE_US` gives so many deltas at that pace, each with the time it was sent; anything else
//! gives one short answer at once.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use base::clock::Clock;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The server; it ends when it is dropped.
pub(crate) struct Model {
    address: SocketAddr,
    accepting: JoinHandle<()>,
    /// Times in deltas count from here.
    pub epoch: Arc<Instant>,
}

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const END: &str = concat!(
    r#"data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    "\n\n",
    r#"data: {"id":"c","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5}}"#,
    "\n\ndata: [DONE]\n\n"
);

impl Model {
    /// Starts it on a free port.
    pub(crate) async fn start() -> Result<Model> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("listen as a model")?;
        let address = listener.local_addr()?;
        let epoch = Arc::new(Clock::system().instant());
        let base = epoch.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let base = base.clone();
                // A gateway that goes away in the middle is no failure of the model.
                tokio::spawn(async move { drop(serve(stream, &base).await) });
            }
        });
        Ok(Model { address, accepting, epoch })
    }

    /// Its address with the version path.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn serve(mut stream: TcpStream, epoch: &Instant) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::with_capacity(16 * 1024);
    loop {
        let Some(body) = read_request(&mut stream, &mut buffer).await? else { return Ok(()) };
        let asked = streamed(&body);
        drop(body);
        match asked {
            None => {
                let text = format!("{HEAD}{}{}0\r\n\r\n", chunk(&delta("All right.")), chunk(END));
                stream.write_all(text.as_bytes()).await?;
            }
            Some((count, pace)) => {
                stream.write_all(HEAD.as_bytes()).await?;
                let mut due = Clock::system().instant();
                for _ in 0..count {
                    due += pace;
                    tokio::time::sleep_until(due.into()).await;
                    let sent = epoch.elapsed().as_nanos();
                    stream.write_all(chunk(&delta(&format!("@{sent} "))).as_bytes()).await?;
                }
                stream.write_all(format!("{}0\r\n\r\n", chunk(END)).as_bytes()).await?;
            }
        }
    }
}

fn delta(text: &str) -> String {
    format!("data: {{\"id\":\"c\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// The last `stream COUNT PACE_US` that a message begins with, if one does.
fn streamed(body: &[u8]) -> Option<(usize, Duration)> {
    const MARK: &[u8] = br#""stream "#;
    let at = body.windows(MARK.len()).rposition(|some| some == MARK)? + MARK.len();
    let words = std::str::from_utf8(&body[at..]).ok()?;
    let mut numbers =
        words.split(|character: char| !character.is_ascii_digit()).filter_map(|word| word.parse().ok());
    let (count, pace_us): (u64, u64) = (numbers.next()?, numbers.next()?);
    Some((count as usize, Duration::from_micros(pace_us)))
}

async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Result<Option<Vec<u8>>> {
    let end = loop {
        if let Some(at) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&buffer[..end]).to_ascii_lowercase();
    let length: usize = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .and_then(|value| value.trim().parse().ok())
        .unwrap_or(0);
    while buffer.len() < end + length {
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
    let body = buffer[end..end + length].to_vec();
    buffer.drain(..end + length);
    Ok(Some(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_says_what_is_wanted() {
        let body = br#"{"messages":[{"role":"user","content":"hello"}],"stream":true}"#;
        assert_eq!(streamed(body), None);
        let body = br#"{"messages":[{"role":"user","content":"stream 5 10"}],"tools":[{"content":1}],"stream":true}"#;
        assert_eq!(streamed(body), Some((5, Duration::from_micros(10))));
    }
}
