//! Handler of `sys.workspace.archive`: the row says so first, the directory leaves the tree, its content is committed, and
//! only then it is deleted. Killed in between, the next start does the rest.

use std::sync::Arc;

use base::limits;
use protocol::error::Error;
use protocol::sys::workspace::{Archive, Workspace, WorkspaceState};
use store::workspaces::WorkspaceRow;

use super::create::author_of;
use super::{Cx, owned, slug_of, snapshot, under_way};
use crate::committer::{Held, Look};
use crate::repos::Repos;

/// How often the content is committed anew because somebody was still writing.
const PASSES_MAX: usize = 8;

/// `sys.workspace.archive`
pub(crate) async fn archive(cx: Cx, args: Archive) -> Result<Workspace, Error> {
    let row = owned(&cx, &args.workspace_id).await?;
    let area = cx.area.clone();
    // Begun, it comes to its end, whoever goes on waiting for it.
    let done = tokio::spawn(async move { area.archive(row).await });
    done.await.map_err(|error| Error::internal(&error.to_string()))?
}

impl Repos {
    async fn archive(self: Arc<Self>, row: WorkspaceRow) -> Result<Workspace, Error> {
        let id = row.workspace_id.clone();
        let Some(_turn) = self.workspace_turn(&id).await? else { return Err(under_way(&id)) };
        // What was changed is committed by whom it was changed by, and nobody commits while the files leave the tree.
        let _held = self.alone_with(&row, true).await?;
        let workspaces = self.gateway.store().workspaces();
        if !workspaces.archive(&id, self.gateway.now_ms()).await? {
            return Err(self.why_not(&id).await?);
        }
        if let Err(error) = self.put_away(&row).await {
            self.take_back(&row).await;
            return Err(error);
        }
        let row = workspaces.by_id(&id).await?;
        self.shown_one(row.ok_or_else(|| Error::not_found(format!("Workspace not found: {id}")))?).await
    }

    /// Keeps a workspace and its repository from being brought to agreement while this is held; `agree` does it once
    /// more first.
    pub(super) async fn alone_with(
        self: &Arc<Self>,
        row: &WorkspaceRow,
        agree: bool,
    ) -> Result<Option<Held>, Error> {
        match self.hold(&slug_of(row)?, limits::versions::HOLD_WAIT).await? {
            Some(held) if agree => Ok(Some(self.agree(held, Look::Everywhere).await?.0)),
            held => Ok(held),
        }
    }

    /// Why a workspace is not archived.
    async fn why_not(&self, id: &str) -> Result<Error, Error> {
        let workspaces = self.gateway.store().workspaces();
        Ok(match (workspaces.by_id(id).await?, workspaces.busy(id).await?) {
            (None, _) => Error::not_found(format!("Workspace not found: {id}")),
            (Some(row), _) if row.state == WorkspaceState::Archived => {
                Error::conflict(format!("Workspace {id} is archived already"))
            }
            (_, Some(pid)) => Error::conflict(format!(
                "Process {pid} has something to do in workspace {id}: wait for it, abort or kill it first"
            )),
            // It has just come to its end.
            (Some(_), None) => under_way(id),
        })
    }

    /// Commits the files of an archived workspace and takes them out of the tree; what was done already is not done
    /// again. Its turn must be held.
    pub(super) async fn put_away(&self, row: &WorkspaceRow) -> Result<(), Error> {
        let id = &row.workspace_id;
        // Usually one of them: what an earlier attempt had set aside goes first.
        for _ in 0..2 {
            let name = id.clone();
            let is_aside = self.with_tree(id, move |tree| {
                let whereabouts = tree.workspace_whereabouts(&name)?;
                if !whereabouts.aside && whereabouts.in_place {
                    tree.set_workspace_aside(&name)?;
                }
                Ok(whereabouts.aside || whereabouts.in_place)
            });
            if is_aside.await? {
                self.commit_aside(row).await?;
            }
            let name = id.clone();
            self.with_tree(id, move |tree| tree.discard_workspace(&name)).await?;
        }
        Ok(())
    }

    /// Commits what is set aside until nothing is left to commit: a write may have been on its way when it left.
    async fn commit_aside(&self, row: &WorkspaceRow) -> Result<(), Error> {
        let slug = slug_of(row)?;
        let found = self.find_or_make(&slug).await?;
        for _ in 0..PASSES_MAX {
            let (tree, clock) = (self.gateway.tree().clone(), self.gateway.clock().clone());
            let (path, id, author) = (found.path.clone(), row.workspace_id.clone(), author_of(row));
            let seconds = self.gateway.now_ms() / 1_000;
            let done = self.work(move || {
                let keep = snapshot::Keep { tree: &tree, id: &id, author: &author, seconds, clock: &clock };
                keep.commit(&path)
            });
            let has_changed = done.await?.map_err(|trouble| trouble.refusal(&slug, &row.workspace_id))?;
            if !has_changed {
                return Ok(());
            }
            self.touched(&slug).await?;
        }
        Err(Error::conflict(format!("Workspace {} changes all the time: try again", row.workspace_id)))
    }

    /// It could not be archived: its files come back, and then the row says so.
    pub(super) async fn take_back(&self, row: &WorkspaceRow) {
        let (id, now_ms) = (row.workspace_id.clone(), self.gateway.now_ms());
        let back = async {
            self.with_tree(&row.workspace_id, move |tree| match tree.workspace_whereabouts(&id)?.aside {
                true => tree.bring_workspace_back(&id),
                false => Ok(()),
            })
            .await?;
            Ok::<bool, Error>(self.gateway.store().workspaces().restore(&row.workspace_id, now_ms).await?)
        };
        if let Err(error) = back.await {
            let id = &row.workspace_id;
            tracing::error!(id, %error, "a workspace is neither archived nor in use; the next start tries again");
        }
    }
}
