//! HTML pages that a person sees who comes back from a service: one sentence each, nothing loaded, nothing kept.

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};

/// It worked.
pub(crate) fn connected(name: &str) -> Response {
    let text = format!("{} is connected. You can close this page.", escaped(name));
    page(StatusCode::OK, "OAuth connection complete", &text)
}

/// It did not; `why` is what the person can act on.
pub(crate) fn failed(status: StatusCode, why: &str) -> Response {
    page(status, "OAuth connection failed", &escaped(why))
}

fn page(status: StatusCode, title: &str, text: &str) -> Response {
    let html = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>{title}</title></head>\n<body><h1>{title}</h1><p>{text}</p></body></html>\n"
    );
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
        (
            CONTENT_SECURITY_POLICY,
            "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
        ),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (status, headers, html).into_response()
}

/// A text of somebody else inside HTML; what could hide or turn around the words beside it goes.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().take(500) {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control()
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') =>
            {
                out.push(' ');
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_is_only_text() {
        assert_eq!(escaped("<b a='1'>&\"\u{202e}x\n"), "&lt;b a=&#39;1&#39;&gt;&amp;&quot; x ");
        assert_eq!(escaped(&"y".repeat(1_000)).len(), 500);
    }
}
