//! `git clone` of a repository of this gateway: a copy of its files, which remembers what it is a copy of.

use base::limits::native_shell as limits;
use protocol::repo::Refs;
use vfs::view::Writing;
use vfs::{FileKind, Follow, VPath};

use super::super::masks::umask;
use super::super::options::{flag, valued};
use super::super::{Cx, Done, operand_path, words as told};
use super::content::{Content, committed};
use super::pathspec::Pathspec;
use super::place::{self, MAIN, MARKER, Marker};
use super::trees::{self, Entry, Files};
use super::{fatal, refused, usage, words};

pub(super) async fn run(cx: &Cx<'_>) -> Result<Done, Done> {
    let own =
        vec![valued('b', "branch"), flag('q', "quiet"), valued('\0', "depth"), flag('\0', "single-branch")];
    let given = words::read(cx.args, own, &[])?;
    let operands: Vec<&str> =
        given.options.operands.iter().chain(given.paths.iter().flatten()).map(String::as_str).collect();
    let (source, directory) = match operands.as_slice() {
        [source] => (*source, None),
        [source, directory] => (*source, Some(*directory)),
        [] => return Err(fatal("You must specify a repository to clone.")),
        _ => return Err(fatal("Too many arguments.")),
    };
    let repo = repository(cx, source).await?;
    let name = repo.rsplit('/').next().unwrap_or(&repo).to_string();
    let directory = directory.unwrap_or(&name);
    let root = operand_path::literal(cx.view, directory).map_err(|fault| fatal(told(&fault)))?;
    make_room(cx, directory, &root).await?;
    let marker = chosen(cx, &repo, given.options.value("branch")).await?;
    let mut done = Done::default();
    if !given.options.has("quiet") {
        done.stderr.extend_from_slice(format!("Cloning into '{directory}'...\n").as_bytes());
    }
    let files = trees::files(cx, &repo, Some(&marker.commit), &Pathspec::default()).await?;
    let failed = |fault: vfs::Fault| fatal(format!("could not create '{directory}': {}", told(&fault)));
    cx.view.mkdir(&root, true, 0o777 & !umask(cx)).await.map_err(failed)?;
    // The marker comes first: `git status` then says what a clone that was stopped lacks.
    let text = serde_json::to_vec(&marker).map_err(|error| fatal(error.to_string()))?;
    let how = Writing { mode: 0o666 & !umask(cx), ..Writing::default() };
    cx.view.write(&root.join(MARKER), text, how).await.map_err(failed)?;
    fill(cx, &marker, &root, &files, &mut done).await?;
    Ok(done)
}

/// Which repository is meant: a directory of one, or `OWNER/NAME`.
async fn repository(cx: &Cx<'_>, source: &str) -> Result<String, Done> {
    if source.contains("://") || source.contains('@') {
        return Err(fatal(format!(
            "{source}: only repositories of this gateway are cloned here. `gsv call repo.import` brings others to it; \
             or use the git program on a machine"
        )));
    }
    let path = operand_path::literal(cx.view, source).map_err(|fault| fatal(told(&fault)))?;
    let stat = cx.view.stat(&path, Follow::Yes).await;
    if stat.is_ok_and(|stat| stat.kind == FileKind::Directory) {
        return match place::at(cx, &path).await? {
            Some(found) => Ok(found.repo().to_string()),
            None => Err(fatal(format!("repository '{source}' does not exist"))),
        };
    }
    let is_name = !source.starts_with(['/', '.', '~']) && source.matches('/').count() == 1;
    let name = source.trim_end_matches('/');
    match is_name {
        true => Ok(name.strip_suffix(".git").unwrap_or(name).to_string()),
        false => Err(fatal(format!("repository '{source}' does not exist"))),
    }
}

async fn make_room(cx: &Cx<'_>, directory: &str, root: &VPath) -> Result<(), Done> {
    let is_free = match cx.view.stat(root, Follow::Yes).await {
        Ok(stat) if stat.kind == FileKind::Directory => {
            cx.view.list(root).await.is_ok_and(|names| names.is_empty())
        }
        Ok(_) => false,
        Err(_) => true,
    };
    match is_free {
        true => Ok(()),
        false => Err(fatal(format!(
            "destination path '{directory}' already exists and is not an empty directory."
        ))),
    }
}

/// The branch and commit that are copied.
async fn chosen(cx: &Cx<'_>, repo: &str, wanted: Option<&str>) -> Result<Marker, Done> {
    let refs = cx.calls.call(&Refs { repo: repo.to_string() }).await.map_err(|error| refused(&error))?;
    let found = match wanted {
        Some(name) => refs.heads.get_key_value(name).or_else(|| refs.tags.get_key_value(name)),
        None => refs.heads.get_key_value(MAIN).or_else(|| refs.heads.iter().next()),
    };
    match (found, wanted) {
        (Some((branch, commit)), _) => {
            Ok(Marker { repo: repo.to_string(), branch: branch.clone(), commit: commit.clone() })
        }
        (None, Some(name)) => Err(fatal(format!("Remote branch {name} not found in upstream origin"))),
        (None, None) => Err(fatal(format!("{repo} has no commits yet"))),
    }
}

/// Writes the files; one that can not be written is told, and the others are written.
async fn fill(
    cx: &Cx<'_>,
    marker: &Marker,
    root: &VPath,
    files: &Files,
    done: &mut Done,
) -> Result<(), Done> {
    let mut bytes_left = limits::GIT_LIVE_MAX_BYTES;
    for (path, entry) in files {
        let parts: Vec<&str> = path.split('/').collect();
        if parts.iter().any(|part| part.is_empty() || *part == "." || *part == ".." || part.contains('\0'))
            || path == MARKER
        {
            complain(done, path, "such a name is not written");
            continue;
        }
        let content = match entry.mode.as_str() {
            // A repository within a repository is an empty directory.
            "160000" => Content::Bytes(Vec::new()),
            _ => committed(cx, &marker.repo, &marker.commit, path).await?.unwrap_or(Content::TooLarge(0)),
        };
        let Content::Bytes(bytes) = content else {
            complain(done, path, "too large to be copied here");
            continue;
        };
        bytes_left = bytes_left.checked_sub(bytes.len() as u64).ok_or_else(|| {
            usage(format!(
                "more than {} MiB: the clone is not complete",
                limits::GIT_LIVE_MAX_BYTES / 1024 / 1024
            ))
        })?;
        if let Err(fault) = write(cx, root, &parts, entry, bytes).await {
            complain(done, path, told(&fault));
        }
    }
    Ok(())
}

fn complain(done: &mut Done, path: &str, why: &str) {
    done.stderr.extend_from_slice(format!("error: {path}: {why}\n").as_bytes());
    done.code = 1;
}

async fn write(
    cx: &Cx<'_>,
    root: &VPath,
    parts: &[&str],
    entry: &Entry,
    bytes: Vec<u8>,
) -> Result<(), vfs::Fault> {
    let path = parts.iter().fold(root.clone(), |at, part| at.join(part));
    let mask = umask(cx);
    if let Some(parent) = path.parent().filter(|parent| parent != root) {
        cx.view.mkdir(&parent, true, 0o777 & !mask).await?;
    }
    match entry.mode.as_str() {
        "160000" => cx.view.mkdir(&path, true, 0o777 & !mask).await,
        "120000" => cx.view.symlink(&String::from_utf8_lossy(&bytes), &path).await,
        mode => {
            let all = if mode == "100755" { 0o777 } else { 0o666 };
            let how = Writing { mode: all & !mask, ..Writing::default() };
            cx.view.write(&path, bytes, how).await.map(drop)
        }
    }
}
