//! TLS client configuration: whom we trust, and what a person is told when we do not. The gateway's client and
//! everything that leaves through `outgoing` come here, so that a private authority is named once for all.
//!
//! The provider of the cryptography is always named: a program with two of them inside would not know which to take.

mod refusal;
mod roots;

use std::sync::{Arc, OnceLock};

pub use refusal::Refusal;
pub use roots::Roots;
pub use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
pub use tokio_rustls::client::TlsStream;

/// What this program trusts: the bundled authorities and those that the environment names. Read once.
pub fn roots() -> &'static Roots {
    static ROOTS: OnceLock<Roots> = OnceLock::new();
    ROOTS.get_or_init(|| Roots::new(std::env::var_os("SSL_CERT_FILE"), std::env::var_os("SSL_CERT_DIR")))
}

/// A configuration that trusts [`roots`]; it offers no protocol by name.
pub fn config() -> Arc<ClientConfig> {
    roots().config.clone()
}

/// Opens TLS over a stream to this host, for HTTP/1.1 and what is upgraded from it. The caller sets the limit of time.
pub async fn connect<S>(host: &str, stream: S) -> std::io::Result<TlsStream<S>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    // An IPv6 address is named without its brackets.
    let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned())
        .map_err(|_| std::io::Error::other(format!("{host} is no name that a certificate can have")))?;
    let connector = TlsConnector::from(roots().http_config.clone());
    connector.connect(name, stream).await
}

/// What a failed connection means, if it was TLS that failed.
pub fn refusal(error: &(dyn std::error::Error + 'static)) -> Option<Refusal> {
    Refusal::of(error, roots().problem.as_deref())
}
