//! What a run works with: the model, the prompt, the tools, the policy and the limits. Resolved when a run first needs
//! it, kept in memory for the run, never stored: it holds the provider's key.

use std::sync::Arc;
use std::time::Duration;

use model::{Model, Provider, Reasoning, Tool};
use protocol::ai::{ToolDevice, WindowSource};
use protocol::identity::ProcessIdentity;
use store::processes::ProcessRow;

use crate::policy::Policy;
use crate::world::World;

/// What a run works with.
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
    pub(crate) system: String,
    /// What the model may call.
    pub(crate) tools: Vec<Tool>,
    /// The devices these can run on.
    pub(crate) devices: Vec<ToolDevice>,
    /// When to ask a person.
    pub(crate) policy: Policy,
    /// Whether there is a person to ask.
    pub(crate) interactive: bool,
    /// When a run ends by itself.
    pub(crate) limits: RunLimits,
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
    /// Tool calls.
    pub(crate) tool_calls: u64,
}

/// Resolves all of it. The error is for the person who waits for the run: it becomes the run's end.
pub(crate) async fn prepare(world: &World, process: &ProcessRow) -> Result<Setup, String> {
    let _ = (world, process);
    Err("scaffold".to_string())
}
