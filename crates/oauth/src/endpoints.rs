//! Validation of what `sys.oauth.start` is given: texts within bounds, and endpoints that are safe to send people and
//! secrets to.

use std::collections::BTreeMap;

use protocol::error::Error;
use protocol::sys::oauth::Start;
use url::{Host, Url};

/// Where services send people back to.
pub(crate) const CALLBACK_PATH: &str = "/oauth/callback";

/// Parameters of the authorization request that are the gateway's own.
const RESERVED: [&str; 7] = [
    "client_id",
    "code_challenge",
    "code_challenge_method",
    "redirect_uri",
    "response_type",
    "scope",
    "state",
];

const CALL: &str = "sys.oauth.start";

/// Longest URL.
const URL_MAX: usize = 2_048;
/// How many further parameters there may be.
const EXTRA_MAX: usize = 32;

fn bad(field: &str, why: &str) -> Error {
    Error::bad_argument(CALL, field, why)
}

/// A text that must be there, trimmed.
pub(crate) fn required(field: &str, text: &str, max: usize) -> Result<String, Error> {
    let text = text.trim();
    if text.is_empty() {
        return Err(bad(field, "must not be empty"));
    }
    if text.chars().count() > max {
        return Err(bad(field, &format!("must have at most {max} characters")));
    }
    if text.chars().any(char::is_control) {
        return Err(bad(field, "must not have control characters"));
    }
    Ok(text.to_string())
}

/// A text that may be absent; an empty one is as good as none.
pub(crate) fn optional(field: &str, text: Option<&str>, max: usize) -> Result<Option<String>, Error> {
    match text.map(str::trim) {
        None | Some("") => Ok(None),
        Some(text) => required(field, text, max).map(Some),
    }
}

/// An absolute URL without credentials: https, or http to this machine.
pub(crate) fn endpoint(field: &str, text: &str) -> Result<Url, Error> {
    let text = required(field, text, URL_MAX)?;
    let url = Url::parse(&text).map_err(|error| bad(field, &format!("is no absolute URL: {error}")))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad(field, "must not have a name or a password in it"));
    }
    if url.fragment().is_some() {
        return Err(bad(field, "must not have a fragment"));
    }
    match url.scheme() {
        "https" if url.host().is_some() => Ok(url),
        "http" if is_loopback(&url) => Ok(url),
        _ => Err(bad(field, "must begin with https://, or with http:// for localhost, 127.0.0.1 and ::1")),
    }
}

/// Whether a URL leads to this machine by its name.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// The way back: exactly the callback of this gateway, which is at `public_url` where root has said so.
pub(crate) fn redirect(text: &str, public_url: &str) -> Result<Url, Error> {
    let url = endpoint("redirectUri", text)?;
    if url.path() != CALLBACK_PATH || url.query().is_some() {
        return Err(bad(
            "redirectUri",
            &format!("must be {CALLBACK_PATH} on this gateway, with nothing behind it"),
        ));
    }
    let public = Url::parse(public_url.trim()).ok();
    if let Some(public) = public
        && public.origin() != url.origin()
    {
        let origin = public.origin().ascii_serialization();
        return Err(bad("redirectUri", &format!("must be on {origin}, which is config/server/public_url")));
    }
    Ok(url)
}

/// Further parameters of the authorization request.
pub(crate) fn extra(args: &Start) -> Result<BTreeMap<String, String>, Error> {
    let extra = args.extra_auth_params.clone().unwrap_or_default();
    if extra.len() > EXTRA_MAX {
        return Err(bad("extraAuthParams", &format!("must be at most {EXTRA_MAX}")));
    }
    for (key, value) in &extra {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.:-".contains(c);
        if key.is_empty() || key.len() > 200 || !key.chars().all(is_plain) {
            return Err(bad("extraAuthParams", "names may have letters, digits, and _ . : -"));
        }
        if RESERVED.iter().any(|reserved| reserved.eq_ignore_ascii_case(key)) {
            return Err(bad("extraAuthParams", &format!("{key} is set by the gateway")));
        }
        if value.chars().count() > URL_MAX || value.chars().any(char::is_control) {
            return Err(bad(
                "extraAuthParams",
                &format!("the value of {key} is too long or has control characters"),
            ));
        }
    }
    Ok(extra)
}

/// Whether an answer is from whom it must be (RFC 9207): from the issuer that the flow names, else, where the answer says
/// who it is from, from the origin that the person was sent to.
pub(crate) fn is_from(iss: Option<&str>, issuer: Option<&str>, authorization_endpoint: &str) -> bool {
    match (iss, issuer) {
        (Some(iss), Some(issuer)) => iss == issuer,
        (None, _) => true,
        (Some(iss), None) => match (Url::parse(iss), Url::parse(authorization_endpoint)) {
            (Ok(iss), Ok(endpoint)) => iss.origin() == endpoint.origin(),
            _ => false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_https_or_this_machine() {
        for good in [
            "https://a.example/x?y=1",
            "http://localhost:1/x",
            "http://LOCALHOST/x",
            "http://127.0.0.1:9/",
            "http://[::1]/",
        ] {
            assert!(endpoint("tokenEndpoint", good).is_ok(), "{good}");
        }
        let long = format!("https://a.example/{}", "x".repeat(URL_MAX));
        for wrong in [
            "",
            "a.example",
            "http://a.example/",
            "http://localhost.a.example/",
            "ftp://localhost/",
            "javascript:alert(1)",
            "https://me:pw@a.example/",
            "https://me@a.example/",
            "https://a.example/#x",
            "https://a.example/\u{7}",
            long.as_str(),
        ] {
            let error = endpoint("tokenEndpoint", wrong).expect_err(wrong);
            assert_eq!(error.code, 400);
            assert!(error.message.contains("tokenEndpoint"), "{error}");
        }
    }

    #[test]
    fn the_way_back_is_the_callback_of_this_gateway_and_nothing_else() {
        assert!(redirect("https://gsv.example/oauth/callback", "").is_ok());
        assert!(redirect("https://gsv.example/oauth/callback", "https://gsv.example").is_ok());
        for (url, public) in [
            ("https://gsv.example/oauth/callback/", ""),
            ("https://gsv.example/oauth/callback?next=/", ""),
            ("https://gsv.example/other", ""),
            ("https://evil.example/oauth/callback", "https://gsv.example"),
            ("https://gsv.example:444/oauth/callback", "https://gsv.example/"),
        ] {
            assert!(redirect(url, public).is_err(), "{url}");
        }
    }

    #[test]
    fn an_answer_of_somebody_else_is_told() {
        let endpoint = "https://as.example/authorize";
        assert!(is_from(None, None, endpoint) && is_from(None, Some("https://as.example"), endpoint));
        assert!(is_from(Some("https://as.example/tenant"), None, endpoint));
        assert!(!is_from(Some("https://evil.example"), None, endpoint));
        assert!(!is_from(Some("no url"), None, endpoint));
        assert!(
            !is_from(Some("https://as.example/"), Some("https://as.example"), endpoint),
            "compared as texts"
        );
    }
}
