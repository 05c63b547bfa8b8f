//! Request builder with limits and a redirect policy, and its serialization for one hop.

use std::time::Duration;

use base::limits;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, HOST, HeaderMap, HeaderValue};
use http::{Method, Uri};
use http_body_util::Full;
use url::Url;

use crate::error::Error;

/// One request. Names and passwords in the URL are sent as Basic credentials, unless there is an `Authorization` header.
#[derive(Clone)]
pub struct Request {
    /// What is asked.
    pub method: Method,
    /// Where; only `http` and `https`, see [`parse_url`].
    pub url: Url,
    /// Sent as they are. `Host` and `Content-Length` are added where they are missing. Values that are marked sensitive
    /// are not sent to another origin, like `Authorization` and `Cookie`.
    pub headers: HeaderMap,
    /// What is sent along; kept whole, since a redirect may ask for it again.
    pub body: Option<Bytes>,
    /// What is done about an answer that leads elsewhere.
    pub redirects: Redirects,
    /// Whether a redirect keeps the method that otherwise becomes `GET`.
    pub keep_method: bool,
    /// How long and how much.
    pub limits: Limits,
}

/// What is done about an answer that leads elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redirects {
    /// It is the answer.
    Return,
    /// It is followed within the origin that was asked, at most `max` times; another origin is an error.
    SameOrigin {
        /// How often.
        max: u64,
    },
    /// It is followed everywhere, at most `max` times; credentials stay with the origin they were given for.
    Follow {
        /// How often.
        max: u64,
    },
}

impl Redirects {
    /// How many redirects are followed; never more than the limit of all clients.
    pub(crate) fn max(self) -> Option<u64> {
        match self {
            Redirects::Return => None,
            Redirects::SameOrigin { max } | Redirects::Follow { max } => {
                Some(max.min(limits::outgoing::REDIRECTS_MAX))
            }
        }
    }
}

/// How long an exchange may take, and how much it may bring. The limits of connections are in [`crate::Settings`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long the other side may be silent, before its answer and within it.
    pub idle: Duration,
    /// How long all of it may take, from the lookup of the name to the last byte of the last hop.
    pub total: Duration,
    pub body_bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            idle: limits::outgoing::IDLE_TIMEOUT,
            total: limits::outgoing::TOTAL_TIMEOUT,
            body_bytes: limits::outgoing::BODY_MAX_BYTES,
        }
    }
}

/// Reads a URL that requests can go to.
pub fn parse_url(text: &str) -> Result<Url, Error> {
    let url = Url::parse(text).map_err(|why| Error::BadUrl(why.to_string()))?;
    check_url(&url)?;
    Ok(url)
}

/// Only http and https, and only with a host.
pub(crate) fn check_url(url: &Url) -> Result<(), Error> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Error::Scheme(url.scheme().to_owned()));
    }
    match url.host() {
        Some(_) => Ok(()),
        None => Err(Error::BadUrl("no host part in the URL".to_owned())),
    }
}

impl Request {
    /// A request without headers and body, which follows no redirects.
    pub fn new(method: Method, url: Url) -> Request {
        Request {
            method,
            url,
            headers: HeaderMap::new(),
            body: None,
            redirects: Redirects::Return,
            keep_method: false,
            limits: Limits::default(),
        }
    }

    /// The request as it is written for one hop.
    pub(crate) fn written(&self) -> Result<http::Request<Full<Bytes>>, Error> {
        check_url(&self.url)?;
        let bad = |why: &dyn std::fmt::Display| Error::BadRequest(why.to_string());
        let mut bare = self.url.clone();
        // Names and passwords are no part of an address; a URL with a host takes an empty one.
        if bare.set_username("").is_err() || bare.set_password(None).is_err() {
            return Err(Error::BadUrl("no host part in the URL".to_owned()));
        }
        bare.set_fragment(None);
        let uri: Uri = bare.as_str().parse().map_err(|error| bad(&error))?;
        let mut request = http::Request::new(Full::new(self.body.clone().unwrap_or_default()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        headers.insert(HOST, HeaderValue::from_str(&host(&self.url)).map_err(|error| bad(&error))?);
        if let Some(value) = self.basic() {
            let mut value = HeaderValue::from_str(&value).map_err(|error| bad(&error))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        if let Some(body) = &self.body {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        }
        for name in self.headers.keys() {
            headers.remove(name);
            for value in self.headers.get_all(name) {
                headers.append(name.clone(), value.clone());
            }
        }
        Ok(request)
    }

    /// The name and password of the URL.
    fn basic(&self) -> Option<String> {
        let decoded = |text: &str| {
            // The reader of forms decodes percents; a plus is a plus here.
            let form = format!("x={}", text.replace('+', "%2B"));
            let value = url::form_urlencoded::parse(form.as_bytes()).next();
            value.map(|(_, value)| value.into_owned()).unwrap_or_default()
        };
        let name = Some(self.url.username()).filter(|name| !name.is_empty())?;
        let password = decoded(self.url.password().unwrap_or_default());
        Some(format!("Basic {}", STANDARD.encode(format!("{}:{password}", decoded(name)))))
    }
}

fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(url: &str, change: impl FnOnce(&mut Request)) -> http::Request<Full<Bytes>> {
        let mut request = Request::new(Method::POST, parse_url(url).unwrap());
        change(&mut request);
        request.written().unwrap()
    }

    #[test]
    fn what_a_url_holds_goes_where_it_belongs() {
        let request = written("http://me:p%40w+@host:8080/a?b=c#d", |_| {});
        assert_eq!(request.uri(), "http://host:8080/a?b=c");
        assert_eq!(request.headers()[HOST], "host:8080");
        assert_eq!(request.headers()[AUTHORIZATION], format!("Basic {}", STANDARD.encode("me:p@w+")));
        assert!(!format!("{request:?}").contains("Basic"), "credentials are not shown");
        assert!(!request.headers().contains_key(CONTENT_LENGTH));
        assert_eq!(written("https://HOST:443/", |_| {}).headers()[HOST], "host");
    }

    #[test]
    fn headers_of_the_request_take_the_place_of_ours() {
        let request = written("http://me:pw@host/", |request| {
            request.body = Some(Bytes::new());
            request.headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer t"));
            request.headers.insert(HOST, HeaderValue::from_static("other"));
            request.headers.append("x-many", HeaderValue::from_static("1"));
            request.headers.append("x-many", HeaderValue::from_static("2"));
        });
        assert_eq!(
            (&request.headers()[AUTHORIZATION], &request.headers()[HOST]),
            (&"Bearer t".parse().unwrap(), &"other".parse().unwrap())
        );
        assert_eq!(request.headers().get_all("x-many").iter().count(), 2);
        assert_eq!(request.headers()[CONTENT_LENGTH], "0");
    }

    #[test]
    fn only_http_and_https_are_urls_here() {
        for bad in ["ftp://x/", "file:///etc/passwd", "gopher://x"] {
            assert!(matches!(parse_url(bad), Err(Error::Scheme(_))), "{bad}");
        }
        for bad in ["not a url", "/v1", "http://", "http://a b/", "http://[::1"] {
            assert!(matches!(parse_url(bad), Err(Error::BadUrl(_))), "{bad}");
        }
    }
}
