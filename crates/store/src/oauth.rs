//! OAuth 2 client state: accounts at other services, flows that wait for a person, and what came of them. Verifiers and
//! tokens are encrypted, each bound to the record it belongs to.

mod accounts;
mod flows;

use std::fmt;

use protocol::sys::oauth::Kind;

pub use accounts::{NewAccount, Tokens};
pub use flows::{NewFlow, OpenFlow};

use crate::sql::unexpected;
use crate::{Result, Store};

/// Accounts at other services. See [`Store::oauth`].
#[derive(Clone, Copy)]
pub struct OAuth<'a>(pub(crate) &'a Store);

impl Store {
    /// Accounts at other services.
    pub fn oauth(&self) -> OAuth<'_> {
        OAuth(self)
    }
}

/// A text that is not shown in logs.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

fn kind_text(kind: Kind) -> &'static str {
    match kind {
        Kind::AiProvider => "ai-provider",
        Kind::McpServer => "mcp-server",
        Kind::Generic => "generic",
    }
}

fn kind_from(text: &str) -> Result<Kind> {
    match text {
        "ai-provider" => Ok(Kind::AiProvider),
        "mcp-server" => Ok(Kind::McpServer),
        "generic" => Ok(Kind::Generic),
        other => Err(unexpected("a kind of connection", other)),
    }
}
