//! Handler of `sys.workspace.create`: the row first, then the directory, what every workspace holds, and its repository.

use base::limits;
use gateway::Caller;
use protocol::error::Error;
use protocol::proc::WorkspaceKind;
use protocol::sys::workspace::{Create, Workspace, WorkspaceState};
use serde_json::json;
use store::workspaces::{DEFAULT_BRANCH, WorkspaceRow};
use vfs::view::Writing;
use vfs::{Code, VPath};

use super::{Cx, file_refusal, slug_of};
use crate::commits::{Author, Edit};
use crate::repos::Repos;

/// What a workspace tells about itself, below its root.
const ABOUT: &str = ".gsv/workspace.json";
/// What agents are told about the work in it, below its root.
const SUMMARY: &str = ".gsv/summary.md";
/// The message of a workspace's first commit.
const FIRST: &str = "gsv: create workspace";

/// `sys.workspace.create`
pub(crate) async fn create(cx: Cx, args: Create) -> Result<Workspace, Error> {
    let (owner, now_ms) = (&cx.caller.identity, cx.area.gateway.now_ms());
    let row = WorkspaceRow {
        workspace_id: format!("ws_{}", cx.area.gateway.random().uuid()),
        owner_uid: owner.uid,
        owner_username: owner.username.clone(),
        label: args.label.as_deref().map(label).filter(|label| !label.is_empty()),
        kind: args.kind.unwrap_or(WorkspaceKind::Thread),
        state: WorkspaceState::Active,
        created_at: now_ms,
        updated_at: now_ms,
        default_branch: DEFAULT_BRANCH.to_string(),
    };
    let most = limits::repo::WORKSPACES_MAX;
    if !cx.area.gateway.store().workspaces().create(&row, most).await? {
        return Err(Error::too_busy(&format!(
            "{most} active workspaces is the most a user may have; archive one first"
        )));
    }
    if let Err(error) = cx.area.furnish(&row, &cx.caller).await {
        cx.area.undo_create(&row).await;
        return Err(error);
    }
    cx.area.shown_one(row).await
}

impl Repos {
    /// Makes what is missing of a new workspace. What is there stays as it is.
    pub(super) async fn furnish(&self, row: &WorkspaceRow, owner: &Caller) -> Result<(), Error> {
        let (id, uid, gid) = (row.workspace_id.clone(), owner.identity.uid, owner.identity.gid);
        let name = id.clone();
        self.with_tree(&id, move |tree| tree.make_workspace(&name, uid, gid).map(drop)).await?;
        let about = about(row);
        let view = self.gateway.view(owner);
        for (name, text) in [(ABOUT, about.as_str()), (SUMMARY, "")] {
            let path = VPath::absolute(&format!("/workspaces/{id}/{name}"));
            let path = path.map_err(|fault| file_refusal(&id, &fault))?;
            let how = Writing { parents: true, exclusive: true, ..Writing::default() };
            match view.write(&path, text.as_bytes().to_vec(), how).await {
                Err(fault) if fault.code == Code::Exists => {}
                written => drop(written.map_err(|fault| file_refusal(&id, &fault))?),
            }
        }
        let put = |path: &str, text: &str| Edit::Put {
            path: path.to_string(),
            content: text.as_bytes().to_vec(),
            executable: Some(false),
        };
        let edits = vec![put(ABOUT, &about), put(SUMMARY, "")];
        self.commit(&slug_of(row)?, &author_of(row), FIRST, edits).await.map(drop)
    }

    /// Takes back what was made of a workspace that nobody was told of. What can not be taken back is an empty
    /// workspace, which is listed and can be archived.
    async fn undo_create(&self, row: &WorkspaceRow) {
        let id = row.workspace_id.clone();
        let removed = self.with_tree(&row.workspace_id, move |tree| {
            if tree.workspace_whereabouts(&id)?.in_place {
                tree.set_workspace_aside(&id)?;
            }
            tree.discard_workspace(&id)
        });
        let undone = async {
            removed.await?;
            Ok::<(), Error>(self.gateway.store().workspaces().remove(&row.workspace_id).await?)
        };
        if let Err(error) = undone.await {
            tracing::warn!(id = row.workspace_id, %error, "a workspace that could not be made is left empty");
        }
    }
}

/// In whose name a workspace's own commits are made.
pub(super) fn author_of(row: &WorkspaceRow) -> Author {
    Author { name: row.owner_username.clone(), email: format!("{}@gsv.local", row.owner_username) }
}

fn about(row: &WorkspaceRow) -> String {
    let about = json!({
        "workspaceId": row.workspace_id,
        "ownerUid": row.owner_uid,
        "ownerUsername": row.owner_username,
        "label": row.label,
        "kind": row.kind,
        "createdAt": row.created_at,
    });
    format!("{about:#}\n")
}

/// A note for people, fit to be shown on one line.
fn label(text: &str) -> String {
    let printable = text.trim().chars().filter(|c| !c.is_control());
    printable.take(limits::config::LABEL_MAX_CHARS).collect()
}
