//! Workspaces: a directory `/workspaces/<id>` for a piece of work, and a repository `<owner>/<id>` that keeps its versions.
//!
//! The row in the store decides. An active workspace has its files in the tree; the files of an archived one are in its
//! repository only. Each step of a change can be done again, so that the next start brings both together after a crash.

pub(crate) mod archive;
pub(crate) mod create;
pub(crate) mod list;
mod recover;
pub(crate) mod restore;
mod snapshot;

use protocol::error::Error;
use store::workspaces::WorkspaceRow;
use vfs::{Code, Fault as FileFault, Tree};

use crate::repos::Repos;
use crate::slug::Slug;
use crate::turns::Turn;

type Cx = gateway::Cx<Repos>;

impl Repos {
    /// Waits for nobody: `None` while somebody else archives or restores the workspace, here or elsewhere.
    pub(crate) async fn workspace_turn(&self, id: &str) -> Result<Option<Turn>, Error> {
        let (name, now_ms) = (format!("workspace:{id}"), self.gateway.now_ms());
        Ok(self.workspaces.take(self.gateway.store(), &name, now_ms).await?)
    }

    /// Does something with the file tree that waits for the disk.
    pub(crate) async fn with_tree<T: Send + 'static>(
        &self,
        id: &str,
        work: impl FnOnce(&Tree) -> Result<T, FileFault> + Send + 'static,
    ) -> Result<T, Error> {
        let tree = self.gateway.tree().clone();
        let done = self.work(move || work(&tree)).await?;
        done.map_err(|fault| file_refusal(id, &fault))
    }
}

/// A workspace of the caller's; root has all.
pub(crate) async fn owned(cx: &Cx, id: &str) -> Result<WorkspaceRow, Error> {
    let found = cx.area.gateway.store().workspaces().by_id(id.trim()).await?;
    let row = found.ok_or_else(|| Error::not_found(format!("Workspace not found: {id}")))?;
    if row.owner_uid != cx.caller.uid() && !cx.caller.is_root() {
        return Err(Error::forbidden(format!("Permission denied: workspace {id}")));
    }
    Ok(row)
}

/// The repository of a workspace.
pub(crate) fn slug_of(row: &WorkspaceRow) -> Result<Slug, Error> {
    Slug::new(&row.owner_username, &row.workspace_id)
}

/// 409 while somebody else is at it.
fn under_way(id: &str) -> Error {
    Error::conflict(format!("Workspace {id} is being archived or restored: try again in a while"))
}

/// What a failure of the tree is on the wire.
fn file_refusal(id: &str, fault: &FileFault) -> Error {
    match fault.code {
        Code::NoSpace => Error::store_failed("there is no room on the disk"),
        Code::Io => {
            tracing::warn!(id, %fault, "the files of a workspace could not be used");
            Error::internal(&format!("the files of workspace {id} could not be used; the log says why"))
        }
        Code::Quota => Error::new(413, fault.to_string()),
        _ => Error::conflict(format!("Workspace {id}: {fault}")),
    }
}
