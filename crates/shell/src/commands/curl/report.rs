//! Format strings of `curl -w`: what is printed after a transfer.

use std::time::Duration;

use http::header;

use super::Trouble;
use super::transfer::Fetched;

/// The format with its variables and escapes filled in.
pub(super) fn written(
    pattern: &str,
    fetched: Option<&Fetched>,
    trouble: Option<&Trouble>,
    total: Duration,
) -> String {
    let mut out = String::new();
    let mut rest = pattern;
    while let Some(at) = rest.find(['%', '\\']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("%{")
            && let Some((name, after)) = after.split_once('}')
        {
            out.push_str(&value(name, fetched, trouble, total));
            rest = after;
            continue;
        }
        let escapes = [("%%", "%"), ("\\n", "\n"), ("\\t", "\t"), ("\\r", "\r"), ("\\\\", "\\")];
        match escapes.iter().find(|(escape, _)| rest.starts_with(escape)) {
            Some((escape, text)) => {
                out.push_str(text);
                rest = &rest[escape.len()..];
            }
            None => {
                out.push_str(&rest[..1]);
                rest = &rest[1..];
            }
        }
    }
    out + rest
}

fn value(name: &str, fetched: Option<&Fetched>, trouble: Option<&Trouble>, total: Duration) -> String {
    let seconds = |time: Duration| format!("{:.6}", time.as_secs_f64());
    match name {
        "exitcode" => return trouble.map_or(0, |trouble| trouble.code).to_string(),
        "errormsg" => return trouble.map(|trouble| trouble.why.clone()).unwrap_or_default(),
        "time_total" => return seconds(total),
        "ssl_verify_result" => return "0".to_string(),
        _ => {}
    }
    let Some(fetched) = fetched else {
        return match name {
            "http_code" | "response_code" => "000".to_string(),
            name if name.starts_with("time_") => seconds(Duration::ZERO),
            name if name.starts_with("size_") || name.starts_with("num_") => "0".to_string(),
            _ => String::new(),
        };
    };
    let header = |name| {
        let value = fetched.last.headers.get(name);
        value.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).unwrap_or_default()
    };
    match name {
        "http_code" | "response_code" => format!("{:03}", fetched.status()),
        "size_download" => fetched.body.len().to_string(),
        "size_upload" => fetched.sent_bytes.to_string(),
        "size_header" => fetched.heads.len().to_string(),
        "num_redirects" => fetched.redirects.to_string(),
        "num_headers" => fetched.last.headers.len().to_string(),
        "content_type" => header(header::CONTENT_TYPE),
        "url" => fetched.first_url.to_string(),
        "url_effective" => fetched.last.url.to_string(),
        "redirect_url" if fetched.last.status.is_redirection() => {
            let location = header(header::LOCATION);
            fetched.last.url.join(&location).map(|url| url.to_string()).unwrap_or_default()
        }
        "method" => fetched.last.method.to_string(),
        "scheme" => fetched.last.url.scheme().to_string(),
        "http_version" => "1.1".to_string(),
        "remote_ip" => fetched.last.peer.map(|peer| peer.address.ip().to_string()).unwrap_or_default(),
        "remote_port" => fetched.last.peer.map(|peer| peer.address.port().to_string()).unwrap_or_default(),
        "time_connect" | "time_appconnect" | "time_pretransfer" => seconds(fetched.connect_time()),
        "time_starttransfer" => seconds(fetched.last.first_byte_time),
        "time_namelookup" | "time_redirect" => seconds(Duration::ZERO),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_know_escapes_and_what_is_unknown_before_an_answer() {
        let trouble = Trouble::new(7, "no");
        let text =
            written("%{http_code} 100%% %x\\n\\t%{exitcode}%{nope}", None, Some(&trouble), Duration::ZERO);
        assert_eq!(text, "000 100% %x\n\t7");
        assert_eq!(written("%{time_total", None, None, Duration::ZERO), "%{time_total");
        assert_eq!(written("%{time_total}", None, None, Duration::from_millis(1_500)), "1.500000");
    }
}
