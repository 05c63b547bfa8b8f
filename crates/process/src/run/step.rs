//! Journal entries of a run, one per step.

use protocol::confine::{Way, Widening};
use protocol::ids::RunId;
use protocol::proc::approval::Decision;
use serde::{Deserialize, Serialize};
use store::runs::StepRow;

/// One step of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    Begin(Begin),
    Turn(Turn),
    Nested(Nested),
    Ask(Ask),
    Answer(Answer),
    Intent(Intent),
    Refusal(Refusal),
    Outcome(Outcome),
    Drain(Drain),
    End(End),
}

/// The run begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Begin {
    pub(crate) reason: String,
    /// Whether a person started it, or a schedule of theirs. Journals from before this was written down do not say so.
    #[serde(default)]
    pub(crate) by_person: bool,
}

/// The model answered. The ids after its message are set aside for the results of its calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Turn {
    /// From 1.
    pub(crate) turn: u64,
    pub(crate) message_id: i64,
    pub(crate) calls: Vec<Named>,
}

/// A tool call as the model named it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Named {
    pub(crate) id: String,
    pub(crate) name: String,
}

/// A block of code makes a call. It is a call of the current turn from then on, after those of the model: what follows
/// names it by its place, as it does them. Journals from before there were blocks have none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Nested {
    pub(crate) place: usize,
    /// The place of the block.
    pub(crate) parent: usize,
    /// An id of its own.
    pub(crate) id: String,
    /// The tool.
    pub(crate) name: String,
    /// The beginning of its arguments, for whoever reads the journal.
    pub(crate) args: String,
}

/// A call of the current turn begins to wait for a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Ask {
    /// From 0.
    pub(crate) place: usize,
    /// Of the approval.
    pub(crate) request_id: String,
}

/// A person answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Answer {
    /// Of the approval.
    pub(crate) request_id: String,
    pub(crate) decision: Decision,
    /// Whether it runs outside of the sandbox, although a widening of it was shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) outside: bool,
    pub(crate) by: String,
    /// The rehearsal whose changes are to be put in place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rehearsal: Option<String>,
}

/// A call is about to leave. Kept before it does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Intent {
    pub(crate) turn: u64,
    pub(crate) place: usize,
    /// Of the call.
    pub(crate) request_id: String,
    pub(crate) call: String,
    pub(crate) target: String,
    /// How it may run on a device. What was kept before there was such a word runs confined.
    #[serde(default)]
    pub(crate) way: Way,
    /// Hosts that are remembered for the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) hosts: Vec<String>,
    /// What a person allowed it inside the sandbox.
    #[serde(default, skip_serializing_if = "Widening::is_empty")]
    pub(crate) widening: Widening,
}

/// The device refused a call before it did anything, because a person has to be asked about it first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Refusal {
    pub(crate) place: usize,
    pub(crate) why: String,
}

/// What became of a call. Kept with the message that carries it; what a block called has none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Outcome {
    pub(crate) turn: u64,
    pub(crate) place: usize,
    pub(crate) message_id: i64,
    pub(crate) ok: bool,
}

/// Queued messages were taken in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Drain {
    pub(crate) run_ids: Vec<RunId>,
    pub(crate) message_ids: Vec<i64>,
    /// Whether all of them are a person's, or a schedule's of theirs.
    #[serde(default)]
    pub(crate) by_person: bool,
}

/// The run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct End {
    pub(crate) status: String,
    pub(crate) reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

impl Step {
    /// The step as it is stored.
    pub(crate) fn row(&self, number: i64, now_ms: i64) -> StepRow {
        use protocol::frame::to_json;
        let (kind, body) = match self {
            Step::Begin(body) => ("begin", to_json(body)),
            Step::Turn(body) => ("turn", to_json(body)),
            Step::Nested(body) => ("nested", to_json(body)),
            Step::Ask(body) => ("ask", to_json(body)),
            Step::Answer(body) => ("answer", to_json(body)),
            Step::Intent(body) => ("intent", to_json(body)),
            Step::Refusal(body) => ("refusal", to_json(body)),
            Step::Outcome(body) => ("outcome", to_json(body)),
            Step::Drain(body) => ("drain", to_json(body)),
            Step::End(body) => ("end", to_json(body)),
        };
        StepRow { number, kind: kind.to_string(), body, created_at: now_ms }
    }

    /// Decodes a stored step.
    pub(crate) fn parse(row: &StepRow) -> Result<Step, String> {
        fn body<T: serde::de::DeserializeOwned>(row: &StepRow) -> Result<T, String> {
            serde_json::from_str(&row.body)
                .map_err(|error| format!("step {} ({}) is unreadable: {error}", row.number, row.kind))
        }
        Ok(match row.kind.as_str() {
            "begin" => Step::Begin(body(row)?),
            "turn" => Step::Turn(body(row)?),
            "nested" => Step::Nested(body(row)?),
            "ask" => Step::Ask(body(row)?),
            "answer" => Step::Answer(body(row)?),
            "intent" => Step::Intent(body(row)?),
            "refusal" => Step::Refusal(body(row)?),
            "outcome" => Step::Outcome(body(row)?),
            "drain" => Step::Drain(body(row)?),
            "end" => Step::End(body(row)?),
            other => return Err(format!("step {} is of an unknown kind: {other}", row.number)),
        })
    }
}
