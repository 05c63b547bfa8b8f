//! Content of one file, of a commit or of the live tree.

use base::limits::native_shell as limits;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use protocol::repo::{Read, ReadResult};
use vfs::{FileKind, Follow};

use super::super::{Cx, Done, words};
use super::place::Place;
use super::trees::Entry;
use super::{fatal, refused};

/// What is in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Bytes(Vec<u8>),
    /// So many bytes are too many; 0 when that is not known.
    TooLarge(u64),
}

impl Content {
    pub(super) fn size(&self) -> u64 {
        match self {
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::TooLarge(size) => *size,
        }
    }
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Commit(String),
    Live,
    /// Before the first commit.
    Nothing,
}

/// What a file has on one side.
pub(super) async fn of(
    cx: &Cx<'_>,
    place: &Place,
    source: &Source,
    path: &str,
    entry: Option<&Entry>,
) -> Result<Content, Done> {
    match (source, entry) {
        (_, Some(entry)) if entry.mode == "160000" => {
            Ok(Content::Bytes(format!("Subproject commit {}\n", entry.hash).into_bytes()))
        }
        (Source::Commit(commit), Some(_)) => match committed(cx, &place.repo, commit, path).await? {
            Some(content) => Ok(content),
            None => Err(fatal(format!("{path} is a directory at {commit}"))),
        },
        (Source::Live, Some(_)) => live(cx, place, path).await,
        _ => Ok(Content::Bytes(Vec::new())),
    }
}

/// A file of a commit; `None` for a directory.
pub(super) async fn committed(
    cx: &Cx<'_>,
    repo: &str,
    commit: &str,
    path: &str,
) -> Result<Option<Content>, Done> {
    let args = Read {
        repo: repo.to_string(),
        reference: Some(commit.to_string()),
        path: Some(path.to_string()),
        binary: Some(true),
    };
    match cx.calls.call(&args).await {
        Err(error) if error.code == 413 => Ok(Some(Content::TooLarge(0))),
        Err(error) => Err(refused(&error)),
        Ok(ReadResult::File { content: Some(text), .. }) => Ok(Some(Content::Bytes(text.into_bytes()))),
        Ok(ReadResult::File { content_base64: Some(coded), .. }) => match STANDARD.decode(coded) {
            Ok(bytes) => Ok(Some(Content::Bytes(bytes))),
            Err(_) => Err(fatal(format!("{path}: the answer of repo.read is odd"))),
        },
        Ok(ReadResult::File { size, .. }) => Ok(Some(Content::TooLarge(size))),
        Ok(ReadResult::Tree { .. }) => Ok(None),
    }
}

/// A live file; where a link leads is its content.
pub(super) async fn live(cx: &Cx<'_>, place: &Place, path: &str) -> Result<Content, Done> {
    let full = place.full(path);
    let unread = |fault: vfs::Fault| fatal(format!("cannot read '{path}': {}", words(&fault)));
    let stat = cx.view.stat(&full, Follow::No).await.map_err(unread)?;
    if stat.kind == FileKind::Link {
        return Ok(Content::Bytes(cx.view.read_link(&full).await.map_err(unread)?.into_bytes()));
    }
    if stat.size > limits::GIT_FILE_MAX_BYTES {
        return Ok(Content::TooLarge(stat.size));
    }
    Ok(Content::Bytes(cx.view.read(&full).await.map_err(unread)?))
}
