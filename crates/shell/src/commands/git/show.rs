//! `git show`: a commit with what it changed, or a file or directory as a commit has it.

use protocol::repo::{EntryType, Read, ReadResult};

use super::super::{Cx, Done, flat};
use super::content::{Content, committed};
use super::diff::How;
use super::log::{Printer, style, styles};
use super::pathspec::Pathspec;
use super::place::Place;
use super::words::{self, DIFFERENCES, Shown};
use super::{fatal, refused, revisions};

pub(super) async fn run(cx: &Cx<'_>) -> Result<Done, Done> {
    let given = words::read(cx.args, styles(), DIFFERENCES)?;
    let place = Place::here(cx).await?;
    let wanted = match &given.paths {
        Some(paths) => place.paths(cx, paths)?,
        None => Pathspec::default(),
    };
    let mut printer = Printer {
        place: &place,
        style: style(cx, &place, &given)?,
        how: How { shown: given.shown(Shown::Patch), around: given.around()? },
        with_merges: true,
        done: Done::default(),
        count: 0,
    };
    let head = ["HEAD".to_string()];
    let named = if given.options.operands.is_empty() { &head[..] } else { &given.options.operands };
    for text in named {
        match text.split_once(':') {
            Some((revision, path)) => {
                let shown = flat(file(cx, &place, text, revision, path).await);
                if shown.code != 0 {
                    return Err(shown);
                }
                printer.done.print(shown.stdout);
            }
            None => {
                let commit = revisions::wanted(cx, &place, text).await?;
                printer.commit(cx, &commit, &wanted).await?;
            }
        }
    }
    Ok(printer.done)
}

/// `REV:PATH`; `./` in front of the path makes it one from the current directory.
async fn file(cx: &Cx<'_>, place: &Place, text: &str, revision: &str, path: &str) -> Result<Done, Done> {
    let name = if revision.is_empty() { "HEAD" } else { revision };
    let commit = revisions::resolve(cx, place, name)
        .await?
        .ok_or_else(|| fatal(format!("invalid object name '{revision}'.")))?;
    let from_here = path.starts_with("./") || path.starts_with("../");
    let path = if from_here { place.path(cx, path)? } else { path.trim_matches('/').to_string() };
    let missing = |why: &Done| {
        let is_missing = String::from_utf8_lossy(&why.stderr).contains("Path not found");
        is_missing.then(|| fatal(format!("path '{path}' does not exist in '{name}'")))
    };
    match committed(cx, &place.repo, &commit.hash, &path).await {
        Err(why) => Err(missing(&why).unwrap_or(why)),
        Ok(Some(Content::Bytes(bytes))) => {
            let mut done = Done::default();
            done.print(bytes);
            Ok(done)
        }
        Ok(Some(Content::TooLarge(_))) => Err(fatal(format!(
            "{path} is too large to be shown here: clone the repository with the git program"
        ))),
        Ok(None) => {
            let args = Read {
                repo: place.repo.clone(),
                reference: Some(commit.hash),
                path: Some(path),
                binary: None,
            };
            let read = cx.calls.call(&args).await.map_err(|error| refused(&error))?;
            let ReadResult::Tree { entries, .. } = read else { return Ok(Done::default()) };
            let line = |entry: &protocol::repo::TreeEntry| match entry.entry_type {
                EntryType::Tree => format!("{}/\n", entry.name),
                _ => format!("{}\n", entry.name),
            };
            let names: String = entries.iter().map(line).collect();
            Ok(Done::printed(format!("tree {text}\n\n{names}")))
        }
    }
}
