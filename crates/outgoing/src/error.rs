//! Error type of the HTTP client: a cause for the program and words for a person. No text shows a URL whole: it may
//! hold a password.

use std::error::Error as StdError;
use std::net::IpAddr;
use std::time::Duration;

use hyper_util::client::legacy;

/// Why a request came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text is no URL, or one without a host.
    #[error("URL rejected: {0}")]
    BadUrl(String),
    /// Neither `http` nor `https`.
    #[error("Protocol \"{0}\" not supported")]
    Scheme(String),
    /// Something of the request cannot be sent.
    #[error("bad request: {0}")]
    BadRequest(String),
    /// The name has no address.
    #[error("Could not resolve host: {host}")]
    Unresolved {
        /// The name.
        host: String,
    },
    /// The guard does not allow any of the host's addresses.
    #[error("{host} is {address}, which may not be reached from here ({purpose})")]
    Refused {
        /// The host as it was named.
        host: String,
        /// The first address that was refused.
        address: IpAddr,
        /// What that address is for, such as `loopback`.
        purpose: &'static str,
    },
    /// No address of the host took a connection.
    #[error("Failed to connect to {host} port {port}: {why}")]
    Connect {
        host: String,
        port: u16,
        /// What the operating system said.
        why: String,
    },
    /// There is no TLS to the host.
    #[error("{host} cannot be trusted: {refusal}")]
    Untrusted {
        host: String,
        /// What is wrong, and what to do about it.
        refusal: tls::Refusal,
    },
    /// It took longer than it may.
    #[error("{stage} timed out after {} milliseconds", limit.as_millis())]
    TimedOut {
        /// What took so long.
        stage: Stage,
        /// How long it may take.
        limit: Duration,
    },
    /// The head of the answer is too large.
    #[error("The answer's headers are too large")]
    HeadTooLarge,
    /// The body of the answer is too large.
    #[error("The answer exceeds {0} bytes")]
    BodyTooLarge(u64),
    /// The connection ended before the answer did.
    #[error("The connection was closed before the answer was complete")]
    Closed,
    /// The answer could not be read.
    #[error("The answer could not be read: {0}")]
    Unreadable(String),
    /// More redirects than may be followed.
    #[error("Maximum ({0}) redirects followed")]
    TooManyRedirects(u64),
    /// A redirect led to another origin, and may not.
    #[error("Redirected to {0}, where this request may not go")]
    OtherOrigin(String),
}

/// What can take too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Looking up the name, opening the connection and TLS.
    Connecting,
    /// The silence before and within an answer.
    Silence,
    /// All of it.
    Total,
}

impl std::fmt::Display for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Stage::Connecting => "Connecting",
            Stage::Silence => "Waiting for data",
            Stage::Total => "Operation",
        })
    }
}

/// What the pool's error means: ours from within the connector, or the connection's.
pub(crate) fn of_pool(error: &legacy::Error) -> Error {
    let mut next: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(inner) = next {
        if let Some(ours) = inner.downcast_ref::<Error>() {
            return ours.clone();
        }
        if let Some(theirs) = inner.downcast_ref::<hyper::Error>() {
            return of_connection(theirs);
        }
        next = inner.source();
    }
    Error::Unreadable(deepest(error))
}

/// What an error of a connection means.
pub(crate) fn of_connection(error: &hyper::Error) -> Error {
    if error.is_parse_too_large() {
        return Error::HeadTooLarge;
    }
    let closed = || {
        let source = error.source().and_then(|source| source.downcast_ref::<std::io::Error>());
        source.is_some_and(|source| {
            use std::io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
            matches!(source.kind(), ConnectionReset | BrokenPipe | UnexpectedEof)
        })
    };
    match error.is_incomplete_message() || error.is_canceled() || error.is_closed() || closed() {
        true => Error::Closed,
        false => Error::Unreadable(deepest(error)),
    }
}

/// The reason that is deepest in the chain says most.
fn deepest(error: &(dyn StdError + 'static)) -> String {
    let mut deepest = error;
    while let Some(inner) = deepest.source() {
        deepest = inner;
    }
    deepest.to_string()
}
