//! JSON Schema reader: the arguments of a call as flags see them.

use protocol::spec::Spec;
use serde_json::{Map, Value};

/// How deep references are followed.
const DEPTH_MAX: usize = 8;

/// The arguments of a call.
pub struct Args {
    /// Those that the call needs come first.
    pub fields: Vec<Field>,
}

/// One argument.
pub struct Field {
    /// Its name on the wire.
    pub name: String,
    /// What it may be.
    pub kind: ArgumentType,
    pub doc: String,
    /// Whether the call needs it.
    pub required: bool,
}

/// What an argument may be.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgumentType {
    Text,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// True or false.
    Flag,
    /// One of these words.
    Choice(Vec<String>),
    /// Several of a kind.
    List(Box<ArgumentType>),
    /// Anything else, written as JSON.
    Json,
}

impl ArgumentType {
    /// How help names a value of this kind.
    pub fn placeholder(&self) -> String {
        match self {
            ArgumentType::Text => "<TEXT>".to_string(),
            ArgumentType::Integer => "<INTEGER>".to_string(),
            ArgumentType::Number => "<NUMBER>".to_string(),
            ArgumentType::Flag => "[true|false]".to_string(),
            ArgumentType::Choice(words) => format!("<{}>", words.join("|")),
            ArgumentType::List(item) => format!("{}...", item.placeholder()),
            ArgumentType::Json => "<JSON>".to_string(),
        }
    }
}

impl Field {
    /// The flag, in kebab case.
    pub fn flag(&self) -> String {
        let mut out = "--".to_string();
        for c in self.name.chars() {
            if c.is_ascii_uppercase() {
                out.push('-');
            }
            out.push(if c == '_' { '-' } else { c.to_ascii_lowercase() });
        }
        out
    }
}

/// Reads the arguments of a call.
pub fn of(spec: &Spec) -> Args {
    let root = protocol::schema::args_of(spec);
    let definitions = root["$defs"].as_object().cloned().unwrap_or_default();
    from_schema(&root, &definitions)
}

fn from_schema(root: &Value, definitions: &Map<String, Value>) -> Args {
    let mut fields: Vec<Field> = Vec::new();
    collect(root, definitions, &mut fields, DEPTH_MAX);
    fields.sort_by_key(|field| !field.required);
    Args { fields }
}

/// Properties may stand in the schema itself, behind a reference, or spread over parts.
fn collect(schema: &Value, definitions: &Map<String, Value>, fields: &mut Vec<Field>, depth: usize) {
    if depth == 0 {
        return;
    }
    let schema = follow(schema, definitions);
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if fields.iter().any(|field| field.name == *name) {
            continue;
        }
        let doc = property["description"]
            .as_str()
            .or_else(|| follow(property, definitions)["description"].as_str());
        fields.push(Field {
            name: name.clone(),
            kind: kind(property, definitions, depth - 1),
            doc: doc.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" "),
            required: required.contains(&name.as_str()),
        });
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        for part in schema[key].as_array().into_iter().flatten() {
            collect(part, definitions, fields, depth - 1);
        }
    }
}

fn kind(schema: &Value, definitions: &Map<String, Value>, depth: usize) -> ArgumentType {
    if depth == 0 {
        return ArgumentType::Json;
    }
    let schema = follow(schema, definitions);
    if let Some(words) = words(schema) {
        return ArgumentType::Choice(words);
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(name) => vec![name],
        Value::Array(names) => {
            names.iter().filter_map(Value::as_str).filter(|name| *name != "null").collect()
        }
        _ => Vec::new(),
    };
    match types.as_slice() {
        ["string"] => ArgumentType::Text,
        ["integer"] => ArgumentType::Integer,
        ["number"] => ArgumentType::Number,
        ["boolean"] => ArgumentType::Flag,
        ["array"] => ArgumentType::List(Box::new(kind(&schema["items"], definitions, depth - 1))),
        [] => alternatives(schema, definitions, depth),
        _ => ArgumentType::Json,
    }
}

/// `anyOf` with one real alternative is that alternative; of constant words it is a choice.
fn alternatives(schema: &Value, definitions: &Map<String, Value>, depth: usize) -> ArgumentType {
    let parts: Vec<&Value> = ["anyOf", "oneOf", "allOf"]
        .iter()
        .flat_map(|key| schema[*key].as_array().into_iter().flatten())
        .filter(|part| part["type"] != "null")
        .collect();
    let mut kinds: Vec<ArgumentType> = parts.iter().map(|part| kind(part, definitions, depth - 1)).collect();
    if kinds.len() > 1 && kinds.iter().all(|kind| matches!(kind, ArgumentType::Choice(_))) {
        let words = kinds
            .into_iter()
            .flat_map(|kind| if let ArgumentType::Choice(words) = kind { words } else { vec![] });
        return ArgumentType::Choice(words.collect());
    }
    match kinds.pop() {
        Some(only) if kinds.is_empty() => only,
        _ => ArgumentType::Json,
    }
}

fn words(schema: &Value) -> Option<Vec<String>> {
    if let Some(word) = schema["const"].as_str() {
        return Some(vec![word.to_string()]);
    }
    let words = schema["enum"].as_array()?.iter().filter(|word| !word.is_null());
    words.map(|word| word.as_str().map(str::to_string)).collect()
}

fn follow<'a>(schema: &'a Value, definitions: &'a Map<String, Value>) -> &'a Value {
    let mut schema = schema;
    for _ in 0..DEPTH_MAX {
        let Some(reference) = schema["$ref"].as_str() else { break };
        let name = reference.rsplit('/').next().unwrap_or_default();
        match definitions.get(name) {
            Some(found) => schema = found,
            None => break,
        }
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(call: &str, name: &str) -> Field {
        let args = of(protocol::spec(call).unwrap());
        args.fields
            .into_iter()
            .find(|field| field.name == name)
            .unwrap_or_else(|| panic!("{call} has {name}"))
    }

    #[test]
    fn kinds_follow_from_the_types() {
        assert_eq!(field("fs.read", "path").kind, ArgumentType::Text);
        assert_eq!(field("fs.read", "limit").kind, ArgumentType::Integer);
        assert_eq!(field("fs.edit", "replaceAll").kind, ArgumentType::Flag);
        assert_eq!(field("sys.setup", "node").kind, ArgumentType::Json);
        assert_eq!(field("sys.user.create", "groups").kind, ArgumentType::List(Box::new(ArgumentType::Text)));
        let ArgumentType::Choice(words) = field("sys.token.create", "kind").kind else { panic!("a choice") };
        assert_eq!(words, ["node", "service", "user"]);
        let ArgumentType::Choice(words) = field("sys.token.create", "allowedRole").kind else {
            panic!("a choice")
        };
        assert_eq!(words, ["user", "driver", "service"]);
    }

    #[test]
    fn required_fields_and_docs_are_known() {
        let path = field("fs.read", "path");
        assert!(path.required && path.doc == "The file or directory.");
        assert!(!field("fs.read", "limit").required);
    }

    #[test]
    fn flags_are_kebab_case_and_unique_in_every_call() {
        assert_eq!(field("fs.edit", "oldString").flag(), "--old-string");
        for spec in protocol::calls() {
            let mut flags: Vec<String> = of(spec).fields.iter().map(Field::flag).collect();
            flags.sort();
            flags.dedup();
            assert_eq!(flags.len(), of(spec).fields.len(), "{}", spec.name);
        }
    }
}
