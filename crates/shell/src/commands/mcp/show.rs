//! Tables and details of MCP servers and tools, as text.

use protocol::sys::mcp::{ConnectionState, Server, Tool};
use serde_json::{Map, Value, json};

use super::super::devices::pretty;
use super::super::row;
use super::Known;

/// A table of servers; with `more`, what each has to say below it.
pub(super) fn servers(servers: &[Server], more: bool) -> String {
    if servers.is_empty() {
        return "No MCP servers configured.\n".to_string();
    }
    let mut out = row(["SERVER_ID", "STATE", "TOOLS", "RES", "PROMPTS", "AUTH", "NAME", "URL"]);
    for server in servers {
        let auth = match server {
            Server { auth_url: Some(_), .. } => "sign-in",
            Server { error: Some(_), .. } => "error",
            _ => "-",
        };
        let (tools, resources, prompts) = (
            server.tools.len().to_string(),
            server.resource_count.to_string(),
            server.prompt_count.to_string(),
        );
        out += &row([
            &server.server_id,
            state(server),
            &tools,
            &resources,
            &prompts,
            auth,
            &server.name,
            &server.url,
        ]);
    }
    for server in servers.iter().filter(|_| more) {
        let said = said(server);
        if !said.is_empty() {
            out += &format!("\n{} ({})\n{said}", flat(&server.name), server.server_id);
        }
    }
    out
}

/// One server.
pub(super) fn server(server: &Server) -> String {
    let lines = [
        ("server_id", server.server_id.clone()),
        ("state", state(server).to_string()),
        ("name", server.name.clone()),
        ("url", server.url.clone()),
        ("transport", word(&server.transport)),
        ("tools", server.tools.len().to_string()),
        ("resources", server.resource_count.to_string()),
        ("prompts", server.prompt_count.to_string()),
    ];
    let mut out: String = lines.iter().map(|(key, value)| format!("{key}={}\n", flat(value))).collect();
    out += &said(server);
    out
}

/// What a server has to say besides.
fn said(server: &Server) -> String {
    let said =
        [("auth_url", &server.auth_url), ("error", &server.error), ("instructions", &server.instructions)];
    let given = said.iter().filter_map(|(key, value)| Some((key, value.as_deref()?)));
    given.map(|(key, value)| format!("{key}={}\n", flat(value))).collect()
}

/// A table of tools.
pub(super) fn tools(known: &Known, servers: &[&Server]) -> String {
    if servers.iter().all(|server| server.tools.is_empty()) {
        return "No MCP tools discovered.\n".to_string();
    }
    let mut out = row(["SERVER_ID", "SERVER", "STATE", "TOOL", "CODEMODE", "REQUIRED", "DESCRIPTION"]);
    for server in servers {
        for tool in &server.tools {
            let required = required(tool);
            let functions = known.functions(server, &tool.name);
            let words = brief(tool.description.as_deref());
            out += &row([
                &server.server_id,
                &server.name,
                state(server),
                &tool.name,
                &functions,
                &required,
                &words,
            ]);
        }
    }
    out
}

/// The same for programs.
pub(super) fn tools_json(known: &Known, servers: &[&Server]) -> Value {
    let all = servers.iter().flat_map(|server| server.tools.iter().map(move |tool| (server, tool)));
    Value::Array(all.map(|(server, tool)| tool_json(known, server, tool)).collect())
}

/// One tool.
pub(super) fn tool(known: &Known, server: &Server, tool: &Tool) -> String {
    let schema = |schema: &Option<Map<String, Value>>| match schema {
        Some(schema) => Value::Object(schema.clone()).to_string(),
        None => "null".to_string(),
    };
    let mut lines = vec![
        ("server_id", server.server_id.clone()),
        ("server", server.name.clone()),
        ("state", state(server).to_string()),
        ("tool", tool.name.clone()),
        ("codemode_functions", known.functions(server, &tool.name)),
        ("description", tool.description.clone().unwrap_or_default()),
        ("input_schema", schema(&tool.input_schema)),
        ("output_schema", schema(&tool.output_schema)),
    ];
    if let Some(at) = tool.changed_at {
        lines.push(("changed_at", at.to_string()));
    }
    lines.iter().map(|(key, value)| format!("{key}={}\n", flat(value))).collect()
}

pub(super) fn tool_json(known: &Known, server: &Server, tool: &Tool) -> Value {
    let functions = known.functions(server, &tool.name);
    let functions: Vec<&str> = functions.split(',').filter(|name| *name != "-").collect();
    let mut value = serde_json::to_value(tool).unwrap_or_default();
    value["serverId"] = json!(server.server_id);
    value["server"] = json!(server.name);
    value["state"] = json!(server.state);
    value["codemodeFunctions"] = json!(functions);
    value
}

/// Servers and tools that have the words of a query.
pub(super) fn found(known: &Known, query: &str, as_json: bool) -> String {
    let query = query.to_lowercase();
    let has = |text: &str| text.to_lowercase().contains(&query);
    let mut rows: Vec<[String; 7]> = Vec::new();
    for server in &known.servers {
        let about = server.instructions.as_deref().unwrap_or_default();
        let of = |kind: &str, name: &str, functions: String, words: String| {
            let (id, its, state) = (server.server_id.clone(), server.name.clone(), state(server).to_string());
            [kind.to_string(), id, its, state, name.to_string(), functions, words]
        };
        if has(&server.name) || has(&server.url) || has(&server.server_id) || has(about) {
            rows.push(of("server", &server.name, "-".to_string(), brief(Some(about))));
        }
        for tool in &server.tools {
            let functions = known.functions(server, &tool.name);
            let description = tool.description.as_deref().unwrap_or_default();
            if has(&tool.name) || has(description) || has(&functions) {
                rows.push(of("tool", &tool.name, functions, brief(Some(description))));
            }
        }
    }
    if as_json {
        let keys = ["kind", "serverId", "server", "state", "name", "codemode", "description"];
        let object = |row: &[String; 7]| {
            keys.iter().zip(row).map(|(key, value)| (key.to_string(), json!(value))).collect::<Map<_, _>>()
        };
        return pretty(&Value::Array(rows.iter().map(|row| Value::Object(object(row))).collect()));
    }
    if rows.is_empty() {
        return "No MCP servers or tools matched.\n".to_string();
    }
    let mut out = row(["KIND", "SERVER_ID", "SERVER", "STATE", "NAME", "CODEMODE", "DESCRIPTION"]);
    for found in &rows {
        out += &row(found.each_ref().map(String::as_str));
    }
    out
}

/// How CodeMode calls the tools.
pub(super) fn codemode(known: &Known, only: Option<&str>) -> String {
    let mut out = "// In CodeMode every tool of a ready MCP server is an async function.\n\
                   return mcpTools.map((tool) => ({ functions: tool.functions, server: tool.server, tool: tool.tool }));\n\n"
        .to_string();
    let tools = known.tools.iter().filter(|tool| only.is_none_or(|only| only == tool.server_id));
    let lines: Vec<String> = tools
        .flat_map(|tool| {
            let of = format!("{}.{}", flat(&tool.server), flat(&tool.tool));
            tool.functions.iter().map(move |name| format!("{name}(args)  # {of}\n"))
        })
        .collect();
    match lines.is_empty() {
        true => out += "No MCP tools discovered.\n",
        false => out.extend(lines),
    }
    out
}

fn required(tool: &Tool) -> String {
    let required =
        tool.input_schema.as_ref().and_then(|schema| schema.get("required")).and_then(Value::as_array);
    let names: Vec<&str> = required.into_iter().flatten().filter_map(Value::as_str).collect();
    if names.is_empty() { "-".to_string() } else { names.join(",") }
}

/// The first words of a text, on one line.
fn brief(text: Option<&str>) -> String {
    const CHARS: usize = 120;
    let text = text.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// A text on one line: what a server says cannot look like a line of this command's own.
fn flat(text: &str) -> String {
    text.replace(['\n', '\r'], " ").replace(|c: char| c.is_control() && c != '\t', " ")
}

fn state(server: &Server) -> &'static str {
    match server.state {
        ConnectionState::NotConnected => "not-connected",
        ConnectionState::Authenticating => "authenticating",
        ConnectionState::Connecting => "connecting",
        ConnectionState::Connected => "connected",
        ConnectionState::Discovering => "discovering",
        ConnectionState::Ready => "ready",
        ConnectionState::Failed => "failed",
    }
}

fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_string)).unwrap_or_default()
}
