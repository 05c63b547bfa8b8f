//! Reconstruction of a file's history from two sources: records of agents' changes, and checkpoints of the workspace.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use base::limits::checkpoint as limits;
use checkpoint::{Checkpoints, Id, Seen, Summary, When};
use protocol::fs::history::Version;
use protocol::ids::{Pid, RunId};

use crate::files::Files;
use crate::overwritten::{Item, Overwritten, Record, State, present_at};

/// A version, and where its content is.
pub(in crate::fs) struct Found {
    pub(in crate::fs) version: Version,
    pub(in crate::fs) content: Content,
    /// The digest of its content, to tell the same one from another.
    sha256: Option<String>,
}

/// Where the content of a version is.
pub(in crate::fs) enum Content {
    /// There was no file.
    Nothing,
    Link(PathBuf),
    /// In the store, by its digest.
    Kept(String),
    /// It is the file as it is now.
    Present(PathBuf, String),
    /// In a checkpoint.
    Checkpoint(Id, PathBuf),
}

impl Content {
    /// The bytes of a file.
    pub(in crate::fs) fn bytes(&self, files: &Files, store: &Overwritten) -> io::Result<Vec<u8>> {
        use std::io::Read;
        match self {
            Content::Nothing | Content::Link(_) => Err(io::Error::other("it is no file in that version")),
            Content::Kept(sha256) => store.content(sha256),
            Content::Present(path, sha256) => {
                let mut bytes = Vec::new();
                let file = files.open_found(path)?;
                file.take(base::limits::overwritten::FILE_BYTES_MAX).read_to_end(&mut bytes)?;
                match State::file(&bytes) {
                    State::File { sha256: now, .. } if now == *sha256 => Ok(bytes),
                    _ => Err(io::Error::other("the file has changed just now, and that version with it")),
                }
            }
            Content::Checkpoint(id, path) => {
                let checkpoints = open_checkpoints(store)?;
                let checkpoints =
                    checkpoints.ok_or_else(|| io::Error::other("there are no checkpoints any more"))?;
                let content = checkpoints.content(*id, path, limits::FILE_BYTES_MAX);
                let content = content.map_err(io::Error::other)?;
                content.ok_or_else(|| io::Error::other("that checkpoint does not hold it"))
            }
        }
    }
}

/// The versions of a file, newest first.
pub(in crate::fs) fn collect(files: &Files, store: &Overwritten, real: &Path) -> io::Result<Vec<Found>> {
    let present = present_at(files, real).unwrap_or(State::Other);
    let mut found = of_records(store, real, &present)?;
    found.extend(of_checkpoints(store, real)?);
    // Stable, so that what happened in the same moment stays in its order.
    found.sort_by_key(|found| found.version.at);
    let is_same = |a: &Found, b: &Found| a.sha256.is_some() && a.sha256 == b.sha256;
    let mut kept: Vec<Found> = Vec::new();
    for next in found {
        let is_checkpoint = |found: &Found| matches!(found.content, Content::Checkpoint(..));
        match kept.last() {
            Some(last) if is_same(last, &next) && is_checkpoint(&next) => continue,
            Some(last) if is_same(last, &next) && is_checkpoint(last) => drop(kept.pop()),
            _ => {}
        }
        kept.push(next);
    }
    kept.reverse();
    Ok(kept)
}

fn of_records(store: &Overwritten, real: &Path, present: &State) -> io::Result<Vec<Found>> {
    let records = store.records()?;
    let changes: Vec<(&Record, &Item)> = records
        .iter()
        .filter_map(|record| Some((record, record.items.iter().find(|item| item.path == real)?)))
        .collect();
    let mut found: Vec<Found> = Vec::new();
    let (mut last, mut last_ms): (Option<&State>, i64) = (None, i64::MIN);
    for (place, (record, item)) in changes.iter().enumerate() {
        if last.is_none_or(|last| !last.is_same(&item.before))
            && let Some((content, sha256, size)) = content_of(store, &item.before, real, present)
            && !matches!(content, Content::Nothing)
        {
            let changed_ms = match &item.before {
                State::File { changed_ms: Some(at), .. } => *at,
                _ => record.at_ms,
            };
            let version = Version {
                version: format!("{}~", record.id),
                at: changed_ms.min(record.at_ms).max(last_ms),
                author: "unknown".into(),
                message: format!("as it was before {}", record.call),
                pid: None,
                run_id: None,
                size,
                deleted: false,
            };
            found.push(Found { version, content, sha256 });
        }
        // What is seen next tells whether the change was made at all.
        let next = changes.get(place + 1).map_or(present, |(_, item)| &item.before);
        let was_made = !next.is_same(&item.before) || item.before.is_same(&item.after);
        if was_made && let Some((content, sha256, size)) = content_of(store, &item.after, real, present) {
            let deleted = matches!(content, Content::Nothing);
            let version = version_of(record, size, deleted);
            found.push(Found { version, content, sha256 });
        }
        (last, last_ms) = (Some(if was_made { &item.after } else { &item.before }), record.at_ms);
    }
    Ok(found)
}

fn version_of(record: &Record, size: Option<u64>, deleted: bool) -> Version {
    let is_agent = !record.pid.is_empty();
    let message = match record.call.as_str() {
        "fs.write" | "fs.push" => "written".to_string(),
        "fs.edit" => "edited".to_string(),
        "fs.delete" => "deleted".to_string(),
        "fs.restore" => "brought back".to_string(),
        "fs.undo" => "a run was undone".to_string(),
        other => other.to_string(),
    };
    Version {
        version: record.id.to_string(),
        at: record.at_ms,
        author: if is_agent { format!("agent {}", record.pid) } else { "a person".into() },
        message,
        pid: is_agent.then(|| Pid(record.pid.clone())),
        run_id: (is_agent && !record.run.is_empty()).then(|| RunId(record.run.clone())),
        size,
        deleted,
    }
}

/// Where the content of a state is, with its digest and size; `None` when it can not be had.
fn content_of(
    store: &Overwritten,
    state: &State,
    real: &Path,
    present: &State,
) -> Option<(Content, Option<String>, Option<u64>)> {
    match state {
        State::Absent => Some((Content::Nothing, None, None)),
        State::Link { target } => Some((Content::Link(target.clone()), None, None)),
        State::File { sha256, size, .. } => {
            let content = if store.holds(sha256) {
                Content::Kept(sha256.clone())
            } else if present.is_same(state) {
                Content::Present(real.to_path_buf(), sha256.clone())
            } else {
                return None;
            };
            Some((content, Some(sha256.clone()), Some(*size)))
        }
        State::Dir { .. } | State::Other => None,
    }
}

fn of_checkpoints(store: &Overwritten, real: &Path) -> io::Result<Vec<Found>> {
    let mut found = Vec::new();
    if !real.starts_with(&store.workspace) {
        return Ok(found);
    }
    let Some(checkpoints) = open_checkpoints(store)? else { return Ok(found) };
    let paths = [real.to_path_buf()];
    let mut digests: HashMap<String, String> = HashMap::new();
    let (mut last, mut commit) = (None, String::new());
    for summary in checkpoints.list().map_err(io::Error::other)? {
        if summary.commit == commit {
            continue;
        }
        commit.clone_from(&summary.commit);
        // One that is damaged or just removed does not hide the others.
        let Ok(mut seen) = checkpoints.seen(summary.id, &paths) else { continue };
        let Some(Seen::File { digest, size, .. }) = seen.pop() else { continue };
        if last.as_ref() == Some(&digest) {
            continue;
        }
        let sha256 = match digests.get(&digest) {
            Some(known) => known.clone(),
            None => match checkpoints.content(summary.id, real, limits::FILE_BYTES_MAX) {
                Ok(Some(content)) => match State::file(&content) {
                    State::File { sha256, .. } => sha256,
                    _ => continue,
                },
                _ => continue,
            },
        };
        digests.insert(digest.clone(), sha256.clone());
        last = Some(digest);
        let content = Content::Checkpoint(summary.id, real.to_path_buf());
        found.push(Found { version: checkpoint_version(&summary, size), content, sha256: Some(sha256) });
    }
    Ok(found)
}

fn checkpoint_version(summary: &Summary, size: u64) -> Version {
    let is_agent = !summary.label.pid.is_empty();
    let side = if summary.label.when == When::Before { "before" } else { "after" };
    Version {
        version: format!("c{}", summary.id),
        at: summary.taken_ms,
        author: if is_agent { format!("agent {}", summary.label.pid) } else { "a person".into() },
        message: match is_agent {
            true => format!("{side} commands of the agent"),
            false => format!("{side} a checkpoint was brought back"),
        },
        pid: is_agent.then(|| Pid(summary.label.pid.clone())),
        run_id: (is_agent && !summary.label.run.is_empty()).then(|| RunId(summary.label.run.clone())),
        size: Some(size),
        deleted: false,
    }
}

/// The checkpoints of the workspace, where there are any.
pub(in crate::fs) fn open_checkpoints(store: &Overwritten) -> io::Result<Option<Checkpoints>> {
    if !store.checkpoints.try_exists()? {
        return Ok(None);
    }
    Checkpoints::open(&store.checkpoints, &store.workspace).map(Some).map_err(io::Error::other)
}
