//! Agreement of a versioned directory with its repository: commits that came otherwise are put into the file tree, and
//! what was changed there is committed.
//!
//! `refs/gsv/tree` is the commit that the file tree last agreed with. So three states are known: that one, the branch,
//! and the files. A file that is as it was follows the branch; a file that was changed is committed on top of it; what
//! was changed in both ways stays as it is in the file tree, and the other version is in the history. It may end
//! anywhere: the next time goes on from the same three states.

use std::collections::BTreeMap;

use base::clock::Clock;
use base::limits::versions as limits;
use gix_hash::ObjectId;
use vfs::Code;
use vfs::versioned::{Content, Place, Replaced, Wanted};

use super::live::{self, Difference, Files, Live, Side};
use super::message;
use super::notes::{By, Pending};
use crate::faults::step;
use crate::git::bare::Bare;
use crate::git::commit::{self, NewCommit, Stamp};
use crate::git::edit::Change;
use crate::git::fault::Fault;
use crate::git::hold::Hold;
use crate::git::lock::RefLock;
use crate::git::paths::TreePath;
use crate::git::refs::Branch;

/// The commit that the file tree last agreed with.
pub(crate) const TREE: &str = "refs/gsv/tree";

/// What became of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Agreed {
    /// Where the branch is.
    pub head: Option<ObjectId>,
    /// Whether commits were made.
    pub has_committed: bool,
    /// Why some files could not follow the branch: it is to be tried again.
    pub unfinished: Option<String>,
}

/// One directory and its repository.
pub(crate) struct Agreement<'a> {
    pub bare: &'a Bare,
    pub live: Live<'a>,
    pub clock: &'a Clock,
    /// The user whose it is.
    pub owner: &'a str,
    /// What commits say, in the place of what changed in each.
    pub said: Option<&'a str>,
}

impl Agreement<'_> {
    /// Brings both to agreement. What is noted says who changed what; without `scopes` everything is looked at.
    pub(crate) fn reach(
        &mut self,
        notes: Option<&Pending>,
        scopes: Option<Vec<String>>,
    ) -> Result<Agreed, Fault> {
        let (bare, branch) = (self.bare, Branch::main().full());
        // What is read here must still be there when a ref names what was made of it.
        let _held = Hold::share(bare.path())?;
        let mut head = bare.reference(&branch)?;
        let agreed = bare.reference(TREE)?;
        let tree_of =
            |id: Option<ObjectId>| id.map(|id| bare.commit(&id).map(|commit| commit.tree)).transpose();
        let (mut branch_tree, agreed_tree) = (tree_of(head)?, tree_of(agreed)?);
        let all = || self.live.root.tops().iter().map(|top| top.to_string()).collect();
        let scopes: Vec<String> = match scopes {
            Some(scopes) if branch_tree == agreed_tree => outermost(scopes),
            _ => all(),
        };
        let mut differences = self.live.differences(bare, agreed_tree, &scopes)?;
        let mut result = Agreed { head, ..Agreed::default() };
        let mut left = Vec::new();
        if branch_tree != agreed_tree {
            left = self.follow(agreed_tree, branch_tree, &mut differences)?;
        }
        if head != agreed {
            step("checked out")?;
            self.note_agreement(head, &left)?;
        }
        for chunk in self.chunks(differences, notes) {
            if let Some(commit) = self.commit(&chunk, branch_tree)? {
                (head, branch_tree) = (Some(commit), Some(bare.commit(&commit)?.tree));
                result.has_committed = true;
                step("committed")?;
                self.note_agreement(head, &left)?;
            }
        }
        result.head = head;
        result.unfinished = left.pop().map(|left| left.why);
        Ok(result)
    }

    /// Puts what changed on the branch into the file tree, but for what was changed there too. Returns what did not
    /// fit now and may later.
    fn follow(
        &mut self,
        agreed: Option<ObjectId>,
        branch: Option<ObjectId>,
        differences: &mut Vec<Difference>,
    ) -> Result<Vec<Left>, Fault> {
        let (mut before, mut after) = (Files::new(), Files::new());
        for top in self.live.root.tops() {
            before.extend(live::files_at(self.bare, agreed, self.live.root, top)?);
            after.extend(live::files_at(self.bare, branch, self.live.root, top)?);
        }
        let mut moved: BTreeMap<&str, (Option<Side>, Option<Side>)> = BTreeMap::new();
        for (path, side) in &before {
            moved.entry(path).or_default().0 = Some(*side);
        }
        for (path, side) in &after {
            moved.entry(path).or_default().1 = Some(*side);
        }
        moved.retain(|_, (old, new)| old != new);
        differences.retain(|difference| {
            let on_branch = moved.remove(difference.path.as_str());
            // It was done before, and broke off; or somebody did the same.
            on_branch.is_none_or(|(_, new)| new != difference.new)
        });
        let mut left = Vec::new();
        // What goes makes room for what comes.
        let (gone, come): (Vec<_>, Vec<_>) = moved.into_iter().partition(|(_, (_, new))| new.is_none());
        for (path, (old, new)) in gone.into_iter().chain(come) {
            step("checking out")?;
            match self.check_out(path, old, new) {
                Ok(()) => {}
                Err(CheckOut::Later(why)) => left.push(Left { path: path.to_string(), old, why }),
                Err(CheckOut::Broken(fault)) => return Err(fault),
                Err(CheckOut::Never(why)) => {
                    tracing::warn!(root = self.live.root.path(), path, why, "a commit's file has no room");
                }
            }
        }
        Ok(left)
    }

    fn check_out(&self, path: &str, old: Option<Side>, new: Option<Side>) -> Result<(), CheckOut> {
        let (bytes, target);
        let wanted = match new {
            None => Wanted::Nothing,
            Some((mode, id)) if mode.is_link() => {
                target = live::link_at(self.bare, &id)?.unwrap_or_default();
                Wanted::Link { target: &target }
            }
            Some((mode, id)) => {
                bytes = self.bare.blob(&id)?;
                Wanted::File { bytes: &bytes, executable: mode.is_executable() }
            }
        };
        let expected = |there: Option<&Content>| match (there, old) {
            (None, None) => true,
            // What is not versioned and stands where a file comes gives way when it is a link that leads out.
            (Some(content), None) => is_stray_link(path, content),
            (Some(content), Some(old)) => {
                matches!(live::side_of(path, content), Ok(Ok((side, _))) if side == old)
            }
            (None, Some(_)) => new.is_none(),
        };
        match self.live.place.replace(path, limits::FILE_MAX_BYTES, &expected, wanted) {
            // Somebody was faster: theirs is committed next.
            Ok(Replaced::Done | Replaced::Changed) => Ok(()),
            Err(fault) => Err(match fault.code {
                Code::NoSpace | Code::Quota | Code::Io => CheckOut::Later(fault.to_string()),
                _ => CheckOut::Never(fault.to_string()),
            }),
        }
    }

    /// Keeps which commit the file tree agrees with, but for what is left, which is as it was.
    fn note_agreement(&self, head: Option<ObjectId>, left: &[Left]) -> Result<(), Fault> {
        let Some(head) = head else { return Ok(()) };
        let mut to = head;
        if !left.is_empty() {
            let mut sides = Vec::new();
            for left in left {
                sides.push((TreePath::to_write(&left.path)?, left.old));
            }
            to = commit::amended(self.bare, head, &sides, self.stamp(&By::Unseen))?;
        }
        let lock = RefLock::take(self.bare, TREE, self.clock)?;
        lock.set(&to)
    }

    /// What differs, by who changed it, in portions that are a commit each.
    fn chunks(&self, differences: Vec<Difference>, notes: Option<&Pending>) -> Vec<(By, Vec<Difference>)> {
        let mut by_author: BTreeMap<By, Vec<Difference>> = BTreeMap::new();
        for difference in differences {
            let by = notes.map_or(By::Unseen, |notes| notes.by(&difference.path));
            by_author.entry(by).or_default().push(difference);
        }
        let mut chunks = Vec::new();
        for (by, differences) in by_author {
            for chunk in differences.chunks(limits::COMMIT_FILES_MAX) {
                chunks.push((by.clone(), chunk.to_vec()));
            }
        }
        chunks
    }

    /// Commits files as they are now, in one commit unless they are too large for that.
    fn commit(
        &mut self,
        (by, differences): &(By, Vec<Difference>),
        mut tree: Option<ObjectId>,
    ) -> Result<Option<ObjectId>, Fault> {
        let mut head = None;
        let (mut changes, mut told, mut bytes) = (Vec::new(), Vec::new(), 0);
        // What goes makes room for what comes.
        let (gone, come): (Vec<_>, Vec<_>) = differences.iter().partition(|one| one.new.is_none());
        for difference in gone.into_iter().chain(come) {
            let Some(change) = self.change(difference)? else { continue };
            match &change {
                Change::Delete { .. } if !self.is_there(tree, &difference.path)? => continue,
                Change::Delete { .. } => {}
                Change::Put { content, .. } => {
                    bytes += content.len() as u64;
                    self.make_way(tree, &difference.path, &mut changes)?;
                }
                _ => self.make_way(tree, &difference.path, &mut changes)?,
            }
            told.push((difference.path.clone(), message::verb(&change)));
            changes.push(change);
            if bytes >= limits::COMMIT_MAX_BYTES {
                let made = self.advance(by, std::mem::take(&mut changes), &std::mem::take(&mut told))?;
                if let Some(made) = made {
                    (head, tree) = (Some(made), Some(self.bare.commit(&made)?.tree));
                }
                bytes = 0;
            }
        }
        Ok(self.advance(by, changes, &told)?.or(head))
    }

    fn advance(
        &self,
        by: &By,
        changes: Vec<Change>,
        told: &[(String, &'static str)],
    ) -> Result<Option<ObjectId>, Fault> {
        if changes.is_empty() {
            return Ok(None);
        }
        let (branch, stamp) = (Branch::main(), self.stamp(by));
        let before = self.bare.reference(&branch.full())?;
        let new = NewCommit {
            author: stamp.clone(),
            committer: stamp,
            message: self.said.map_or_else(|| message::of(by, told), str::to_string),
            expected: None,
            allow_empty: false,
            changes,
            branch,
        };
        let after = commit::advance(self.bare, &new, self.clock)?;
        if before.is_none() && after.is_some() {
            commit::settle_head(self.bare, &new.branch, self.clock)?;
        }
        Ok(after.filter(|_| after != before))
    }

    fn stamp(&self, by: &By) -> Stamp {
        message::stamp(by, self.owner, self.clock.now_ms())
    }

    /// How a file got from one state to the other; nothing when it can not be read any more.
    fn change(&self, difference: &Difference) -> Result<Option<Change>, Fault> {
        let path = TreePath::to_write(&difference.path)?;
        let content = self.live.place.read(&difference.path, limits::FILE_MAX_BYTES);
        Ok(match content.map_err(|fault| Fault::Conflict(fault.to_string()))? {
            Some(Content::File { bytes, executable, .. }) => {
                Some(Change::Put { path, content: bytes, executable: Some(executable) })
            }
            Some(Content::Link { target, .. }) if live_link(&difference.path, &target) => {
                Some(Change::Link { path, target })
            }
            None | Some(Content::Directory) => Some(Change::Delete { path, recursive: false }),
            Some(Content::Link { .. } | Content::Skipped(_)) => None,
        })
    }

    fn is_there(&self, tree: Option<ObjectId>, path: &str) -> Result<bool, Fault> {
        let names: Vec<&[u8]> = path.split('/').map(str::as_bytes).collect();
        let entry = match tree {
            Some(tree) => self.bare.entry_at(&tree, &names)?,
            None => None,
        };
        Ok(entry.is_some_and(|(mode, _)| !mode.is_tree()))
    }

    /// A directory where a file comes, and a file where a directory comes, go first.
    fn make_way(&self, tree: Option<ObjectId>, path: &str, changes: &mut Vec<Change>) -> Result<(), Fault> {
        let Some(tree) = tree else { return Ok(()) };
        let names: Vec<&str> = path.split('/').collect();
        for end in 1..=names.len() {
            let at: Vec<&[u8]> = names[..end].iter().map(|name| name.as_bytes()).collect();
            let Some((mode, _)) = self.bare.entry_at(&tree, &at)? else { return Ok(()) };
            if mode.is_tree() != (end < names.len()) {
                let path = TreePath::to_write(&names[..end].join("/"))?;
                let is_same =
                    |change: &Change| matches!(change, Change::Delete { path: other, .. } if *other == path);
                if !changes.iter().any(is_same) {
                    changes.push(Change::Delete { path, recursive: true });
                }
                return Ok(());
            }
        }
        Ok(())
    }
}

fn live_link(path: &str, target: &str) -> bool {
    super::roots::leads_inside(path, target)
}

fn is_stray_link(path: &str, content: &Content) -> bool {
    matches!(content, Content::Link { target, .. } if !live_link(path, target))
}

/// Paths without those that are below others.
fn outermost(mut paths: Vec<String>) -> Vec<String> {
    paths.sort();
    let mut kept: Vec<String> = Vec::new();
    for path in paths {
        if !kept.iter().rev().take(64).any(|outer| live::is_within(&path, outer)) {
            kept.push(path);
        }
    }
    kept
}

/// A file that could not follow the branch yet.
struct Left {
    path: String,
    old: Option<Side>,
    why: String,
}

/// Why a file did not follow the branch.
enum CheckOut {
    /// There is no room now.
    Later(String),
    /// It has no place there: what stands there stays, and is committed.
    Never(String),
    /// The repository can not be read.
    Broken(Fault),
}

impl From<Fault> for CheckOut {
    fn from(fault: Fault) -> CheckOut {
        CheckOut::Broken(fault)
    }
}

/// A directory that a repository follows, if it is there and that owner's.
pub(crate) fn place<'t>(
    tree: &'t vfs::Tree,
    root: &super::roots::Root,
    owner: &'t protocol::identity::ProcessIdentity,
) -> Option<Place<'t>> {
    tree.place(&vfs::VPath::absolute(&root.path()).ok()?, owner)
}
