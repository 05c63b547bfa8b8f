//! `git add` and `git commit`: what is not committed yet is committed now, with a message. There is no index, so `add`
//! only looks whether its paths are there.

use protocol::repo::change::Apply;

use super::super::options::{flag, valued};
use super::super::{Cx, Done};
use super::content::{self, Source};
use super::diff::uncommitted;
use super::formats::subject;
use super::patch::short;
use super::pathspec::Pathspec;
use super::place::{Kind, Place};
use super::quote::quoted;
use super::trees::Change;
use super::{fatal, refused, revisions, stat, trees, words};

pub(super) async fn add(cx: &Cx<'_>) -> Result<Done, Done> {
    let own = vec![
        flag('A', "all"),
        flag('u', "update"),
        flag('v', "verbose"),
        flag('n', "dry-run"),
        flag('f', "force"),
    ];
    let given = words::read(cx.args, own, &[])?;
    let place = Place::here(cx).await?;
    let operands: Vec<String> =
        given.options.operands.iter().chain(given.paths.iter().flatten()).cloned().collect();
    for operand in &operands {
        place.path(cx, operand)?;
        if !revisions::is_there(cx, &place, operand).await? {
            return Err(fatal(format!("pathspec '{operand}' did not match any files")));
        }
    }
    let is_all = given.options.has("all") || given.options.has("update");
    let mut done = Done::default();
    if operands.is_empty() && !is_all {
        done.stderr.extend_from_slice(b"Nothing specified, nothing added.\n");
        return Ok(done);
    }
    if given.options.has("verbose") || given.options.has("dry-run") {
        let wanted = place.paths(cx, &operands)?;
        for change in pending(cx, &place, &wanted).await? {
            let word = if change.new.is_some() { "add" } else { "remove" };
            done.print(format!("{word} '{}'\n", change.path));
        }
        if given.options.has("verbose") {
            let why = "note: there is no index here; git commit takes everything that is not committed yet\n";
            done.stderr.extend_from_slice(why.as_bytes());
        }
    }
    Ok(done)
}

async fn pending(cx: &Cx<'_>, place: &Place, wanted: &Pathspec) -> Result<Vec<Change>, Done> {
    let head = place.head.clone().map_or(Source::Nothing, Source::Commit);
    uncommitted(cx, place, &head, wanted, true).await
}

pub(super) async fn commit(cx: &Cx<'_>) -> Result<Done, Done> {
    let own = vec![
        valued('m', "message"),
        valued('F', "file"),
        flag('a', "all"),
        flag('q', "quiet"),
        flag('v', "verbose"),
        flag('\0', "allow-empty"),
        flag('\0', "no-verify"),
    ];
    let given = words::read(cx.args, own, &[])?;
    let message = message(cx, &given).await?;
    let operands: Vec<String> =
        given.options.operands.iter().chain(given.paths.iter().flatten()).cloned().collect();
    let place = Place::here(cx).await?;
    if place.kind == Kind::Clone {
        return Err(fatal(format!(
            "this is a copy of {}: commits are made in the home or the workspace itself, or with the git program on a \
             machine",
            place.repo
        )));
    }
    for operand in &operands {
        place.path(cx, operand)?;
        if !revisions::is_there(cx, &place, operand).await? {
            let why = format!("error: pathspec '{operand}' did not match any file(s) known to git\n");
            return Err(Done { stderr: why.into_bytes(), code: 1, ..Done::default() });
        }
    }
    // Without operations of its own it commits what was changed in the files, in these words.
    let args = Apply {
        repo: place.repo.clone(),
        reference: Some(place.branch.clone()),
        message: message.clone(),
        expected_head: None,
        allow_empty: given.options.has("allow-empty").then_some(true),
        ops: Vec::new(),
    };
    let applied = cx.calls.call(&args).await.map_err(|error| refused(&error))?;
    let Some(head) = applied.head.filter(|head| Some(head) != place.head.as_ref()) else {
        let text = format!("On branch {}\nnothing to commit, working tree clean\n", place.branch);
        return Err(Done { stdout: text.into_bytes(), code: 1, ..Done::default() });
    };
    if given.options.has("quiet") {
        return Ok(Done::default());
    }
    let all = place.paths(cx, &[])?;
    let changes = trees::compare(cx, &place.repo, place.head.as_deref(), Some(&head), &all).await?;
    told(cx, &place, &changes, &head, &message).await
}

/// The message, as git keeps it: without blank lines around it, and with a line end.
async fn message(cx: &Cx<'_>, given: &words::Given) -> Result<String, Done> {
    let mut said: Vec<String> = given.options.values("message").map(str::to_string).collect();
    if let Some(file) = given.options.value("file") {
        let bytes = cx.read(file).await;
        let bytes = bytes.map_err(|fault| {
            fatal(format!("could not read log file '{file}': {}", super::super::words(&fault)))
        })?;
        said.push(String::from_utf8_lossy(&bytes).into_owned());
    }
    if said.is_empty() {
        return Err(fatal("nobody can be asked for a message here: git commit -m MESSAGE"));
    }
    let text = said.join("\n\n");
    let mut lines: Vec<&str> = text.lines().map(str::trim_end).skip_while(|line| line.is_empty()).collect();
    lines.dedup_by(|next, line| next.is_empty() && line.is_empty());
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    match lines.is_empty() {
        true => Err(Done {
            stderr: b"Aborting commit due to empty commit message.\n".to_vec(),
            code: 1,
            ..Done::default()
        }),
        false => Ok(lines.join("\n") + "\n"),
    }
}

/// `[main 1234567] message`, and what changed.
async fn told(
    cx: &Cx<'_>,
    place: &Place,
    changes: &[Change],
    head: &str,
    message: &str,
) -> Result<Done, Done> {
    let root = if place.head.is_none() { " (root-commit)" } else { "" };
    let mut done = Done::printed(format!("[{}{root} {}] {}\n", place.branch, short(head), subject(message)));
    let (old, new) =
        (place.head.clone().map_or(Source::Nothing, Source::Commit), Source::Commit(head.to_string()));
    let (mut counts, mut modes) = (Vec::new(), String::new());
    for change in changes {
        let before = content::of(cx, place, &old, &change.path, change.old.as_ref()).await?;
        let after = content::of(cx, place, &new, &change.path, change.new.as_ref()).await?;
        counts.push(stat::count(change, &before, &after));
        let name = quoted(&change.path);
        match (&change.old, &change.new) {
            (None, Some(entry)) => modes += &format!(" create mode {} {name}\n", entry.mode),
            (Some(entry), None) => modes += &format!(" delete mode {} {name}\n", entry.mode),
            (Some(old), Some(new)) if old.mode != new.mode => {
                modes += &format!(" mode change {} => {} {name}\n", old.mode, new.mode);
            }
            _ => {}
        }
    }
    done.print(stat::summary(&counts));
    done.print(modes);
    Ok(done)
}
