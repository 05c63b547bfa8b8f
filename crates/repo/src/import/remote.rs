//! Client of git's smart HTTP protocol, version 2, over the guarded HTTP client: what refs there are, and the pack of
//! what is missing here.

use base::limits::repo as limits;
use gix_hash::ObjectId;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT};
use http::{Method, StatusCode};
use outgoing::{Body, Client, PrivateHosts, Redirects, Request, Settings};
use protocol::error::Error;
use tokio::fs::File;
use tokio::io::AsyncWriteExt as _;
use url::Url;

use super::pkt::{self, Packet, Packets};

/// A repository elsewhere.
pub(crate) struct Remote {
    client: Client,
    /// Without a slash at its end.
    url: Url,
}

/// The ref that is wanted, as the other side has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RemoteRef {
    /// The name as people say it: without `refs/heads/` or `refs/tags/`.
    pub name: String,
    pub id: ObjectId,
}

fn failed(why: impl std::fmt::Display) -> Error {
    Error::new(503, format!("The import failed: {why}"))
}

impl Remote {
    pub(crate) fn new(url: Url, hosts: PrivateHosts) -> Remote {
        let settings = Settings { idle_connections_max: 1, ..Settings::new(hosts) };
        Remote { client: Client::new(settings), url }
    }

    fn request(&self, method: Method, path: &str, query: Option<&str>) -> Request {
        let mut url = self.url.clone();
        url.set_path(&format!("{}/{path}", self.url.path().trim_end_matches('/')));
        url.set_query(query);
        let mut request = Request::new(method, url);
        request
            .headers
            .insert(HeaderName::from_static("git-protocol"), HeaderValue::from_static("version=2"));
        // Some hosts answer only what calls itself git.
        request.headers.insert(USER_AGENT, HeaderValue::from_static("git/2.0 (gsv)"));
        request.redirects = Redirects::Follow { max: 5 };
        request.limits.total = limits::IMPORT_TIMEOUT;
        request.limits.idle = limits::IMPORT_SILENCE_MAX;
        request.limits.body_bytes = limits::ADVERTISEMENT_MAX_BYTES;
        request
    }

    async fn answer(&self, request: Request) -> Result<Body, Error> {
        let answer = self.client.send(request).await.map_err(|error| match error {
            refused @ outgoing::Error::Refused { .. } => Error::forbidden(format!(
                "Forbidden: {refused}; root allows it with `gsv config set config/repo/network_private true`"
            )),
            error => failed(error),
        })?;
        match answer.last.status {
            StatusCode::OK => Ok(answer.body),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(failed(
                "the other side wants a login: put a name and a token into the URL, https://NAME:TOKEN@HOST/…",
            )),
            StatusCode::NOT_FOUND => Err(Error::not_found("No repository at remoteUrl")),
            status => Err(failed(format!("the other side answered {status}"))),
        }
    }

    /// Makes sure that the other side speaks version 2, and finds a ref there; its default branch when none is named.
    pub(crate) async fn find(&mut self, wanted: Option<&str>) -> Result<RemoteRef, Error> {
        let request = self.request(Method::GET, "info/refs", Some("service=git-upload-pack"));
        let announced = lines(self.answer(request).await?).await?;
        if !announced.iter().any(|line| line == "version 2") {
            return Err(failed("the other side does not speak version 2 of git's protocol over HTTP"));
        }
        if announced.iter().any(|line| line.starts_with("object-format=") && line != "object-format=sha1") {
            return Err(failed("the other side has SHA-256 objects, which are not supported"));
        }
        let mut body = Vec::new();
        pkt::line(&mut body, "command=ls-refs");
        pkt::delimiter(&mut body);
        pkt::line(&mut body, "symrefs");
        pkt::line(&mut body, "peel");
        pkt::line(&mut body, "ref-prefix HEAD");
        for name in wanted.map(candidates).into_iter().flatten() {
            pkt::line(&mut body, &format!("ref-prefix {name}"));
        }
        pkt::flush(&mut body);
        let listed = lines(self.answer(self.post(body)).await?).await?;
        find(&listed, wanted)
    }

    fn post(&self, body: Vec<u8>) -> Request {
        let mut request = self.request(Method::POST, "git-upload-pack", None);
        let of = HeaderValue::from_static;
        request.headers.insert(CONTENT_TYPE, of("application/x-git-upload-pack-request"));
        request.headers.insert(ACCEPT, of("application/x-git-upload-pack-result"));
        request.keep_method = true;
        request.body = Some(body.into());
        request
    }

    /// Fetches what a commit needs beyond some that are here, into a file; `told` hears of its growth, and may
    /// say that it is enough.
    pub(crate) async fn fetch(
        &self,
        want: &ObjectId,
        have: &[ObjectId],
        pack: &mut File,
        mut told: impl FnMut(u64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut body = Vec::new();
        pkt::line(&mut body, "command=fetch");
        pkt::delimiter(&mut body);
        for option in ["thin-pack", "ofs-delta", "no-progress"] {
            pkt::line(&mut body, option);
        }
        pkt::line(&mut body, &format!("want {want}"));
        for id in have {
            pkt::line(&mut body, &format!("have {id}"));
        }
        pkt::line(&mut body, "done");
        pkt::flush(&mut body);
        let mut request = self.post(body);
        request.limits.body_bytes = limits::IMPORT_MAX_BYTES;
        let mut answer = self.answer(request).await?;
        let (mut packets, mut is_pack, mut bytes) = (Packets::default(), false, 0);
        while let Some(piece) = answer.next().await.map_err(of_body)? {
            packets.push(&piece);
            while let Some(packet) = packets.next().map_err(failed)? {
                let Packet::Data(data) = &packet else { continue };
                if !is_pack {
                    is_pack = packet.text() == Some("packfile");
                    continue;
                }
                match data.split_first() {
                    Some((1, part)) => {
                        pack.write_all(part).await.map_err(failed)?;
                        bytes += part.len() as u64;
                        told(bytes)?;
                    }
                    Some((3, why)) => return Err(failed(String::from_utf8_lossy(why).trim())),
                    // What it does meanwhile.
                    _ => {}
                }
            }
        }
        pack.flush().await.map_err(failed)?;
        match packets.is_empty() && is_pack {
            true => Ok(()),
            false => Err(failed("the answer ended before the pack did")),
        }
    }
}

fn of_body(error: outgoing::Error) -> Error {
    match error {
        outgoing::Error::BodyTooLarge(limit) => Error::new(
            413,
            format!(
                "The repository is too large to be imported: the limit is {limit} bytes; push it with git instead"
            ),
        ),
        error => failed(error),
    }
}

/// The lines of a small answer.
async fn lines(body: Body) -> Result<Vec<String>, Error> {
    let whole = body.whole().await.map_err(of_body)?;
    let mut packets = Packets::default();
    packets.push(&whole);
    let mut lines = Vec::new();
    while let Some(packet) = packets.next().map_err(failed)? {
        lines.extend(packet.text().map(str::to_string));
    }
    Ok(lines)
}

/// The whole names that a word may stand for, in the order in which they are tried.
fn candidates(word: &str) -> [String; 3] {
    [word.to_string(), format!("refs/heads/{word}"), format!("refs/tags/{word}")]
}

/// Finds a ref in lines `hash name [symref-target:name] [peeled:hash]`.
fn find(lines: &[String], wanted: Option<&str>) -> Result<RemoteRef, Error> {
    let entry = |name: &str| {
        lines.iter().find_map(|line| {
            let mut words = line.split(' ');
            let id = words.next()?;
            (words.next()? == name).then(|| {
                let rest: Vec<&str> = words.collect();
                let value =
                    |key: &str| rest.iter().find_map(|word| word.strip_prefix(key)).map(str::to_string);
                (value("peeled:").unwrap_or_else(|| id.to_string()), value("symref-target:"))
            })
        })
    };
    let names: Vec<String> = match wanted {
        Some(word) => candidates(word).to_vec(),
        None => vec!["HEAD".to_string()],
    };
    let found = names.iter().find_map(|name| entry(name).map(|(id, target)| (name.clone(), id, target)));
    let Some((name, id, target)) = found else {
        let what = wanted.map_or("a default branch".to_string(), |word| format!("the ref {word}"));
        return Err(Error::not_found(format!("remoteUrl has not {what}")));
    };
    let name = target.unwrap_or(name);
    let short = name.strip_prefix("refs/heads/").or_else(|| name.strip_prefix("refs/tags/")).unwrap_or(&name);
    match ObjectId::from_hex(id.as_bytes()) {
        Ok(id) => Ok(RemoteRef { name: short.to_string(), id }),
        Err(_) => Err(failed("the other side does not speak git's protocol")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ref_is_found_as_git_finds_it() {
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        let lines = [
            format!("{a} HEAD symref-target:refs/heads/trunk"),
            format!("{a} refs/heads/trunk"),
            format!("{a} refs/tags/v1 peeled:{b}"),
        ];
        let found = |wanted| find(&lines, wanted).map(|found| (found.name, found.id.to_string()));
        assert_eq!(found(None).expect("a default"), ("trunk".to_string(), a.clone()));
        assert_eq!(found(Some("trunk")).expect("a branch"), ("trunk".to_string(), a.clone()));
        assert_eq!(found(Some("v1")).expect("a tag"), ("v1".to_string(), b));
        assert!(found(Some("v2")).is_err());
        assert!(find(&[], None).is_err());
    }
}
