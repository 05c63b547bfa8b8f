//! Tools of MCP servers as functions of CodeMode: their names, their TypeScript declarations, and what a call returns.
//!
//! The seam for whoever runs blocks: [`functions`] gives what is bound into a block, [`declarations`] what the model is
//! told of it, [`McpTool::call`] the arguments of the `sys.mcp.call` behind a function, and [`unwrap`] what the function
//! returns or throws. The native shell and the command line show the same names.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::sys::mcp::{Call, CallResult, ConnectionState, Server};
use crate::typescript::{self, References};

/// Names that a block has already.
const TAKEN: &[&str] = &["args", "argv", "codemode", "fs", "mcpTools", "shell"];

/// Words of the language and names every program counts on.
const LANGUAGE: &[&str] = &[
    "Array",
    "ArrayBuffer",
    "Boolean",
    "Date",
    "Error",
    "Function",
    "Infinity",
    "JSON",
    "Map",
    "Math",
    "NaN",
    "Number",
    "Object",
    "Promise",
    "Proxy",
    "Reflect",
    "RegExp",
    "Set",
    "String",
    "Symbol",
    "TextDecoder",
    "TextEncoder",
    "URL",
    "URLSearchParams",
    "WeakMap",
    "arguments",
    "async",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "clearTimeout",
    "console",
    "const",
    "continue",
    "crypto",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "eval",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "globalThis",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "let",
    "new",
    "null",
    "of",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "setTimeout",
    "static",
    "structuredClone",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "undefined",
    "var",
    "void",
    "while",
    "with",
    "yield",
];

/// A tool with the functions that call it.
#[derive(Clone, Debug, PartialEq)]
pub struct McpTool {
    /// The bare name first where there is one, then the one with the server's name.
    pub functions: Vec<String>,
    /// Id of its server.
    pub server_id: String,
    /// Its server's name.
    pub server: String,
    /// Its own name.
    pub tool: String,
    /// What it does.
    pub description: Option<String>,
    /// JSON Schema of its arguments.
    pub input_schema: Option<Map<String, Value>>,
    /// JSON Schema of its result.
    pub output_schema: Option<Map<String, Value>>,
    /// Of its description and schemas.
    pub fingerprint: Option<String>,
}

impl McpTool {
    /// The arguments of `sys.mcp.call` for a call of its function: of exactly the tool that the block knows.
    pub fn call(&self, arguments: Map<String, Value>) -> Call {
        Call {
            uid: None,
            server_id: self.server_id.clone(),
            name: self.tool.clone(),
            arguments: Some(arguments),
            fingerprint: self.fingerprint.clone(),
        }
    }

    /// The names of arguments that must be given.
    pub fn required(&self) -> Vec<&str> {
        let required = self.input_schema.as_ref().and_then(|schema| schema.get("required"));
        required.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
    }
}

/// The tools of servers that are ready, with their functions. No two tools share a function.
pub fn functions(servers: &[Server]) -> Vec<McpTool> {
    let ready = || servers.iter().filter(|server| server.state == ConnectionState::Ready);
    let mut bare: BTreeMap<String, usize> = BTreeMap::new();
    for tool in ready().flat_map(|server| &server.tools) {
        *bare.entry(identifier(&tool.name)).or_default() += 1;
    }
    let is_free = |name: &str| bare.get(name) == Some(&1) && !is_reserved(name);
    // All bare names are taken before the first longer one is made: what a tool is called does not hang on the order.
    let mut taken: BTreeSet<String> = bare.keys().filter(|name| is_free(name)).cloned().collect();
    let mut found = Vec::new();
    for server in ready() {
        for tool in &server.tools {
            let own = identifier(&tool.name);
            let mut long = format!("{}_{own}", identifier(&server.name));
            if is_reserved(&long) || !taken.insert(long.clone()) {
                long = format!("{long}_{}", hash(&server.server_id, &tool.name));
                taken.insert(long.clone());
            }
            found.push(McpTool {
                functions: Some(own).filter(|own| is_free(own)).into_iter().chain([long]).collect(),
                server_id: server.server_id.clone(),
                server: server.name.clone(),
                tool: tool.name.clone(),
                description: tool.description.clone(),
                input_schema: tool.input_schema.clone(),
                output_schema: tool.output_schema.clone(),
                fingerprint: tool.fingerprint.clone(),
            });
        }
    }
    found
}

/// A name as a program can spell it.
fn identifier(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '$' { c } else { '_' };
    let name: String = name.chars().map(plain).collect();
    match name.chars().next() {
        None => "tool".to_string(),
        Some(first) if first.is_ascii_digit() => format!("_{name}"),
        Some(_) => name,
    }
}

fn is_reserved(name: &str) -> bool {
    name.starts_with("__") || TAKEN.contains(&name) || LANGUAGE.contains(&name)
}

/// FNV-1a of 32 bits, in base 36.
fn hash(server_id: &str, tool: &str) -> String {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let bytes = server_id.bytes().chain([b':']).chain(tool.bytes());
    let mut left =
        bytes.fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let mut digits = Vec::new();
    loop {
        digits.push(DIGITS[(left % 36) as usize] as char);
        left /= 36;
        if left == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}

/// TypeScript declarations of the functions, within `most` bytes; a declaration longer than `most_each` is told in short.
/// What does not fit is counted at the end.
pub fn declarations(tools: &[McpTool], most: usize, most_each: usize) -> String {
    const REST_MAX: usize = 120;
    let (mut out, mut left) = (String::new(), 0);
    for tool in tools {
        let whole = declaration(tool, true);
        let text = if whole.len() <= most_each { whole } else { declaration(tool, false) };
        if text.len() > most_each || out.len() + text.len() + REST_MAX > most {
            left += 1;
            continue;
        }
        out.push_str(&text);
    }
    let rest = format!("// {left} more: their names and schemas are in mcpTools.\n");
    if left > 0 && out.len() + rest.len() <= most {
        out.push_str(&rest);
    }
    out
}

fn declaration(tool: &McpTool, whole: bool) -> String {
    const SHORT_CHARS: usize = 160;
    let Some((name, others)) = tool.functions.split_first() else { return String::new() };
    let mut words = tool.description.clone().unwrap_or_default();
    if !whole {
        let short: String = words.split_whitespace().collect::<Vec<_>>().join(" ");
        words = short.chars().take(SHORT_CHARS).collect();
    }
    let also = others.first().map(|other| format!(" Also {other}.")).unwrap_or_default();
    let doc = typescript::doc(&format!("{} ({}).{also}", words.trim(), tool.server), 0);
    let typed = |schema: &Option<Map<String, Value>>, unknown: &str| match schema {
        Some(schema) if whole => {
            let schema = Value::Object(schema.clone());
            typescript::print(&schema, References::Inline(&schema))
        }
        _ => unknown.to_string(),
    };
    let args = typed(&tool.input_schema, "Record<string, unknown>");
    let mark = if tool.required().is_empty() { "?" } else { "" };
    let result = typed(&tool.output_schema, "unknown");
    format!("{doc}declare function {name}(args{mark}: {args}): Promise<{result}>;\n")
}

/// What a function returns of a result: its data, its text (read as JSON where it is JSON), or what there is. An error is
/// what it throws.
pub fn unwrap(result: CallResult) -> Result<Value, String> {
    let texts = result.content.as_ref().and_then(texts);
    if result.is_error == Some(true) {
        let said = texts.filter(|text| !text.trim().is_empty());
        let other = || result.structured_content.or(result.content).map(|value| value.to_string());
        return Err(said.or_else(other).unwrap_or_else(|| "the tool failed without saying why".to_string()));
    }
    if let Some(data) = result.structured_content {
        return Ok(data);
    }
    Ok(match texts {
        Some(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        None => result.content.unwrap_or_default(),
    })
}

/// The words of a content that is words alone.
pub fn texts(content: &Value) -> Option<String> {
    let blocks = content.as_array()?;
    let text = |block: &Value| match block["type"].as_str() {
        Some("text") => block["text"].as_str().map(str::to_string),
        _ => None,
    };
    let texts: Option<Vec<String>> = blocks.iter().map(text).collect();
    texts.filter(|texts| !texts.is_empty()).map(|texts| texts.join("\n"))
}

#[cfg(test)]
mod tests;
