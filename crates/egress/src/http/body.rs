//! Bodies of plain requests: exactly what the head announced goes on to the server, chunks are written anew, trailers are
//! dropped; meanwhile the answer comes back.

use std::io;

use base::clock::Clock;
use base::limits::egress::{CHUNK_LINE_MAX_BYTES, COPY_BYTES, TRAILERS_MAX_BYTES};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, BufReader};
use tokio::net::TcpStream;

use super::head::Length;
use crate::relay::{self, Activity, Budget, Meter};

/// A plain request on its way.
pub(crate) struct Request<'a> {
    /// The head for the server.
    pub(crate) onward: &'a [u8],
    pub(crate) length: Length,
    /// What the client has sent already of the body.
    pub(crate) ahead: &'a [u8],
}

/// Sends a request and brings the answer back, to its end.
pub(crate) async fn exchange(
    client: &mut TcpStream,
    mut server: TcpStream,
    request: Request<'_>,
    meter: &Meter,
    clock: &Clock,
) -> io::Result<()> {
    let activity = Activity::new(clock);
    let (client_read, mut client_write) = client.split();
    let (mut server_read, mut server_write) = server.split();
    let up = async {
        relay::write(&mut server_write, request.onward, &meter.sent, &activity).await?;
        let mut from = BufReader::with_capacity(COPY_BYTES, request.ahead.chain(client_read));
        send(&mut from, &mut server_write, request.length, &meter.sent, &activity).await
    };
    let down = relay::pump(&mut server_read, &mut client_write, &meter.received, &activity);
    // The answer ends the exchange, whether or not the server wanted the whole request; a request that cannot be sent to
    // its end does as well.
    let failed = async {
        match up.await {
            Ok(()) => std::future::pending().await,
            Err(error) => error,
        }
    };
    tokio::select! {
        biased;
        ended = down => ended,
        error = failed => Err(error),
        () = activity.silence() => Err(io::ErrorKind::TimedOut.into()),
    }
}

async fn send(
    from: &mut (impl AsyncBufRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    length: Length,
    budget: &Budget,
    activity: &Activity,
) -> io::Result<()> {
    match length {
        Length::Bytes(bytes) => copy(from, to, bytes, budget, activity).await,
        Length::Chunked => {
            loop {
                let size = chunk_size(&line(from).await?)?;
                if size == 0 {
                    break;
                }
                relay::write(to, format!("{size:x}\r\n").as_bytes(), budget, activity).await?;
                copy(from, to, size, budget, activity).await?;
                if !line(from).await?.is_empty() {
                    return Err(wrong("a chunk is longer than it says"));
                }
                relay::write(to, b"\r\n", budget, activity).await?;
            }
            skip_trailers(from).await?;
            relay::write(to, b"0\r\n\r\n", budget, activity).await
        }
    }
}

/// Copies exactly so many bytes.
async fn copy(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    bytes: u64,
    budget: &Budget,
    activity: &Activity,
) -> io::Result<()> {
    let mut part = from.take(bytes);
    relay::pump(&mut part, to, budget, activity).await?;
    if part.limit() == 0 { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// A line without its CR LF.
async fn line(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    from.take(CHUNK_LINE_MAX_BYTES as u64).read_until(b'\n', &mut line).await?;
    match line.strip_suffix(b"\r\n") {
        Some(text) if !text.contains(&b'\r') => Ok(text.to_vec()),
        _ => Err(wrong("a line of a chunked body does not end with CR LF")),
    }
}

async fn skip_trailers(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<()> {
    let mut read = 0;
    loop {
        let trailer = line(from).await?;
        read += trailer.len();
        match trailer.is_empty() {
            true => return Ok(()),
            false if read > TRAILERS_MAX_BYTES => return Err(wrong("the trailers are too long")),
            false => {}
        }
    }
}

/// The size of a chunk: hexadecimal digits and nothing else. Extensions, which nobody uses, are refused.
fn chunk_size(line: &[u8]) -> io::Result<u64> {
    let digits = std::str::from_utf8(line).unwrap_or_default();
    let fits = (1..=15).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let size = u64::from_str_radix(digits, 16).ok().filter(|_| fits);
    size.ok_or_else(|| wrong("the size of a chunk is not a number"))
}

fn wrong(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sent(body: &[u8], length: Length) -> io::Result<Vec<u8>> {
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        let activity = Activity::new(&Clock::manual(0));
        let mut out = Vec::new();
        let mut from = BufReader::with_capacity(7, body);
        runtime.block_on(send(&mut from, &mut out, length, &Budget::of(1 << 20), &activity))?;
        Ok(out)
    }

    #[test]
    fn what_was_announced_is_sent_and_no_more() {
        assert_eq!(sent(b"abcGET / HTTP/1.1\r\n\r\n", Length::Bytes(3)).unwrap(), b"abc");
        assert!(sent(b"ab", Length::Bytes(3)).is_err());
        let chunked = b"3\r\nabc\r\n0A\r\n0123456789\r\n0\r\nX-Trailer: 1\r\n\r\nGET / HTTP/1.1\r\n";
        assert_eq!(sent(chunked, Length::Chunked).unwrap(), b"3\r\nabc\r\na\r\n0123456789\r\n0\r\n\r\n");
    }

    #[test]
    fn chunks_that_can_be_read_in_two_ways_are_refused() {
        for body in [
            &b"3;x=y\r\nabc\r\n0\r\n\r\n"[..],
            b"0x3\r\nabc\r\n0\r\n\r\n",
            b"+3\r\nabc\r\n0\r\n\r\n",
            b" 3\r\nabc\r\n0\r\n\r\n",
            b"3 \r\nabc\r\n0\r\n\r\n",
            b"3\nabc\n0\n\n",
            b"3\r\nabcd\r\n0\r\n\r\n",
            b"3\r\nabc0\r\n\r\n",
            b"ffffffffffffffff1\r\nabc",
            b"\r\n",
            b"3\r\nabc\r\n",
            b"-1\r\nabc\r\n0\r\n\r\n",
            b"3\rx\r\nabc\r\n0\r\n\r\n",
        ] {
            assert!(sent(body, Length::Chunked).is_err(), "{}", body.escape_ascii());
        }
        let long = [&b"0\r\n"[..], &b"X: aaaaaaaaaa\r\n".repeat(2_000), b"\r\n"].concat();
        assert!(sent(&long, Length::Chunked).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(out) = sent(&body, Length::Chunked) {
                prop_assert!(out.ends_with(b"0\r\n\r\n"));
            }
        }

        #[test]
        fn a_body_arrives_however_it_is_cut(parts in proptest::collection::vec("[a-z]{1,40}", 0..6)) {
            let cut: String = parts.iter().map(|part| format!("{:X}\r\n{part}\r\n", part.len())).collect();
            let out = String::from_utf8(sent(format!("{cut}0\r\n\r\n").as_bytes(), Length::Chunked).unwrap()).unwrap();
            prop_assert_eq!(out.to_ascii_uppercase(), format!("{cut}0\r\n\r\n").to_ascii_uppercase());
        }
    }
}
