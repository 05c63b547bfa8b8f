//! Undo of a run in one repository: what its commits did to each file is taken back three-way, so that what was changed
//! since is kept, or named as a conflict and left alone.

use std::collections::{BTreeMap, HashMap, HashSet};

use base::limits::versions as limits;
use gix_hash::ObjectId;
use gix_object::Kind;
use gix_object::tree::{EntryKind, EntryMode};
use protocol::fs::history::UndoAction;

use super::live::Side;
use super::merge::merge;
use super::message;
use crate::git::bare::{Bare, is_text};
use crate::git::commit::Commit;
use crate::git::edit::Change;
use crate::git::fault::Fault;
use crate::git::paths::TreePath;
use crate::git::refs::Branch;

/// What is to be done to one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// Below the root.
    pub path: String,
    pub action: UndoAction,
    /// Why it is a conflict.
    pub why: Option<String>,
}

/// What an undo does in one repository.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// By path.
    pub steps: Vec<Step>,
    /// What its commit changes.
    pub changes: Vec<Change>,
}

/// A commit that has to do with the run: which files it changed, newest first.
struct Done {
    files: BTreeMap<String, (Option<Side>, Option<Side>)>,
    is_undo: bool,
}

/// Plans to take back what a run did; nothing when it did nothing here. Commits much older than the run are not looked
/// at.
pub(crate) fn plan(bare: &Bare, run: &str, began_ms: Option<i64>) -> Result<Option<Plan>, Fault> {
    let Some(head) = bare.reference(&Branch::main().full())? else { return Ok(None) };
    let head = bare.commit(&head)?;
    let done = commits_of(bare, &head, run, began_ms)?;
    if !done.iter().any(|done| !done.is_undo) {
        return Ok(None);
    }
    let mut undoing = Undoing { bare, tree: head.tree, merged: HashMap::new() };
    let mut ends = BTreeMap::new();
    for (path, spans) in spans(&done) {
        ends.insert(path.clone(), undoing.end(&path, &spans)?);
    }
    undoing.plan(ends).map(Some)
}

/// The commits of a run and those that took it back, newest first.
fn commits_of(bare: &Bare, head: &Commit, run: &str, began_ms: Option<i64>) -> Result<Vec<Done>, Fault> {
    const DAY_SECONDS: i64 = 86_400;
    // Clocks are set back now and then, but not by a day.
    let oldest = began_ms.map_or(i64::MIN, |ms| ms / 1_000 - DAY_SECONDS);
    let (mut found, mut next) = (Vec::new(), Some(head.clone()));
    for _ in 0..limits::UNDO_COMMITS_MAX {
        let Some(commit) = next.take().filter(|commit| commit.committer.seconds >= oldest) else { break };
        let parent = match commit.parents.first() {
            Some(parent) if bare.has(parent) => Some(bare.commit(parent)?),
            _ => None,
        };
        let is_undo = message::trailer(&commit.message, message::UNDO) == Some(run);
        if is_undo || message::trailer(&commit.message, message::RUN) == Some(run) {
            let changes = bare.changes(parent.as_ref().map(|parent| parent.tree), Some(commit.tree))?;
            let of_change = |change: crate::git::diff::FileChange| {
                Some((String::from_utf8(change.path).ok()?, (change.old, change.new)))
            };
            found.push(Done { files: changes.into_iter().filter_map(of_change).collect(), is_undo });
        }
        next = parent;
    }
    Ok(found)
}

/// What the run did to a file without anybody in between: how it left it, and how it had found it.
type Span = (Option<Side>, Option<Side>);

/// The spans of each path, newest first; none where an undo has taken them back.
fn spans(done: &[Done]) -> BTreeMap<String, Vec<Span>> {
    let (mut spans, mut undone): (BTreeMap<String, Vec<Span>>, HashSet<&str>) = Default::default();
    for done in done {
        for (path, (old, new)) in &done.files {
            if done.is_undo {
                undone.insert(path);
                continue;
            }
            let of_path = spans.entry(path.clone()).or_default();
            if undone.contains(path.as_str()) {
                continue;
            }
            match of_path.last_mut() {
                Some((_, found)) if found == new => *found = *old,
                _ => of_path.push((*new, *old)),
            }
        }
    }
    spans
}

/// How a path is to end.
enum End {
    /// As it is.
    Same,
    /// Like this; whether that is how the run had found it.
    Like(Option<Side>, bool),
    Conflict(String),
}

struct Undoing<'a> {
    bare: &'a Bare,
    tree: ObjectId,
    /// Contents that are in no repository yet.
    merged: HashMap<ObjectId, Vec<u8>>,
}

impl Undoing<'_> {
    fn end(&mut self, path: &str, spans: &[Span]) -> Result<End, Fault> {
        let now = self.at(path)?;
        if now.is_some_and(|(mode, _)| mode.is_tree() || mode.is_commit()) {
            return Ok(End::Conflict("a directory is there now".to_string()));
        }
        let mut state = now;
        for (left, found) in spans {
            state = match self.reverted(state, *left, *found)? {
                Ok(state) => state,
                Err(why) => return Ok(End::Conflict(why.to_string())),
            };
        }
        Ok(match spans.last() {
            Some((_, found)) if state != now => End::Like(state, state == *found),
            _ => End::Same,
        })
    }

    /// A state without what the run did to it.
    fn reverted(
        &mut self,
        now: Option<Side>,
        left: Option<Side>,
        found: Option<Side>,
    ) -> Result<Result<Option<Side>, &'static str>, Fault> {
        if now == left || now == found {
            return Ok(Ok(found));
        }
        let (Some(now), Some(left), Some(found)) = (now, left, found) else {
            return Ok(Err(match (now, left, found) {
                (None, _, _) => "it was deleted since",
                (_, None, _) => "something else was put there since",
                _ => "it was changed since the run made it",
            }));
        };
        let mode = if now.0 == left.0 { found.0 } else { now.0 };
        if [now, left, found].iter().any(|(mode, _)| mode.is_link()) {
            return Ok(Err("the link was changed since"));
        }
        if now.1 == left.1 || now.1 == found.1 {
            return Ok(Ok(Some((mode, found.1))));
        }
        let (base, ours, theirs) = (self.content(&left.1)?, self.content(&now.1)?, self.content(&found.1)?);
        if ![&base, &ours, &theirs].iter().all(|content| is_text(content)) {
            return Ok(Err("it was changed since, and is not text that could be merged"));
        }
        let Some(merged) = merge(&base, &ours, &theirs) else {
            return Ok(Err("the same lines were changed since"));
        };
        let id =
            gix_object::compute_hash(gix_hash::Kind::Sha1, Kind::Blob, &merged).map_err(Fault::damaged)?;
        self.merged.insert(id, merged);
        Ok(Ok(Some((mode, id))))
    }

    fn content(&self, id: &ObjectId) -> Result<Vec<u8>, Fault> {
        match self.merged.get(id) {
            Some(content) => Ok(content.clone()),
            None => self.bare.blob(id),
        }
    }

    fn at(&self, path: &str) -> Result<Option<Side>, Fault> {
        let names: Vec<&[u8]> = path.split('/').map(str::as_bytes).collect();
        self.bare.entry_at(&self.tree, &names)
    }

    /// What the commit changes, and what is said of each path.
    fn plan(&self, ends: BTreeMap<String, End>) -> Result<Plan, Fault> {
        let goes = |path: &str| matches!(ends.get(path), Some(End::Like(None, _)));
        let (mut plan, mut puts) = (Plan::default(), Vec::new());
        for (path, end) in &ends {
            let (action, why) = match end {
                End::Same => (UndoAction::Unchanged, None),
                End::Conflict(why) => (UndoAction::Conflict, Some(why.clone())),
                End::Like(None, _) => {
                    plan.changes.push(Change::Delete { path: TreePath::to_write(path)?, recursive: false });
                    (UndoAction::Removed, None)
                }
                End::Like(Some(side), as_found) => match self.obstacle(path, &goes)? {
                    Some(why) => (UndoAction::Conflict, Some(why)),
                    None => {
                        puts.push(self.put(path, *side)?);
                        (if *as_found { UndoAction::Restored } else { UndoAction::Merged }, None)
                    }
                },
            };
            plan.steps.push(Step { path: path.clone(), action, why });
        }
        plan.changes.extend(puts);
        Ok(plan)
    }

    /// What stands where a file is to be, other than what goes.
    fn obstacle(&self, path: &str, goes: &dyn Fn(&str) -> bool) -> Result<Option<String>, Fault> {
        let names: Vec<&str> = path.split('/').collect();
        for end in 1..names.len() {
            let above = names[..end].join("/");
            match self.at(&above)? {
                Some((mode, _)) if !mode.is_tree() && !goes(&above) => {
                    return Ok(Some(format!("{above} is no directory any more")));
                }
                Some((mode, _)) if mode.is_tree() => {}
                _ => break,
            }
        }
        Ok(None)
    }

    fn put(&self, path: &str, (mode, id): Side) -> Result<Change, Fault> {
        let (path, content) = (TreePath::to_write(path)?, self.content(&id)?);
        if mode.is_link() {
            let target = String::from_utf8(content).map_err(Fault::damaged)?;
            return Ok(Change::Link { path, target });
        }
        let executable = Some(mode == EntryMode::from(EntryKind::BlobExecutable));
        Ok(Change::Put { path, content, executable })
    }
}
