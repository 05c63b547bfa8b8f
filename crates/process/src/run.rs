//! Event-sourced state machine of a run: its journal folded into a state, and what it does next. Pure: the first
//! start and a restart take the same path.

pub(crate) mod step;
#[cfg(test)]
mod tests;

use protocol::confine::{Way, Widening};
use protocol::ids::{ConversationId, RunId};
use protocol::proc::approval::Decision;
use store::processes::ProcessState;
use store::runs::{RunRow, StepRow};

use step::{Answer, Intent, Named, Nested, Step};

/// A run as far as its journal has come.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunState {
    pub(crate) run_id: RunId,
    pub(crate) conversation_id: ConversationId,
    /// Which life of the conversation.
    pub(crate) generation: u64,
    /// In milliseconds.
    pub(crate) started_at: i64,
    /// Whether all it was told came from a person, or a schedule of theirs: only then do remembered approvals serve it.
    pub(crate) by_person: bool,
    /// How often the model answered.
    pub(crate) turns: u64,
    /// How many tools it called, in all turns.
    pub(crate) tool_calls: u64,
    /// The message of its newest answer.
    pub(crate) message_id: Option<i64>,
    /// The calls of that answer.
    pub(crate) calls: Vec<Call>,
    /// Runs whose messages it took in.
    pub(crate) absorbed: Vec<RunId>,
    /// The number of the newest step.
    pub(crate) steps: i64,
    /// Milliseconds in which there was nothing to do but wait for a person. They do not count against its time.
    pub(crate) waited_ms: i64,
    /// Since when it does so now.
    pub(crate) waiting_since: Option<i64>,
    /// True once it ended.
    pub(crate) ended: bool,
}

/// A tool call of the newest answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    /// The model's id.
    pub(crate) id: String,
    /// The tool.
    pub(crate) name: String,
    /// The place of the block that makes it; `None` for a call of the model.
    pub(crate) parent: Option<usize>,
    /// The beginning of the arguments of a call that a block made.
    pub(crate) shown: String,
    /// The id that is set aside for its result; none of a call that a block made.
    pub(crate) message_id: i64,
    /// How often its device refused it before it did anything.
    pub(crate) refusals: u32,
    /// How far it is.
    pub(crate) phase: Phase,
    /// The rehearsal that a person approved in its place.
    pub(crate) rehearsal: Option<String>,
}

/// How far a tool call is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Phase {
    /// Nobody has looked at it.
    New,
    /// It waits for a person.
    Asked { request_id: String },
    /// A person answered.
    Answered { request_id: String, decision: Decision, outside: bool },
    /// It is about to leave, or under way.
    Sent { syscall: String, target: String, way: Way, hosts: Vec<String>, widening: Widening },
    /// Its device did nothing of it, and wants a person to be asked.
    Refused { why: String },
    /// Its result is kept.
    Done { ok: bool },
}

/// What a run does next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Next {
    /// The model is asked.
    Model,
    /// Something is to be done for these calls.
    Calls(Vec<(usize, Act)>),
    /// Nothing, until people answer.
    Wait,
    /// Nothing any more.
    Over,
}

/// What is to be done for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Decide whether it runs.
    Judge,
    /// A person allowed it: check that it is still the same call, and make it.
    Make,
    /// A person refused it.
    Refuse,
    /// See what becomes, or became, of it.
    Await,
}

/// What a run does next.
pub(crate) fn next(run: &RunState) -> Next {
    if run.ended {
        return Next::Over;
    }
    if run.has_all_results() {
        return Next::Model;
    }
    let act = |call: &Call| match &call.phase {
        Phase::New | Phase::Refused { .. } => Some(Act::Judge),
        Phase::Answered { decision: Decision::Approve, .. } => Some(Act::Make),
        Phase::Answered { decision: Decision::Deny, .. } => Some(Act::Refuse),
        Phase::Sent { .. } => Some(Act::Await),
        Phase::Asked { .. } | Phase::Done { .. } => None,
    };
    let acts = run.calls.iter().enumerate().filter_map(|(place, call)| Some((place, act(call)?)));
    let acts: Vec<_> = acts.collect();
    if acts.is_empty() { Next::Wait } else { Next::Calls(acts) }
}

impl RunState {
    /// A run of which only its row is known.
    pub(crate) fn new(row: &RunRow) -> RunState {
        RunState {
            run_id: row.run_id.clone(),
            conversation_id: row.conversation_id.clone(),
            generation: row.generation,
            started_at: row.started_at,
            by_person: false,
            turns: 0,
            tool_calls: 0,
            message_id: None,
            calls: Vec::new(),
            absorbed: Vec::new(),
            steps: 0,
            waited_ms: 0,
            waiting_since: None,
            ended: false,
        }
    }

    /// A run as its rows tell it.
    pub(crate) fn rebuild(row: &RunRow, steps: &[StepRow]) -> Result<RunState, String> {
        let mut run = RunState::new(row);
        for step in steps {
            run.fold(step)?;
        }
        Ok(run)
    }

    /// Takes a step in. Live steps and those read after a restart come through here alike.
    pub(crate) fn fold(&mut self, row: &StepRow) -> Result<(), String> {
        let step = Step::parse(row)?;
        if row.number != self.steps + 1 {
            return Err(format!("step {} follows step {}", row.number, self.steps));
        }
        if self.ended {
            return Err(format!("step {} comes after the end", row.number));
        }
        self.take(step).map_err(|why| format!("step {}: {why}", row.number))?;
        self.steps = row.number;
        if let Some(since) = self.waiting_since.take() {
            self.waited_ms += (row.created_at - since).max(0);
        }
        self.waiting_since = self.waits_for_person().then_some(row.created_at);
        Ok(())
    }

    fn take(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::Begin(begin) => self.by_person = begin.by_person,
            Step::Turn(turn) => {
                if !self.has_all_results() {
                    return Err("the model answered before its calls had results".to_string());
                }
                self.turns = turn.turn;
                self.tool_calls += turn.calls.len() as u64;
                self.message_id = Some(turn.message_id);
                let ids = turn.message_id + 1..;
                let call = |(Named { id, name }, message_id)| Call {
                    id,
                    name,
                    parent: None,
                    shown: String::new(),
                    message_id,
                    refusals: 0,
                    phase: Phase::New,
                    rehearsal: None,
                };
                self.calls = turn.calls.into_iter().zip(ids).map(call).collect();
            }
            Step::Nested(nested) => self.nest(nested)?,
            Step::Ask(ask) => self.call(ask.place)?.phase = Phase::Asked { request_id: ask.request_id },
            Step::Answer(answer) => {
                let asked = Phase::Asked { request_id: answer.request_id.clone() };
                let call =
                    self.calls.iter_mut().find(|call| call.phase == asked).ok_or("nobody asked that")?;
                let Answer { request_id, decision, outside, rehearsal, .. } = answer;
                call.phase = Phase::Answered { request_id, decision, outside };
                call.rehearsal = rehearsal;
            }
            Step::Intent(intent) => {
                let Intent { call: syscall, target, way, hosts, widening, .. } = intent;
                self.call(intent.place)?.phase = Phase::Sent { syscall, target, way, hosts, widening };
            }
            Step::Refusal(refusal) => {
                let call = self.call(refusal.place)?;
                if !matches!(call.phase, Phase::Sent { .. }) {
                    return Err(format!("call {} was not sent", refusal.place));
                }
                call.refusals += 1;
                call.phase = Phase::Refused { why: refusal.why };
            }
            Step::Outcome(outcome) => {
                self.call(outcome.place)?.phase = Phase::Done { ok: outcome.ok };
                // Whatever a block still called is nobody's any more.
                for call in self.calls.iter_mut().filter(|call| call.parent == Some(outcome.place)) {
                    if !matches!(call.phase, Phase::Done { .. }) {
                        call.phase = Phase::Done { ok: false };
                    }
                }
            }
            Step::Drain(drain) => {
                self.by_person &= drain.by_person;
                self.absorbed.extend(drain.run_ids);
            }
            Step::End(_) => self.ended = true,
        }
        Ok(())
    }

    /// A block that is under way makes a call.
    fn nest(&mut self, nested: Nested) -> Result<(), String> {
        let Nested { place, parent, id, name, args } = nested;
        if place != self.calls.len() {
            return Err(format!("call {place} follows call {}", self.calls.len()));
        }
        let block = self.call(parent)?;
        if block.parent.is_some() || !matches!(block.phase, Phase::Sent { .. }) {
            return Err(format!("call {parent} is no block that is under way"));
        }
        let (parent, phase) = (Some(parent), Phase::New);
        self.calls.push(Call {
            id,
            name,
            parent,
            shown: args,
            message_id: 0,
            refusals: 0,
            phase,
            rehearsal: None,
        });
        Ok(())
    }

    /// The calls that a block made.
    pub(crate) fn nested_of(&self, block: usize) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(move |call| call.parent == Some(block))
    }

    /// A call of the newest answer that has no result yet.
    fn call(&mut self, place: usize) -> Result<&mut Call, String> {
        let call = self.calls.get_mut(place).ok_or_else(|| format!("there is no call {place}"))?;
        match call.phase {
            Phase::Done { .. } => Err(format!("call {place} has a result already")),
            _ => Ok(call),
        }
    }

    /// Whether every call of the newest answer has a result.
    pub(crate) fn has_all_results(&self) -> bool {
        self.calls.iter().all(|call| matches!(call.phase, Phase::Done { .. }))
    }

    /// The request id of a call of the newest answer. One that was refused has another when it is made again: its device
    /// remembers what it answered to the first.
    pub(crate) fn request_id(&self, place: usize) -> String {
        match self.calls.get(place).map_or(0, |call| call.refusals) {
            0 => format!("{}/{}/{place}", self.run_id, self.turns),
            refusals => format!("{}/{}/{place}/{refusals}", self.run_id, self.turns),
        }
    }

    /// How many calls of the model are under way, or were when the gateway stopped.
    pub(crate) fn under_way(&self) -> usize {
        let is_sent = |call: &&Call| call.parent.is_none() && matches!(call.phase, Phase::Sent { .. });
        self.calls.iter().filter(is_sent).count()
    }

    /// Whether there is nothing to do but wait for a person. A call that nobody decided on while somebody is asked
    /// about another one waits for that answer, and so does a block about one of its own.
    fn waits_for_person(&self) -> bool {
        let is_asked = |call: &Call| matches!(call.phase, Phase::Asked { .. });
        let is_busy = |(place, call): (usize, &Call)| match call.phase {
            Phase::Answered { .. } => true,
            Phase::Sent { .. } => !self.nested_of(place).any(is_asked),
            _ => false,
        };
        !self.ended && self.calls.iter().any(is_asked) && !self.calls.iter().enumerate().any(is_busy)
    }

    /// What its process is doing, as lists show it.
    pub(crate) fn state(&self) -> ProcessState {
        match next(self) {
            Next::Model | Next::Over => ProcessState::Running,
            _ if self.waits_for_person() => ProcessState::WaitingHil,
            Next::Calls(_) | Next::Wait => ProcessState::WaitingTool,
        }
    }

    /// When its time is up; never while it waits for a person.
    pub(crate) fn deadline_ms(&self, run_ms: i64) -> Option<i64> {
        let deadline = self.started_at.saturating_add(run_ms).saturating_add(self.waited_ms);
        self.waiting_since.is_none().then_some(deadline)
    }
}
