//! Approval questions during a run: asked while signals are still handled, cancelled when somebody else answers.

use client::Signal;
use protocol::proc::approval::{ApprovalsPending, Hil, HilRequest};
use terminal::failure::{Failure, Result};
use terminal::layout::Style;

use super::super::Chat;
use super::super::approval::{self, Answer, Reply};
use super::super::editor::{self, Typed};
use super::super::gateway::Arrived;
use super::super::look::Look;
use super::super::question::{self, Fold};
use super::super::rehearsal::{self, PUT_IN_PLACE, Rehearsed};
use super::{Following, payload_of};

impl Chat<'_> {
    /// Lets somebody decide about a tool call, or tells where it can be decided.
    pub(super) async fn decide(&mut self, following: &mut Following, request: HilRequest) -> Result<()> {
        if self.yes {
            return self.answer(&request, Answer::Once).await;
        }
        following.view.asked(&request.call_id, &request.tool_name, &request.syscall, &request.args);
        self.print(following)?;
        if !editor::can_ask(self.output) {
            let id = &request.request_id;
            let what = question::subject(&request, Look { colour: false, columns: None }, Fold::Whole);
            what.lines().for_each(|line| self.output.note(line));
            self.output.note(&format!("waiting: `gsv approvals approve {id}` or `gsv approvals deny {id}`"));
            return Ok(());
        }
        let mut fold = Fold::Folded;
        let mut rehearsed = Rehearsed::Not(rehearsal::is_offered(&mut self.gateway, &request).await);
        self.tell(&format!("\n{}{}", question::render(&request, self.look(), fold), rehearsed.offer()))?;
        loop {
            match self.typed_answer(following, &request, &rehearsed).await? {
                Typed::Line(typed) => match approval::parse(&request, &typed) {
                    Some(Reply::Answer(answer)) => {
                        self.answer(&request, answer).await?;
                        return self.drop_answered(following, answer).await;
                    }
                    Some(Reply::Fold) => {
                        fold = fold.other();
                        let what = match &rehearsed {
                            Rehearsed::Not(_) => question::render(&request, self.look(), fold),
                            Rehearsed::Did(result) => rehearsal::render(result, self.look(), fold),
                        };
                        self.tell(&format!("{what}{}", rehearsed.offer()))?;
                    }
                    Some(Reply::Rehearse) => {
                        self.output.note("rehearsing …");
                        rehearsed.again(&mut self.gateway, &request, self.output).await;
                        if let Rehearsed::Did(result) = &rehearsed {
                            let what = rehearsal::render(result, self.look(), fold);
                            self.tell(&format!("{what}{}", rehearsed.offer()))?;
                        }
                    }
                    Some(Reply::PutInPlace) => match rehearsed.applicable() {
                        Some(id) => return self.answer_with(&request, Answer::Once, Some(id)).await,
                        None => self.output.note("there is no rehearsal that can be put in place"),
                    },
                    Some(Reply::Help) => self.tell(approval::HELP)?,
                    Some(Reply::Later) => {
                        let id = &request.request_id;
                        self.output.note(&format!("it waits: `gsv approvals approve {id}`"));
                        return Ok(());
                    }
                    None => {}
                },
                Typed::Cancelled => {
                    self.output.note("answered elsewhere");
                    return Ok(());
                }
                Typed::Interrupt => {
                    following.presses += 1;
                    return self.abort().await;
                }
                Typed::End => {
                    let hint =
                        format!("the call still waits: `gsv approvals approve {}`", request.request_id);
                    let leaving = Failure { exit: 130, ..Failure::new("not answered") };
                    return Err(leaving.with_hint(hint));
                }
            }
        }
    }

    /// Waits for a typed answer. What arrives meanwhile is kept for later; an answer from elsewhere ends the wait.
    async fn typed_answer(
        &mut self,
        following: &Following,
        request: &HilRequest,
        rehearsed: &Rehearsed,
    ) -> Result<Typed> {
        let keys = [question::keys(request), rehearsed.keys()].concat();
        let mut typing = editor::question(self.output, &approval::answer_prompt(request, &keys));
        let (mut kept, mut refresh) = (Vec::new(), false);
        let typed = loop {
            let arrived = tokio::select! {
                typed = typing.typed() => break typed,
                arrived = self.gateway.next() => arrived,
            };
            let answered = match arrived {
                Err(failure) => {
                    typing.cancel();
                    typing.typed().await?;
                    break Err(failure);
                }
                Ok(Arrived::Signal(signal)) => {
                    let answered = answers(&signal, following, request);
                    let changed = signal.name == "proc.changed";
                    kept.push(signal);
                    answered || (changed && self.is_answered(request).await?)
                }
                Ok(Arrived::Refresh) => {
                    refresh = true;
                    self.is_answered(request).await?
                }
                Ok(Arrived::Interrupt) => {
                    typing.cancel();
                    typing.typed().await?;
                    break Ok(Typed::Interrupt);
                }
            };
            if answered {
                typing.cancel();
                break typing.typed().await;
            }
        };
        self.gateway.put_back(kept);
        if refresh {
            self.gateway.refresh_later();
        }
        typed
    }

    /// Whether a request no longer waits.
    async fn is_answered(&mut self, request: &HilRequest) -> Result<bool> {
        let pending = self.gateway.ask(&ApprovalsPending { pid: None }).await?.pending;
        Ok(pending.iter().all(|pending| pending.request.request_id != request.request_id))
    }

    /// What was remembered may have answered others that wait: those are not asked about.
    async fn drop_answered(&mut self, following: &mut Following, answer: Answer) -> Result<()> {
        if answer.scope().is_none() || following.waiting.is_empty() {
            return Ok(());
        }
        let pending = self.gateway.ask(&ApprovalsPending { pid: None }).await?.pending;
        let waits = |id: &str| pending.iter().any(|pending| pending.request.request_id == id);
        following.waiting.retain(|request| waits(&request.request_id));
        Ok(())
    }

    async fn answer(&mut self, request: &HilRequest, answer: Answer) -> Result<()> {
        self.answer_with(request, answer, None).await
    }

    /// The same with the rehearsal that is to be put in place.
    async fn answer_with(
        &mut self,
        request: &HilRequest,
        answer: Answer,
        rehearsal: Option<String>,
    ) -> Result<()> {
        let told = if rehearsal.is_some() { PUT_IN_PLACE.to_string() } else { answer.told(request) };
        let hil = Hil {
            pid: self.pid.clone(),
            request_id: request.request_id.clone(),
            decision: answer.decision(),
            outside: answer.outside(),
            remember: answer.scope().map(|_| true),
            remember_scope: answer.scope(),
            rehearsal,
        };
        match self.gateway.ask(&hil).await?.into_result() {
            Ok(_) if self.output.terminal => {
                let told = self.look().paint(Style::DIM, &told);
                self.tell(&format!("  {told}\n"))
            }
            Ok(_) => Ok(()),
            // Somebody else was faster, or the run is over; what follows says which.
            Err(why) => {
                self.output.note(&why);
                Ok(())
            }
        }
    }
}

/// Whether a signal shows that a call no longer waits: it runs, it ended, or its run did.
fn answers(signal: &Signal, following: &Following, request: &HilRequest) -> bool {
    let Some(payload) = payload_of(signal, &following.run_id) else { return false };
    let same_call = payload["callId"].as_str() == Some(request.call_id.as_str());
    match signal.name.as_str() {
        "proc.run.finished" => true,
        "proc.run.tool.started" | "proc.run.tool.finished" => same_call,
        _ => false,
    }
}
