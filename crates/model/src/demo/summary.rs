//! Templates of the demo: what it says about the results of its calls.

use serde_json::Value;

use crate::message::{Message, ToolResult, images, words};

const LINES_MAX: usize = 30;
const CHARS_MAX: usize = 2_000;

/// The results that nobody has answered yet, in their order.
pub(super) fn last_results(messages: &[Message]) -> Vec<&ToolResult> {
    let mut results: Vec<&ToolResult> = messages
        .iter()
        .rev()
        .map_while(|message| match message {
            Message::ToolResult(result) => Some(result),
            _ => None,
        })
        .collect();
    results.reverse();
    results
}

/// The results in words.
pub(super) fn summarise(results: &[&ToolResult]) -> String {
    results.iter().map(|result| one(result)).collect::<Vec<_>>().join("\n\n")
}

fn one(result: &ToolResult) -> String {
    let said = words(&result.content);
    let (failed, text) = match serde_json::from_str::<Value>(&said) {
        Ok(Value::Object(data)) => {
            let data = Value::Object(data);
            (result.is_error || data["ok"] == false, essence(&data))
        }
        _ => (result.is_error, said),
    };
    let pictures = images(&result.content).count();
    let name = &result.tool_name;
    let head = match (failed, pictures, text.trim().is_empty()) {
        (true, ..) => format!("`{name}` did not work:"),
        (false, 1.., _) => return format!("`{name}` brought a picture. {text}").trim_end().to_owned(),
        (false, 0, true) => return format!("`{name}` is done; it had nothing to say."),
        (false, 0, false) => format!("`{name}` is done. This is what it brought:"),
    };
    format!("{head}\n\n```\n{}\n```", cut(text.trim_end()))
}

/// The part of a result that a person wants to see.
fn essence(data: &Value) -> String {
    if data["status"] == "running" {
        let session = data["sessionId"].as_str().unwrap_or_default();
        let output = data["output"].as_str().unwrap_or_default();
        return format!("{output}\n(still running as {session})").trim_start().to_owned();
    }
    let places = ["error", "output", "stdout", "content"];
    let found = places.iter().find_map(|place| data[*place].as_str().filter(|text| !text.is_empty()));
    if let Some(text) = found {
        return text.to_owned();
    }
    if data["output"].is_string() || data["content"].is_string() {
        return String::new();
    }
    let names = |place: &str| -> Option<String> {
        let items = data[place].as_array()?;
        let name = |item: &Value| {
            item.as_str().map_or_else(|| item["name"].as_str().map(str::to_owned), |n| Some(n.to_owned()))
        };
        items.iter().map(name).collect::<Option<Vec<_>>>().map(|names| names.join("\n"))
    };
    let listed = [names("directories"), names("entries"), names("files")];
    if listed.iter().any(Option::is_some) {
        return listed.into_iter().flatten().filter(|names| !names.is_empty()).collect::<Vec<_>>().join("\n");
    }
    serde_json::to_string_pretty(data).unwrap_or_default()
}

fn cut(text: &str) -> String {
    let mut out: String = text.lines().take(LINES_MAX).collect::<Vec<_>>().join("\n");
    let mut more = text.lines().count() > LINES_MAX;
    if let Some((end, _)) = out.char_indices().nth(CHARS_MAX) {
        out.truncate(end);
        more = true;
    }
    // A fence inside would end the one around it.
    let out = out.replace("```", "'''");
    if more { out + "\n…" } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Block;

    fn result(text: &str, is_error: bool) -> ToolResult {
        let content = vec![Block::text(text)];
        ToolResult { tool_call_id: "1".into(), tool_name: "Read".into(), content, is_error }
    }

    #[test]
    fn results_are_told() {
        let of = |text: &str, is_error: bool| summarise(&[&result(text, is_error)]);
        assert_eq!(
            of("{\"ok\":true,\"content\":\"hi\"}", false),
            "`Read` is done. This is what it brought:\n\n```\nhi\n```"
        );
        assert_eq!(of("{\"ok\":false,\"error\":\"gone\"}", false), "`Read` did not work:\n\n```\ngone\n```");
        assert_eq!(of("Error: no", true), "`Read` did not work:\n\n```\nError: no\n```");
        assert_eq!(of("{\"output\":\"\",\"exitCode\":0}", false), "`Read` is done; it had nothing to say.");
        assert!(of("{\"ok\":true,\"files\":[\"a\",\"b\"],\"directories\":[]}", false).contains("\na\nb\n"));
        assert!(of(&"x\n".repeat(1_000), false).len() < 200);
    }
}
