//! Addresses for the `URL` of blocks: parsed and changed here, as the web does, and handed over as JSON.

use serde_json::json;
use url::{Url, quirks};

/// The parts of an address, or nothing when it is none.
pub(super) fn parse(text: &str, base: &str) -> String {
    let parsed = match base {
        "" => Url::parse(text),
        base => Url::parse(base).and_then(|base| base.join(text)),
    };
    parsed.map(|url| parts(&url)).unwrap_or_default()
}

/// The parts of an address with one changed, or nothing when that can not be.
pub(super) fn set(href: &str, part: &str, value: &str) -> String {
    let Ok(mut url) = Url::parse(href) else { return String::new() };
    let changed = match part {
        "protocol" => quirks::set_protocol(&mut url, value),
        "username" => quirks::set_username(&mut url, value),
        "password" => quirks::set_password(&mut url, value),
        "host" => quirks::set_host(&mut url, value),
        "hostname" => quirks::set_hostname(&mut url, value),
        "port" => quirks::set_port(&mut url, value),
        "pathname" => {
            quirks::set_pathname(&mut url, value);
            Ok(())
        }
        "search" => {
            quirks::set_search(&mut url, value);
            Ok(())
        }
        "hash" => {
            quirks::set_hash(&mut url, value);
            Ok(())
        }
        _ => Err(()),
    };
    changed.map(|()| parts(&url)).unwrap_or_default()
}

/// A key or value of a query, decoded.
pub(super) fn decode(text: &str) -> String {
    let pair = format!("v={text}");
    url::form_urlencoded::parse(pair.as_bytes())
        .next()
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

fn parts(url: &Url) -> String {
    json!({
        "href": quirks::href(url), "origin": quirks::origin(url), "protocol": quirks::protocol(url),
        "username": quirks::username(url), "password": quirks::password(url), "host": quirks::host(url),
        "hostname": quirks::hostname(url), "port": quirks::port(url), "pathname": quirks::pathname(url),
        "search": quirks::search(url), "hash": quirks::hash(url),
    })
    .to_string()
}
