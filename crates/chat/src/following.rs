//! Event loop of one run: sends a message and handles signals, questions and Ctrl-C until the run has ended.

use std::collections::{HashSet, VecDeque};

use base::limits;
use client::Signal;
use protocol::ids::RunId;
use protocol::proc::approval::HilRequest;
use protocol::proc::{self, Abort};
use protocol::signal::run::{FinishStatus, Finished, HilRequested};
use protocol::signal::stream::Usage;
use serde_json::{Value, json};
use terminal::failure::{Failure, Result};

use super::gateway::{Arrived, is_loss};
use super::input::Input;
use super::view::{Detail, Piece, View};
use super::{Chat, done};

mod asking;
mod catching_up;

/// How a run ended.
#[derive(Debug)]
pub struct Ended {
    /// Well or not.
    pub status: FinishStatus,
    /// What went wrong.
    pub error: Option<String>,
    /// What it used.
    pub usage: Option<Usage>,
}

/// A run that is followed.
struct Following {
    run_id: RunId,
    message: String,
    /// The newest message before this one.
    before: Option<i64>,
    /// Whether it is this run that `proc.abort` would end.
    active: bool,
    view: View,
    waiting: VecDeque<HilRequest>,
    asked: HashSet<String>,
    presses: u32,
}

impl Chat<'_> {
    /// Sends a message and follows its run to the end.
    pub async fn say(&mut self, input: Input) -> Result<Ended> {
        let before = self.newest_message().await?;
        self.gateway.forget();
        let message = input.message.clone();
        let send = proc::Send {
            pid: self.pid.clone(),
            conversation_id: self.conversation.clone(),
            message: input.message,
            media: (!input.media.is_empty()).then_some(input.media),
        };
        let sent = self.gateway.call(&send, limits::client::CALL_TIMEOUT).await.map_err(|error| {
            let lost = is_loss(&error);
            let failure = Failure::from(error);
            if lost {
                failure.with_hint("the message may have been taken: `gsv proc history` shows it")
            } else {
                failure
            }
        })?;
        let sent = done(sent)?;
        let queued = sent.queued == Some(true);
        if queued {
            self.output.note("another run is active; the message waits for it");
        }
        let detail = if self.output.terminal { Detail::Person } else { Detail::Pipe };
        let mut following = Following {
            run_id: sent.run_id,
            message,
            before,
            active: !queued,
            view: View::new(self.look(), detail, !self.stream),
            waiting: VecDeque::new(),
            asked: HashSet::new(),
            presses: 0,
        };
        let ended = self.follow(&mut following).await;
        following.view.close();
        self.print(&mut following)?;
        ended
    }

    async fn follow(&mut self, following: &mut Following) -> Result<Ended> {
        loop {
            self.print(following)?;
            if let Some(request) = following.waiting.pop_front() {
                self.decide(following, request).await?;
                continue;
            }
            let ended = match self.gateway.next().await? {
                Arrived::Signal(signal) => self.take(following, &signal)?,
                Arrived::Refresh => self.catch_up(following).await?,
                Arrived::Interrupt => {
                    self.interrupt(following).await?;
                    None
                }
            };
            if let Some(ended) = ended {
                return Ok(ended);
            }
        }
    }

    /// Shows a signal; gives the end when it tells of it.
    fn take(&mut self, following: &mut Following, signal: &Signal) -> Result<Option<Ended>> {
        let Some(payload) = payload_of(signal, &following.run_id) else { return Ok(None) };
        if self.output.json {
            let line = json!({ "signal": signal.name, "seq": signal.seq, "payload": payload });
            self.output.line(&line.to_string())?;
        }
        following.active = true;
        let view = &mut following.view;
        match signal.name.as_str() {
            "proc.run.stream" => {
                if let Ok(event) = serde_json::from_value(payload["event"].clone()) {
                    view.stream(&event);
                }
            }
            "proc.run.output" => view.output(payload["text"].as_str().unwrap_or_default()),
            "proc.run.tool.started" => {
                if let Ok(started) = serde_json::from_value(payload) {
                    view.tool_started(&started);
                }
            }
            "proc.run.tool.finished" => {
                if let Ok(finished) = serde_json::from_value(payload) {
                    view.tool_finished(&finished);
                }
            }
            "proc.run.hil.requested" => {
                if let Ok(HilRequested { request, .. }) = serde_json::from_value(payload) {
                    following.enqueue(request);
                }
            }
            "proc.run.finished" => {
                let finished: Finished = serde_json::from_value(payload.clone())
                    .map_err(|error| Failure::new(format!("proc.run.finished could not be read: {error}")))?;
                view.finished(&finished);
                self.print(following)?;
                if self.output.json {
                    self.output.line(&json!({ "result": payload }).to_string())?;
                }
                let Finished { status, error, usage, .. } = finished;
                return Ok(Some(Ended { status, error, usage }));
            }
            _ => {}
        }
        Ok(None)
    }

    /// The first Ctrl-C aborts the run, the second leaves it alone and ends the chat.
    async fn interrupt(&mut self, following: &mut Following) -> Result<()> {
        following.presses += 1;
        following.view.close();
        self.print(following)?;
        if self.gateway.interrupts.ending() || following.presses > 1 || !following.active {
            let failure = self.gateway.interrupts.failure();
            return Err(if following.active {
                failure
            } else {
                failure.with_hint("the message stays in the queue")
            });
        }
        self.output.note("stopping … (Ctrl-C again leaves the agent alone)");
        self.abort().await
    }

    pub(super) async fn abort(&mut self) -> Result<()> {
        let aborted = self.gateway.ask(&Abort { pid: self.pid.clone() }).await?;
        done(aborted).map(|_| ())
    }

    fn print(&self, following: &mut Following) -> Result<()> {
        for piece in following.view.take() {
            if self.output.json {
                continue;
            }
            match piece {
                Piece::Answer(text) => self.output.text(&text)?,
                Piece::Aside(text) if self.output.terminal => self.output.text(&text)?,
                Piece::Aside(text) => text.lines().for_each(|line| self.output.note(line)),
            }
        }
        Ok(())
    }
}

impl Following {
    fn enqueue(&mut self, request: HilRequest) {
        if self.asked.insert(request.request_id.clone()) {
            self.waiting.push_back(request);
        }
    }
}

/// A run signal's payload, if it is about this run.
fn payload_of(signal: &Signal, run_id: &RunId) -> Option<Value> {
    if !signal.name.starts_with("proc.run.") {
        return None;
    }
    let payload: Value = serde_json::from_str(&signal.payload).ok()?;
    (payload["runId"].as_str() == Some(run_id.as_str())).then_some(payload)
}
