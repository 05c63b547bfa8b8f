//! Crash recovery of workspaces: at the start of the gateway rows and files are brought together.

use std::sync::Arc;

use gateway::Origin;
use protocol::error::Error;
use protocol::sys::workspace::WorkspaceState;
use store::workspaces::{Filter, WorkspaceRow};
use vfs::workspace::Whereabouts;

use crate::repos::Repos;

impl Repos {
    /// Finishes what a killed gateway has begun with workspaces. What fails is said in the log, and tried again at the
    /// next start.
    pub(crate) async fn recover_workspaces(self: &Arc<Self>) -> Result<(), Error> {
        let rows = self.gateway.store().workspaces().list(Filter::default()).await?;
        if rows.is_empty() {
            return Ok(());
        }
        let tree = self.gateway.tree().clone();
        let unsettled = self.work(move || {
            let look = |row: WorkspaceRow| match tree.workspace_whereabouts(&row.workspace_id) {
                Ok(whereabouts) => (!is_settled(row.state, whereabouts)).then_some((row, whereabouts)),
                Err(fault) => {
                    tracing::warn!(id = row.workspace_id, %fault, "a workspace could not be looked at");
                    None
                }
            };
            rows.into_iter().filter_map(look).collect::<Vec<_>>()
        });
        for (row, whereabouts) in unsettled.await? {
            let id = row.workspace_id.clone();
            if let Err(error) = self.bring_to_state(row, whereabouts).await {
                tracing::warn!(id, %error, "a workspace could not be brought into shape");
            }
        }
        Ok(())
    }

    async fn bring_to_state(
        self: &Arc<Self>,
        row: WorkspaceRow,
        whereabouts: Whereabouts,
    ) -> Result<(), Error> {
        let id = row.workspace_id.clone();
        // Another gateway may be at it right now.
        let Some(_turn) = self.workspace_turn(&id).await? else { return Ok(()) };
        match row.state {
            WorkspaceState::Archived => match self.put_away(&row).await {
                Ok(()) => tracing::info!(id, "the rest of a workspace that is archived was put away"),
                Err(error) => {
                    tracing::warn!(id, %error, "a workspace could not be archived and is in use again");
                    self.take_back(&row).await;
                }
            },
            WorkspaceState::Active if whereabouts.aside && !whereabouts.in_place => {
                self.with_tree(&id.clone(), move |tree| tree.bring_workspace_back(&id)).await?;
            }
            WorkspaceState::Active if !whereabouts.in_place => {
                let owner = self.gateway.on_behalf_of(row.owner_uid, Origin::Inside).await?;
                self.furnish(&row, &owner).await?;
            }
            WorkspaceState::Active => {}
        }
        Ok(())
    }
}

/// Whether the files are where the row says, and nowhere else.
fn is_settled(state: WorkspaceState, found: Whereabouts) -> bool {
    match state {
        WorkspaceState::Active => found == Whereabouts { in_place: true, aside: false },
        WorkspaceState::Archived => found == Whereabouts { in_place: false, aside: false },
    }
}
