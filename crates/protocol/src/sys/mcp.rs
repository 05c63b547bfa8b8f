//! Wire types and table of `sys.mcp.*`: MCP servers a user has connected, and calls to their tools.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ids::Uid;
use crate::spec::syscalls;

syscalls! {
    /// Connects an MCP server. Where it wants a sign-in, the answer has the URL for the person.
    "sys.mcp.add" Add => Added, Granted, Kernel, Rules, Users, by Person;
    /// Lists the caller's MCP servers with their state and tools.
    "sys.mcp.list" List => Listed, Granted, Kernel, Reads, Users;
    /// Forgets an MCP server.
    "sys.mcp.remove" Remove => Removed, Granted, Kernel, Rules | Destroys, Users, by Person;
    /// Connects to an MCP server again and asks for its tools. Unknown and foreign servers are `null`.
    "sys.mcp.refresh" Refresh => Refreshed, Granted, Kernel, Rules, Users, by Person;
    /// Calls a tool of an MCP server.
    "sys.mcp.call" Call => CallResult, Granted, Kernel, Opaque | Network, Users;
}

/// How to speak to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "McpTransportType")]
pub enum TransportType {
    /// Whatever it understands.
    Auto,
    /// One URL for both directions, as MCP has it since 2025-03-26.
    StreamableHttp,
    /// The older transport: server-sent events one way, `POST` the other.
    Sse,
}

/// How a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "McpConnectionState")]
pub enum ConnectionState {
    /// There is none.
    NotConnected,
    /// It waits for a person to sign in.
    Authenticating,
    /// It is being made.
    Connecting,
    /// It is there.
    Connected,
    /// It is asked for its tools.
    Discovering,
    /// Its tools are known.
    Ready,
    /// It did not work.
    Failed,
}

/// A tool of a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "McpToolSummary")]
pub struct Tool {
    /// The name that a model calls it by.
    pub name: String,
    /// What it does.
    pub description: Option<String>,
    /// JSON Schema of its arguments.
    pub input_schema: Option<Map<String, Value>>,
    /// JSON Schema of its result.
    pub output_schema: Option<Map<String, Value>>,
    /// Of its description and schemas: another one when the server has changed what it says of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// When the server changed what it says of a tool that was known already, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_at: Option<i64>,
}

/// An MCP server of a user, how the connection to it stands and what it offers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "McpServerSummary")]
pub struct Server {
    /// Id of the MCP server, as `sys.mcp.list` gives it.
    pub server_id: String,
    /// Whose it is.
    pub uid: Uid,
    /// The name that its user gave it.
    pub name: String,
    /// Where it is.
    pub url: String,
    /// How it is spoken to.
    pub transport: TransportType,
    /// How the connection stands.
    pub state: ConnectionState,
    /// Where the person signs in, while that is needed.
    pub auth_url: Option<String>,
    /// What went wrong.
    pub error: Option<String>,
    /// What it says about itself.
    pub instructions: Option<String>,
    /// What it can do.
    pub capabilities: Option<Map<String, Value>>,
    /// The tools it has told of.
    pub tools: Vec<Tool>,
    /// How many resources it has.
    pub resource_count: u64,
    /// How many prompts it has.
    pub prompt_count: u64,
    /// When it was connected, in milliseconds.
    pub created_at: i64,
    /// When it last changed.
    pub updated_at: i64,
}

/// Arguments of `sys.mcp.add`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysMcpAddArgs")]
pub struct Add {
    /// Whose; the caller's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<Uid>,
    /// 1 to 80 characters.
    pub name: String,
    /// HTTPS, or this machine.
    pub url: String,
    /// The origin a sign-in comes back to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callback_host: Option<String>,
    /// How to speak to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
}

/// How to speak to a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysMcpTransport")]
pub struct Transport {
    /// `auto` when absent.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub transport_type: Option<TransportType>,
    /// Sent with every request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers: Option<BTreeMap<String, String>>,
}

/// Result of `sys.mcp.add`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysMcpAddResult")]
pub struct Added {
    /// The server, with its connection as it is now.
    pub server: Server,
}

/// Arguments of `sys.mcp.list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysMcpListArgs")]
pub struct List {
    /// Whose; the caller's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<Uid>,
}

/// Result of `sys.mcp.list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysMcpListResult")]
pub struct Listed {
    /// All servers of the user, connected or not.
    pub servers: Vec<Server>,
}

/// Arguments of `sys.mcp.remove`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysMcpRemoveArgs")]
pub struct Remove {
    /// Whose; the caller's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<Uid>,
    /// Id of the MCP server, as `sys.mcp.list` gives it.
    pub server_id: String,
}

/// Result of `sys.mcp.remove`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysMcpRemoveResult")]
pub struct Removed {
    /// False when there is no such server for the caller.
    pub removed: bool,
}

/// Arguments of `sys.mcp.refresh`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysMcpRefreshArgs")]
pub struct Refresh {
    /// Whose; the caller's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<Uid>,
    /// Id of the MCP server, as `sys.mcp.list` gives it.
    pub server_id: String,
}

/// Result of `sys.mcp.refresh`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysMcpRefreshResult")]
pub struct Refreshed {
    /// `null` when there is none the caller may use.
    pub server: Option<Server>,
}

/// Arguments of `sys.mcp.call`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysMcpCallArgs")]
pub struct Call {
    /// Whose; the caller's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<Uid>,
    /// Id of the MCP server, as `sys.mcp.list` gives it.
    pub server_id: String,
    /// The tool.
    pub name: String,
    /// The arguments, as the schema of the tool has them; anything but an object counts as none.
    #[serde(default, deserialize_with = "object_or_none", skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
    /// The tool as the caller knows it: one that has become another one since is not called. What approvals remember
    /// of such a call is bound to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

fn object_or_none<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Map<String, Value>>, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::Object(object) => Some(object),
        _ => None,
    })
}

/// Result of `sys.mcp.call`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysMcpCallResult")]
pub struct CallResult {
    /// What the tool said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Value>,
    /// The same as data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
    /// True when the tool failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// Who said it, such as `MCP server Linear (mcp.linear.app)`: text from outside, which models are told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}
