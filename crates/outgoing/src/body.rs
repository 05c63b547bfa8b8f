//! Streaming body with a cap on its bytes, an idle timeout and a deadline for the whole exchange, so that neither a
//! flood nor a trickle (slow loris) holds a caller for long.

use std::time::Instant;

use base::clock::Clock;
use base::limits;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};

use crate::error::{self, Error, Stage};
use crate::request::Limits;

/// The body of an answer. Dropping it before its end closes the connection.
pub struct Body {
    incoming: Incoming,
    deadline: Deadline,
    bytes_max: u64,
    bytes_seen: u64,
}

/// Until when an exchange must be over, and how long it may be silent.
#[derive(Clone, Copy)]
pub(crate) struct Deadline {
    limits: Limits,
    end: Instant,
}

impl Deadline {
    pub(crate) fn new(limits: &Limits) -> Deadline {
        let now = Clock::system().instant();
        // A limit that the clock cannot hold is one of many years.
        let far = || now + std::time::Duration::from_secs(u32::MAX.into());
        Deadline { limits: *limits, end: now.checked_add(limits.total).unwrap_or_else(far) }
    }

    /// Waits for something, no longer than the silence may last and not past the end.
    pub(crate) async fn keep<T>(&self, work: impl Future<Output = T>) -> Result<T, Error> {
        let silence = Clock::system().instant().checked_add(self.limits.idle).unwrap_or(self.end);
        let until = silence.min(self.end);
        tokio::time::timeout_at(until.into(), work).await.map_err(|_| match silence < self.end {
            true => Error::TimedOut { stage: Stage::Silence, limit: self.limits.idle },
            false => Error::TimedOut { stage: Stage::Total, limit: self.limits.total },
        })
    }
}

impl Body {
    pub(crate) fn new(incoming: Incoming, deadline: Deadline, bytes_max: u64) -> Body {
        Body { incoming, deadline, bytes_max, bytes_seen: 0 }
    }

    /// The next bytes; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        // What announces itself as too large need not be read to be refused.
        if self.bytes_seen.saturating_add(self.incoming.size_hint().lower()) > self.bytes_max {
            return Err(Error::BodyTooLarge(self.bytes_max));
        }
        loop {
            let Some(frame) = self.deadline.keep(self.incoming.frame()).await? else { return Ok(None) };
            let frame = frame.map_err(|error| error::of_connection(&error))?;
            let Ok(data) = frame.into_data() else { continue };
            if data.is_empty() {
                continue;
            }
            self.bytes_seen = self.bytes_seen.saturating_add(data.len() as u64);
            if self.bytes_seen > self.bytes_max {
                return Err(Error::BodyTooLarge(self.bytes_max));
            }
            return Ok(Some(data));
        }
    }

    /// The same with another cap on its bytes, counted from its beginning.
    pub fn limited(self, bytes_max: u64) -> Body {
        Body { bytes_max, ..self }
    }

    /// All of it.
    pub async fn whole(mut self) -> Result<Vec<u8>, Error> {
        let mut whole = Vec::new();
        while let Some(piece) = self.next().await? {
            whole.extend_from_slice(&piece);
        }
        Ok(whole)
    }

    /// Reads what little is left of an answer that is known to be over, so that its connection can be used again.
    pub fn drain(mut self) {
        tokio::spawn(async move {
            let rest = async {
                let most = self.bytes_seen.saturating_add(limits::outgoing::DRAIN_MAX_BYTES);
                while let Ok(Some(_)) = self.next().await {
                    if self.bytes_seen > most {
                        return;
                    }
                }
            };
            // A server that does not end its answer loses the connection.
            if tokio::time::timeout(limits::outgoing::DRAIN_TIMEOUT, rest).await.is_err() {
                tracing::debug!("an answer said that it was over, and did not end");
            }
        });
    }
}
