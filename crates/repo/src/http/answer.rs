//! HTTP error answers that the git program shows to people: it prints the text of a refusal behind `remote:`.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base::limits;
use protocol::error::Error;

use super::incoming::Cut;
use crate::admission::Crowded;
use crate::slug::Slug;

/// What a client may answer a 401 with. Git knows only names and passwords; a token is sent as a password.
const CHALLENGE: &str = r#"Basic realm="gsv", charset="UTF-8""#;

/// What every answer carries: nothing in between may keep it.
pub(crate) const NOT_KEPT: [(HeaderName, &str); 3] = [
    (header::CACHE_CONTROL, "no-cache, max-age=0, must-revalidate"),
    (header::PRAGMA, "no-cache"),
    (header::EXPIRES, "Fri, 01 Jan 1980 00:00:00 GMT"),
];

/// Why a request goes no further.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    text: String,
    retry_after_seconds: Option<u64>,
}

impl Refusal {
    fn new(status: StatusCode, text: impl Into<String>) -> Refusal {
        Refusal { status, text: text.into(), retry_after_seconds: None }
    }

    /// No credentials came along.
    pub(crate) fn authentication_required() -> Refusal {
        Refusal::new(StatusCode::UNAUTHORIZED, "Authentication required")
    }

    /// There is none, or the caller may not know.
    pub(crate) fn not_found() -> Refusal {
        let text = "Repository not found: there is none of this name, or you may not read it";
        Refusal::new(StatusCode::NOT_FOUND, text)
    }

    /// The caller may read it and nothing more.
    pub(crate) fn read_only(slug: &Slug) -> Refusal {
        let text = format!("Forbidden: you may read {slug} but not push to it");
        Refusal::new(StatusCode::FORBIDDEN, text)
    }

    /// What was changed in the file tree has been committed since the client looked.
    pub(crate) fn changed_meanwhile(slug: &Slug) -> Refusal {
        let text = format!(
            "Files of {slug} were changed on the gateway while you pushed, and are committed now. Nothing was \
             overwritten: run `git pull --rebase` and push again"
        );
        Refusal::new(StatusCode::CONFLICT, text)
    }

    /// It belongs to the gateway.
    pub(crate) fn system_repository() -> Refusal {
        Refusal::new(StatusCode::FORBIDDEN, "Only root may push system repositories")
    }

    /// A client that wants to read a repository file by file, or something that is not here.
    pub(crate) fn dumb() -> Refusal {
        let text = "This address is for the git program, with git's smart protocol: git clone URL";
        Refusal::new(StatusCode::NOT_FOUND, text)
    }

    /// The body of a POST is not what the service reads.
    pub(crate) fn wrong_content_type(wanted: &str) -> Refusal {
        let text = format!("The content type must be {wanted}");
        Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, text)
    }

    /// The git program is not on this machine.
    pub(crate) fn no_git() -> Refusal {
        let text = "Git over HTTP needs the git program, which the gateway's machine does not have. Install it there \
                    (apt install git, dnf install git, brew install git); nothing needs to be restarted. The calls of \
                    repo.* and `gsv repo` work without it.";
        Refusal::new(StatusCode::NOT_IMPLEMENTED, text)
    }

    /// The git program does not start, or failed before it said anything.
    pub(crate) fn git_failed() -> Refusal {
        let text = "The git program failed; the gateway's log says why";
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, text)
    }

    /// Too much is under way.
    pub(crate) fn crowded(crowded: Crowded) -> Refusal {
        let (status, text) = match crowded {
            Crowded::Everybody => (BUSY, "Too many git requests are under way; try again in a little while"),
            Crowded::Caller => (
                StatusCode::TOO_MANY_REQUESTS,
                "Too many git requests of yours are under way; try again when some have ended",
            ),
        };
        Refusal { retry_after_seconds: Some(limits::git::RETRY_AFTER_SECONDS), ..Refusal::new(status, text) }
    }

    /// The gateway ends.
    pub(crate) fn stopping() -> Refusal {
        Refusal::new(BUSY, "The gateway is stopping; try again when it is back")
    }

    /// It took too long.
    pub(crate) fn took_too_long() -> Refusal {
        Refusal::new(StatusCode::GATEWAY_TIMEOUT, "The request took too long and was ended")
    }

    /// The route was reached around the server; a fault of our own.
    pub(crate) fn not_introduced() -> Refusal {
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "The request came without its origin")
    }

    /// The request broke off, or was not to be read.
    pub(crate) fn cut(cut: Cut) -> Refusal {
        let (status, text) = match cut {
            Cut::Gone => (StatusCode::BAD_REQUEST, "The request broke off"),
            Cut::Stalled => (StatusCode::REQUEST_TIMEOUT, "The request stood still for too long"),
            Cut::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "The request is larger than this gateway takes"),
            Cut::Unreadable => (StatusCode::BAD_REQUEST, "The request is not in git's format"),
            Cut::Encoding => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, "The content encoding must be gzip or identity")
            }
        };
        Refusal::new(status, text)
    }

    /// An error of the house.
    pub(crate) fn of(error: &Error) -> Refusal {
        let status = match error.code {
            code @ (400 | 401 | 403 | 404 | 409 | 413 | 425 | 429 | 503) => {
                StatusCode::from_u16(code as u16).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
            }
            507 => BUSY,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Refusal::new(status, error.message.clone())
    }

    pub(crate) fn into_response(self) -> Response {
        let kind = (header::CONTENT_TYPE, "text/plain; charset=utf-8");
        let text = format!("{}\n", self.text);
        let mut response = (self.status, NOT_KEPT, [kind], text).into_response();
        let headers = response.headers_mut();
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(CHALLENGE));
        }
        if let Some(seconds) = self.retry_after_seconds {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

const BUSY: StatusCode = StatusCode::SERVICE_UNAVAILABLE;
