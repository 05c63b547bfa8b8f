//! The bytes of a version, and of the file as it is now.

use client::Session;
use protocol::fs::history::HistoryRead;
use protocol::fs::{Block, Content, FileContent};
use terminal::failure::{Failure, Result};

use super::super::cp::{self, Location, Remote};
use super::{ask, list};
use crate::context::Context;

/// What a file holds in one version.
#[derive(Debug, PartialEq)]
pub(super) enum Bytes {
    /// There is no file.
    Nothing,
    Exactly(Vec<u8>),
    /// What no text can show; only its size is known.
    Binary(u64),
}

/// A version's content.
pub(super) async fn of_version(session: &Session, at: &Remote, version: &str) -> Result<Bytes> {
    let listed = list(session, at, Some(500)).await?;
    let known = listed.versions.iter().find(|one| one.version == version);
    if known.is_some_and(|known| known.deleted) {
        return Ok(Bytes::Nothing);
    }
    let call = HistoryRead { path: at.path.clone(), version: version.to_string(), offset: None, limit: None };
    match ask(session, at, &call).await {
        Ok(content) => bytes(&content),
        // Only its size can be told of what is no text.
        Err(failure) if failure.message.starts_with("Binary file") => {
            Ok(Bytes::Binary(known.and_then(|known| known.size).unwrap_or(0)))
        }
        Err(failure) => Err(failure),
    }
}

/// The newest version that is not as the file is now, with its name.
pub(super) async fn last_other(session: &Session, at: &Remote, now: &Bytes) -> Result<(Bytes, String)> {
    for version in list(session, at, None).await?.versions {
        let content = of_version(session, at, &version.version).await?;
        if content != *now {
            return Ok((content, version.version));
        }
    }
    Err(Failure::new(format!("no version of {at} is kept that is different from the file now"))
        .with_hint(format!("`gsv log {at}` lists what is kept")))
}

/// The file as it is now, copied byte by byte.
pub(super) async fn present(context: &Context, session: &Session, at: &Remote) -> Result<Bytes> {
    let temp = tempfile::tempdir()?;
    let to = temp.path().join("now");
    let Err(failure) = cp::fetch(context, at, &Location::Local(to.clone())).await else {
        return Ok(Bytes::Exactly(std::fs::read(&to)?));
    };
    // A file that was deleted has versions all the same.
    match list(session, at, Some(1)).await?.versions.first() {
        Some(newest) if newest.deleted => Ok(Bytes::Nothing),
        _ => Err(failure),
    }
}

/// Takes the numbers off the lines. The size tells whether the text ended with a newline, and whether that was all.
fn bytes(content: &FileContent) -> Result<Bytes> {
    let text = match &content.content {
        Content::Text(text) => text,
        Content::Blocks(blocks) => {
            use base64::Engine;
            let data = blocks.iter().find_map(|block| match block {
                Block::Image { data, .. } => Some(data),
                Block::Text { .. } => None,
            });
            let bytes = data.and_then(|data| base64::engine::general_purpose::STANDARD.decode(data).ok());
            return Ok(bytes.map_or(Bytes::Binary(content.size), Bytes::Exactly));
        }
        Content::Json(_) => return Ok(Bytes::Binary(content.size)),
    };
    let lines: Vec<&str> = match text.is_empty() {
        true => Vec::new(),
        false => text.split('\n').map(|line| line.split_once('\t').map_or(line, |(_, line)| line)).collect(),
    };
    for (between, end) in [("\n", "\n"), ("\n", ""), ("\r\n", "\r\n"), ("\r\n", "")] {
        let mut whole = lines.join(between);
        if !lines.is_empty() {
            whole.push_str(end);
        }
        if whole.len() as u64 == content.size {
            return Ok(Bytes::Exactly(whole.into_bytes()));
        }
    }
    Err(Failure::new(format!("{} was not answered byte for byte: its line ends are mixed", content.path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_off_and_the_end_is_exact() {
        let of = |text: &str, size| {
            let content = Content::Text(text.into());
            bytes(&FileContent { content, path: "/x".into(), lines: None, size })
        };
        let exactly = |text: &str| Bytes::Exactly(text.as_bytes().to_vec());
        assert_eq!(of("     1\ta\n     2\tb\tc", 6).unwrap(), exactly("a\nb\tc\n"));
        assert_eq!(of("     1\ta\n     2\tb\tc", 5).unwrap(), exactly("a\nb\tc"));
        assert_eq!(of("     1\ta\n     2\tb", 6).unwrap(), exactly("a\r\nb\r\n"));
        assert_eq!(of("     1\ta\r", 3).unwrap(), exactly("a\r\n"));
        assert_eq!(of("", 0).unwrap(), exactly(""));
        assert_eq!(of("     1\t", 1).unwrap(), exactly("\n"));
        assert!(of("     1\ta", 9).is_err());
    }
}
