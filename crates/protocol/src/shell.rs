//! Wire types and table of `shell.*`: commands, on the native target or on a device.

pub mod rehearsal;

use schemars::{JsonSchema, Schema};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use crate::spec::syscalls;
use rehearsal::{Rehearsal, Rehearse};

syscalls! {
    /// Starts a shell command, or goes on with one.
    /// Without `sessionId`, `input` is the command. With it, `input` is stdin for that command; empty just polls.
    "shell.exec" Exec => ExecResult, Granted, Target, Opaque, Users.*,
        tool "Shell"(input, cwd, sessionId);
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
    /// On a device, for people only: what to do with the command in place of running it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rehearse: Option<Rehearse>,
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

/// Result of `shell.exec`. What other drivers leave out is filled in when it is read.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
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
    /// With `rehearse`: what the command would do, or what was put in place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rehearsal: Option<Rehearsal>,
    /// Once it ended: the hosts that it tried to reach and that its sandbox did not allow, as a person could allow them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_hosts: Option<Vec<String>>,
}

/// Tolerant reader: the documents have no `ok` in results and no `status` in an operation error, and drivers of other
/// clients write just what is documented. An answer that does not say how the command stands is refused.
impl<'de> Deserialize<'de> for ExecResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ExecResult, D::Error> {
        let mut fields = Fields(Map::deserialize(deserializer)?);
        ExecResult::from_fields(&mut fields).map_err(D::Error::custom)
    }
}

impl ExecResult {
    fn from_fields(fields: &mut Fields) -> Result<ExecResult, String> {
        let ok = fields.take("ok")?.unwrap_or(true);
        let (stdout, stderr): (Option<String>, Option<String>) =
            (fields.take("stdout")?, fields.take("stderr")?);
        let (exit_code, session_id) = (fields.take("exitCode")?, fields.take("sessionId")?);
        let status = match (fields.take("status")?, ok, exit_code, &session_id) {
            (Some(status), ..) => status,
            (None, true, Some(0), _) => Status::Completed,
            (None, false, ..) | (None, _, Some(_), _) => Status::Failed,
            (None, true, None, Some(_)) => Status::Running,
            (None, true, None, None) => return Err("missing field `status`".to_string()),
        };
        let both = || [&stdout, &stderr].into_iter().flatten().map(String::as_str).collect();
        Ok(ExecResult {
            ok,
            status,
            output: fields.take("output")?.unwrap_or_else(both),
            error: fields.take("error")?,
            exit_code,
            session_id,
            truncated: fields.take("truncated")?,
            stdout,
            stderr,
            tail: fields.take("tail")?,
            cwd: fields.take("cwd")?,
            pid: fields.take("pid")?,
            started_at: fields.take("startedAt")?,
            ended_at: fields.take("endedAt")?,
            duration_ms: fields.take("durationMs")?,
            signal: fields.take("signal")?,
            timed_out: fields.take("timedOut")?,
            rehearsal: fields.take("rehearsal")?,
            refused_hosts: fields.take("refusedHosts")?,
        })
    }
}

/// The members of a JSON object, taken out one by one.
struct Fields(Map<String, Value>);

impl Fields {
    /// A member; absent and `null` are the same.
    fn take<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>, String> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => serde_json::from_value(value).map(Some).map_err(|why| format!("`{name}`: {why}")),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: Value) -> ExecResult {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn every_documented_shape_is_read() {
        let running = read(json!({ "status": "running", "output": "first\n", "sessionId": "7ad3" }));
        assert_eq!(
            (running.ok, running.status, running.session_id.as_deref()),
            (true, Status::Running, Some("7ad3"))
        );
        let completed = read(json!({ "status": "completed", "output": "", "exitCode": 0 }));
        assert_eq!((completed.ok, completed.status, completed.exit_code), (true, Status::Completed, Some(0)));
        let failed = read(json!({ "status": "failed", "output": "x", "error": "no", "exitCode": null }));
        assert_eq!(
            (failed.status, failed.error.as_deref(), failed.exit_code),
            (Status::Failed, Some("no"), None)
        );
        let refused = read(json!({ "ok": false, "error": "no such directory" }));
        assert_eq!((refused.ok, refused.status, refused.output.as_str()), (false, Status::Failed, ""));
        assert_eq!(refused.error.as_deref(), Some("no such directory"));
    }

    #[test]
    fn what_is_missing_follows_from_the_rest() {
        let ended = read(json!({ "ok": true, "stdout": "out\n", "stderr": "err\n", "exitCode": 3 }));
        assert_eq!((ended.status, ended.output.as_str()), (Status::Failed, "out\nerr\n"));
        assert_eq!(read(json!({ "sessionId": "s" })).status, Status::Running);
        assert_eq!(read(json!({ "exitCode": 0 })).status, Status::Completed);
    }

    #[test]
    fn what_says_nothing_or_nonsense_is_refused() {
        for bad in
            [json!({}), json!({ "output": "x" }), json!({ "status": "running", "exitCode": "0" }), json!([])]
        {
            assert!(serde_json::from_value::<ExecResult>(bad.clone()).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let result = read(json!({
            "status": "failed", "output": "o", "error": "e", "exitCode": 1, "sessionId": "s", "truncated": true,
            "stdout": "o", "stderr": "", "tail": "o", "cwd": "/", "pid": 7, "startedAt": 1, "endedAt": 2,
            "durationMs": 1, "signal": "SIG9", "timedOut": true,
        }));
        assert_eq!(read(serde_json::to_value(&result).unwrap()), result);
    }
}
