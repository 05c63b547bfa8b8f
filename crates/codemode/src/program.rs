//! What the gateway and its guest say to each other about a block: the program that goes in and how it ended.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A block on its way into a guest.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Program {
    pub(crate) code: String,
    pub(crate) argv: Vec<String>,
    pub(crate) args: Value,
    /// Where calls go that name no target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<String>,
    /// Where relative paths start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cwd: Option<String>,
    pub(crate) mcp_tools: Vec<McpTool>,
    /// How long it may compute without a pause.
    pub(crate) slice_ms: u64,
    /// The engine's heap.
    pub(crate) heap_bytes: usize,
}

/// A tool of an MCP server as blocks see it. Nothing makes these yet: servers are another area's.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct McpTool {
    pub(crate) function_name: String,
    pub(crate) server_id: String,
    pub(crate) server_name: String,
    pub(crate) tool_name: String,
    pub(crate) description: Value,
    pub(crate) input_schema: Value,
    pub(crate) output_schema: Value,
}

/// How a block ended, as its guest tells it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Ended {
    /// It returned this, as JSON text; empty for nothing.
    Returned(String),
    /// It threw, or hit a limit inside the engine.
    Threw(String),
}
