//! Handler of `sys.workspace.list`, and how a workspace is shown.

use std::collections::HashMap;

use protocol::error::Error;
use protocol::ids::Uid;
use protocol::sys::workspace::{ActiveProcess, List, Listed, Workspace};
use store::workspaces::{Filter, Occupant, WorkspaceRow};

use super::{Cx, slug_of};
use crate::git::bare::Bare;
use crate::git::fault::Fault;
use crate::git::init;
use crate::git::refs::Branch;
use crate::repos::Repos;

/// `sys.workspace.list`
pub(crate) async fn list(cx: Cx, args: List) -> Result<Listed, Error> {
    let uid = whose(&cx, args.uid)?;
    if args.limit == Some(0) {
        return Err(Error::bad_argument("sys.workspace.list", "limit", "must be a positive number"));
    }
    let store = cx.area.gateway.store();
    let filter = Filter { uid: Some(uid), kind: args.kind, state: args.state, limit: args.limit };
    let rows = store.workspaces().list(filter).await?;
    let occupants =
        if rows.is_empty() { Vec::new() } else { store.workspaces().occupants(Some(uid)).await? };
    Ok(Listed { workspaces: cx.area.shown(rows, occupants).await? })
}

/// Whose workspaces a caller asks about; only root asks about others'.
fn whose(cx: &Cx, uid: Option<Uid>) -> Result<Uid, Error> {
    let own = cx.caller.uid();
    match uid {
        Some(uid) if uid != own && !cx.caller.is_root() => {
            Err(Error::forbidden(format!("Permission denied: cannot list workspaces for uid {uid}")))
        }
        uid => Ok(uid.unwrap_or(own)),
    }
}

impl Repos {
    /// One workspace as it is shown.
    pub(crate) async fn shown_one(&self, row: WorkspaceRow) -> Result<Workspace, Error> {
        let occupants = self.gateway.store().workspaces().occupants_of(&row.workspace_id).await?;
        let id = row.workspace_id.clone();
        let mut shown = self.shown(vec![row], occupants).await?;
        shown.pop().ok_or_else(|| Error::not_found(format!("Workspace not found: {id}")))
    }

    /// Workspaces as they are shown; occupants come newest first.
    async fn shown(
        &self,
        rows: Vec<WorkspaceRow>,
        occupants: Vec<Occupant>,
    ) -> Result<Vec<Workspace>, Error> {
        let mut inside: HashMap<String, (u64, ActiveProcess)> = HashMap::new();
        for one in occupants {
            let Occupant { workspace_id, pid, label, cwd, created_at } = one;
            let newest = || (0, ActiveProcess { pid, label, cwd, created_at });
            inside.entry(workspace_id).or_insert_with(newest).0 += 1;
        }
        let heads = self.heads(&rows).await?;
        let shown = rows.into_iter().zip(heads).map(|(row, head_commit)| {
            let (process_count, active_process) = match inside.remove(&row.workspace_id) {
                Some((count, newest)) => (count, Some(newest)),
                None => (0, None),
            };
            Workspace {
                workspace_id: row.workspace_id,
                owner_uid: row.owner_uid,
                label: row.label,
                kind: row.kind,
                state: row.state,
                created_at: row.created_at,
                updated_at: row.updated_at,
                default_branch: row.default_branch,
                head_commit,
                active_process,
                process_count,
            }
        });
        Ok(shown.collect())
    }

    /// Where the main branch of each is. One that can not be read has none; it must not hide the others.
    async fn heads(&self, rows: &[WorkspaceRow]) -> Result<Vec<Option<String>>, Error> {
        let mut paths = Vec::with_capacity(rows.len());
        for row in rows {
            paths.push(self.path_of(&slug_of(row)?));
        }
        let head = |path: &std::path::Path| -> Result<Option<String>, Fault> {
            if !init::is_there(path) {
                return Ok(None);
            }
            let head = Bare::open(path)?.reference(&Branch::main().full())?;
            Ok(head.map(|id| id.to_string()))
        };
        let read = move |path: &std::path::PathBuf| match head(path) {
            Ok(head) => head,
            Err(fault) => {
                tracing::warn!(path = %path.display(), %fault, "the head of a workspace could not be read");
                None
            }
        };
        self.work(move || paths.iter().map(read).collect()).await
    }
}
