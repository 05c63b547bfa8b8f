//! Client of token endpoints (RFC 6749): a code, or a refresh token, in; tokens out.

use base::limits;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use http::{Method, StatusCode};
use outgoing::{Client, Request};
use serde_json::Value;
use store::oauth::{Secret, Tokens};
use url::Url;
use url::form_urlencoded::Serializer;

/// What a token endpoint gave.
pub(crate) struct Granted {
    pub(crate) tokens: Tokens,
    /// How long the access token lives.
    pub(crate) expires_in_ms: Option<i64>,
    /// What was granted, where it said so.
    pub(crate) scope: Option<String>,
}

/// Why it gave nothing. The words are for the person and hold nothing of what was sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TokenError {
    #[error("OAuth token endpoint request failed")]
    Unreachable,
    #[error("OAuth token endpoint refused: {0}")]
    Forbidden(String),
    #[error("OAuth token endpoint returned {status}")]
    Refused {
        status: u16,
        /// The code of the error, such as `invalid_grant`.
        error: Option<String>,
    },
    #[error("OAuth token endpoint returned invalid JSON")]
    NoJson,
    #[error("OAuth token endpoint did not return an access token")]
    NoToken,
}

impl TokenError {
    /// Whether asking again cannot help: the grant is gone, or the client.
    pub(crate) fn is_final(&self) -> bool {
        let codes = ["invalid_grant", "invalid_client", "unauthorized_client", "unsupported_grant_type"];
        match self {
            TokenError::Refused { error, .. } => error.as_deref().is_some_and(|code| codes.contains(&code)),
            _ => false,
        }
    }
}

/// Asks for tokens with a form. Redirects are not followed: a code must not go anywhere else.
pub(crate) async fn ask(
    client: &Client,
    endpoint: &str,
    form: &[(&str, &str)],
) -> Result<Granted, TokenError> {
    let url: Url = outgoing::parse_url(endpoint).map_err(|_| TokenError::Unreachable)?;
    // Finished here: a serializer must not be held over a wait.
    let body = Serializer::new(String::new()).extend_pairs(form).finish();
    let mut request = Request::new(Method::POST, url);
    request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    request.headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    request.body = Some(Bytes::from(body));
    request.limits.total = limits::oauth::TOKEN_TIMEOUT;
    request.limits.idle = limits::oauth::TOKEN_TIMEOUT;
    request.limits.body_bytes = limits::oauth::TOKEN_MAX_BYTES as u64;
    let answer = client.send(request).await.map_err(|error| match error {
        refused @ outgoing::Error::Refused { .. } => TokenError::Forbidden(refused.to_string()),
        error => {
            tracing::info!(%error, "a token endpoint could not be asked");
            TokenError::Unreachable
        }
    })?;
    let status = answer.last.status;
    let body = answer.body.whole().await.map_err(|_| TokenError::Unreachable)?;
    let json: Option<Value> = serde_json::from_slice(&body).ok();
    if status != StatusCode::OK && status != StatusCode::CREATED {
        let error = json.as_ref().and_then(|json| json["error"].as_str()).filter(|code| is_code(code));
        return Err(TokenError::Refused { status: status.as_u16(), error: error.map(str::to_string) });
    }
    granted(&json.ok_or(TokenError::NoJson)?)
}

fn granted(json: &Value) -> Result<Granted, TokenError> {
    let text = |name: &str| json[name].as_str().filter(|text| !text.is_empty());
    let usable = |token: &&str| {
        token.len() <= limits::oauth::TOKEN_TEXT_MAX_BYTES
            && token.bytes().all(|byte| byte.is_ascii_graphic())
    };
    let access = text("access_token").filter(usable).ok_or(TokenError::NoToken)?;
    let kind = text("token_type").filter(|kind| is_code(kind)).unwrap_or("Bearer");
    let refresh = text("refresh_token").filter(usable);
    // Some services write the number as a text.
    let seconds = json["expires_in"].as_f64().or_else(|| json["expires_in"].as_str()?.trim().parse().ok());
    let seconds = seconds.filter(|seconds| seconds.is_finite() && *seconds > 0.0);
    let tokens = Tokens {
        token_type: kind.to_string(),
        access_token: Secret(access.to_string()),
        refresh_token: refresh.map(|token| Secret(token.to_string())),
    };
    let scope = text("scope").filter(|scope| scope.len() <= 8_192 && !scope.chars().any(char::is_control));
    Ok(Granted {
        tokens,
        expires_in_ms: seconds.map(|seconds| (seconds * 1_000.0).min(1e15) as i64),
        scope: scope.map(str::to_string),
    })
}

/// Whether a text is a short plain word, that may be shown and kept.
fn is_code(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 64
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tokens_are_read_as_services_write_them() {
        let given = granted(
            &json!({ "access_token": "a", "expires_in": "60", "refresh_token": "r", "scope": "x y" }),
        );
        let given = given.ok().unwrap();
        assert_eq!(given.expires_in_ms, Some(60_000));
        assert_eq!((given.tokens.token_type.as_str(), given.scope.as_deref()), ("Bearer", Some("x y")));
        for nothing in
            [json!({}), json!({ "access_token": "" }), json!({ "access_token": "a b\n" }), json!([1])]
        {
            assert!(matches!(granted(&nothing), Err(TokenError::NoToken)), "{nothing}");
        }
        for odd in [json!(-1), json!("soon"), json!(null), json!(0)] {
            let given = granted(&json!({ "access_token": "a", "expires_in": odd })).ok().unwrap();
            assert_eq!(given.expires_in_ms, None);
        }
    }

    #[test]
    fn only_a_grant_that_is_gone_is_final() {
        let refused = |error: &str| TokenError::Refused { status: 400, error: Some(error.to_string()) };
        assert!(refused("invalid_grant").is_final() && refused("invalid_client").is_final());
        assert!(!refused("temporarily_unavailable").is_final());
        assert!(
            !TokenError::Refused { status: 503, error: None }.is_final()
                && !TokenError::Unreachable.is_final()
        );
    }
}
