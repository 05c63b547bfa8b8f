//! Redirect policy: which answers lead elsewhere, what the next hop asks, and which credentials stay behind.

use http::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HOST, HeaderMap, HeaderName,
    LOCATION, PROXY_AUTHORIZATION, TRANSFER_ENCODING,
};
use http::{Method, StatusCode};
use url::Url;

use crate::error::Error;
use crate::request::{Redirects, Request, check_url};

impl Request {
    /// Turns the request to where an answer leads; false when it leads nowhere. `hops` were made before.
    pub(crate) fn follow(
        &mut self,
        status: StatusCode,
        headers: &HeaderMap,
        hops: u64,
    ) -> Result<bool, Error> {
        let Some(max) = self.redirects.max() else { return Ok(false) };
        let Some(next) = target(&self.url, status, headers) else { return Ok(false) };
        if hops >= max {
            return Err(Error::TooManyRedirects(max));
        }
        let next = next?;
        check_url(&next)?;
        if next.origin() != self.url.origin() {
            if matches!(self.redirects, Redirects::SameOrigin { .. }) {
                return Err(Error::OtherOrigin(next.origin().ascii_serialization()));
            }
            self.forget_credentials();
        }
        let to_get = match status {
            StatusCode::SEE_OTHER => self.method != Method::HEAD,
            StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => self.method == Method::POST,
            _ => false,
        };
        if to_get {
            self.drop_body();
        }
        self.url = next;
        Ok(true)
    }

    /// They never come back, even if a later hop returns to where they belong.
    fn forget_credentials(&mut self) {
        let named = [AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION, HOST];
        let marked =
            self.headers.iter().filter(|(_, value)| value.is_sensitive()).map(|(name, _)| name.clone());
        let names: Vec<HeaderName> = marked.chain(named).collect();
        for name in names {
            self.headers.remove(name);
        }
    }

    fn drop_body(&mut self) {
        if !self.keep_method {
            self.method = Method::GET;
        }
        if self.body.take().is_some() {
            for name in [CONTENT_TYPE, CONTENT_LENGTH, CONTENT_ENCODING, TRANSFER_ENCODING] {
                self.headers.remove(name);
            }
        }
    }
}

/// Where an answer leads, if it does.
fn target(url: &Url, status: StatusCode, headers: &HeaderMap) -> Option<Result<Url, Error>> {
    if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = String::from_utf8_lossy(headers.get(LOCATION)?.as_bytes()).into_owned();
    Some(url.join(&location).map_err(|why| Error::BadUrl(why.to_string())))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::header::HeaderValue;

    use super::*;
    use base::limits;

    use crate::request::parse_url;

    fn request(method: Method, redirects: Redirects) -> Request {
        let mut request = Request::new(method, parse_url("https://here.example/a/b").unwrap());
        request.redirects = redirects;
        request.body = Some(Bytes::from_static(b"x"));
        let mut key = HeaderValue::from_static("k");
        key.set_sensitive(true);
        let plain = HeaderValue::from_static("v");
        request.headers.insert("x-api-key", key);
        for name in [AUTHORIZATION, COOKIE, HOST, CONTENT_TYPE, HeaderName::from_static("x-plain")] {
            request.headers.insert(name, plain.clone());
        }
        request
    }

    fn to(location: &str) -> HeaderMap {
        HeaderMap::from_iter([(LOCATION, HeaderValue::from_str(location).unwrap())])
    }

    fn follow(request: &mut Request, status: u16, location: &str) -> Result<bool, Error> {
        request.follow(StatusCode::from_u16(status).unwrap(), &to(location), 0)
    }

    const ANY: Redirects = Redirects::Follow { max: 5 };

    #[test]
    fn methods_and_bodies_change_as_browsers_and_curl_have_it() {
        let cases = [
            (301, Method::POST, false, Method::GET, false),
            (302, Method::POST, false, Method::GET, false),
            (303, Method::PUT, false, Method::GET, false),
            (303, Method::HEAD, false, Method::HEAD, true),
            (302, Method::PUT, false, Method::PUT, true),
            (307, Method::POST, false, Method::POST, true),
            (308, Method::DELETE, false, Method::DELETE, true),
            (302, Method::POST, true, Method::POST, false),
        ];
        for (status, method, keep_method, expected, body) in cases {
            let mut request = Request { keep_method, ..request(method.clone(), ANY) };
            assert_eq!(follow(&mut request, status, "c?d"), Ok(true));
            assert_eq!(request.url.as_str(), "https://here.example/a/c?d");
            assert_eq!((&request.method, request.body.is_some()), (&expected, body), "{status} {method}");
            assert_eq!(request.headers.contains_key(CONTENT_TYPE), body, "{status} {method}");
            assert!(request.headers.contains_key(AUTHORIZATION) && request.headers.contains_key("x-api-key"));
        }
    }

    #[test]
    fn credentials_stay_with_their_origin_for_good() {
        for other in ["http://here.example/", "https://here.example:8443/", "//there.example/"] {
            let mut request = request(Method::GET, ANY);
            assert_eq!(follow(&mut request, 302, other), Ok(true), "{other}");
            assert_eq!(follow(&mut request, 302, "https://here.example/"), Ok(true));
            let left: Vec<&str> = request.headers.keys().map(HeaderName::as_str).collect();
            assert_eq!(left, ["x-plain", "content-type"], "{other}");
        }
    }

    #[test]
    fn a_request_may_be_bound_to_its_origin() {
        let mut bound = request(Method::GET, Redirects::SameOrigin { max: 5 });
        assert_eq!(follow(&mut bound, 302, "/x"), Ok(true));
        let refused = follow(&mut bound, 302, "https://user:pw@there.example/x").unwrap_err();
        assert_eq!(refused.to_string(), "Redirected to https://there.example, where this request may not go");
    }

    #[test]
    fn some_answers_lead_nowhere_or_too_far() {
        let mut request = request(Method::GET, ANY);
        for status in [200, 300, 304, 404] {
            assert_eq!(follow(&mut request, status, "/x"), Ok(false), "{status}");
        }
        assert_eq!(request.follow(StatusCode::FOUND, &HeaderMap::new(), 0), Ok(false));
        assert_eq!(request.follow(StatusCode::FOUND, &to("/x"), 5), Err(Error::TooManyRedirects(5)));
        assert_eq!(follow(&mut request, 302, "file:///etc/passwd"), Err(Error::Scheme("file".to_owned())));
        request.redirects = Redirects::Return;
        assert_eq!(follow(&mut request, 302, "/x"), Ok(false));
        request.redirects = Redirects::Follow { max: u64::MAX };
        let hops = limits::outgoing::REDIRECTS_MAX;
        assert_eq!(request.follow(StatusCode::FOUND, &to("/x"), hops), Err(Error::TooManyRedirects(hops)));
    }
}
