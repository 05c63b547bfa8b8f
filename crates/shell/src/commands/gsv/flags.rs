//! Schema-driven option parser of `gsv call`.

use protocol::spec::{Route, Spec};
use serde_json::{Map, Value};

/// One argument of a call.
pub(super) struct Field {
    name: String,
    /// Whether text is what it takes.
    text: bool,
    /// Whether it is true or false.
    truth: bool,
    required: bool,
    doc: String,
}

impl Field {
    /// In kebab case, as on the command line outside.
    fn flag(&self) -> String {
        let mut out = String::new();
        for letter in self.name.chars() {
            if letter.is_ascii_uppercase() {
                out.push('-');
            }
            out.push(if letter == '_' { '-' } else { letter.to_ascii_lowercase() });
        }
        out
    }

    fn value(&self, text: &str) -> Value {
        match self.text {
            true => Value::String(text.to_string()),
            false => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_string())),
        }
    }
}

/// The arguments of a call.
pub(super) fn fields_of(spec: &Spec) -> Vec<Field> {
    let schema = protocol::schema::args_of(spec);
    let required = |name: &str| {
        schema["required"].as_array().is_some_and(|names| names.iter().any(|required| required == name))
    };
    let Some(properties) = schema["properties"].as_object() else { return Vec::new() };
    properties
        .iter()
        .map(|(name, property)| Field {
            name: name.clone(),
            text: takes(&schema, property, "string", 0),
            truth: takes(&schema, property, "boolean", 0),
            required: required(name),
            doc: property["description"].as_str().unwrap_or_default().replace('\n', " "),
        })
        .collect()
}

/// Whether a schema takes values of a type.
fn takes(root: &Value, schema: &Value, kind: &str, depth: usize) -> bool {
    let named = match &schema["type"] {
        Value::String(name) => name == kind,
        Value::Array(names) => names.iter().any(|name| name == kind),
        _ => false,
    };
    let of_kind = |value: &Value| match kind {
        "string" => value.is_string(),
        _ => value.is_boolean(),
    };
    let listed = schema["enum"].as_array().is_some_and(|values| values.iter().any(of_kind));
    let referred = || {
        let name = schema["$ref"].as_str()?.strip_prefix("#/$defs/")?;
        Some(takes(root, &root["$defs"][name], kind, depth + 1))
    };
    let one_of = || {
        ["anyOf", "oneOf", "allOf"]
            .iter()
            .filter_map(|key| schema[*key].as_array())
            .flatten()
            .any(|schema| takes(root, schema, kind, depth + 1))
    };
    depth < 8 && (named || listed || of_kind(&schema["const"]) || referred().unwrap_or(false) || one_of())
}

/// What the call takes, for people.
pub(super) fn help(spec: &Spec, fields: &[Field]) -> String {
    let mut out = format!("{} - {}\n\nusage: gsv call {}", spec.name, spec.text(), spec.name);
    out += if spec.route == Route::Target { " [--target ID]" } else { "" };
    out += " [--args JSON] [FLAGS]\n";
    for field in fields {
        let need = if field.required { " (required)" } else { "" };
        out += &format!("  --{}  {}{need}\n", field.flag(), field.doc);
    }
    out
}

/// The arguments that words give.
pub(super) fn parse(
    fields: &[Field],
    words: &[String],
    stdin: &[u8],
    routable: bool,
) -> Result<Value, String> {
    let (mut whole, mut given) = (Map::new(), Map::new());
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let flag =
            word.strip_prefix("--").ok_or_else(|| format!("'{word}' is not a flag; text goes after one"))?;
        let (name, stuck) = match flag.split_once('=') {
            Some((name, value)) => (name, Some(value.to_string())),
            None => (flag, None),
        };
        let field = fields.iter().find(|field| field.flag() == name || field.name == name);
        let bare = field.is_some_and(|field| field.truth)
            && stuck.is_none()
            && words.peek().is_none_or(|next| *next != "true" && *next != "false");
        if bare {
            given.insert(
                field.map_or_else(|| name.to_string(), |field| field.name.clone()),
                Value::Bool(true),
            );
            continue;
        }
        let value =
            stuck.or_else(|| words.next().cloned()).ok_or_else(|| format!("--{name} needs a value"))?;
        match field {
            Some(field) => given.insert(field.name.clone(), field.value(&value)),
            None if name == "args" => {
                whole = object(&value, stdin)?;
                None
            }
            None if name == "target" && routable => given.insert(name.to_string(), Value::String(value)),
            None => return Err(format!("the call has no --{name}; --help lists what it takes")),
        };
    }
    whole.extend(given);
    Ok(Value::Object(whole))
}

fn object(text: &str, stdin: &[u8]) -> Result<Map<String, Value>, String> {
    let wrong = |error: serde_json::Error| format!("--args is not a JSON object: {error}");
    match text {
        "-" => serde_json::from_slice(stdin).map_err(wrong),
        text => serde_json::from_str(text).map_err(wrong),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(call: &str, words: &[&str]) -> Result<String, String> {
        let spec = protocol::spec(call).unwrap();
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        let stdin = br#"{"path":"from stdin"}"#;
        parse(&fields_of(spec), &words, stdin, spec.route == Route::Target).map(|args| args.to_string())
    }

    #[test]
    fn values_are_what_the_schema_says() {
        let read = parsed("fs.read", &["--path", "1", "--offset", "2", "--target=mac"]);
        assert_eq!(read.unwrap(), r#"{"offset":2,"path":"1","target":"mac"}"#);
        let get = parsed("sys.device.get", &["--device-id", "true"]);
        assert_eq!(get.unwrap(), r#"{"deviceId":"true"}"#);
        let list = parsed("sys.device.list", &["--include-offline"]);
        assert_eq!(list.unwrap(), r#"{"includeOffline":true}"#);
        let stdin = parsed("fs.read", &["--args", "-", "--limit", "3"]);
        assert_eq!(stdin.unwrap(), r#"{"limit":3,"path":"from stdin"}"#);
    }

    #[test]
    fn what_the_call_does_not_take_is_refused() {
        assert!(parsed("fs.read", &["--nope", "1"]).unwrap_err().contains("--nope"));
        assert!(parsed("fs.read", &["path"]).unwrap_err().contains("'path'"));
        assert!(parsed("fs.read", &["--path"]).unwrap_err().contains("needs a value"));
        assert!(parsed("fs.read", &["--args", "[]"]).unwrap_err().contains("not a JSON object"));
        assert!(parsed("sys.device.get", &["--target", "x"]).is_err());
    }
}
