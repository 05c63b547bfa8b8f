//! Wire types and table of `codemode.*`: sandboxed JavaScript with the file, shell and MCP calls at hand.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::Pid;
use crate::spec::syscalls;

syscalls! {
    /// Runs one block of JavaScript in a sandbox that can call files, shell and connected MCP tools.
    /// The block is the body of an async function: `await` works at the top, and `return` gives the result.
    /// `shell(input, { target, cwd, sessionId })` and `fs.read`, `fs.write`, `fs.edit`, `fs.delete`, `fs.search` (one
    /// object each, with `target`) take what the tools of these names take and return objects, not text to be parsed;
    /// several run at once with `Promise.all`. There is no network and no `require`.
    "codemode.exec" Exec => ExecResult, Program, Local, Opaque, Users.*,
        tool "CodeMode"(code);
    /// Runs a script for a person, in a process of theirs; their init process when none is named.
    "codemode.run" Run => ExecResult, Granted, Process, Opaque, Users.*;
}

/// Arguments of `codemode.exec`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CodeModeExecArgs")]
pub struct Exec {
    /// The body of an async function.
    pub code: String,
}

/// Arguments of `codemode.run`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CodeModeRunArgs")]
pub struct Run {
    /// The process to run in; the caller's init process when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<Pid>,
    /// The body of an async function.
    pub code: String,
    /// Where the script's calls go when they name no target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Where the script's relative paths start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Seen by the script as `argv`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// Seen by the script as `args`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Value>,
}

/// How a script ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "status", rename_all = "lowercase")]
#[schemars(rename = "CodeModeResult")]
pub enum ExecResult {
    /// It returned.
    Completed {
        /// What it returned; absent when that was nothing.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
        /// What it logged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        logs: Option<Vec<String>>,
    },
    /// It threw, or hit a limit.
    Failed {
        /// Why.
        error: String,
        /// What it logged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        logs: Option<Vec<String>>,
    },
}

/// A member that is there is a value, `null` too.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
