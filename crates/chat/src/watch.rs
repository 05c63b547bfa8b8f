//! `gsv approvals watch`: an event loop over the questions of all of a user's processes, each shown as it comes and
//! answered at the prompt.

use std::collections::{HashSet, VecDeque};

use client::{Session, Signal};
use protocol::frame::to_json;
use protocol::ids::Pid;
use protocol::proc::approval::{ApprovalsPending, Hil, PendingApproval};
use serde_json::Value;
use terminal::failure::Result;
use terminal::layout::Style;
use terminal::output::Output;

use crate::approval::{self, Answer, Reply};
use crate::editor::{self, Typed};
use crate::gateway::{Arrived, Gateway};
use crate::look::Look;
use crate::question::{self, Fold};
use crate::rehearsal::{self, PUT_IN_PLACE, Rehearsed};

/// Somebody who watches.
struct Watch<'a> {
    output: &'a Output,
    gateway: Gateway<'a>,
    pid: Option<Pid>,
    /// What waits and was not shown yet, oldest first.
    waiting: VecDeque<PendingApproval>,
    /// What was shown, answered or left for later.
    handled: HashSet<String>,
}

/// Shows questions and takes answers, of one process or of all, until Ctrl-C.
pub async fn run(output: &Output, session: Session, pid: Option<Pid>) -> Result<u8> {
    let gateway = Gateway::open(output, session).await?;
    let mut watch = Watch { output, gateway, pid, waiting: VecDeque::new(), handled: HashSet::new() };
    let ended = watch.run().await;
    watch.gateway.close().await;
    ended
}

impl Watch<'_> {
    async fn run(&mut self) -> Result<u8> {
        self.refresh().await?;
        if !self.output.json {
            self.output.note("watching for questions; Ctrl-C ends");
        }
        loop {
            if let Some(pending) = self.waiting.pop_front() {
                if let Some(code) = self.show(pending).await? {
                    return Ok(code);
                }
                continue;
            }
            match self.gateway.next().await? {
                Arrived::Signal(signal) if is_about_questions(&signal) => self.refresh().await?,
                Arrived::Signal(_) => {}
                Arrived::Refresh => self.refresh().await?,
                Arrived::Interrupt => return self.leave(),
            }
        }
    }

    /// Ctrl-C is how one leaves; being told to end is not.
    fn leave(&self) -> Result<u8> {
        if self.gateway.interrupts.ending() { Err(self.gateway.interrupts.failure()) } else { Ok(0) }
    }

    /// Looks at what waits now.
    async fn refresh(&mut self) -> Result<()> {
        let pending = self.gateway.ask(&ApprovalsPending { pid: self.pid.clone() }).await?.pending;
        self.handled.retain(|id| pending.iter().any(|one| one.request.request_id == *id));
        self.waiting =
            pending.into_iter().filter(|one| !self.handled.contains(&one.request.request_id)).collect();
        Ok(())
    }

    /// Shows one question and has it answered, where somebody can. A code when the watch is over.
    async fn show(&mut self, pending: PendingApproval) -> Result<Option<u8>> {
        self.handled.insert(pending.request.request_id.clone());
        if self.output.json {
            self.output.line(&to_json(&pending))?;
            return Ok(None);
        }
        let whose = format!("\n{}  {}", pending.pid, pending.request.request_id);
        self.output.line(&self.look().paint(Style::DIM, &whose))?;
        if !editor::can_ask(self.output) {
            self.output.text(&question::subject(&pending.request, self.look(), Fold::Whole))?;
            return Ok(None);
        }
        let mut fold = Fold::Folded;
        let mut rehearsed = Rehearsed::Not(rehearsal::is_offered(&mut self.gateway, &pending.request).await);
        self.output.text(&question::render(&pending.request, self.look(), fold))?;
        self.output.text(rehearsed.offer())?;
        loop {
            match self.typed(&pending, &rehearsed).await? {
                Typed::Line(typed) => match approval::parse(&pending.request, &typed) {
                    Some(Reply::Answer(answer)) => {
                        self.answer(&pending, answer, None).await?;
                        return Ok(None);
                    }
                    Some(Reply::Fold) => {
                        fold = fold.other();
                        let what = match &rehearsed {
                            Rehearsed::Not(_) => question::render(&pending.request, self.look(), fold),
                            Rehearsed::Did(result) => rehearsal::render(result, self.look(), fold),
                        };
                        self.output.text(&format!("{what}{}", rehearsed.offer()))?;
                    }
                    Some(Reply::Rehearse) => {
                        self.output.note("rehearsing …");
                        rehearsed.again(&mut self.gateway, &pending.request, self.output).await;
                        if let Rehearsed::Did(result) = &rehearsed {
                            let what = rehearsal::render(result, self.look(), fold);
                            self.output.text(&format!("{what}{}", rehearsed.offer()))?;
                        }
                    }
                    Some(Reply::PutInPlace) => match rehearsed.applicable() {
                        Some(id) => {
                            self.answer(&pending, Answer::Once, Some(id)).await?;
                            return Ok(None);
                        }
                        None => self.output.note("there is no rehearsal that can be put in place"),
                    },
                    Some(Reply::Help) => self.output.text(approval::HELP)?,
                    Some(Reply::Later) => return Ok(None),
                    None => {}
                },
                Typed::Cancelled => {
                    self.output.note("answered elsewhere");
                    return Ok(None);
                }
                Typed::Interrupt | Typed::End => return self.leave().map(Some),
            }
        }
    }

    /// Waits for a typed answer, or until the question no longer waits.
    async fn typed(&mut self, pending: &PendingApproval, rehearsed: &Rehearsed) -> Result<Typed> {
        let keys = [rehearsed.keys(), &['f', 'l', '?']].concat();
        let mut typing = editor::question(self.output, &approval::answer_prompt(&pending.request, &keys));
        loop {
            let arrived = tokio::select! {
                typed = typing.typed() => return typed,
                arrived = self.gateway.next() => arrived,
            };
            let ends = match arrived {
                Ok(Arrived::Signal(signal)) if !is_about_questions(&signal) => continue,
                Ok(Arrived::Signal(_) | Arrived::Refresh) => {
                    self.refresh().await.map(|()| !self.handled.contains(&pending.request.request_id))
                }
                Ok(Arrived::Interrupt) => {
                    typing.cancel();
                    typing.typed().await?;
                    return Ok(Typed::Interrupt);
                }
                Err(failure) => Err(failure),
            };
            if !matches!(ends, Ok(false)) {
                typing.cancel();
                let typed = typing.typed().await?;
                // What was typed at the last moment counts; if it is too late the gateway says so.
                return ends.map(|_| typed);
            }
        }
    }

    async fn answer(
        &mut self,
        pending: &PendingApproval,
        answer: Answer,
        rehearsal: Option<String>,
    ) -> Result<()> {
        let told = if rehearsal.is_some() { PUT_IN_PLACE.to_string() } else { answer.told(&pending.request) };
        let hil = Hil {
            pid: Some(pending.pid.clone()),
            request_id: pending.request.request_id.clone(),
            decision: answer.decision(),
            outside: answer.outside(),
            remember: answer.scope().map(|_| true),
            remember_scope: answer.scope(),
            rehearsal,
        };
        match self.gateway.ask(&hil).await?.into_result() {
            Ok(_) => {
                let told = self.look().paint(Style::DIM, &told);
                self.output.line(&format!("  {told}"))?;
            }
            Err(why) => self.output.note(&why),
        }
        // What was remembered may have answered others that wait.
        self.refresh().await
    }

    fn look(&self) -> Look {
        let columns = crossterm::terminal::size().ok().map(|(columns, _)| usize::from(columns));
        let columns = columns.filter(|columns| self.output.terminal && *columns > 0);
        Look { colour: self.output.colour, columns }
    }
}

/// Whether a signal tells that something began or ceased to wait. A question itself goes to whoever started its run;
/// everybody else learns from a change of its process that there is one, or that its run is over.
fn is_about_questions(signal: &Signal) -> bool {
    let has_event = || {
        let payload: Option<Value> = serde_json::from_str(&signal.payload).ok();
        payload.is_some_and(|payload| payload["event"].is_string())
    };
    match signal.name.as_str() {
        "proc.run.hil.requested" => true,
        "proc.changed" => has_event(),
        _ => false,
    }
}
