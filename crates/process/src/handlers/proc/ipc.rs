//! Handlers of `proc.ipc.*`: messages between processes of one user, sent by processes only.

use base::limits;
use protocol::error::Error;
use protocol::ids::{ConversationId, Pid, RunId};
use protocol::outcome::Outcome;
use protocol::proc::Started;
use protocol::proc::ipc::{Call, Called, Deliver, PendingCall, Send, Sent};
use serde_json::{Map, Value};
use store::ipc::IpcCall;
use store::processes::ProcessRow;

use super::check_length;
use crate::handlers::Cx;

pub(crate) async fn send(cx: Cx, args: Send) -> Result<Outcome<Sent>, Error> {
    let Send { pid, conversation_id, message, metadata } = args;
    let outgoing = OutgoingMessage { name: "proc.ipc.send", pid, conversation_id, message, metadata };
    let ready = match prepare(&cx, outgoing).await? {
        Ok(ready) => ready,
        Err(why) => return Ok(Outcome::Failed(why)),
    };
    let sent = |(run_id, queued)| Sent {
        status: Started::Started,
        pid: ready.target.clone(),
        source_pid: ready.source.clone(),
        conversation_id: ready.conversation(),
        run_id,
        queued: Some(queued).filter(|queued| *queued),
    };
    let delivered = cx.area.host.deliver(&ready.target, ready.deliver.clone(), None).await?;
    Ok(delivered.into_result().map(sent).into())
}

pub(crate) async fn call(cx: Cx, args: Call) -> Result<Outcome<Called>, Error> {
    let Call { pid, conversation_id, message, metadata, timeout_ms } = args;
    let outgoing = OutgoingMessage { name: "proc.ipc.call", pid, conversation_id, message, metadata };
    let mut ready = match prepare(&cx, outgoing).await? {
        Ok(ready) => ready,
        Err(why) => return Ok(Outcome::Failed(why)),
    };
    let (shortest, longest) = limits::process::IPC_TIMEOUT_RANGE_MS;
    let timeout_ms = timeout_ms.unwrap_or(limits::process::IPC_TIMEOUT_MS).clamp(shortest, longest);
    let deadline_at = ready.deliver.sent_at.saturating_add_unsigned(timeout_ms);
    let call_id = cx.area.gateway.random().uuid();
    ready.deliver.call =
        Some(PendingCall { call_id: call_id.clone(), reply_to_pid: ready.source.clone(), deadline_at });
    let row = IpcCall {
        call_id: call_id.clone(),
        uid: cx.caller.uid(),
        source_pid: ready.source.clone(),
        target_pid: ready.target.clone(),
        // The target says which run it will be.
        target_run_id: RunId(String::new()),
        deadline_at,
        created_at: ready.deliver.sent_at,
    };
    let delivered = cx.area.host.deliver(&ready.target, ready.deliver.clone(), Some(row)).await?;
    cx.area.expect_reply(deadline_at);
    let called = |(run_id, queued)| Called {
        status: Started::Started,
        call_id,
        pid: ready.target.clone(),
        source_pid: ready.source.clone(),
        conversation_id: ready.conversation(),
        run_id,
        deadline_at,
        queued: Some(queued).filter(|queued| *queued),
    };
    Ok(delivered.into_result().map(called).into())
}

/// A message as a process wants it sent.
struct OutgoingMessage {
    name: &'static str,
    pid: Pid,
    conversation_id: Option<ConversationId>,
    message: String,
    metadata: Option<Map<String, Value>>,
}

/// A message that may be delivered.
struct Ready {
    source: Pid,
    target: Pid,
    deliver: Deliver,
}

impl Ready {
    fn conversation(&self) -> ConversationId {
        self.deliver.conversation_id.clone().unwrap_or_else(|| ConversationId::from("default"))
    }
}

/// Checks, in the documented order; a refusal is the inner error.
async fn prepare(cx: &Cx, outgoing: OutgoingMessage) -> Result<Result<Ready, String>, Error> {
    let OutgoingMessage { name, pid, conversation_id, message, metadata } = outgoing;
    let Some(source) = cx.caller.origin.pid() else {
        return Ok(Err(format!("{name} requires a process caller")));
    };
    let (target, message) = (Pid(pid.as_str().trim().to_string()), message.trim().to_string());
    if target.as_str().is_empty() {
        return Ok(Err(format!("{name} requires pid")));
    }
    if message.is_empty() {
        return Ok(Err(format!("{name} requires message")));
    }
    check_length(name, "message", &message)?;
    check_length(name, "metadata", &metadata.as_ref().map(protocol::frame::to_json).unwrap_or_default())?;
    let conversation_id = conversation_id.map(|id| ConversationId(id.as_str().trim().to_string()));
    if conversation_id.as_ref().is_some_and(|id| id.as_str().is_empty()) {
        return Ok(Err(format!("{name} conversationId must be a non-empty string")));
    }
    let find = async |pid: &Pid| cx.area.gateway.store().processes().by_id(pid).await.map_err(Error::from);
    let alive = |row: &ProcessRow| row.exited_at.is_none();
    let Some(from) = find(source).await?.filter(alive) else {
        return Ok(Err(format!("Source process not found: {source}")));
    };
    let Some(to) = find(&target).await?.filter(alive) else {
        return Ok(Err(format!("Process not found: {target}")));
    };
    if from.uid != cx.caller.uid() {
        return Ok(Err(format!("Source process identity mismatch: {source}")));
    }
    if to.uid != from.uid {
        return Ok(Err("Permission denied: target process belongs to another user".to_string()));
    }
    if let Some(why) = super::use_workspace(cx, &to).await? {
        return Ok(Err(why));
    }
    let deliver = Deliver {
        source_pid: source.clone(),
        source: (*cx.caller.identity).clone(),
        conversation_id,
        message,
        metadata,
        sent_at: cx.area.gateway.now_ms(),
        call: None,
    };
    Ok(Ok(Ready { source: source.clone(), target, deliver }))
}
