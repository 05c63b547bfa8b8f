//! Model turn: one request with its stream: the context, whether that fits, and the answer as it comes in. Runs beside
//! the actor, which only gets to know the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::StreamExt;
use model::{AssistantContent, AssistantMessage, Cancel, EventKind, Message, Request, StopReason};
use protocol::ids::{ConversationId, RunId};
use protocol::proc::conversation::Overflow;
use protocol::proc::history::ContextState;
use protocol::proc::segment::Compact;
use protocol::signal::Signal;
use protocol::signal::run::{Change as What, Stream};
use store::conversations::PolicyRow;
use store::messages::MessageRow;
use store::processes::ProcessRow;
use store::runs::Used;

use crate::compaction::select;
use crate::compaction::{self, Prepared};
use crate::context::Context;
use crate::pressure::{self, Measured};
use crate::setup::Setup;
use crate::world::World;
use crate::{conversation, cost, notice, signals};
use gateway::{OutgoingSignal, RunEvent, SignalBody};

/// What a turn works with.
pub(crate) struct Turn {
    pub(crate) world: World,
    pub(crate) process: Arc<ProcessRow>,
    pub(crate) run_id: RunId,
    pub(crate) conversation_id: ConversationId,
    pub(crate) setup: Arc<Setup>,
    /// What is known of the conversation, and what came since.
    pub(crate) context: Option<Context>,
    pub(crate) fresh: Vec<MessageRow>,
    pub(crate) cancel: Cancel,
    /// Counts the events of the whole run.
    pub(crate) seq: Arc<AtomicU64>,
    pub(crate) queued_count: u64,
    /// What the conversation has used so far.
    pub(crate) used: Used,
    /// True when the conversation was compacted for this very turn.
    pub(crate) compacted: bool,
}

/// How a turn ended.
pub(crate) enum TurnEnd {
    /// The model answered.
    Answer(Box<Answered>),
    /// The conversation is to be compacted first.
    Compact(Box<Prepared>),
    /// The run cannot go on.
    Failed(RunFailure),
}

/// An answer, and the context it was given in.
pub(crate) struct Answered {
    pub(crate) message: AssistantMessage,
    pub(crate) context: Context,
    /// With the provider's numbers; the message itself is not counted yet.
    pub(crate) state: ContextState,
}

/// Why a run cannot go on.
#[derive(Clone, Debug)]
pub(crate) struct RunFailure {
    /// Such as `generation.error`.
    pub(crate) reason: &'static str,
    /// For people, in the conversation and in the end of the run.
    pub(crate) text: String,
}

impl Turn {
    /// Takes the turn.
    pub(crate) async fn take(mut self) -> TurnEnd {
        let context = match self.load().await {
            Ok(context) => context,
            Err(why) => return TurnEnd::Failed(generation_failed(&why)),
        };
        let mut messages = context.messages();
        if messages.is_empty() {
            // Providers want something to answer; this is how a process with an assignment starts.
            messages.push(Message::user(
                "[Process Event]:\nThe process was started. Begin with your assignment.",
            ));
        }
        let chars = pressure::chars(&messages);
        let state = self.measure(&context, chars, None);
        self.tell(&state);
        if !self.compacted {
            match self.fit(&state, context.message_count()).await {
                Fit::Go => {}
                Fit::Compact(prepared) => return TurnEnd::Compact(prepared),
                Fit::Fail(failure) => return TurnEnd::Failed(failure),
            }
        }
        let message = self.generate(messages).await;
        if let Some(failure) = fault(&message, || notice::cut(&self.setup, self.process.uid)) {
            return TurnEnd::Failed(failure);
        }
        let chars = chars + pressure::more_chars(&message);
        let state = self.measure(&context, chars, Some(&message));
        TurnEnd::Answer(Box::new(Answered { message, context, state }))
    }

    async fn load(&mut self) -> Result<Context, String> {
        let fresh = std::mem::take(&mut self.fresh);
        match self.context.take() {
            Some(mut context) => {
                context.append(&self.world, &self.process, &self.setup, fresh).await;
                Ok(context)
            }
            None => Context::load(&self.world, &self.process, &self.conversation_id, &self.setup).await,
        }
    }

    fn measure(&self, context: &Context, chars: u64, answer: Option<&AssistantMessage>) -> ContextState {
        let measured = Measured {
            conversation_id: &self.conversation_id,
            run_id: Some(&self.run_id),
            message_count: context.message_count(),
            last_message_id: context.last_message_id(),
            chars,
            usage: answer.map(|answer| &answer.usage),
            now_ms: self.world.now_ms(),
        };
        let mut state = pressure::measure(&self.setup, &measured);
        let more = answer.map(|answer| cost::used(&answer.usage)).unwrap_or_default();
        state.usage = Some(cost::usage(&cost::sum(&self.used, &more)));
        state
    }

    fn tell(&self, state: &ContextState) {
        let mut changed =
            signals::changed(&self.process.pid, &[What::Context], self.queued_count, state.updated_at);
        changed.conversation_id = Some(self.conversation_id.clone());
        changed.run_id = Some(self.run_id.clone());
        changed.context = Some(state.clone());
        self.world.emit(&self.process, None, &changed);
    }

    /// Asks the model. What it says goes out as it comes.
    async fn generate(&self, messages: Vec<Message>) -> AssistantMessage {
        let setup = &self.setup;
        let request = Request {
            model: setup.model.clone(),
            system: setup.system.clone(),
            messages,
            tools: setup.tools.clone(),
            max_tokens: setup.max_tokens,
            reasoning: setup.reasoning,
            affinity: Some(self.process.pid.to_string()),
            timeout: setup.timeout,
        };
        let mut stream = setup.provider.stream(request, self.cancel.clone());
        while let Some(event) = stream.next().await {
            let last = match &event.kind {
                EventKind::Done { message, .. } => Some(message.clone()),
                EventKind::Error { error, .. } => Some(error.clone()),
                _ => None,
            };
            if setup.streaming {
                self.forward(event);
            }
            if let Some(message) = last {
                return Arc::unwrap_or_clone(message);
            }
        }
        stream.partial().message()
    }

    fn forward(&self, event: model::Event) {
        let run_event = RunEvent {
            pid: self.process.pid.clone(),
            run_id: self.run_id.clone(),
            conversation_id: self.conversation_id.clone(),
            seq: self.seq.fetch_add(1, Ordering::Relaxed) + 1,
            timestamp: self.world.now_ms(),
            event,
        };
        self.world.gateway.emit(OutgoingSignal {
            uid: self.process.uid,
            run_id: Some(self.run_id.clone()),
            name: Stream::SPEC.name,
            body: SignalBody::Stream(run_event),
        });
    }

    /// What the conversation's policy says about a context this full.
    async fn fit(&self, state: &ContextState, message_count: u64) -> Fit {
        let Some(pressure) = state.pressure else { return Fit::Go };
        let row = self.world.store.conversations().by_id(&self.process.pid, &self.conversation_id).await;
        let Some(policy) = row.ok().flatten().and_then(|row| row.policy) else { return Fit::Go };
        if pressure < policy.compact_at {
            return Fit::Go;
        }
        match policy.overflow {
            Overflow::Manual => Fit::Go,
            Overflow::Fail => {
                Fit::Fail(RunFailure { reason: "context.policy.fail", text: too_full(&policy, pressure) })
            }
            Overflow::AutoCompact => self.compact(&policy, pressure, message_count).await,
        }
    }

    async fn compact(&self, policy: &PolicyRow, pressure: f64, message_count: u64) -> Fit {
        if message_count <= policy.keep_last {
            return nothing_to_compact(policy, pressure, message_count);
        }
        let args = Compact {
            pid: None,
            conversation_id: Some(self.conversation_id.clone()),
            summary: None,
            generate_summary: Some(true),
            keep_last: Some(policy.keep_last),
            through_message_id: None,
        };
        let prepared =
            compaction::prepare(&self.world, &self.process, &self.conversation_id, &args, Some(&self.setup))
                .await;
        match prepared {
            Ok(prepared) => {
                let policy = conversation::policy_to_wire(&self.conversation_id, Some(*policy));
                Fit::Compact(Box::new(prepared.because(&self.setup.model, pressure, &policy)))
            }
            Err(why) if why == select::NOTHING => nothing_to_compact(policy, pressure, message_count),
            Err(why) => Fit::Fail(compaction_failed(&why)),
        }
    }
}

enum Fit {
    Go,
    Compact(Box<Prepared>),
    Fail(RunFailure),
}

/// Everything is to stay: that is a fault only once nothing more fits.
fn nothing_to_compact(policy: &PolicyRow, pressure: f64, message_count: u64) -> Fit {
    if pressure < 1.0 {
        return Fit::Go;
    }
    let (full, keep_last) = (percent(pressure), policy.keep_last);
    Fit::Fail(RunFailure {
        reason: "context.auto_compact.empty",
        text: format!(
            "The context is full ({full}), but all {message_count} messages are to stay (keepLast is {keep_last}). \
             Lower keepLast, or compact the conversation by hand."
        ),
    })
}

/// A run that ends because there is no answer.
pub(crate) fn generation_failed(why: &str) -> RunFailure {
    RunFailure { reason: "generation.error", text: format!("Generation failed: {why}") }
}

/// A run that ends because its conversation could not be compacted.
pub(crate) fn compaction_failed(why: &str) -> RunFailure {
    let text = format!("Auto-compaction failed before model call: {why}");
    RunFailure { reason: "context.auto_compact.failed", text }
}

/// What is wrong with an answer, if anything.
fn fault(message: &AssistantMessage, cut: impl FnOnce() -> String) -> Option<RunFailure> {
    let empty = |text: &str| Some(RunFailure { reason: "generation.empty", text: text.to_string() });
    match (message.stop_reason, &message.error_message) {
        (StopReason::Error | StopReason::Aborted, Some(why)) => return Some(generation_failed(why)),
        (StopReason::Error, None) => return empty("LLM generation ended with error"),
        (StopReason::Aborted, None) => return empty("LLM generation ended with aborted"),
        _ => {}
    }
    let says = |content: &AssistantContent| match content {
        AssistantContent::Text(text) => !text.text.trim().is_empty(),
        AssistantContent::Thinking(_) => false,
        AssistantContent::ToolCall(_) => true,
    };
    if message.content.iter().any(says) {
        return None;
    }
    if message.stop_reason == StopReason::Length {
        return empty(&format!("The model came to no answer. {}", cut()));
    }
    let thinks = message.content.iter().any(|content| matches!(content, AssistantContent::Thinking(_)));
    empty(if thinks { "LLM returned reasoning but no final response" } else { "LLM returned empty response" })
}

fn too_full(policy: &PolicyRow, pressure: f64) -> String {
    format!(
        "The context is {} full, and this conversation's policy stops at {}. Compact it, reset it, or change its \
         policy, then send the message again.",
        percent(pressure),
        percent(policy.compact_at)
    )
}

fn percent(part: f64) -> String {
    format!("{:.0}%", part * 100.0)
}
