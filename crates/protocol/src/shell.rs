//! Commands, on the native target or on a device.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::spec::syscalls;

syscalls! {
    /// Starts a shell command, or goes on with one.
    /// Without `sessionId`, `input` is the command. With it, `input` is stdin for that command; empty just polls.
    "shell.exec" Exec => ExecResult, Granted, Target, tool "Shell";
}

/// Arguments of `shell.exec`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ShellExecArgs")]
pub struct Exec {
    /// The command to start, or text for its stdin.
    pub input: String,
    /// Working directory of a new command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The running command to go on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// How long to wait for output or the end before answering, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yield_ms: Option<u64>,
    /// End the command after so many milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// Answer at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<bool>,
    /// With `sessionId`: ends the command. `INT`, `TERM` or `KILL`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// With `sessionId`: no more stdin will come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub close_stdin: Option<bool>,
}

/// How a command stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ShellStatus")]
pub enum Status {
    /// It ended with exit code 0.
    Completed,
    /// It goes on; poll with `sessionId`.
    Running,
    /// It ended otherwise.
    Failed,
}

/// Result of `shell.exec`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ShellExecResult", transform = tell_apart_by_status)]
pub struct ExecResult {
    /// True whenever the command was started or found.
    pub ok: bool,
    /// How it stands.
    pub status: Status,
    /// Output since the last answer, both streams as they came.
    pub output: String,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Exit code, once it ended by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// To go on with, while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// True when older output was dropped to stay within the cap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
    /// All of stdout so far, within the cap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// All of stderr so far, within the cap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// The last output of both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<String>,
    /// Where it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Its process id on the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// When it started, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<i64>,
    /// When it ended, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<i64>,
    /// How long it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// The signal that ended it, such as `SIG15`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// True when the time limit ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<bool>,
}

/// In the schema the result is a union, so that a program that has looked at `status` knows which fields are there.
fn tell_apart_by_status(schema: &mut Schema) {
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.remove("status");
        properties.insert(
            "ok".into(),
            json!({ "const": true, "description": "The command was started or found." }),
        );
    }
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|name| name != "status");
    }
    let variant = |status: &str, field: &str, kind: &str| {
        json!({
            "type": "object",
            "properties": { "status": { "const": status }, field: { "type": kind } },
            "required": ["status", field]
        })
    };
    let variants = [
        variant("completed", "exitCode", "integer"),
        variant("running", "sessionId", "string"),
        variant("failed", "error", "string"),
    ];
    schema.insert("oneOf".into(), json!(variants));
}
