//! Commit objects: reading them, writing them, and moving a branch from one to the next.

use std::collections::{HashSet, VecDeque};

use base::clock::Clock;
use base::limits::repo as limits;
use gix_hash::ObjectId;
use gix_object::tree::EntryMode;
use gix_object::{CommitRef, Kind};

use super::bare::Bare;
use super::edit::{Change, TreeEditor};
use super::fault::Fault;
use super::hold::Hold;
use super::lock::RefLock;
use super::paths::TreePath;
use super::refs::Branch;
use super::write::NewObjects;

/// A commit as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Commit {
    pub id: ObjectId,
    pub tree: ObjectId,
    pub parents: Vec<ObjectId>,
    pub author: Stamp,
    pub committer: Stamp,
    /// Without line ends at its end.
    pub message: String,
}

/// Who, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub name: String,
    pub email: String,
    /// Since the Unix epoch.
    pub seconds: i64,
}

impl Bare {
    /// A commit.
    pub(crate) fn commit(&self, id: &ObjectId) -> Result<Commit, Fault> {
        let content = self.object(id, Kind::Commit)?;
        let commit = CommitRef::from_bytes(&content, gix_hash::Kind::Sha1).map_err(Fault::damaged)?;
        let (author, committer) = (commit.author, commit.committer);
        Ok(Commit {
            id: *id,
            tree: commit.tree(),
            parents: commit.parents().collect(),
            author: stamp(author),
            committer: stamp(committer),
            message: String::from_utf8_lossy(commit.message).trim_end_matches('\n').to_string(),
        })
    }
}

/// Reads `Name <email> seconds zone`, however odd: what is shown must not keep anybody from seeing the rest.
fn stamp(line: &[u8]) -> Stamp {
    let line = String::from_utf8_lossy(line);
    let (name, rest) = line.split_once('<').unwrap_or((&line, ""));
    let (email, rest) = rest.rsplit_once('>').unwrap_or((rest, ""));
    let seconds = rest.split_whitespace().next().and_then(|text| text.parse().ok()).unwrap_or(0);
    Stamp { name: name.trim().to_string(), email: email.trim().to_string(), seconds }
}

/// One side of a commit's author line, without what has a meaning in it.
fn plain(text: &str) -> String {
    let kept: String = text.chars().filter(|c| !matches!(c, '<' | '>') && !c.is_control()).collect();
    kept.trim_matches(|c: char| c.is_whitespace() || matches!(c, '.' | ',' | ':' | ';' | '"' | '\''))
        .to_string()
}

fn line(stamp: &Stamp) -> String {
    let name = plain(&stamp.name);
    let name = if name.is_empty() { "unknown".to_string() } else { name };
    format!("{name} <{}> {} +0000", plain(&stamp.email), stamp.seconds.max(0))
}

/// A commit that is to be made.
#[derive(Clone, Debug)]
pub(crate) struct NewCommit {
    pub branch: Branch,
    pub author: Stamp,
    pub committer: Stamp,
    pub message: String,
    /// Where the branch must be; all zeros for nowhere.
    pub expected: Option<String>,
    /// Whether it is made even when nothing changes.
    pub allow_empty: bool,
    pub changes: Vec<Change>,
}

/// Makes a commit on a branch, or on none yet. Returns where the branch is then; `None` when it still does not exist.
///
/// Trees and blobs are written without the lock. Whoever was faster meanwhile is not overwritten: the changes are made
/// again on top of what is there then, unless the caller expected another commit.
pub(crate) fn advance(bare: &Bare, new: &NewCommit, clock: &Clock) -> Result<Option<ObjectId>, Fault> {
    check_message(&new.message)?;
    // What is there already, and is counted on, stays there.
    let _held = Hold::share(bare.path())?;
    let name = new.branch.full();
    for _ in 0..limits::COMMIT_TRIES_MAX {
        let base = bare.reference(&name)?;
        expect(new, base)?;
        let Some(commit) = build(bare, new, base)? else { return Ok(base) };
        let lock = RefLock::take(bare, &name, clock)?;
        if lock.current()? == base {
            return set(&lock, commit);
        }
    }
    // Others are faster all the time: now they wait.
    let lock = RefLock::take(bare, &name, clock)?;
    let base = lock.current()?;
    expect(new, base)?;
    match build(bare, new, base)? {
        Some(commit) => set(&lock, commit),
        None => Ok(base),
    }
}

/// Lets `HEAD` name a branch, unless it names one that is there: a clone begins where there is something.
pub(crate) fn settle_head(bare: &Bare, branch: &Branch, clock: &Clock) -> Result<(), Fault> {
    if bare.reference("HEAD")?.is_some() {
        return Ok(());
    }
    let lock = RefLock::take(bare, "HEAD", clock)?;
    match lock.current()? {
        Some(_) => Ok(()),
        None => lock.point_to(&branch.full()),
    }
}

/// Moves a branch forward to a commit whose history holds all that the branch has. Returns where the branch is then.
pub(crate) fn fast_forward(
    bare: &Bare,
    branch: &Branch,
    to: ObjectId,
    clock: &Clock,
) -> Result<ObjectId, Fault> {
    let name = branch.full();
    for _ in 0..limits::COMMIT_TRIES_MAX {
        let from = bare.reference(&name)?;
        match from {
            Some(from) if bare.is_ancestor(&to, &from)? => return Ok(from),
            Some(from) if !bare.is_ancestor(&from, &to)? && !bare.is_bare_beginning(&from)? => {
                return Err(Fault::Conflict(format!(
                    "the branch {} has commits of its own, which would be lost: import into another ref, and merge with git",
                    branch.as_str()
                )));
            }
            _ => {}
        }
        let lock = RefLock::take(bare, &name, clock)?;
        if lock.current()? == from {
            lock.set(&to)?;
            return Ok(to);
        }
    }
    Err(Fault::Busy(format!("others change {name} all the time: try again")))
}

impl Bare {
    /// Whether a commit is another one, or in its history.
    pub(crate) fn is_ancestor(&self, old: &ObjectId, new: &ObjectId) -> Result<bool, Fault> {
        let (mut seen, mut waiting) = (HashSet::new(), VecDeque::from([*new]));
        while let Some(id) = waiting.pop_front() {
            if id == *old {
                return Ok(true);
            }
            if seen.len() > limits::COMMITS_WALKED_MAX {
                return Err(Fault::TooLarge("the history is too long to be looked through".to_string()));
            }
            if seen.insert(id) && self.has(&id) {
                waiting.extend(self.commit(&id)?.parents);
            }
        }
        Ok(false)
    }

    /// Whether a commit is what `repo.create` makes: the first, with nothing in it.
    fn is_bare_beginning(&self, id: &ObjectId) -> Result<bool, Fault> {
        let commit = self.commit(id)?;
        Ok(commit.parents.is_empty() && commit.tree.is_empty_tree())
    }
}

fn set(lock: &RefLock<'_>, commit: ObjectId) -> Result<Option<ObjectId>, Fault> {
    lock.set(&commit)?;
    Ok(Some(commit))
}

fn check_message(message: &str) -> Result<(), Fault> {
    if message.trim().is_empty() {
        return Err(Fault::Bad("message is required".to_string()));
    }
    if message.contains('\0') || message.len() > limits::MESSAGE_MAX_BYTES {
        let limit = limits::MESSAGE_MAX_BYTES;
        return Err(Fault::Bad(format!("message must be a text of at most {limit} bytes, without NUL")));
    }
    Ok(())
}

fn expect(new: &NewCommit, found: Option<ObjectId>) -> Result<(), Fault> {
    let Some(expected) = &new.expected else { return Ok(()) };
    let wanted = ObjectId::from_hex(expected.as_bytes())
        .map_err(|_| Fault::Bad(format!("expectedHead is not the hash of a commit: {expected}")))?;
    if found.unwrap_or_else(|| ObjectId::null(gix_hash::Kind::Sha1)) == wanted {
        return Ok(());
    }
    let found = found.map(|id| id.to_string());
    Err(Fault::Moved { reference: new.branch.full(), expected: expected.clone(), found })
}

/// Writes everything that a commit on top of another needs; `None` when it would change nothing.
fn build(bare: &Bare, new: &NewCommit, base: Option<ObjectId>) -> Result<Option<ObjectId>, Fault> {
    let old_tree = match base {
        Some(base) => bare.commit(&base)?.tree,
        None => ObjectId::empty_tree(gix_hash::Kind::Sha1),
    };
    let mut objects = NewObjects::new(bare);
    let mut editor = TreeEditor::new(bare, old_tree);
    for change in &new.changes {
        editor.apply(change, &mut objects)?;
    }
    let tree = editor.write(&mut objects)?;
    if tree == old_tree && !new.allow_empty {
        return Ok(None);
    }
    let content = encoded(new, tree, base);
    let commit = objects.add(Kind::Commit, content)?;
    objects.flush()?;
    Ok(Some(commit))
}

/// Writes a commit that no branch names: another one with some paths as they are elsewhere.
pub(crate) fn amended(
    bare: &Bare,
    parent: ObjectId,
    sides: &[(TreePath, Option<(EntryMode, ObjectId)>)],
    stamp: Stamp,
) -> Result<ObjectId, Fault> {
    let mut objects = NewObjects::new(bare);
    let mut editor = TreeEditor::new(bare, bare.commit(&parent)?.tree);
    for (path, side) in sides {
        editor.place(path, *side)?;
    }
    let tree = editor.write(&mut objects)?;
    let (message, branch) = ("gsv: the file tree".to_string(), Branch::main());
    let (author, committer) = (stamp.clone(), stamp);
    let new = NewCommit {
        branch,
        author,
        committer,
        message,
        expected: None,
        allow_empty: true,
        changes: Vec::new(),
    };
    let commit = objects.add(Kind::Commit, encoded(&new, tree, Some(parent)))?;
    objects.flush()?;
    Ok(commit)
}

fn encoded(new: &NewCommit, tree: ObjectId, parent: Option<ObjectId>) -> Vec<u8> {
    let parent = parent.map(|parent| format!("parent {parent}\n")).unwrap_or_default();
    let (author, committer) = (line(&new.author), line(&new.committer));
    let message = new.message.trim_end_matches('\n');
    format!("tree {tree}\n{parent}author {author}\ncommitter {committer}\n\n{message}\n").into_bytes()
}
