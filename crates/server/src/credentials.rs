//! HTTP authentication: the `Authorization` header as credentials, `Basic` (RFC 7617) and `Bearer` (RFC 6750).

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kernel::{Caller, Kernel, Visitor};
use protocol::error::Error;
use protocol::identity::Role;

/// What a client may answer a 401 with.
const CHALLENGE: &str = r#"Basic realm="gsv", charset="UTF-8", Bearer realm="gsv""#;

/// What the header says.
enum Given {
    Basic { username: String, secret: String },
    Bearer(String),
}

/// Who makes a request; `None` without an `Authorization` header.
pub(crate) async fn caller(
    kernel: &Kernel,
    headers: &HeaderMap,
    peer: IpAddr,
) -> Option<Result<Caller, Error>> {
    let header = headers.get(header::AUTHORIZATION)?;
    Some(check(kernel, header, peer).await)
}

/// The same for the routes of an area, which may not want to know.
pub(crate) fn visitor(kernel: &Arc<Kernel>, headers: &HeaderMap, peer: IpAddr) -> Visitor {
    let network = auth::network::customer(peer);
    let Some(header) = headers.get(header::AUTHORIZATION).cloned() else {
        return Visitor::anonymous(network);
    };
    let kernel = kernel.clone();
    Visitor::with_login(network, move || {
        let (kernel, header) = (kernel.clone(), header.clone());
        Box::pin(async move { check(&kernel, &header, peer).await })
    })
}

async fn check(kernel: &Kernel, header: &HeaderValue, peer: IpAddr) -> Result<Caller, Error> {
    let Some(given) = header.to_str().ok().and_then(parse) else {
        return Err(Error::authentication_failed());
    };
    let (username, secret) = match &given {
        Given::Bearer(token) => (None, auth::Secret::Token(token)),
        // Programs that know only names and passwords, such as git, send tokens as passwords.
        Given::Basic { username, secret } if auth::tokens::is_token(secret) => {
            (Some(username.as_str()), auth::Secret::Token(secret))
        }
        Given::Basic { username, secret } => (Some(username.as_str()), auth::Secret::Password(secret.trim())),
    };
    let credentials = auth::Credentials { username, secret, role: Role::User, device_id: "", peer };
    kernel.authenticate(&credentials).await
}

/// The answer to a request whose credentials were refused.
pub(crate) fn refuse(error: &Error) -> Response {
    let status = match error.code {
        401 | 403 | 425 | 429 => StatusCode::from_u16(error.code as u16),
        507 => Ok(StatusCode::SERVICE_UNAVAILABLE),
        _ => Ok(StatusCode::INTERNAL_SERVER_ERROR),
    };
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let text = error.message.clone();
    if status == StatusCode::UNAUTHORIZED {
        return (status, [(header::WWW_AUTHENTICATE, CHALLENGE)], text).into_response();
    }
    (status, text).into_response()
}

fn parse(header: &str) -> Option<Given> {
    let (scheme, rest) = header.split_once(' ')?;
    let rest = rest.trim();
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(Given::Bearer(rest.to_string()));
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let text = String::from_utf8(STANDARD.decode(rest).ok()?).ok()?;
    let (username, secret) = text.split_once(':')?;
    Some(Given::Basic { username: username.to_string(), secret: secret.to_string() })
}
