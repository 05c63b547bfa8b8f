//! Message types of an actor's mailbox, each with the channel for its reply.

use protocol::error::Error;
use protocol::ids::{ConversationId, RunId, Uid};
use protocol::outcome::Outcome;
use protocol::proc::approval::{Hil, Resolved};
use protocol::proc::conversation::{Reset, ResetDone};
use protocol::proc::ipc::Deliver;
use protocol::proc::{Aborted, Archived};
use store::change::Change;
use store::ipc::IpcCall;
use tokio::sync::oneshot;

use crate::archive::PendingArchive;

/// A runtime event: a message that no person wrote.
#[derive(Clone, Debug)]
pub struct Event {
    /// The conversation it belongs to; made when it is not there.
    pub conversation: ConversationId,
    /// Why, as `proc.run.started` tells it.
    pub reason: String,
    /// What happened.
    pub content: String,
    /// Written with it, of the same process; the event is dropped when something in it no longer holds.
    pub with: Option<Change>,
}

/// What must still hold when a change that was prepared elsewhere is applied.
#[derive(Clone, Debug)]
pub struct Condition {
    pub conversation: ConversationId,
    /// Its life when the change was prepared; any number for one that was not there.
    pub generation: u64,
    /// Whether it must have no active run.
    pub idle: bool,
}

/// A message that wants a run.
#[derive(Clone, Debug)]
pub(crate) struct Incoming {
    /// The run it starts, where somebody named it beforehand.
    pub(crate) run_id: Option<RunId>,
    pub(crate) conversation: ConversationId,
    /// Why, as `proc.run.started` tells it.
    pub(crate) reason: &'static str,
    pub(crate) content: String,
    /// JSON: `StoredMedia[]`.
    pub(crate) media: Option<String>,
    /// JSON: where it came from.
    pub(crate) origin: Option<String>,
    /// A call that waits for the run's end; its run id is filled in.
    pub(crate) call: Option<IpcCall>,
}

/// A call that a block of code makes, for its process to decide on.
#[derive(Clone, Debug)]
pub(crate) struct NestedCall {
    /// The run and the turn of the block.
    pub(crate) run_id: RunId,
    pub(crate) turn: u64,
    /// The place of the block.
    pub(crate) block: usize,
    pub(crate) syscall: String,
    /// JSON.
    pub(crate) args: String,
}

/// Whoever waits for the answer.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, Error>>;

/// One piece of mail.
pub(crate) enum Mail {
    /// Loads what there is to do.
    Wake,
    /// A user is gone with all rows: if the process is that user's, it must be gone too.
    Forget(Uid, Reply<()>),
    /// A message that wants a run: its run id, and whether it waits.
    Message(Box<Incoming>, Reply<Outcome<(RunId, bool)>>),
    /// A runtime event.
    Event(Box<Event>, Reply<()>),
    /// Starts a run without a message, unless one is active: why, and whether a person wants it.
    Autostart(String, bool, Reply<Option<RunId>>),
    /// Cancels the active run.
    Abort(Reply<Outcome<Aborted>>),
    /// Archives if asked, clears everything, ends the process.
    Kill(bool, Reply<Outcome<Archived>>),
    /// Archives and clears everything.
    Reset(Reply<Outcome<Archived>>),
    /// Archives if asked, and clears one conversation.
    ResetConversation(Reset, Reply<Outcome<ResetDone>>),
    /// A person answers; the text says who.
    Hil(Hil, String, Reply<Outcome<Resolved>>),
    /// A block of the active run makes a call. The answer may take as long as a person does.
    Nested(Box<NestedCall>, Reply<String>),
    /// Sets message ids aside: the first of so many.
    ReserveIds(u64, Reply<i64>),
    /// Applies a change that was prepared elsewhere, and the archive it refers to.
    Apply(Condition, Change, Option<PendingArchive>, Reply<Result<(), String>>),
}

/// A message between processes as the one that gets it reads it.
pub(crate) fn envelope(args: &Deliver) -> String {
    let Deliver { source_pid, source, message, .. } = args;
    let mut text = format!("Message from process `{source_pid}` ({} uid={}).\n", source.username, source.uid);
    text += &format!("Sent at: {}.\n\n{message}", iso(args.sent_at));
    if let Some(metadata) = &args.metadata {
        let metadata = serde_json::Value::Object(metadata.clone());
        text += &format!("\n\nMetadata:\n```json\n{metadata:#}\n```");
    }
    if let Some(call) = &args.call {
        let (id, deadline) = (&call.call_id, iso(call.deadline_at));
        text += &format!("\n\nIPC call:\nCall id: `{id}`\nDeadline: {deadline}\n");
        text += &format!("Reply target: process `{}`\n\n", call.reply_to_pid);
        text += "Complete this run before the deadline: its final answer is delivered as the reply.";
    }
    text
}

/// A moment such as `2026-11-15T23:02:28.000Z`.
pub(crate) fn iso(ms: i64) -> String {
    match jiff::Timestamp::from_millisecond(ms) {
        Ok(moment) => moment.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string(),
        Err(_) => ms.to_string(),
    }
}
