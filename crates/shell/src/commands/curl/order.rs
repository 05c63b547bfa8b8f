//! Option parser of `curl`: what it is asked to do.

use std::time::Duration;

use base::limits;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use http::header::{HeaderName, HeaderValue};
use outgoing::Family;
use url::Url;

use super::Trouble;
use super::transfer::trouble;
use crate::commands::options::{Opt, Options, flag, valued};
use crate::commands::{Cx, words};

pub(super) const KNOWN: &[Opt] = &[
    flag('s', "silent"),
    flag('S', "show-error"),
    flag('f', "fail"),
    flag('\0', "fail-with-body"),
    flag('i', "include"),
    flag('I', "head"),
    flag('L', "location"),
    flag('O', "remote-name"),
    flag('G', "get"),
    flag('v', "verbose"),
    flag('k', "insecure"),
    flag('4', "ipv4"),
    flag('6', "ipv6"),
    flag('\0', "create-dirs"),
    flag('\0', "compressed"),
    flag('\0', "http1.1"),
    flag('\0', "tlsv1.2"),
    flag('N', "no-buffer"),
    flag('#', "progress-bar"),
    flag('g', "globoff"),
    flag('q', "disable"),
    valued('o', "output"),
    valued('D', "dump-header"),
    valued('X', "request"),
    valued('H', "header"),
    valued('A', "user-agent"),
    valued('e', "referer"),
    valued('b', "cookie"),
    valued('u', "user"),
    valued('r', "range"),
    valued('d', "data"),
    valued('\0', "data-ascii"),
    valued('\0', "data-raw"),
    valued('\0', "data-binary"),
    valued('\0', "data-urlencode"),
    valued('\0', "json"),
    valued('T', "upload-file"),
    valued('F', "form"),
    valued('x', "proxy"),
    valued('w', "write-out"),
    valued('m', "max-time"),
    valued('\0', "connect-timeout"),
    valued('\0', "max-redirs"),
    valued('\0', "url"),
];

/// What is asked for.
pub(super) struct Order {
    pub urls: Vec<Url>,
    pub method: Method,
    /// Whether the method was named, so that a redirect keeps it.
    pub method_named: bool,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Headers that are not to be sent although they usually are.
    pub without: Vec<HeaderName>,
    pub credentials: Option<HeaderValue>,
    pub body: Option<Vec<u8>>,
    pub silent: bool,
    pub show_errors: bool,
    pub fail: bool,
    pub fail_with_body: bool,
    pub include: bool,
    pub head: bool,
    pub verbose: bool,
    pub create_dirs: bool,
    pub dump_header: Option<String>,
    pub write_out: Option<String>,
    pub redirects_max: Option<u64>,
    pub max_time: Duration,
    pub connect_time: Duration,
    /// Which family of addresses; any when `None`.
    pub family: Option<Family>,
    outputs: Vec<String>,
    remote_name: bool,
}

impl Order {
    /// Reads the options; files they name are read through the caller's view.
    pub async fn read(cx: &Cx<'_>, options: &Options) -> Result<Order, Trouble> {
        refuse(options)?;
        let mut data = Data::read(cx, options).await?;
        let mut query = None;
        if options.has("get") {
            query = data.body.take().map(|body| String::from_utf8_lossy(&body).into_owned());
        }
        let head = options.has("head");
        let method_named = options.value("request").is_some();
        let method = match options.value("request") {
            Some(name) => Method::from_bytes(name.as_bytes())
                .map_err(|_| Trouble::new(3, format!("bad method: {name}")))?,
            None if head => Method::HEAD,
            None if data.upload => Method::PUT,
            None if data.body.is_some() => Method::POST,
            None => Method::GET,
        };
        let (headers, without) = headers(cx, options, &data).await?;
        let write_out = match options.value("write-out") {
            Some(source) if source.starts_with('@') => {
                Some(String::from_utf8_lossy(&read_file(cx, &source[1..]).await?).into_owned())
            }
            other => other.map(str::to_string),
        };
        Ok(Order {
            urls: urls(options, query.as_deref())?,
            method,
            method_named,
            headers,
            without,
            credentials: options.value("user").map(basic).transpose()?,
            body: data.body,
            silent: options.has("silent"),
            show_errors: options.has("show-error"),
            fail: options.has("fail"),
            fail_with_body: options.has("fail-with-body"),
            include: options.has("include"),
            head,
            verbose: options.has("verbose"),
            create_dirs: options.has("create-dirs"),
            dump_header: options.value("dump-header").map(str::to_string),
            write_out,
            redirects_max: options.has("location").then_some(number(options, "max-redirs")?),
            max_time: seconds(options, "max-time")?
                .unwrap_or(limits::curl::TIME_MAX)
                .min(limits::curl::TIME_MAX),
            connect_time: seconds(options, "connect-timeout")?
                .unwrap_or(limits::curl::CONNECT_TIME_MAX)
                .min(limits::curl::CONNECT_TIME_MAX),
            family: match (options.has("ipv4"), options.has("ipv6")) {
                (true, false) => Some(Family::V4),
                (false, true) => Some(Family::V6),
                _ => None,
            },
            outputs: options.values("output").map(str::to_string).collect(),
            remote_name: options.has("remote-name"),
        })
    }

    /// The file that the answer of the URL at this place goes to.
    pub fn output(&self, at: usize, url: &Url) -> Result<Option<String>, Trouble> {
        if let Some(file) = self.outputs.get(at) {
            return Ok(Some(file.clone()));
        }
        if !self.remote_name {
            return Ok(None);
        }
        let name = url.path().rsplit('/').next().unwrap_or_default();
        // A name from elsewhere must stay in this directory.
        match name.is_empty() || name == "." || name == ".." {
            true => Err(Trouble::new(23, "Remote file name has no length")),
            false => Ok(Some(format!("./{name}"))),
        }
    }
}

fn refuse(options: &Options) -> Result<(), Trouble> {
    let refused = [
        ("insecure", "-k is refused: certificates are always checked"),
        ("form", "-F is not supported; use -d, --json or -T"),
        ("proxy", "proxies are not supported"),
    ];
    match refused.iter().find(|(name, _)| options.has(name)) {
        Some((_, why)) => Err(Trouble::refusal(2, *why)),
        None => Ok(()),
    }
}

fn urls(options: &Options, query: Option<&str>) -> Result<Vec<Url>, Trouble> {
    let given: Vec<&str> = options.values("url").chain(options.operands.iter().map(String::as_str)).collect();
    if given.is_empty() {
        return Err(Trouble::refusal(2, "no URL specified"));
    }
    if given.len() > limits::curl::URLS_MAX {
        return Err(Trouble::refusal(2, format!("more than {} URLs", limits::curl::URLS_MAX)));
    }
    given.into_iter().map(|text| url_of(text, query)).collect()
}

fn url_of(text: &str, query: Option<&str>) -> Result<Url, Trouble> {
    let whole = if text.contains("://") { text.to_string() } else { format!("http://{text}") };
    let mut url = outgoing::parse_url(&whole).map_err(|error| trouble(&error))?;
    if let Some(more) = query.filter(|query| !query.is_empty()) {
        let joined = match url.query() {
            Some(query) if !query.is_empty() => format!("{query}&{more}"),
            _ => more.to_string(),
        };
        url.set_query(Some(&joined));
    }
    Ok(url)
}

fn number(options: &Options, name: &str) -> Result<u64, Trouble> {
    let number = options.number(name).map_err(|why| Trouble::refusal(2, why))?;
    Ok(number.unwrap_or(limits::curl::REDIRECTS_MAX).min(limits::curl::REDIRECTS_MAX))
}

fn seconds(options: &Options, name: &str) -> Result<Option<Duration>, Trouble> {
    let Some(text) = options.value(name) else { return Ok(None) };
    let time = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    match time {
        Some(Duration::ZERO) => Ok(None),
        Some(time) => Ok(Some(time)),
        None => Err(Trouble::refusal(2, format!("--{name} must be a number of seconds, not '{text}'"))),
    }
}

fn basic(user: &str) -> Result<HeaderValue, Trouble> {
    let pair = if user.contains(':') { user.to_string() } else { format!("{user}:") };
    HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(pair)))
        .map_err(|_| Trouble::refusal(2, "bad value of --user"))
}

type Headers = (Vec<(HeaderName, HeaderValue)>, Vec<HeaderName>);

async fn headers(cx: &Cx<'_>, options: &Options, data: &Data) -> Result<Headers, Trouble> {
    let mut lines: Vec<String> = Vec::new();
    for line in options.values("header") {
        match line.strip_prefix('@') {
            Some(file) => {
                let bytes = read_file(cx, file).await?;
                lines.extend(String::from_utf8_lossy(&bytes).lines().map(str::to_string));
            }
            None => lines.push(line.to_string()),
        }
    }
    let (mut headers, mut without) = (Vec::new(), Vec::new());
    for line in &lines {
        let bad = || Trouble::refusal(2, format!("bad header: {line}"));
        let name = |text: &str| HeaderName::from_bytes(text.trim().as_bytes()).map_err(|_| bad());
        match line.split_once(':') {
            Some((text, value)) if value.trim().is_empty() => without.push(name(text)?),
            Some((text, value)) => {
                let value = HeaderValue::from_bytes(value.trim().as_bytes()).map_err(|_| bad())?;
                headers.push((name(text)?, value));
            }
            None => match line.strip_suffix(';') {
                Some(text) => headers.push((name(text)?, HeaderValue::from_static(""))),
                None => return Err(bad()),
            },
        }
    }
    let named: Vec<HeaderName> =
        headers.iter().map(|(name, _)| name.clone()).chain(without.clone()).collect();
    let mut usual = |name: HeaderName, value: &str| -> Result<(), Trouble> {
        if !named.contains(&name) {
            let bad = |_| Trouble::refusal(2, format!("bad value of {name}: {value}"));
            headers.push((name.clone(), HeaderValue::from_str(value).map_err(bad)?));
        }
        Ok(())
    };
    use http::header;
    usual(header::USER_AGENT, options.value("user-agent").unwrap_or("curl/8.0 (GSV)"))?;
    usual(header::ACCEPT, if data.json { "application/json" } else { "*/*" })?;
    if data.json {
        usual(header::CONTENT_TYPE, "application/json")?;
    } else if data.body.is_some() && !data.upload {
        usual(header::CONTENT_TYPE, "application/x-www-form-urlencoded")?;
    }
    for (option, name) in [("referer", header::REFERER), ("cookie", header::COOKIE)] {
        if let Some(value) = options.value(option) {
            usual(name, value)?;
        }
    }
    if let Some(range) = options.value("range") {
        usual(header::RANGE, &format!("bytes={range}"))?;
    }
    Ok((headers, without))
}

/// What is sent.
struct Data {
    body: Option<Vec<u8>>,
    json: bool,
    upload: bool,
}

impl Data {
    async fn read(cx: &Cx<'_>, options: &Options) -> Result<Data, Trouble> {
        let mut data = Data { body: None, json: false, upload: false };
        for (name, value) in options.given() {
            let (part, json) = match name {
                "data" | "data-ascii" => {
                    let mut bytes = at_file(cx, value).await?;
                    if value.starts_with('@') {
                        bytes.retain(|byte| !matches!(byte, b'\r' | b'\n'));
                    }
                    (bytes, false)
                }
                "data-raw" => (value.as_bytes().to_vec(), false),
                "data-binary" => (at_file(cx, value).await?, false),
                "data-urlencode" => (encoded(cx, value).await?.into_bytes(), false),
                "json" => (at_file(cx, value).await?, true),
                "upload-file" => {
                    data.upload = true;
                    data.body = Some(read_file(cx, value).await?);
                    continue;
                }
                _ => continue,
            };
            data.json |= json;
            match &mut data.body {
                Some(body) => {
                    body.extend_from_slice(if json { b"" } else { b"&" });
                    body.extend(part);
                }
                none => *none = Some(part),
            }
        }
        if data.body.as_ref().is_some_and(|body| body.len() > limits::curl::BODY_MAX_BYTES) {
            return Err(Trouble::refusal(
                26,
                format!("more than {} bytes to send", limits::curl::BODY_MAX_BYTES),
            ));
        }
        Ok(data)
    }
}

async fn at_file(cx: &Cx<'_>, value: &str) -> Result<Vec<u8>, Trouble> {
    match value.strip_prefix('@') {
        Some(file) => read_file(cx, file).await,
        None => Ok(value.as_bytes().to_vec()),
    }
}

/// `text`, `=text`, `name=text`, `@file`, `name@file`.
async fn encoded(cx: &Cx<'_>, value: &str) -> Result<String, Trouble> {
    let encode =
        |bytes: &[u8]| url::form_urlencoded::byte_serialize(bytes).collect::<String>().replace('+', "%20");
    let at = value.find(['=', '@']);
    let (name, text) = match at {
        None => ("", encode(value.as_bytes())),
        Some(at) if value[at..].starts_with('=') => (&value[..at], encode(&value.as_bytes()[at + 1..])),
        Some(at) => (&value[..at], encode(&read_file(cx, &value[at + 1..]).await?)),
    };
    Ok(if name.is_empty() { text } else { format!("{name}={text}") })
}

async fn read_file(cx: &Cx<'_>, file: &str) -> Result<Vec<u8>, Trouble> {
    if file == "-" {
        return Ok(cx.stdin.to_vec());
    }
    let read = match cx.view.path(file) {
        Ok(path) => cx.view.read(&path).await,
        Err(fault) => Err(fault),
    };
    read.map_err(|fault| Trouble::refusal(26, format!("Failed to open {file}: {}", words(&fault))))
}
