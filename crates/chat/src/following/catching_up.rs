//! Recovery after missed signals: reads anew what a run did.

use base::limits;
use protocol::proc;
use protocol::proc::history::{History, Message, MessageRole, Read};
use protocol::signal::run::FinishStatus;
use serde_json::json;
use terminal::failure::{Failure, Result};

use super::super::{Chat, done};
use super::{Ended, Following};

impl Chat<'_> {
    /// Reads anew what the run did, because signals were missed.
    pub(super) async fn catch_up(&mut self, following: &mut Following) -> Result<Option<Ended>> {
        following.view.missed();
        let history = self.history_since(following.before).await?;
        let own = history.messages.iter().position(|message| {
            message.role == MessageRole::User && words(message) == following.message.trim()
        });
        if let Some(own) = own {
            let messages = &history.messages[own + 1..];
            if self.output.json {
                self.output.line(&json!({ "history": messages }).to_string())?;
            }
            following.view.catch_up(messages);
        }
        let pending =
            history.pending_hils.unwrap_or_else(|| history.pending_hil.value().into_iter().collect());
        for request in pending {
            if request.run_id == following.run_id {
                following.enqueue(request);
            }
        }
        self.ended_meanwhile(following).await
    }

    async fn ended_meanwhile(&mut self, following: &mut Following) -> Result<Option<Ended>> {
        let pid = self.pid_or_init();
        let cost = proc::cost::Cost {
            pid: Some(pid.clone()),
            limit: Some(limits::cli::RUNS_LOOKED_AT),
            ..Default::default()
        };
        let runs = self.gateway.ask(&cost).await?.newest;
        if let Some(run) = runs.into_iter().find(|run| run.run_id == following.run_id) {
            let status = match run.status.as_str() {
                "ok" => FinishStatus::Ok,
                "error" => FinishStatus::Error,
                "aborted" => FinishStatus::Aborted,
                _ => {
                    following.active = true;
                    return Ok(None);
                }
            };
            let error = (status == FinishStatus::Error)
                .then(|| "the run failed while the connection was lost".to_string());
            if self.output.json {
                self.output
                    .line(&json!({ "result": { "runId": run.run_id, "status": status } }).to_string())?;
            }
            return Ok(Some(Ended { status, error, usage: Some(run.usage) }));
        }
        let processes = self.gateway.ask(&proc::List::default()).await?.processes;
        match processes.into_iter().find(|process| process.pid == pid) {
            Some(process) if process.state != "exited" => Ok(None),
            _ => Err(Failure::new(format!("process {pid} has ended"))),
        }
    }

    /// The messages after one, all pages of them.
    async fn history_since(&mut self, before: Option<i64>) -> Result<History> {
        let mut read = Read {
            pid: self.pid.clone(),
            conversation_id: self.conversation.clone(),
            limit: Some(limits::process::HISTORY_MAX),
            after_message_id: Some(before.unwrap_or(0)),
            ..Read::default()
        };
        let mut history = done(self.gateway.ask(&read).await?)?;
        let mut more = history.has_more_after == Some(true);
        while more && history.messages.len() < limits::cli::MESSAGES_READ_MAX {
            read.after_message_id = history.messages.last().and_then(|message| message.id);
            let page = done(self.gateway.ask(&read).await?)?;
            more = page.has_more_after == Some(true) && !page.messages.is_empty();
            history.messages.extend(page.messages);
        }
        Ok(history)
    }
}

/// The text of a message.
fn words(message: &Message) -> &str {
    let content = &message.content;
    content.as_str().or_else(|| content["text"].as_str()).unwrap_or_default().trim()
}
