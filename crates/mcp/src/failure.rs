//! Error type of exchanges with MCP servers: what went wrong, told apart by what is done about it.

use base::limits;
use http::HeaderMap;
use http::header::WWW_AUTHENTICATE;
use serde_json::Value;

/// Why an exchange came to nothing. The words are for the person.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// It wants a sign-in, or one with more rights.
    #[error("the server wants a sign-in")]
    Unauthorized(Challenge),
    /// It does not know the session any more.
    #[error("the server has forgotten the session")]
    SessionGone,
    /// An error of its own.
    #[error("{message} (code {code})")]
    Rpc { code: i64, message: String, data: Option<Value> },
    /// An HTTP status that means nothing here.
    #[error("the server answered with HTTP status {0}")]
    Status(u16),
    /// It cannot be reached, or the connection broke: later it may work.
    #[error("{0}")]
    Unreachable(String),
    #[error("the server did not answer within {0} seconds")]
    TimedOut(u64),
    /// It says what no MCP server says.
    #[error("{0}")]
    Unexpected(String),
    /// Something here went wrong.
    #[error("{0}")]
    Inside(String),
}

/// What came with a refusal (RFC 6750, RFC 9728).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Challenge {
    /// Where the protected resource is described.
    pub(crate) resource_metadata: Option<String>,
    /// What to ask for.
    pub(crate) scope: Option<String>,
    /// Whether it is rights that are missing, and not the sign-in itself.
    pub(crate) is_insufficient: bool,
}

impl Failure {
    /// Whether connecting again later may help by itself.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Failure::Unreachable(_) | Failure::TimedOut(_) | Failure::SessionGone | Failure::Inside(_) => {
                true
            }
            Failure::Status(status) => *status >= 500 || *status == 429,
            Failure::Unauthorized(_) | Failure::Rpc { .. } | Failure::Unexpected(_) => false,
        }
    }

    /// The error object of JSON-RPC.
    pub(crate) fn of_rpc(error: &Value) -> Failure {
        let message = error["message"].as_str().unwrap_or("the server gave no reason");
        Failure::Rpc {
            code: error["code"].as_i64().unwrap_or_default(),
            message: short(message),
            data: error.get("data").cloned(),
        }
    }
}

impl From<outgoing::Error> for Failure {
    fn from(error: outgoing::Error) -> Failure {
        match error {
            outgoing::Error::TimedOut { limit, .. } => Failure::TimedOut(limit.as_secs()),
            outgoing::Error::BodyTooLarge(_)
            | outgoing::Error::HeadTooLarge
            | outgoing::Error::Refused { .. }
            | outgoing::Error::OtherOrigin(_)
            | outgoing::Error::TooManyRedirects(_)
            | outgoing::Error::BadUrl(_)
            | outgoing::Error::Scheme(_)
            | outgoing::Error::BadRequest(_) => Failure::Unexpected(error.to_string()),
            error => Failure::Unreachable(error.to_string()),
        }
    }
}

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Failure {
        Failure::Inside(protocol::error::Error::from(error).message)
    }
}

/// A text of a server, without control characters and not longer than what is kept.
pub(crate) fn short(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let end = text.floor_char_boundary(limits::mcp::ERROR_MAX_BYTES);
    if end < text.len() { format!("{}…", &text[..end]) } else { text }
}

impl Challenge {
    /// From the headers of a refusal.
    pub(crate) fn of(headers: &HeaderMap) -> Challenge {
        let mut challenge = Challenge::default();
        for value in headers.get_all(WWW_AUTHENTICATE) {
            let Ok(text) = value.to_str() else { continue };
            for (name, value) in parameters(text) {
                match name.as_str() {
                    "resource_metadata" => challenge.resource_metadata = Some(value),
                    "scope" => challenge.scope = Some(value).filter(|scope| !scope.trim().is_empty()),
                    "error" => challenge.is_insufficient = value == "insufficient_scope",
                    _ => {}
                }
            }
        }
        challenge
    }
}

/// The parameters of a `WWW-Authenticate` header: `name=token` and `name="text with \" in it"`.
fn parameters(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('=') {
        let name = rest[..at].rsplit([' ', ',', '\t']).next().unwrap_or_default().to_ascii_lowercase();
        rest = &rest[at + 1..];
        let value = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (mut value, mut escaped, mut end) = (String::new(), false, quoted.len());
                for (at, character) in quoted.char_indices() {
                    match character {
                        '\\' if !escaped => escaped = true,
                        '"' if !escaped => {
                            end = at + 1;
                            break;
                        }
                        character => {
                            escaped = false;
                            value.push(character);
                        }
                    }
                }
                rest = &quoted[end.min(quoted.len())..];
                value
            }
            None => {
                let end = rest.find([',', ' ']).unwrap_or(rest.len());
                let value = rest[..end].to_string();
                rest = &rest[end..];
                value
            }
        };
        found.push((name, value));
    }
    found
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn challenges_are_read_as_servers_write_them() {
        let of = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(text));
            Challenge::of(&headers)
        };
        let whole = of(
            r#"Bearer error="insufficient_scope", scope="a b", resource_metadata="https://x/.well-known/r?q=1", realm=mcp"#,
        );
        assert_eq!(whole.resource_metadata.as_deref(), Some("https://x/.well-known/r?q=1"));
        assert_eq!((whole.scope.as_deref(), whole.is_insufficient), (Some("a b"), true));
        assert_eq!(of("Bearer"), Challenge::default());
        assert_eq!(of(r#"Bearer scope="open \"quoted"#).scope.as_deref(), Some(r#"open "quoted"#));
        assert_eq!(of("Bearer error=invalid_token,scope=x").scope.as_deref(), Some("x"));
    }

    #[test]
    fn texts_of_servers_are_cut_and_without_control_characters() {
        assert_eq!(short("a\nb\u{7}"), "a b ");
        assert!(short(&"é".repeat(5_000)).len() <= limits::mcp::ERROR_MAX_BYTES + 3);
    }
}
