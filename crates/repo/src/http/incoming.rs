//! Streaming request body with limits: inflated where it is gzip, counted after that, and never waited for too long.

use std::io::Write;

use axum::body::BodyDataStream;
use axum::extract::Request;
use axum::http::header;
use base::clock::Clock;
use base::limits::git as limits;
use bytes::Bytes;
use flate2::write::GzDecoder;
use futures_util::StreamExt;

/// Why a request is not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The client went away.
    Gone,
    /// The client sent nothing for too long.
    Stalled,
    /// It is more than may come.
    TooLarge,
    /// It is not what it should be.
    Unreadable,
    /// It is compressed in a way that is not known here.
    Encoding,
}

/// The body of a request, piece by piece.
pub(crate) struct Incoming {
    body: BodyDataStream,
    clock: Clock,
    gzip: Option<GzDecoder<Vec<u8>>>,
    /// What has come and is not inflated yet.
    raw: Bytes,
    left_bytes: u64,
}

impl Incoming {
    pub(crate) fn new(request: Request, max_bytes: u64, clock: Clock) -> Result<Incoming, Cut> {
        let encoding = request.headers().get(header::CONTENT_ENCODING).map(|value| value.as_bytes());
        let gzip = match encoding {
            None | Some(b"identity") => None,
            Some(b"gzip" | b"x-gzip") => Some(GzDecoder::new(Vec::new())),
            Some(_) => return Err(Cut::Encoding),
        };
        let length = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        // Whoever says beforehand that it is too much need not send it.
        if length.and_then(|text| text.parse().ok()).is_some_and(|length: u64| length > max_bytes) {
            return Err(Cut::TooLarge);
        }
        let body = request.into_body().into_data_stream();
        Ok(Incoming { body, clock, gzip, raw: Bytes::new(), left_bytes: max_bytes })
    }

    /// The next piece, never an empty one; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Cut> {
        let piece = match self.gzip.is_some() {
            true => self.inflated().await?,
            false => self.received().await?,
        };
        if let Some(piece) = &piece {
            let left_bytes = self.left_bytes.checked_sub(piece.len() as u64);
            self.left_bytes = left_bytes.ok_or(Cut::TooLarge)?;
        }
        Ok(piece)
    }

    async fn received(&mut self) -> Result<Option<Bytes>, Cut> {
        loop {
            let next = self.clock.timeout(limits::CLIENT_TIMEOUT, self.body.next()).await;
            match next.map_err(|_| Cut::Stalled)? {
                None => return Ok(None),
                Some(piece) => {
                    let piece = piece.map_err(|_| Cut::Gone)?;
                    if !piece.is_empty() {
                        return Ok(Some(piece));
                    }
                }
            }
        }
    }

    /// A little is inflated at a time: a bomb makes a thousand times as much of it, and no more than that is in memory.
    async fn inflated(&mut self) -> Result<Option<Bytes>, Cut> {
        loop {
            if self.raw.is_empty() {
                match self.received().await? {
                    Some(raw) => self.raw = raw,
                    None => return self.inflated_end(),
                }
            }
            let Some(gzip) = &mut self.gzip else { return Ok(None) };
            let some = self.raw.split_to(self.raw.len().min(limits::INFLATE_BYTES));
            gzip.write_all(&some).map_err(|_| Cut::Unreadable)?;
            let piece = std::mem::take(gzip.get_mut());
            if !piece.is_empty() {
                return Ok(Some(piece.into()));
            }
        }
    }

    fn inflated_end(&mut self) -> Result<Option<Bytes>, Cut> {
        let Some(gzip) = &mut self.gzip else { return Ok(None) };
        gzip.try_finish().map_err(|_| Cut::Unreadable)?;
        let piece = std::mem::take(gzip.get_mut());
        Ok((!piece.is_empty()).then(|| piece.into()))
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use base::limits::git::CLIENT_TIMEOUT;

    use super::*;

    fn incoming(body: impl Into<Body>, encoding: Option<&str>, max_bytes: u64) -> Result<Incoming, Cut> {
        let mut request = Request::new(body.into());
        if let Some(encoding) = encoding {
            request.headers_mut().insert(header::CONTENT_ENCODING, encoding.parse().unwrap());
        }
        Incoming::new(request, max_bytes, Clock::manual(0))
    }

    async fn all(mut incoming: Incoming) -> Result<Vec<u8>, Cut> {
        let mut all = Vec::new();
        while let Some(piece) = incoming.next().await? {
            all.extend_from_slice(&piece);
        }
        Ok(all)
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[tokio::test]
    async fn both_encodings_are_read_and_others_are_not() {
        let text: Vec<u8> = (0..200_000u32).flat_map(u32::to_le_bytes).collect();
        assert_eq!(all(incoming(text.clone(), None, 1 << 20).unwrap()).await.unwrap(), text);
        for name in ["gzip", "x-gzip"] {
            assert_eq!(all(incoming(gzip(&text), Some(name), 1 << 20).unwrap()).await.unwrap(), text);
        }
        assert_eq!(incoming("", Some("br"), 1).err(), Some(Cut::Encoding));
    }

    #[tokio::test]
    async fn what_comes_out_is_counted_and_not_what_went_in() {
        let bomb = gzip(&vec![0; 50 << 20]);
        assert!(bomb.len() < 1 << 20);
        assert_eq!(all(incoming(bomb, Some("gzip"), 1 << 20).unwrap()).await, Err(Cut::TooLarge));
        assert_eq!(all(incoming("12345", None, 4).unwrap()).await, Err(Cut::TooLarge));
        assert_eq!(all(incoming("1234", None, 4).unwrap()).await.unwrap(), b"1234");
    }

    #[tokio::test]
    async fn broken_gzip_is_no_request() {
        let whole = gzip(b"0000");
        assert_eq!(all(incoming("0000", Some("gzip"), 9).unwrap()).await, Err(Cut::Unreadable));
        let half = whole[..whole.len() / 2].to_vec();
        assert_eq!(all(incoming(half, Some("gzip"), 9).unwrap()).await, Err(Cut::Unreadable));
        let more = [whole, b"more".to_vec()].concat();
        assert_eq!(all(incoming(more, Some("gzip"), 9).unwrap()).await, Err(Cut::Unreadable));
    }

    #[tokio::test]
    async fn a_client_that_sends_nothing_is_not_waited_for() {
        let silent = futures_util::stream::pending::<Result<Bytes, std::io::Error>>();
        let mut request = incoming(Body::from_stream(silent), None, 9).unwrap();
        let clock = request.clock.clone();
        let (next, ()) = tokio::join!(request.next(), clock.pass(CLIENT_TIMEOUT));
        assert_eq!(next, Err(Cut::Stalled));
    }
}
