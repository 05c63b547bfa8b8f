//! Request and reply between processes, with a deadline: a call is over when the run it started ends, or when its
//! time is up, whichever comes first. The process that waits is told by a runtime event in its conversation
//! `default`.

use base::limits;
use protocol::error::Error;
use protocol::ids::{ConversationId, Pid, RunId};
use protocol::proc::history::MessageRole;
use protocol::signal::run::{FinishStatus, Finished};
use protocol::signal::stream::Usage;
use serde_json::json;
use store::change::Change;
use store::ipc::IpcCall;
use store::messages::Page;
use store::runs::{RunRow, RunStatus};

use super::Host;
use crate::cost;
use crate::mail::{Event, iso};

/// Why `proc.run.started` says that the process that waited goes on.
const REASON: &str = "ipc.reply";

/// How far back the answer of a run is looked for after a restart.
const ANSWER_MESSAGES_MAX: u64 = 64;

/// A run has ended, and that is kept: whoever waits for it gets the reply. Never waits itself, because a process may
/// have called itself.
pub(crate) fn run_ended(host: &Host, finished: &Finished) {
    let (host, finished) = (host.clone(), finished.clone());
    tokio::spawn(async move {
        if let Err(error) = reply_all(&host, &finished).await {
            let run_id = finished.run_id;
            tracing::warn!(%run_id, %error, "replies could not be delivered; the next start tries again");
        }
    });
}

async fn reply_all(host: &Host, finished: &Finished) -> Result<(), Error> {
    let calls = host.world.store.ipc().of_run(&finished.run_id).await?;
    let reply = Reply {
        status: finished.status,
        text: finished.text.clone(),
        error: finished.error.clone(),
        usage: finished.usage.clone(),
    };
    let now_ms = host.world.now_ms();
    for call in calls.iter().filter(|call| call.deadline_at > now_ms) {
        host.tell(call, "completed", reply.render(call)).await?;
    }
    Ok(())
}

impl Host {
    /// Tells processes whose time for a reply is up. The moment to look again, if anybody waits.
    pub async fn tend_ipc(&self, now_ms: i64) -> Result<Option<i64>, Error> {
        let store = &self.world.store;
        for call in store.ipc().overdue(now_ms).await? {
            self.close_if_over(&call, true).await?;
        }
        store.ipc().next_deadline().await.map_err(Error::from)
    }

    /// After a restart: replies of runs that ended just before the gateway did.
    pub async fn recover_ipc(&self) -> Result<(), Error> {
        let mut last = None;
        loop {
            let page = self.world.store.ipc().open_calls(last.as_ref(), limits::process::IPC_PAGE).await;
            let page = page?;
            for call in &page {
                self.close_if_over(call, false).await?;
            }
            match page.into_iter().next_back() {
                Some(call) => last = Some(call),
                None => return Ok(()),
            }
        }
    }

    /// Replies if the run ended in time; tells that the time is up if it is.
    async fn close_if_over(&self, call: &IpcCall, overdue: bool) -> Result<(), Error> {
        let run = self.world.store.runs().by_id(&call.target_run_id).await?;
        let in_time = |run: &RunRow| run.finished_at.is_some_and(|at| at < call.deadline_at);
        match run.filter(|run| run.status != RunStatus::Active && in_time(run)) {
            Some(run) => {
                let text = self.answer_of(&call.target_pid, &run).await?;
                let usage = Some(cost::usage(&run.used)).filter(|_| run.turns > 0);
                let reply = Reply { status: finish(run.status), text, error: run.error, usage };
                self.tell(call, "completed", reply.render(call)).await
            }
            None if overdue => self.tell(call, "timed_out", timed_out(call)).await,
            None => Ok(()),
        }
    }

    /// What a run said last; `None` unless it ended well.
    async fn answer_of(&self, pid: &Pid, run: &RunRow) -> Result<Option<String>, Error> {
        if run.status != RunStatus::Ok {
            return Ok(None);
        }
        let by = run.absorbed_by.as_ref().unwrap_or(&run.run_id);
        let page = self
            .world
            .store
            .messages()
            .page(pid, &run.conversation_id, Page::Tail, ANSWER_MESSAGES_MAX)
            .await;
        let mut said = page?
            .into_iter()
            .rev()
            .filter(|message| message.role == MessageRole::Assistant && message.run_id.as_ref() == Some(by));
        Ok(said.next().map(|message| message.content))
    }

    /// Puts the event into the process that waits, unless the call was over before. One that is gone is told nothing.
    async fn tell(&self, call: &IpcCall, status: &'static str, content: String) -> Result<(), Error> {
        let close = || Change::new(&call.source_pid).ipc_close(&call.call_id, status);
        let event = Event {
            conversation: ConversationId::from("default"),
            reason: REASON.to_string(),
            content,
            with: Some(close()),
        };
        match self.event(&call.source_pid, event).await {
            Err(error) if error.code == 404 => {
                self.world.store.apply(close()).await.map(drop).map_err(Error::from)
            }
            done => done,
        }
    }
}

/// How the run of a call ended.
struct Reply {
    status: FinishStatus,
    text: Option<String>,
    error: Option<String>,
    usage: Option<Usage>,
}

impl Reply {
    fn render(&self, call: &IpcCall) -> String {
        let first = format!("IPC call `{}` completed from process `{}`.", call.call_id, call.target_pid);
        let mut lines = head(&first, &call.target_run_id);
        if let (Some(error), FinishStatus::Error) = (&self.error, self.status) {
            lines += &format!("\n\nError:\n{error}");
        }
        let response = json!({ "text": self.text, "usage": self.usage });
        lines + &format!("\n\nResponse:\n```json\n{response:#}\n```")
    }
}

fn timed_out(call: &IpcCall) -> String {
    let first = format!("IPC call `{}` to process `{}` timed out.", call.call_id, call.target_pid);
    let deadline = iso(call.deadline_at);
    head(&first, &call.target_run_id) + &format!("\n\nError:\nIPC call timed out after deadline {deadline}")
}

fn head(first: &str, run_id: &RunId) -> String {
    format!("{first}\nRun id: `{run_id}`.")
}

fn finish(status: RunStatus) -> FinishStatus {
    match status {
        RunStatus::Ok => FinishStatus::Ok,
        RunStatus::Error => FinishStatus::Error,
        RunStatus::Aborted | RunStatus::Active => FinishStatus::Aborted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call() -> IpcCall {
        IpcCall {
            call_id: "c1".to_string(),
            uid: protocol::ids::Uid(1000),
            source_pid: "init:1000".into(),
            target_pid: "p2".into(),
            target_run_id: "r3".into(),
            deadline_at: 1_700_000_000_500,
            created_at: 0,
        }
    }

    fn reply(status: FinishStatus, text: Option<&str>, error: Option<&str>) -> String {
        let (text, error) = (text.map(str::to_string), error.map(str::to_string));
        Reply { status, text, error, usage: None }.render(&call())
    }

    #[test]
    fn a_reply_names_the_call_the_process_and_the_run() {
        assert_eq!(
            reply(FinishStatus::Ok, Some("done"), None),
            "IPC call `c1` completed from process `p2`.\nRun id: `r3`.\n\nResponse:\n```json\n\
             {\n  \"text\": \"done\",\n  \"usage\": null\n}\n```"
        );
    }

    #[test]
    fn a_failed_run_replies_with_its_error_and_a_cancelled_one_without() {
        let failed = reply(FinishStatus::Error, None, Some("no model"));
        assert!(failed.contains("\n\nError:\nno model\n\nResponse:\n"), "{failed}");
        let aborted = reply(FinishStatus::Aborted, None, None);
        assert!(!aborted.contains("Error:") && aborted.contains("\"text\": null"), "{aborted}");
    }

    #[test]
    fn a_timeout_names_its_deadline() {
        assert_eq!(
            timed_out(&call()),
            "IPC call `c1` to process `p2` timed out.\nRun id: `r3`.\n\nError:\n\
             IPC call timed out after deadline 2023-11-14T22:13:20.500Z"
        );
    }
}
