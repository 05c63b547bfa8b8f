//! Commits on behalf of other parts of the gateway: what versions homes and workspaces ends here.

use protocol::error::Error;

use crate::git::commit::{NewCommit, Stamp};
use crate::git::edit::Change;
use crate::git::fault::Fault;
use crate::git::paths::TreePath;
use crate::git::refs::Branch;
use crate::repos::{Repos, refusal};
use crate::slug::Slug;

/// Who made a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Author {
    /// A person's name, or an agent's.
    pub name: String,
    /// Their address.
    pub email: String,
}

/// One change of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Writes a file; it stays executable, or not, when nothing is said.
    Put { path: String, content: Vec<u8>, executable: Option<bool> },
    /// Writes a symbolic link.
    Link { path: String, target: String },
    /// Deletes a file, or a directory with everything in it.
    Delete { path: String },
    /// Moves a file or a directory to a name that is free.
    Move { from: String, to: String },
}

impl Repos {
    /// Makes a commit on the main branch of a repository, which is made where there is none. Whether somebody may do
    /// it was asked before. Returns the branch's commit; nothing is made when nothing changes.
    pub async fn commit(
        &self,
        slug: &Slug,
        author: &Author,
        message: &str,
        edits: Vec<Edit>,
    ) -> Result<Option<String>, Error> {
        let found = self.find_or_make(slug).await?;
        let changes: Result<Vec<Change>, Fault> = edits.into_iter().map(change).collect();
        let stamp = Stamp {
            name: author.name.clone(),
            email: author.email.clone(),
            seconds: self.gateway.now_ms() / 1_000,
        };
        let new = NewCommit {
            branch: Branch::main(),
            author: stamp.clone(),
            committer: stamp,
            message: message.to_string(),
            expected: None,
            allow_empty: false,
            changes: changes.map_err(|fault| refusal(slug, fault))?,
        };
        self.advance(slug, &found, new).await
    }
}

fn change(edit: Edit) -> Result<Change, Fault> {
    Ok(match edit {
        Edit::Put { path, content, executable } => {
            Change::Put { path: TreePath::to_write(&path)?, content, executable }
        }
        Edit::Link { path, target } => Change::Link { path: TreePath::to_write(&path)?, target },
        Edit::Delete { path } => Change::Delete { path: TreePath::to_write(&path)?, recursive: true },
        Edit::Move { from, to } => {
            Change::Move { from: TreePath::to_write(&from)?, to: TreePath::to_write(&to)? }
        }
    })
}
