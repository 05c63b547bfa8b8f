//! The token that a connection uses, by the account it came from; not the token itself.

use base::limits;

/// Which token is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) account_id: String,
    /// As it was when the token was read.
    pub(crate) updated_at: i64,
    /// When it ends, in milliseconds.
    pub(crate) expires_at: Option<i64>,
}

impl Held {
    /// Whether it ends too soon to be used.
    pub(crate) fn is_ending(&self, now_ms: i64) -> bool {
        let margin = limits::mcp::TOKEN_MARGIN.as_millis() as i64;
        self.expires_at.is_some_and(|ends| ends <= now_ms + margin)
    }
}
