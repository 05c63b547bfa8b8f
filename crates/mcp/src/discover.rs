//! What a server offers: its tools, and how many resources and prompts it has. Lists come in pages and are bounded.

use std::collections::{BTreeMap, HashSet};

use base::limits::mcp as limits;
use http::HeaderMap;
use protocol::sys::mcp::Tool;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::failure::Failure;
use crate::link::Bounds;
use crate::mirror::{self, Mirrored};
use crate::session::Session;

/// What a server offers.
#[derive(Default)]
pub(crate) struct Offer {
    pub(crate) tools: Vec<FoundTool>,
    pub(crate) resource_count: u64,
    pub(crate) prompt_count: u64,
}

/// A tool, and what of its arguments is mirrored in headers.
pub(crate) struct FoundTool {
    pub(crate) tool: Tool,
    pub(crate) mirrored: Vec<Mirrored>,
}

/// Asks for everything.
pub(crate) async fn discover(session: &Session, capabilities: &Map<String, Value>) -> Result<Offer, Failure> {
    // Some old servers have tools and do not say so.
    let told = match list(session, "tools/list", "tools", limits::TOOLS_MAX).await {
        Err(Failure::Rpc { .. }) if !capabilities.contains_key("tools") => Vec::new(),
        told => told?,
    };
    let (mut tools, mut names, mut bytes) = (Vec::new(), HashSet::new(), 0);
    for told in told {
        let Some((found, size)) = tool(told) else { continue };
        bytes += size;
        if bytes > limits::TOOLS_MAX_BYTES {
            tracing::info!("an MCP server tells of more tools than are kept");
            break;
        }
        if names.insert(found.tool.name.clone()) {
            tools.push(found);
        }
    }
    let count = async |what: &str, method: &str| -> Result<u64, Failure> {
        if !capabilities.contains_key(what) {
            return Ok(0);
        }
        match list(session, method, what, limits::ITEMS_MAX).await {
            Ok(items) => Ok(items.len() as u64),
            Err(Failure::Rpc { .. }) => Ok(0),
            Err(failure) => Err(failure),
        }
    };
    let resource_count = count("resources", "resources/list").await?;
    let prompt_count = count("prompts", "prompts/list").await?;
    Ok(Offer { tools, resource_count, prompt_count })
}

/// All pages of a list, up to so many items.
async fn list(session: &Session, method: &str, key: &str, most: usize) -> Result<Vec<Value>, Failure> {
    let mut items = Vec::new();
    let mut cursors = HashSet::new();
    let mut params = Map::new();
    for _ in 0..limits::PAGES_MAX {
        let mut page = session.ask(method, params.clone(), HeaderMap::new(), Bounds::CONNECT).await?;
        match page.get_mut(key).map(Value::take) {
            Some(Value::Array(more)) => items.extend(more),
            _ => return Err(Failure::Unexpected(format!("the server answered {method} without {key}"))),
        }
        if items.len() >= most {
            items.truncate(most);
            return Ok(items);
        }
        match page["nextCursor"].as_str().filter(|cursor| !cursor.is_empty()) {
            // One that was there before would lead in a circle.
            Some(cursor) if cursors.insert(cursor.to_string()) => {
                params.insert("cursor".to_string(), Value::from(cursor));
            }
            _ => return Ok(items),
        }
    }
    Ok(items)
}

/// A tool as a server tells of it, and its size; `None` for what is none, or not to be used.
fn tool(told: Value) -> Option<(FoundTool, usize)> {
    let size = told.to_string().len();
    let Value::Object(mut told) = told else { return None };
    let name = told.get("name")?.as_str()?.to_string();
    let is_usable = !name.is_empty() && name.len() <= 512 && !name.chars().any(char::is_control);
    if !is_usable || size > limits::TOOL_MAX_BYTES {
        tracing::info!(size, "a tool of an MCP server is left out: its name or its size");
        return None;
    }
    let fingerprint = fingerprint(&told);
    let mut object = |key: &str| match told.remove(key) {
        Some(Value::Object(schema)) => Some(schema),
        _ => None,
    };
    let (input_schema, output_schema) = (object("inputSchema"), object("outputSchema"));
    let mirrored = input_schema.as_ref().map_or(Some(Vec::new()), mirror::marks)?;
    let description = told.get("description").and_then(Value::as_str).map(str::to_string);
    let tool = Tool {
        name,
        description,
        input_schema,
        output_schema,
        fingerprint: Some(fingerprint),
        changed_at: None,
    };
    Some((FoundTool { tool, mirrored }, size))
}

/// What a tool says of itself, in short: the same whatever the order of its members.
fn fingerprint(told: &Map<String, Value>) -> String {
    let mut sha = Sha256::new();
    for key in ["name", "title", "description", "inputSchema", "outputSchema", "annotations"] {
        let mut text = String::new();
        canonical(told.get(key).unwrap_or(&Value::Null), &mut text);
        sha.update((text.len() as u64).to_be_bytes());
        sha.update(text.as_bytes());
    }
    sha.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => {
            let sorted: BTreeMap<&String, &Value> = members.iter().collect();
            out.push('{');
            for (key, value) in sorted {
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                canonical(value, out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for item in items {
                canonical(item, out);
                out.push(',');
            }
            out.push(']');
        }
        value => out.push_str(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_fingerprint_follows_what_a_tool_says_and_not_how() {
        let print = |value: Value| fingerprint(value.as_object().unwrap());
        let one = print(json!({ "name": "t", "description": "d", "inputSchema": { "a": 1, "b": [2] } }));
        let other =
            json!({ "inputSchema": { "b": [2], "a": 1 }, "description": "d", "name": "t", "_meta": 1 });
        assert_eq!(one, print(other));
        for changed in [
            json!({ "name": "t", "description": "D", "inputSchema": { "a": 1, "b": [2] } }),
            json!({ "name": "t", "description": "d", "inputSchema": { "a": 1, "b": [3] } }),
            json!({ "name": "t", "description": "d", "inputSchema": { "a": 1, "b": [2] }, "outputSchema": {} }),
        ] {
            assert_ne!(one, print(changed));
        }
    }

    #[test]
    fn what_is_no_tool_is_left_out() {
        for bad in
            [json!(1), json!({}), json!({ "name": "" }), json!({ "name": "a\nb" }), json!({ "name": 1 })]
        {
            assert!(tool(bad).is_none());
        }
        let large = json!({ "name": "t", "description": "x".repeat(limits::TOOL_MAX_BYTES) });
        assert!(tool(large).is_none());
        let (found, _) = tool(json!({ "name": "t", "inputSchema": 5, "description": null })).unwrap();
        assert_eq!((found.tool.input_schema, found.tool.description), (None, None));
    }
}
