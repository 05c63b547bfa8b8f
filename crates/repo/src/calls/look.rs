//! Handlers of `repo.list`, `repo.refs`, `repo.read`, `repo.search` and `repo.log`.

use base::limits::repo as limits;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gix_hash::ObjectId;
use gix_object::tree::{EntryKind, EntryMode};
use protocol::error::Error;
use protocol::repo::{
    Commit, EntryType, List, Listed, Log, LogResult, Match, Read, ReadResult, Refs, RefsResult, Repo,
    RepoKind, Search, SearchResult, TreeEntry,
};
use store::repos::RepoRow;

use super::{Cx, MAIN, is_commit, readable, readable_as_it_is};
use crate::access;
use crate::git::bare::{Bare, is_text};
use crate::git::commit;
use crate::git::fault::Fault;
use crate::git::history::Wanted;
use crate::git::paths::TreePath;

/// `repo.list`
pub(crate) async fn list(cx: Cx, args: List) -> Result<Listed, Error> {
    let repos = cx.area.gateway.store().repos();
    let rows = match access::is_superior(&cx.caller) {
        true => repos.all().await?,
        false => repos.visible_to(cx.caller.uid()).await?,
    };
    let username = &cx.caller.identity.username;
    let mut listed: Vec<Repo> = rows.into_iter().map(|row| shown(&cx, row)).collect();
    // Everybody has a home, whether something was committed to it or not.
    let home = format!("{username}/home");
    if !listed.iter().any(|repo| repo.repo == home) {
        listed.push(Repo {
            repo: home.clone(),
            owner: username.clone(),
            name: "home".to_string(),
            kind: RepoKind::Home,
            writable: true,
            public: false,
            description: None,
            updated_at: None,
        });
    }
    listed.retain(|repo| args.owner.as_ref().is_none_or(|owner| repo.owner == *owner));
    listed.sort_by(|a, b| (a.repo != home, &a.repo).cmp(&(b.repo != home, &b.repo)));
    Ok(Listed { repos: listed })
}

fn shown(cx: &Cx, row: RepoRow) -> Repo {
    Repo {
        repo: format!("{}/{}", row.owner, row.name),
        writable: access::may_write(&cx.caller, &row),
        owner: row.owner,
        name: row.name,
        kind: row.kind,
        public: row.public,
        description: row.description,
        updated_at: Some(row.updated_at),
    }
}

/// `repo.refs`
pub(crate) async fn refs(cx: Cx, args: Refs) -> Result<RefsResult, Error> {
    let (slug, found) = readable_as_it_is(&cx, &args.repo).await?;
    let refs = cx.area.with(&slug, &found, |bare| bare.refs()).await?;
    let texts = |(name, id): (String, ObjectId)| (name, id.to_string());
    Ok(RefsResult {
        repo: slug.to_string(),
        heads: refs.heads.into_iter().map(texts).collect(),
        tags: refs.tags.into_iter().map(texts).collect(),
    })
}

/// `repo.read`
pub(crate) async fn read(cx: Cx, args: Read) -> Result<ReadResult, Error> {
    let (slug, found) = match is_commit(args.reference.as_deref()) {
        true => readable_as_it_is(&cx, &args.repo).await?,
        false => readable(&cx, &args.repo).await?,
    };
    let repo = slug.to_string();
    let look = move |bare: &Bare| {
        let path = TreePath::to_read(args.path.as_deref().unwrap_or_default())?;
        let reference = named(args.reference.as_deref());
        let commit = match bare.resolve(&reference) {
            Err(Fault::Missing(why)) => return Err(Fault::Missing(format!("{}: {why}", path.missing()))),
            resolved => resolved?,
        };
        let tree = bare.commit(&commit)?.tree;
        let (mode, id) = bare.entry_at(&tree, &path.names())?.ok_or_else(|| path.missing())?;
        let text = path.as_str().to_string();
        if mode.is_tree() {
            return Ok(ReadResult::Tree { repo, reference, entries: entries(bare, &id, &text)?, path: text });
        }
        let (size, bytes) = file(bare, mode, &id)?;
        let (is_binary, wants_bytes) = (!is_text(&bytes), args.binary == Some(true));
        let content_base64 = (is_binary && wants_bytes).then(|| STANDARD.encode(&bytes));
        let content = if is_binary { None } else { String::from_utf8(bytes).ok() };
        Ok(ReadResult::File { repo, reference, path: text, size, is_binary, content, content_base64 })
    };
    cx.area.with(&slug, &found, look).await
}

fn named(reference: Option<&str>) -> String {
    let reference = reference.unwrap_or(MAIN);
    reference.strip_prefix("refs/heads/").unwrap_or(reference).to_string()
}

fn entries(bare: &Bare, tree: &ObjectId, path: &str) -> Result<Vec<TreeEntry>, Fault> {
    let shown = |entry: crate::git::bare::Entry| {
        let name = String::from_utf8_lossy(&entry.filename).into_owned();
        TreeEntry {
            path: if path.is_empty() { name.clone() } else { format!("{path}/{name}") },
            name,
            mode: format!("{:06o}", entry.mode.value()),
            hash: entry.oid.to_string(),
            entry_type: match entry.mode.kind() {
                EntryKind::Tree => EntryType::Tree,
                EntryKind::Link => EntryType::Symlink,
                EntryKind::Blob | EntryKind::BlobExecutable | EntryKind::Commit => EntryType::Blob,
            },
        }
    };
    let entries = bare.tree(tree)?;
    if entries.len() > limits::DIRECTORY_NAMES_MAX {
        let (count, limit) = (entries.len(), limits::DIRECTORY_NAMES_MAX);
        return Err(Fault::TooLarge(format!(
            "the directory has {count} names, the limit is {limit}: clone the repository with git"
        )));
    }
    Ok(entries.into_iter().map(shown).collect())
}

/// The size of a file, and what is in it.
fn file(bare: &Bare, mode: EntryMode, id: &ObjectId) -> Result<(u64, Vec<u8>), Fault> {
    // A submodule is a commit of another repository.
    if mode.is_commit() {
        return Ok((0, Vec::new()));
    }
    let size = bare.blob_size(id)?;
    if size > limits::READ_MAX_BYTES {
        let limit = limits::READ_MAX_BYTES;
        return Err(Fault::TooLarge(format!(
            "the file has {size} bytes, the limit is {limit}: clone the repository with git"
        )));
    }
    Ok((size, bare.blob(id)?))
}

/// `repo.search`
pub(crate) async fn search(cx: Cx, args: Search) -> Result<SearchResult, Error> {
    let (slug, found) = readable(&cx, &args.repo).await?;
    if args.query.trim().is_empty() || args.query.trim() == "lit:" {
        return Err(Error::bad("query is required"));
    }
    if args.query.len() > limits::QUERY_MAX_BYTES {
        return Err(Error::bad(format!("query must have at most {} bytes", limits::QUERY_MAX_BYTES)));
    }
    let (reference, query, prefix) =
        (named(args.reference.as_deref()), args.query.clone(), args.prefix.clone());
    let at = reference.clone();
    let look = move |bare: &Bare| {
        let prefix = TreePath::to_read(prefix.as_deref().unwrap_or_default())?;
        let commit = bare.resolve(&at)?;
        bare.search(bare.commit(&commit)?.tree, &query, &prefix)
    };
    let matches = cx.area.with(&slug, &found, look).await?;
    let shown = |found: crate::git::search::Match| Match {
        path: found.path,
        line: found.line,
        content: found.content,
    };
    Ok(SearchResult {
        repo: slug.to_string(),
        reference,
        query: args.query,
        prefix: args.prefix,
        truncated: matches.truncated.then_some(true),
        matches: matches.found.into_iter().map(shown).collect(),
    })
}

/// `repo.log`
pub(crate) async fn log(cx: Cx, args: Log) -> Result<LogResult, Error> {
    let (slug, found) = readable(&cx, &args.repo).await?;
    let limit = args.limit.unwrap_or(limits::LOG_DEFAULT).clamp(1, limits::LOG_MAX);
    let (offset, reference) = (args.offset.unwrap_or(0), named(args.reference.as_deref()));
    let at = reference.clone();
    let look = move |bare: &Bare| {
        let path = args.path.as_deref().map(TreePath::to_read).transpose()?;
        let newest = bare.resolve(&at)?;
        bare.log(newest, &Wanted { limit: limit as usize, offset, path })
    };
    let entries = cx.area.with(&slug, &found, look).await?;
    let entries = entries.into_iter().map(commit_shown).collect();
    Ok(LogResult { repo: slug.to_string(), reference, limit, offset, entries })
}

fn commit_shown(commit: commit::Commit) -> Commit {
    Commit {
        hash: commit.id.to_string(),
        tree_hash: commit.tree.to_string(),
        author: commit.author.name,
        author_email: commit.author.email,
        author_time: commit.author.seconds,
        committer: commit.committer.name,
        committer_email: commit.committer.email,
        commit_time: commit.committer.seconds,
        message: commit.message,
        parents: commit.parents.iter().map(ObjectId::to_string).collect(),
    }
}
