//! `mcp call`: a tool, by its server and its name.

use protocol::mcp_functions::texts;
use protocol::sys::mcp::{Call, CallResult};
use serde_json::{Map, Value};

use super::super::devices::pretty;
use super::super::options::Options;
use super::super::{Cx, Done};
use super::{COMMAND, Known, json};

pub(super) async fn run(cx: &Cx<'_>, options: &Options, words: &[&str]) -> Result<Done, Done> {
    let known = Known::read(cx).await?;
    let (server, tool) = match words {
        [server, tool] => (known.server(cx, server)?, *tool),
        [both] => {
            // A name may have dots itself: the longest that is a server counts.
            let cuts = both.match_indices('.').collect::<Vec<_>>().into_iter().rev();
            let mut named =
                cuts.filter_map(|(at, _)| Some((known.server(cx, &both[..at]).ok()?, &both[at + 1..])));
            named.next().ok_or_else(|| cx.misused(format!("MCP server not found: {both}")))?
        }
        _ => return Err(Done { stderr: COMMAND.usage_line().into_bytes(), code: 1, ..Done::default() }),
    };
    let name = known.tool(cx, server, tool)?.to_string();
    let found = server.tools.iter().find(|tool| tool.name == name);
    let args = Call {
        uid: None,
        server_id: server.server_id.clone(),
        name,
        arguments: Some(arguments(cx, options)?),
        // The tool as it was looked up a moment ago, and no other.
        fingerprint: found.and_then(|tool| tool.fingerprint.clone()),
    };
    let result = cx.call(&args).await?;
    let code = i32::from(result.is_error == Some(true));
    let text = if options.has("json") { json(&result) } else { printed(result) };
    Ok(Done { code, ..Done::printed(text) })
}

fn arguments(cx: &Cx<'_>, options: &Options) -> Result<Map<String, Value>, Done> {
    let mut arguments = match options.value("args-json").map(serde_json::from_str) {
        None => Map::new(),
        Some(Ok(Value::Object(arguments))) => arguments,
        Some(_) => return Err(cx.misused("--args-json requires a JSON object")),
    };
    for given in options.values("arg") {
        let Some((key, value)) = given.split_once('=') else {
            return Err(cx.misused("--arg requires key=value"));
        };
        // Numbers, booleans and the like as they are written, everything else as text.
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_string()));
        arguments.insert(key.to_string(), value);
    }
    Ok(arguments)
}

/// The words of a result, else what there is of it.
fn printed(result: CallResult) -> String {
    match result.content.as_ref().and_then(texts) {
        Some(text) => format!("{text}\n"),
        None => pretty(&result.structured_content.or(result.content).unwrap_or_default()),
    }
}
