//! Checkpoint of a process in its workspace: the transcript of its conversation and a summary of the work, committed
//! together as the process. Whoever works there next reads the summary.
//!
//! It is taken when the process has come to rest, before it is reset and before it is killed. Nothing fails because of
//! it: what can not be written now is written by the next one.

mod summary;
mod transcript;

use std::sync::Arc;

use base::limits;
use protocol::ids::ConversationId;
use protocol::repo::change::{Apply, Op};
use protocol::sys::workspace::WorkspaceState;
use store::processes::ProcessRow;
use vfs::view::Writing;
use vfs::{Code, VPath, View};

use crate::world::World;

/// The conversation that is kept.
const CONVERSATION: &str = "default";

/// Why a checkpoint is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Occasion {
    /// The process has come to rest.
    Idle,
    /// It is about to be reset.
    Reset,
    /// It is about to be killed.
    Kill,
}

impl Occasion {
    /// The message of the commit.
    fn message(self) -> &'static str {
        match self {
            Occasion::Idle => "checkpoint thread state",
            Occasion::Reset => "checkpoint proc reset",
            Occasion::Kill => "checkpoint proc kill",
        }
    }
}

/// The files of a new process in its workspace. It is good without them.
pub(crate) async fn begin(world: &World, process: &ProcessRow) {
    let Some(id) = &process.workspace_id else { return };
    let begun = async {
        let view = view(world, process).await?;
        let how = Writing { parents: true, exclusive: true, ..Writing::default() };
        let path = at(id, &chat(process))?;
        match view.write(&path, Vec::new(), how).await {
            Err(fault) if fault.code != Code::Exists => Err(fault.to_string()),
            _ => Ok(()),
        }
    };
    if let Err(why) = begun.await {
        tracing::warn!(pid = %process.pid, why, "the transcript of a process could not be begun");
    }
}

/// Takes a checkpoint if there is a workspace, and something was said since the one that ended with the message
/// `since`. Returns the newest message that it has.
pub(crate) async fn take(
    world: &World,
    process: &ProcessRow,
    since: i64,
    occasion: Occasion,
) -> Result<Option<i64>, String> {
    let Some(id) = &process.workspace_id else { return Ok(None) };
    let conversation = ConversationId::from(CONVERSATION);
    let told = |error: store::Error| error.to_string();
    let newest = world.store.messages().newest_id(&process.pid, &conversation).await.map_err(told)?;
    let Some(newest) = newest.filter(|newest| *newest != since) else { return Ok(None) };
    let row = world.store.workspaces().by_id(id).await.map_err(told)?;
    let Some(row) = row.filter(|row| row.state == WorkspaceState::Active) else { return Ok(None) };
    let view = view(world, process).await?;
    let transcript = transcript::read(world, process, &conversation).await?;
    let before = text(&view, &at(id, SUMMARY)?).await;
    let summary = summary::after(world, process, &conversation, &before, occasion).await;
    let files = [(chat(process), transcript), (SUMMARY.to_string(), summary)];
    let files: Vec<_> = files.into_iter().filter_map(|(path, text)| Some((path, text?))).collect();
    // What is committed appears among the files: writing them too would be a commit of its own before this one.
    let put = |(path, text): (String, String)| Op::Put {
        path,
        content: Some(text),
        content_base64: None,
        executable: None,
    };
    let apply = Apply {
        repo: format!("{}/{id}", row.owner_username),
        reference: Some(row.default_branch),
        message: occasion.message().to_string(),
        ops: files.into_iter().map(put).collect(),
        expected_head: None,
        allow_empty: None,
    };
    let request_id = world.random.uuid();
    let args = protocol::frame::to_json(&apply);
    let committed = world.gateway.call(process, &request_id, "repo.apply", &args).await;
    committed.map_err(|error| format!("it was not committed: {error}"))?;
    Ok(Some(newest))
}

/// The same for somebody who waits: not for long, and whatever it comes to.
pub(crate) async fn take_now(
    world: &World,
    process: &ProcessRow,
    since: i64,
    occasion: Occasion,
) -> Option<i64> {
    let taking = take(world, process, since, occasion);
    let why = match world.clock.timeout(limits::process::CHECKPOINT_WAIT, taking).await {
        Ok(Ok(taken)) => return taken,
        Ok(Err(why)) => why,
        Err(_) => "it took too long".to_string(),
    };
    tracing::warn!(pid = %process.pid, why, "the checkpoint of a process was not taken");
    None
}

/// What agents are told about the work in a workspace, below its root.
const SUMMARY: &str = ".gsv/summary.md";

/// The transcript of a process, below the root of its workspace.
fn chat(process: &ProcessRow) -> String {
    format!(".gsv/processes/{}/chat.jsonl", process.pid)
}

fn at(id: &str, path: &str) -> Result<VPath, String> {
    VPath::absolute(&format!("/workspaces/{id}/{path}")).map_err(|fault| fault.to_string())
}

/// The tree as the process sees it.
async fn view(world: &World, process: &ProcessRow) -> Result<View, String> {
    let who = world.gateway.identity(process).await.map_err(|error| error.to_string())?;
    Ok(world.gateway.view(process, Arc::new(who)))
}

/// The text of a file; empty where there is none.
async fn text(view: &View, path: &VPath) -> String {
    let bytes = view.read(path).await.unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}
