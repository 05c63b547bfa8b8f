//! `gsv workspace`: directories for a piece of work that keep their versions.

use base::limits;
use clap::Subcommand;
use client::{Answer, Session};
use protocol::proc::WorkspaceKind;
use protocol::spec::Syscall;
use protocol::sys::workspace::{Archive, Create, List, Restore, Workspace, WorkspaceState};
use serde_json::{Value, json};
use terminal::failure::{Failure, Result};
use terminal::output::{Table, or_dash};
use terminal::times;

use crate::context::Context;
use crate::{git_url, session};

/// Characters of an id that are enough to name a workspace, behind `ws_`.
const SHORT: usize = 8;

/// Verbs of `gsv workspace`. A workspace is named by its id, the beginning of it, or its label.
#[derive(Debug, Subcommand)]
pub enum WorkspaceVerb {
    /// List your workspaces, last used first.
    List {
        /// Archived ones too.
        #[arg(short, long)]
        all: bool,
        /// Of another user, by number (root).
        #[arg(long, value_name = "UID")]
        uid: Option<u32>,
    },
    /// Make a workspace.
    Create {
        /// A note for people.
        label: Option<String>,
    },
    /// Show where a workspace is: its directory, the address for `git clone`, and how to talk to an agent in it.
    Open {
        /// The workspace.
        workspace: String,
    },
    /// Put a workspace away: its files are committed and leave the tree, its repository stays.
    Archive {
        /// The workspace.
        workspace: String,
    },
    /// Bring the files of an archived workspace back.
    Restore {
        /// The workspace.
        workspace: String,
    },
}

/// Runs one verb of `gsv workspace`.
pub async fn run(context: &Context, verb: WorkspaceVerb) -> Result<u8> {
    let session = session::open(context).await?;
    match verb {
        WorkspaceVerb::List { all, uid } => {
            let state = (!all).then_some("active");
            let answer = call::<List>(&session, json!({ "state": state, "uid": uid })).await?;
            context.output.table(&answer.raw, || table(&answer.value.workspaces))?;
        }
        WorkspaceVerb::Create { label } => {
            let answer = call::<Create>(&session, json!({ "label": label })).await?;
            let text = whereabouts(&session, &answer.value)?;
            context.output.answer(&answer.raw, || text)?;
        }
        WorkspaceVerb::Open { workspace } => {
            let found = find(&session, &workspace).await?;
            let text = whereabouts(&session, &found)?;
            let id = &found.workspace_id;
            let raw = json!({
                "workspaceId": id, "path": directory(id), "repo": repo(&session, id),
                "url": git_url::of_repo(&session.url, &repo(&session, id))?,
                "state": found.state, "pid": found.active_process.map(|process| process.pid),
            });
            context.output.answer(&raw.to_string(), || text)?;
        }
        WorkspaceVerb::Archive { workspace } => {
            let id = id_of(&session, &workspace).await?;
            let answer = call::<Archive>(&session, json!({ "workspaceId": id })).await?;
            context.output.answer(&answer.raw, || {
                format!("archived {id}; bring it back with: gsv workspace restore {id}")
            })?;
        }
        WorkspaceVerb::Restore { workspace } => {
            let id = id_of(&session, &workspace).await?;
            let answer = call::<Restore>(&session, json!({ "workspaceId": id })).await?;
            context.output.answer(&answer.raw, || format!("restored {id} in {}", directory(&id)))?;
        }
    }
    Ok(0)
}

fn directory(id: &str) -> String {
    format!("/workspaces/{id}")
}

fn repo(session: &Session, id: &str) -> String {
    format!("{}/{id}", session.username())
}

/// What one needs to know to go on in a workspace.
fn whereabouts(session: &Session, workspace: &Workspace) -> Result<String> {
    let id = &workspace.workspace_id;
    let clone = format!("clone      git clone {}", git_url::of_repo(&session.url, &repo(session, id))?);
    if workspace.state == WorkspaceState::Archived {
        return Ok(format!("archived   gsv workspace restore {id}\n{clone}"));
    }
    let talk = match &workspace.active_process {
        Some(process) => format!("chat       gsv chat --pid {}", process.pid),
        None => format!(
            "chat       gsv call proc.spawn --workspace '{{\"mode\":\"attach\",\"workspaceId\":\"{id}\"}}'"
        ),
    };
    Ok(format!("directory  {}\n{clone}\n{talk}", directory(id)))
}

/// The id of the workspace that somebody means; a whole one may be another user's, for root.
async fn id_of(session: &Session, named: &str) -> Result<String> {
    if named.starts_with("ws_") && named.len() == "ws_".len() + 36 {
        return Ok(named.to_string());
    }
    Ok(find(session, named).await?.workspace_id)
}

/// The one workspace that somebody means.
async fn find(session: &Session, named: &str) -> Result<Workspace> {
    let mut own = call::<List>(session, json!({})).await?.value.workspaces;
    let named = named.trim().trim_end_matches('/');
    let named = named.strip_prefix("/workspaces/").unwrap_or(named);
    let means = [
        |one: &Workspace, named: &str| one.workspace_id == named,
        |one: &Workspace, named: &str| one.label.as_deref() == Some(named),
        |one: &Workspace, named: &str| {
            let id = one.workspace_id.strip_prefix("ws_").unwrap_or_default();
            named.len() >= 4 && (one.workspace_id.starts_with(named) || id.starts_with(named))
        },
    ];
    for means in means {
        let found: Vec<usize> =
            own.iter().enumerate().filter(|(_, one)| means(one, named)).map(|(place, _)| place).collect();
        match found[..] {
            [] => {}
            [one] => return Ok(own.swap_remove(one)),
            _ => {
                let message = format!("{named} names {} workspaces: give an id", found.len());
                return Err(Failure::usage(message));
            }
        }
    }
    Err(Failure::usage(format!("there is no workspace {named}; `gsv workspace list --all` shows yours")))
}

/// A call with arguments that may be absent.
async fn call<S: Syscall>(session: &Session, mut args: Value) -> Result<Answer<S::Result>> {
    if let Value::Object(members) = &mut args {
        members.retain(|_, value| !value.is_null());
    }
    let name = S::SPEC.name;
    let raw = session.connection.call_raw(name, &args.to_string(), limits::cli::IMPORT_TIMEOUT).await?;
    let value = serde_json::from_str(&raw)
        .map_err(|why| client::Error::Decode { call: name.to_string(), why: why.to_string() })?;
    Ok(Answer { raw, value })
}

fn table(workspaces: &[Workspace]) -> Table {
    let mut table = Table::new(&["WORKSPACE", "KIND", "STATE", "USED", "AGENTS", "LABEL"], "no workspaces");
    for workspace in workspaces {
        let kind = match workspace.kind {
            WorkspaceKind::Thread => "thread",
            WorkspaceKind::App => "app",
            WorkspaceKind::Shared => "shared",
        };
        let state = match workspace.state {
            WorkspaceState::Active => "active",
            WorkspaceState::Archived => "archived",
        };
        table.row([
            short(&workspace.workspace_id).to_string(),
            kind.to_string(),
            state.to_string(),
            times::show(workspace.updated_at),
            workspace.process_count.to_string(),
            or_dash(workspace.label.clone()),
        ]);
    }
    table
}

/// As much of an id as names a workspace and fits a table.
fn short(id: &str) -> &str {
    id.get(.."ws_".len() + SHORT).unwrap_or(id)
}
