//! `gsv repo show`: one commit with its changes, a file as it was, or a directory.

use client::Session;
use protocol::repo::change::Diff;
use protocol::repo::{Commit, EntryType, Log, Read, ReadResult, TreeEntry};
use serde_json::{Value, json};
use terminal::escape;
use terminal::failure::{Failure, Result};
use terminal::output::{Table, pairs};
use terminal::times;

use super::{call, commit, diff, short};
use crate::context::Context;

/// What the argument of `gsv repo show` names.
#[derive(Debug, PartialEq, Eq)]
enum Subject<'a> {
    Commit(&'a str),
    Path(&'a str, Option<&'a str>),
}

pub(super) async fn run(context: &Context, session: &Session, repo: &str, what: &str) -> Result<()> {
    match parse(what) {
        Subject::Commit(hash) => show_commit(context, session, repo, hash).await,
        Subject::Path(path, reference) => show_path(context, session, repo, path, reference).await,
    }
}

/// What looks like the hash of a commit is one; a file of such a name is meant with `@main` behind it.
fn parse(what: &str) -> Subject<'_> {
    if let Some((path, reference)) = what.rsplit_once('@') {
        return Subject::Path(path, Some(reference).filter(|reference| !reference.is_empty()));
    }
    let is_hash = (7..=40).contains(&what.len()) && what.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hash { Subject::Commit(what) } else { Subject::Path(what, None) }
}

async fn show_commit(context: &Context, session: &Session, repo: &str, hash: &str) -> Result<()> {
    let hash = commit(session, repo, hash).await?;
    let changes = call::<Diff>(session, json!({ "repo": repo, "commit": hash })).await?;
    let log = call::<Log>(session, json!({ "repo": repo, "ref": hash, "limit": 1 })).await?;
    if context.output.json {
        let of = |raw: &str| serde_json::from_str::<Value>(raw).unwrap_or_default();
        let whole = json!({ "commit": of(&log.raw)["entries"][0], "diff": of(&changes.raw) });
        return context.output.raw_json(&whole.to_string());
    }
    if let Some(commit) = log.value.entries.first() {
        context.output.text(&head(commit))?;
    }
    diff::print(context, &changes.raw, &changes.value.files, &changes.value.stats, false)
}

fn head(commit: &Commit) -> String {
    let parents: Vec<&str> = commit.parents.iter().map(|hash| short(hash)).collect();
    let rows = [
        ("commit", commit.hash.clone()),
        ("parents", parents.join(" ")),
        ("author", format!("{} <{}>", commit.author, commit.author_email)),
        ("when", times::show(commit.author_time.saturating_mul(1_000))),
    ];
    let message: String =
        escape::block(&commit.message).lines().map(|line| format!("    {line}\n")).collect();
    format!("{}\n\n{message}\n", pairs(&rows))
}

async fn show_path(
    context: &Context,
    session: &Session,
    repo: &str,
    path: &str,
    reference: Option<&str>,
) -> Result<()> {
    let answer = call::<Read>(session, json!({ "repo": repo, "path": path, "ref": reference })).await?;
    match &answer.value {
        ReadResult::Tree { entries, .. } => context.output.table(&answer.raw, || directory(entries)),
        ReadResult::File { .. } if context.output.json => context.output.raw_json(&answer.raw),
        // On a terminal nothing in it is obeyed; elsewhere it is the file as it is.
        ReadResult::File { content: Some(content), .. } if context.output.terminal => {
            context.output.text(&escape::block(content))
        }
        ReadResult::File { content: Some(content), .. } => context.output.text(content),
        ReadResult::File { content: None, size, .. } => {
            Err(Failure::new(format!("{path} is not text ({size} bytes)"))
                .with_hint(format!("clone the repository: git clone $(gsv repo clone-url {repo})")))
        }
    }
}

fn directory(entries: &[TreeEntry]) -> Table {
    let mut table = Table::new(&["MODE", "HASH", "NAME"], "an empty directory");
    for entry in entries {
        let slash = if entry.entry_type == EntryType::Tree { "/" } else { "" };
        let name = format!("{}{slash}", entry.name);
        table.row([entry.mode.clone(), short(&entry.hash).to_string(), name]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_and_paths_are_told_apart() {
        for (what, shown) in [
            ("", Subject::Path("", None)),
            ("README.md", Subject::Path("README.md", None)),
            ("a/b@v1", Subject::Path("a/b", Some("v1"))),
            ("a@b@main", Subject::Path("a@b", Some("main"))),
            ("89e6c98", Subject::Commit("89e6c98")),
            ("89e6c98@main", Subject::Path("89e6c98", Some("main"))),
            ("89e6", Subject::Path("89e6", None)),
            ("@v1", Subject::Path("", Some("v1"))),
        ] {
            assert_eq!(parse(what), shown, "{what}");
        }
    }
}
