//! Wire types and table of `signal.*`: a process or a package app subscribes to another process's signals.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::Pid;
use crate::spec::syscalls;

syscalls! {
    /// Asks to be told when a signal is sent. The same `key` again changes the watch instead of adding one.
    "signal.watch" Watch => Watched, Program, Kernel, Writes, Users.*;
    /// Removes watches by id or by key.
    "signal.unwatch" Unwatch => Unwatched, Program, Kernel, Writes, Users.*;
}

/// Arguments of `signal.watch`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SignalWatchArgs")]
pub struct Watch {
    /// The signal's name.
    pub signal: String,
    /// Only from this process; processes must name one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_id: Option<Pid>,
    /// Tells the caller's watches apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Comes back with the signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Value>,
    /// Ends after the first; true when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub once: Option<bool>,
    /// Ends after so long; 24 hours when absent, at most 30 days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
}

/// Result of `signal.watch`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SignalWatchResult")]
pub struct Watched {
    /// Names it in `signal.unwatch`.
    pub watch_id: String,
    /// False when an older watch was changed.
    pub created: bool,
    /// When it was made, in milliseconds.
    pub created_at: i64,
    /// When it ends.
    pub expires_at: Option<i64>,
}

/// Arguments of `signal.unwatch`: exactly one of the two.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unwatch {
    /// Id of the watch, as `signal.watch` answered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch_id: Option<String>,
    /// Every watch of the caller with this key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

impl JsonSchema for Unwatch {
    fn schema_name() -> Cow<'static, str> {
        "SignalUnwatchArgs".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Arguments of `signal.unwatch`: exactly one of the two.",
            "anyOf": [
                {
                    "type": "object",
                    "properties": {
                        "watchId": { "type": "string", "description": "The watch." },
                        "key": false
                    },
                    "required": ["watchId"]
                },
                {
                    "type": "object",
                    "properties": {
                        "watchId": false,
                        "key": { "type": "string", "description": "Every watch of the caller with this key." }
                    },
                    "required": ["key"]
                }
            ]
        })
    }
}

/// Result of `signal.unwatch`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SignalUnwatchResult")]
pub struct Unwatched {
    /// How many there were.
    pub removed: u64,
}
