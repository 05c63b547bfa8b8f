//! Handler of `sys.workspace.restore`: the files are built beside their place from the repository, renamed into it, and
//! then the row says that the workspace is in use. Killed in between, the workspace stays archived.

use std::sync::Arc;

use gateway::Origin;
use protocol::error::Error;
use protocol::sys::workspace::{Restore, Workspace, WorkspaceState};
use store::workspaces::WorkspaceRow;

use super::{Cx, file_refusal, owned, slug_of, snapshot, under_way};
use crate::repos::Repos;

/// `sys.workspace.restore`
pub(crate) async fn restore(cx: Cx, args: Restore) -> Result<Workspace, Error> {
    let row = owned(&cx, &args.workspace_id).await?;
    let area = cx.area.clone();
    // Begun, it comes to its end, whoever goes on waiting for it.
    let done = tokio::spawn(async move { area.restore(row.workspace_id).await });
    done.await.map_err(|error| Error::internal(&error.to_string()))?
}

impl Repos {
    async fn restore(self: Arc<Self>, id: String) -> Result<Workspace, Error> {
        let Some(_turn) = self.workspace_turn(&id).await? else { return Err(under_way(&id)) };
        let workspaces = self.gateway.store().workspaces();
        let missing = || Error::not_found(format!("Workspace not found: {id}"));
        let row = workspaces.by_id(&id).await?.ok_or_else(missing)?;
        if row.state == WorkspaceState::Active {
            return Err(Error::conflict(format!("Workspace {id} is not archived")));
        }
        let _held = self.alone_with(&row, false).await?;
        // What a crash has left of archiving it goes into the repository first.
        self.put_away(&row).await?;
        if let Err(error) = self.bring_back(&row).await {
            let name = id.clone();
            self.with_tree(&id, move |tree| tree.discard_workspace(&name)).await?;
            return Err(error);
        }
        workspaces.restore(&id, self.gateway.now_ms()).await?;
        self.shown_one(workspaces.by_id(&id).await?.ok_or_else(missing)?).await
    }

    /// Builds the files of a workspace from its repository and puts them into their place.
    async fn bring_back(&self, row: &WorkspaceRow) -> Result<(), Error> {
        let (id, slug) = (row.workspace_id.clone(), slug_of(row)?);
        let owner = self.gateway.on_behalf_of(row.owner_uid, Origin::Inside).await?;
        // Its files count for its owner.
        let view = self.gateway.view(&owner);
        view.ready_to_write().await.map_err(|fault| file_refusal(&id, &fault))?;
        let found = self.find_or_make(&slug).await?;
        let (tree, path, name) = (self.gateway.tree().clone(), found.path, id.clone());
        let done = self.work(move || snapshot::restore(&tree, &name, &owner.identity, &path));
        done.await?.map_err(|trouble| trouble.refusal(&slug, &id))
    }
}
