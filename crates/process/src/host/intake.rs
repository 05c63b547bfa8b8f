//! Input validation of processes: arguments are checked and media stored here, then the actor gets its mail.

use base::limits;
use protocol::error::Error;
use protocol::ids::{ConversationId, Pid, RunId};
use protocol::media::MediaInput;
use protocol::outcome::Outcome;
use protocol::proc::approval::{Hil, Resolved};
use protocol::proc::conversation::{Reset, ResetDone, Status};
use protocol::proc::{Aborted, Archived, Send, Sent, Started, ipc};
use store::change::Change;
use store::conversations::ConversationRow;
use store::ipc::IpcCall;
use store::processes::ProcessRow;

use super::Host;
use crate::archive::PendingArchive;
use crate::mail::{Condition, Event, Incoming, Mail, envelope};
use crate::media;
use crate::world::World;

impl Host {
    /// Sends a message. It starts a run, or waits for the active one to end. `origin` is the JSON of where it came
    /// from, `run_id` the run it starts where somebody wants to name it beforehand.
    pub async fn send(
        &self,
        pid: &Pid,
        args: Send,
        origin: Option<String>,
        run_id: Option<RunId>,
    ) -> Result<Outcome<Sent>, Error> {
        const CALL: &str = "proc.send";
        let conversation = conversation_id(CALL, args.conversation_id)?;
        let media = args.media.unwrap_or_default();
        if args.message.trim().is_empty() && media.is_empty() {
            return Err(Error::bad_argument(CALL, "message", "say something, or attach a medium"));
        }
        check_length(CALL, &args.message)?;
        let media = match media.is_empty() {
            // One that is awake knows better than its row whether it lives.
            true if self.is_awake(pid) => None,
            true => self.living(pid).await.map(|_| None)?,
            false => {
                let process = self.living(pid).await?;
                // The actor looks again; media are not kept for nothing.
                if let Some(why) = self.shut(pid, &conversation).await? {
                    return Ok(Outcome::Failed(why));
                }
                let media = keep_media(&self.world, &process, media).await;
                media.map_err(|why| Error::bad_argument(CALL, "media", &why))?
            }
        };
        let content = args.message;
        let incoming = Incoming { run_id, conversation, reason: CALL, content, media, origin, call: None };
        let taken = self.ask(pid, |reply| Mail::Message(Box::new(incoming), reply)).await?;
        Ok(match taken {
            Outcome::Done((run_id, queued)) => {
                Outcome::Done(Sent { status: Started::Started, run_id, queued: queued.then_some(true) })
            }
            Outcome::Failed(why) => Outcome::Failed(why),
        })
    }

    /// Puts a message of another process in. `call` is kept with it, its target run filled in.
    pub async fn deliver(
        &self,
        pid: &Pid,
        args: ipc::Deliver,
        call: Option<IpcCall>,
    ) -> Result<Outcome<(RunId, bool)>, Error> {
        const CALL: &str = "proc.ipc.deliver";
        let conversation = conversation_id(CALL, args.conversation_id.clone())?;
        check_length(CALL, &args.message)?;
        self.living(pid).await?;
        let origin = serde_json::json!({
            "kind": "process", "sourcePid": args.source_pid, "uid": args.source.uid,
        });
        let incoming = Incoming {
            run_id: None,
            conversation,
            reason: CALL,
            content: envelope(&args),
            media: None,
            origin: Some(origin.to_string()),
            call,
        };
        self.ask(pid, |reply| Mail::Message(Box::new(incoming), reply)).await
    }

    /// A runtime event: it starts a run, or waits for the active one to end.
    pub async fn event(&self, pid: &Pid, event: Event) -> Result<(), Error> {
        self.living(pid).await?;
        self.ask(pid, |reply| Mail::Event(Box::new(event), reply)).await
    }

    /// Starts a run without a message, unless one is active. `by_person` says that no program asked for it.
    pub async fn autostart(&self, pid: &Pid, reason: &str, by_person: bool) -> Result<Option<RunId>, Error> {
        self.living(pid).await?;
        self.ask(pid, |reply| Mail::Autostart(reason.to_string(), by_person, reply)).await
    }

    /// Cancels the active run, and the provider's answer with it.
    pub async fn abort(&self, pid: &Pid) -> Result<Outcome<Aborted>, Error> {
        self.living(pid).await?;
        self.ask(pid, Mail::Abort).await
    }

    /// Archives if asked, clears everything, and ends the process. Its row stays.
    pub async fn kill(&self, pid: &Pid, archive: bool) -> Result<Outcome<Archived>, Error> {
        self.living(pid).await?;
        self.ask(pid, |reply| Mail::Kill(archive, reply)).await
    }

    /// Archives and clears everything.
    pub async fn reset(&self, pid: &Pid) -> Result<Outcome<Archived>, Error> {
        self.living(pid).await?;
        self.ask(pid, Mail::Reset).await
    }

    /// Archives one conversation unless told not to, and clears it. Its run is cancelled.
    pub async fn reset_conversation(&self, pid: &Pid, args: Reset) -> Result<Outcome<ResetDone>, Error> {
        self.living(pid).await?;
        self.ask(pid, |reply| Mail::ResetConversation(args, reply)).await
    }

    /// A person answers a request for approval; `by` says who.
    pub async fn hil(&self, pid: &Pid, args: &Hil, by: &str) -> Result<Outcome<Resolved>, Error> {
        self.known(pid).await?;
        self.ask(pid, |reply| Mail::Hil(args.clone(), by.to_string(), reply)).await
    }

    /// Sets message ids aside; the first of `count`.
    pub async fn reserve_ids(&self, pid: &Pid, count: u64) -> Result<i64, Error> {
        self.living(pid).await?;
        self.ask(pid, |reply| Mail::ReserveIds(count, reply)).await
    }

    /// Applies a change that was prepared elsewhere, if `condition` holds. The inner error is for `{ok: false}`.
    pub async fn apply(
        &self,
        pid: &Pid,
        condition: Condition,
        change: Change,
    ) -> Result<Result<(), String>, Error> {
        self.apply_with(pid, condition, change, None).await
    }

    /// The same for a change that refers to an archive, which is removed if the change is not kept.
    pub(crate) async fn apply_with(
        &self,
        pid: &Pid,
        condition: Condition,
        change: Change,
        archive: Option<PendingArchive>,
    ) -> Result<Result<(), String>, Error> {
        self.living(pid).await?;
        self.ask(pid, |reply| Mail::Apply(condition, change, archive, reply)).await
    }

    /// Why a conversation takes no messages, if it does not.
    async fn shut(&self, pid: &Pid, id: &ConversationId) -> Result<Option<String>, Error> {
        let row = self.world.store.conversations().by_id(pid, id).await?;
        Ok(why_shut(id, row.as_ref()))
    }
}

/// Why a conversation takes no messages, if it does not.
pub(crate) fn why_shut(id: &ConversationId, row: Option<&ConversationRow>) -> Option<String> {
    match row {
        None => Some(format!("Conversation not found: {id}")),
        Some(row) if row.status == Status::Closed => Some(format!("Conversation is closed: {id}")),
        Some(_) => None,
    }
}

/// A conversation as a caller names it: `default` when it names none.
fn conversation_id(call: &str, id: Option<ConversationId>) -> Result<ConversationId, Error> {
    let id = id.map(|id| id.as_str().trim().to_string()).filter(|id| !id.is_empty());
    let id = id.unwrap_or_else(|| "default".to_string());
    if id.len() > limits::files::NAME_MAX_BYTES || id.chars().any(char::is_control) {
        return Err(Error::bad_argument(call, "conversationId", "too long, or with control characters"));
    }
    Ok(ConversationId(id))
}

fn check_length(call: &str, message: &str) -> Result<(), Error> {
    let most = limits::process::MESSAGE_MAX_BYTES;
    if message.len() > most {
        return Err(Error::new(
            413,
            format!("{call}: message: longer than {most} bytes; put it into a file"),
        ));
    }
    Ok(())
}

/// Keeps what came with a message; its JSON, or what is wrong with it.
async fn keep_media(
    world: &World,
    process: &ProcessRow,
    media: Vec<MediaInput>,
) -> Result<Option<String>, String> {
    if media.is_empty() {
        return Ok(None);
    }
    if media.len() > limits::process::MEDIA_MAX {
        return Err(format!("at most {} with one message", limits::process::MEDIA_MAX));
    }
    let kept = media::keep(world, process, media).await?;
    Ok(Some(protocol::frame::to_json(&kept)))
}
