//! OAuth 2 client state: accounts at other services, flows that wait for a person, and what came of them. Verifiers and
//! tokens are encrypted, each bound to the record it belongs to.

mod accounts;
mod flows;

use std::fmt;

use protocol::sys::oauth::ConnectionKind;

pub use accounts::{NewAccount, Renewed, Tokens};
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

fn kind_text(kind: ConnectionKind) -> &'static str {
    match kind {
        ConnectionKind::AiProvider => "ai-provider",
        ConnectionKind::McpServer => "mcp-server",
        ConnectionKind::Generic => "generic",
    }
}

fn kind_from(text: &str) -> Result<ConnectionKind> {
    match text {
        "ai-provider" => Ok(ConnectionKind::AiProvider),
        "mcp-server" => Ok(ConnectionKind::McpServer),
        "generic" => Ok(ConnectionKind::Generic),
        other => Err(unexpected("a kind of connection", other)),
    }
}
