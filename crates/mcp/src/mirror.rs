//! Headers that repeat what is in a request, as 2026-07-28 has them: method, name, and the arguments of a tool that its
//! schema marks with `x-mcp-header`. What is between client and server can route by them without reading the body.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

const MARK: &str = "x-mcp-header";
/// How deep schemas are looked into.
const DEPTH_MAX: usize = 32;

/// An argument that is mirrored: where it is, and the name of its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mirrored {
    path: Vec<String>,
    name: HeaderName,
}

/// What a tool wants mirrored; `None` when its marks are not as they must be, and the tool is not to be used.
pub(crate) fn marks(schema: &Map<String, Value>) -> Option<Vec<Mirrored>> {
    let mut found = Vec::new();
    walk(schema, Some(&mut Vec::new()), 0, &mut found)?;
    let mut names: Vec<&str> = found.iter().map(|mirrored: &Mirrored| mirrored.name.as_str()).collect();
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    (names.len() == all).then_some(found)
}

/// Goes through a schema. `path` is how the value is reached by properties alone, `None` where it is not.
fn walk(
    schema: &Map<String, Value>,
    path: Option<&mut Vec<String>>,
    depth: usize,
    found: &mut Vec<Mirrored>,
) -> Option<()> {
    if depth > DEPTH_MAX {
        return None;
    }
    let mut path = path;
    if let Some(mark) = schema.get(MARK) {
        let path = path.as_deref().filter(|path| !path.is_empty())?;
        let is_plain = matches!(schema.get("type")?.as_str()?, "string" | "integer" | "boolean");
        let name = HeaderName::from_bytes(format!("mcp-param-{}", mark.as_str()?).as_bytes()).ok()?;
        (is_plain && name.as_str() != "mcp-param-").then_some(())?;
        found.push(Mirrored { path: path.clone(), name });
    }
    for (key, value) in schema {
        match (key.as_str(), value) {
            // Data, not schemas.
            ("default" | "examples" | "const" | "enum", _) => {}
            ("properties", Value::Object(members)) => {
                for (name, member) in members {
                    let Value::Object(member) = member else { continue };
                    match path.as_deref_mut() {
                        Some(path) => {
                            path.push(name.clone());
                            walk(member, Some(path), depth + 1, found)?;
                            path.pop();
                        }
                        None => walk(member, None, depth + 1, found)?,
                    }
                }
            }
            ("patternProperties" | "dependentSchemas" | "$defs" | "definitions", Value::Object(members)) => {
                for member in members.values().filter_map(Value::as_object) {
                    walk(member, None, depth + 1, found)?;
                }
            }
            (_, Value::Object(member)) => walk(member, None, depth + 1, found)?,
            (_, Value::Array(members)) => {
                for member in members.iter().filter_map(Value::as_object) {
                    walk(member, None, depth + 1, found)?;
                }
            }
            _ => {}
        }
    }
    Some(())
}

/// The headers of a call with these arguments.
pub(crate) fn of_arguments(marks: &[Mirrored], arguments: &Map<String, Value>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for Mirrored { path, name } in marks {
        let (first, rest) = match path.split_first() {
            Some(split) => split,
            None => continue,
        };
        let value = rest.iter().fold(arguments.get(first), |node, key| node?.as_object()?.get(key));
        let text = match value {
            Some(Value::String(text)) => text.clone(),
            Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
            _ => continue,
        };
        if let Some(value) = encoded(&text) {
            headers.insert(name.clone(), value);
        }
    }
    headers
}

/// A text as the value of a header: as it is where that is plain, else in base 64.
pub(crate) fn encoded(text: &str) -> Option<HeaderValue> {
    let is_plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
        && text.trim() == text
        && !text.is_empty()
        && !text.starts_with("=?base64?");
    match is_plain {
        true => HeaderValue::from_str(text).ok(),
        false => HeaderValue::from_str(&format!("=?base64?{}?=", STANDARD.encode(text))).ok(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn marked_arguments_are_mirrored() {
        let tool = schema(json!({ "type": "object", "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "deep": { "type": "object", "properties": { "n": { "type": "integer", "x-mcp-header": "N" } } },
            "plain": { "type": "string", "default": { "x-mcp-header": 1 } },
        } }));
        let marks = marks(&tool).unwrap();
        let headers =
            of_arguments(&marks, &schema(json!({ "region": "zürich", "deep": { "n": 7 }, "plain": "x" })));
        assert_eq!(headers["mcp-param-region"], format!("=?base64?{}?=", STANDARD.encode("zürich")));
        assert_eq!((&headers["mcp-param-n"], headers.len()), (&HeaderValue::from_static("7"), 2));
        assert!(of_arguments(&marks, &schema(json!({ "region": null, "deep": 1 }))).is_empty());
    }

    #[test]
    fn marks_that_are_not_as_they_must_be_are_refused() {
        for bad in [
            json!({ "x-mcp-header": "Root", "type": "string" }),
            json!({ "properties": { "a": { "type": "number", "x-mcp-header": "A" } } }),
            json!({ "properties": { "a": { "type": "string", "x-mcp-header": "A B" } } }),
            json!({ "properties": { "a": { "type": "string", "x-mcp-header": 1 } } }),
            json!({ "properties": { "a": { "type": "array", "items": { "type": "string", "x-mcp-header": "A" } } } }),
            json!({ "properties": {
                "a": { "type": "string", "x-mcp-header": "A" }, "b": { "type": "string", "x-mcp-header": "a" },
            } }),
        ] {
            assert_eq!(marks(&schema(bad.clone())), None, "{bad}");
        }
    }

    #[test]
    fn odd_texts_are_encoded() {
        assert_eq!(encoded("plain name").unwrap(), "plain name");
        for odd in [" x", "x ", "", "a\nb", "é", "=?base64?eA==?="] {
            assert!(encoded(odd).unwrap().to_str().unwrap().starts_with("=?base64?"), "{odd:?}");
        }
    }
}
