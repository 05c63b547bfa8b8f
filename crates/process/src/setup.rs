//! Setup of a run: the model, the prompt, the tools, the policy and the limits. `prepare` resolves it; it is kept in
//! memory, never stored, because it holds the provider's key.

pub(crate) mod cache;

use std::sync::Arc;
use std::time::Duration;

use model::{Model, Provider, Reasoning, Tools};
use policy::Policy;
use protocol::ai::{ToolDevice, WindowSource};
use protocol::identity::ProcessIdentity;

/// What a run works with. It has no `Debug`: it leads to the provider's key.
#[derive(Clone)]
pub(crate) struct Setup {
    /// Who answers.
    pub(crate) provider: Arc<dyn Provider>,
    /// With which model, its window and prices overridden by config.
    pub(crate) model: Model,
    /// Who says how large the window is.
    pub(crate) window_source: WindowSource,
    /// The longest answer, in tokens.
    pub(crate) max_tokens: u64,
    /// How much it thinks.
    pub(crate) reasoning: Reasoning,
    /// How long one answer may take.
    pub(crate) timeout: Duration,
    /// Whether events of an answer are sent while it comes.
    pub(crate) streaming: bool,
    /// The system prompt.
    pub(crate) system: Arc<str>,
    /// What the model may call.
    pub(crate) tools: Arc<Tools>,
    /// How much of a context these two take, in characters.
    pub(crate) prompt_chars: u64,
    /// The devices these can run on.
    pub(crate) devices: Vec<ToolDevice>,
    /// When to ask a person.
    pub(crate) policy: Policy,
    /// The hosts that confined commands may reach, as in `config/agents/network`.
    pub(crate) hosts: Vec<String>,
    /// Whether there is a person to ask.
    pub(crate) interactive: bool,
    /// When a run ends by itself.
    pub(crate) limits: RunLimits,
    /// When a token in it ends, in milliseconds: from then on it must be resolved anew.
    pub(crate) good_until_ms: Option<i64>,
    /// Who the process acts as.
    pub(crate) identity: Arc<ProcessIdentity>,
}

/// When a run ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunLimits {
    /// Answers of the model.
    pub(crate) turns: u64,
    /// Milliseconds.
    pub(crate) run_ms: i64,
    pub(crate) tool_calls: u64,
}
