//! HTTP proxy: tunnels (`CONNECT`) and plain requests with a whole URL, one per connection.
//!
//! A plain request is read strictly, written anew and sent with `Connection: close`, so that both ends agree on where it
//! ends: what follows it on the connection is never forwarded.

mod body;
mod head;

use std::io;
use std::sync::Arc;

use base::limits::egress::{HEAD_MAX_BYTES, HEAD_TIMEOUT};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::gate::{Gate, Wish};
use crate::log::{Outcome, Refusal};
use crate::relay;
use head::{Head, HeadError, RequestKind};

const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// Serves one connection.
pub(crate) async fn serve(mut client: TcpStream, gate: Arc<Gate>) {
    let read = gate.clock.timeout(HEAD_TIMEOUT, read_head(&mut client)).await;
    let (head, ahead) = match read {
        Ok(Ok(Some(read))) => read,
        // A client that went away without a word.
        Ok(Ok(None)) | Ok(Err(Failure::Broken)) => return,
        Ok(Err(Failure::Head(wrong))) => {
            if let Some((host, port)) = &wrong.about {
                gate.note(host, Some(*port), None, Outcome::Refused(Refusal::Ambiguous));
            }
            return answer(client, &gate, wrong.status, wrong.why).await;
        }
        Err(_) => return answer(client, &gate, 408, "the request took too long").await,
    };
    let wish = Wish { host: &head.host, port: head.port, token: head.token.as_deref() };
    let server = match gate.open(wish).await {
        Ok(server) => server,
        Err(outcome) => {
            let (status, why) = match outcome {
                Outcome::Refused(refusal) => (403, refusal.to_string()),
                Outcome::Failed(why) => (502, why),
                Outcome::Reached => return,
            };
            let text = format!("{}:{}: {why}", crate::log::printable(&head.host), head.port);
            return answer(client, &gate, status, &text).await;
        }
    };
    match head.kind {
        RequestKind::Tunnel => match client.write_all(ESTABLISHED).await {
            Ok(()) => relay::splice(client, server, &ahead, &gate.meter, &gate.clock).await,
            Err(error) => tracing::debug!(%error, "a client went away"),
        },
        RequestKind::Forward { onward, length } => {
            let request = body::Request { onward: &onward, length, ahead: &ahead };
            match body::exchange(&mut client, server, request, &gate.meter, &gate.clock).await {
                Ok(()) => relay::finish(client, &gate.clock).await,
                Err(error) => tracing::debug!(%error, "a request of a confined command broke off"),
            }
        }
    }
}

enum Failure {
    Head(HeadError),
    Broken,
}

/// Reads the head of a request; with it comes what was sent after it. `None` when nothing was sent at all.
async fn read_head(client: &mut TcpStream) -> Result<Option<(Head, Vec<u8>)>, Failure> {
    let mut bytes = Vec::new();
    let mut seen = 0;
    loop {
        if let Some(end) = head::end(&bytes, seen) {
            let ahead = bytes.split_off(end);
            let head = head::parse(&bytes).map_err(Failure::Head)?;
            return Ok(Some((head, ahead)));
        }
        seen = bytes.len();
        if seen >= HEAD_MAX_BYTES {
            return Err(Failure::Head(HeadError::new(431, "the head of the request is too large")));
        }
        let mut chunk = [0; 4_096];
        let room = chunk.len().min(HEAD_MAX_BYTES - seen);
        match client.read(&mut chunk[..room]).await {
            Ok(0) if seen == 0 => return Ok(None),
            Ok(0) | Err(_) => return Err(Failure::Broken),
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
        }
    }
}

/// Answers in the proxy's own name, and closes.
async fn answer(mut client: TcpStream, gate: &Gate, status: u16, why: &str) {
    let reason = match status {
        403 => "Forbidden",
        408 => "Request Timeout",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        _ => "Bad Request",
    };
    let text = format!("gsv: {why}\n");
    let head = format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
         X-Gsv-Proxy: refused\r\nConnection: close\r\n\r\n",
        text.len()
    );
    let written = gate.clock.timeout(HEAD_TIMEOUT, async {
        client.write_all(format!("{head}{text}").as_bytes()).await?;
        io::Result::Ok(())
    });
    if let Ok(Ok(())) = written.await {
        relay::finish(client, &gate.clock).await;
    }
}
