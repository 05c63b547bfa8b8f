//! TypeScript printer for JSON Schemas: one for our own calls and for the tools of MCP servers.
//!
//! It prints what it understands and `unknown` for the rest; it never fails.

use serde_json::{Map, Value};

/// References followed within one another before the printer gives up and says `unknown`.
const DEPTH_MAX: usize = 20;
/// An object without comments stays on one line up to this width.
const LINE_CHARS_MAX: usize = 90;

/// What a `$ref` becomes.
#[derive(Clone, Copy)]
pub enum References<'a> {
    /// The name of a type that is declared elsewhere.
    Named,
    /// The type itself, looked up in this document.
    Inline(&'a Value),
}

/// The TypeScript type of a schema.
pub fn print(schema: &Value, references: References) -> String {
    Printer { references }.print(schema, 0, 0).text
}

/// An exported declaration: an interface where the schema is a plain object, else a type.
pub fn declare(name: &str, schema: &Value) -> String {
    let printer = Printer { references: References::Named };
    let mut out = String::new();
    push_doc(&mut out, schema, 0);
    let body = printer.print_body(schema, 0, 0);
    let empty = body.text == "Record<string, unknown>" && schema.get("additionalProperties").is_none();
    let plain = schema.as_object().is_some_and(|object| {
        let mixed =
            ["$ref", "allOf", "anyOf", "oneOf", "enum", "const"].iter().any(|key| object.contains_key(*key));
        !mixed && object.contains_key("properties") && body.text.starts_with('{')
    });
    if plain {
        let lines = printer.object_lines(schema.as_object().unwrap_or(&Map::new()), 1, 0);
        out.push_str(&format!("export interface {name} {{\n{lines}}}\n"));
    } else {
        // A type that is declared without members has none.
        let text = if empty { "Record<string, never>" } else { &body.text };
        out.push_str(&format!("export type {name} = {text};\n"));
    }
    out
}

/// A schema's description as a comment, nothing when it has none.
pub fn doc(text: &str, indent: usize) -> String {
    let pad = "  ".repeat(indent);
    let text = text.trim().replace("*/", "*\\/");
    match text.lines().map(str::trim).collect::<Vec<_>>().as_slice() {
        [] => String::new(),
        [line] => format!("{pad}/** {line} */\n"),
        lines => {
            let body: String = lines.iter().map(|line| format!("{pad} * {line}\n")).collect();
            format!("{pad}/**\n{body}{pad} */\n")
        }
    }
}

/// A member's name: plain where that is an identifier, else quoted.
pub fn key(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '$')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$');
    if plain { name.to_string() } else { Value::from(name).to_string() }
}

/// How tightly a printed type holds together.
#[derive(Clone, Copy, PartialEq)]
enum Binding {
    Union,
    Intersection,
    Tight,
}

#[derive(Clone, PartialEq)]
struct Type {
    text: String,
    binding: Binding,
}

impl Type {
    fn tight(text: impl Into<String>) -> Type {
        Type { text: text.into(), binding: Binding::Tight }
    }

    fn within(&self, outer: Binding) -> String {
        // An intersection within a union needs no parentheses, but readers do.
        let bare = self.binding == outer || self.binding == Binding::Tight;
        if bare { self.text.clone() } else { format!("({})", self.text) }
    }
}

fn union(members: Vec<Type>) -> Type {
    join(members, " | ", Binding::Union, "never")
}

fn intersection(mut members: Vec<Type>) -> Type {
    members.retain(|member| member.text != "unknown");
    join(members, " & ", Binding::Intersection, "unknown")
}

fn join(members: Vec<Type>, separator: &str, binding: Binding, empty: &str) -> Type {
    let mut unique: Vec<Type> = Vec::new();
    for member in members {
        if !unique.contains(&member) {
            unique.push(member);
        }
    }
    match unique.as_slice() {
        [] => Type::tight(empty),
        [only] => only.clone(),
        several => {
            let parts: Vec<String> = several.iter().map(|member| member.within(binding)).collect();
            Type { text: parts.join(separator), binding }
        }
    }
}

struct Printer<'a> {
    references: References<'a>,
}

impl Printer<'_> {
    fn print(&self, schema: &Value, indent: usize, depth: usize) -> Type {
        if depth > DEPTH_MAX { Type::tight("unknown") } else { self.print_body(schema, indent, depth) }
    }

    fn print_body(&self, schema: &Value, indent: usize, depth: usize) -> Type {
        let object = match schema {
            Value::Object(object) => object,
            Value::Bool(false) => return Type::tight("never"),
            _ => return Type::tight("unknown"),
        };
        let mut parts = Vec::new();
        if let Some(Value::String(reference)) = object.get("$ref") {
            parts.push(self.reference(reference, indent, depth));
        }
        if let Some(Value::Array(members)) = object.get("allOf") {
            parts.extend(members.iter().map(|member| self.print(member, indent, depth + 1)));
        }
        for alternatives in ["anyOf", "oneOf"] {
            if let Some(Value::Array(members)) = object.get(alternatives) {
                parts.push(union(
                    members.iter().map(|member| self.print(member, indent, depth + 1)).collect(),
                ));
            }
        }
        parts.push(self.own(object, indent, depth, parts.is_empty()));
        let out = intersection(parts);
        if object.get("nullable") == Some(&Value::Bool(true)) {
            return union(vec![out, Type::tight("null")]);
        }
        out
    }

    /// What the schema says itself, apart from references and combinations.
    fn own(&self, object: &Map<String, Value>, indent: usize, depth: usize, alone: bool) -> Type {
        if let Some(value) = object.get("const") {
            return Type::tight(value.to_string());
        }
        if let Some(Value::Array(values)) = object.get("enum") {
            return union(values.iter().map(|value| Type::tight(value.to_string())).collect());
        }
        let structured = |keys: &[&str]| keys.iter().any(|key| object.contains_key(*key));
        let shaped = structured(&["properties", "additionalProperties", "patternProperties"]);
        match object.get("type") {
            // Beside a reference or a combination a bare `"type": "object"` adds nothing.
            Some(Value::String(kind)) if kind == "object" && !alone && !shaped => Type::tight("unknown"),
            Some(Value::String(kind)) => self.of_kind(kind, object, indent, depth),
            Some(Value::Array(kinds)) => {
                let kinds = kinds.iter().filter_map(Value::as_str);
                union(kinds.map(|kind| self.of_kind(kind, object, indent, depth)).collect())
            }
            _ if shaped => self.of_kind("object", object, indent, depth),
            _ if structured(&["items", "prefixItems"]) => self.of_kind("array", object, indent, depth),
            _ => Type::tight("unknown"),
        }
    }

    fn of_kind(&self, kind: &str, object: &Map<String, Value>, indent: usize, depth: usize) -> Type {
        match kind {
            "string" => string(object),
            "integer" | "number" => Type::tight("number"),
            "boolean" => Type::tight("boolean"),
            "null" => Type::tight("null"),
            "array" => self.array(object, indent, depth),
            "object" => self.object(object, indent, depth),
            _ => Type::tight("unknown"),
        }
    }

    fn array(&self, object: &Map<String, Value>, indent: usize, depth: usize) -> Type {
        let item = |schema: &Value| self.print(schema, indent, depth + 1);
        let tuple = object.get("prefixItems").or(object.get("items").filter(|items| items.is_array()));
        if let Some(Value::Array(members)) = tuple {
            let mut parts: Vec<String> = members.iter().map(|member| item(member).text).collect();
            let rest = if object.contains_key("prefixItems") { "items" } else { "additionalItems" };
            match object.get(rest) {
                Some(Value::Bool(false)) => {}
                Some(rest) => parts.push(format!("...{}[]", item(rest).within(Binding::Tight))),
                None if object.get("maxItems").and_then(Value::as_u64) == Some(members.len() as u64) => {}
                None => parts.push("...unknown[]".into()),
            }
            return Type::tight(format!("[{}]", parts.join(", ")));
        }
        let each = object.get("items").map_or(Type::tight("unknown"), item);
        Type::tight(format!("{}[]", each.within(Binding::Tight)))
    }

    fn object(&self, object: &Map<String, Value>, indent: usize, depth: usize) -> Type {
        let properties = object.get("properties").and_then(Value::as_object);
        if properties.is_none_or(Map::is_empty) {
            return Type::tight(format!("Record<string, {}>", self.values(object, indent, depth)));
        }
        let lines = self.object_lines(object, indent + 1, depth);
        let line = lines.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        if !lines.contains("/**") && line.len() <= LINE_CHARS_MAX {
            return Type::tight(format!("{{ {} }}", line.trim_end_matches(';')));
        }
        Type::tight(format!("{{\n{lines}{}}}", "  ".repeat(indent)))
    }

    /// The values of an object that has no names of its own.
    fn values(&self, object: &Map<String, Value>, indent: usize, depth: usize) -> String {
        let patterns = object.get("patternProperties").and_then(Value::as_object);
        let mut types: Vec<Type> = Vec::new();
        for schema in patterns.into_iter().flat_map(Map::values) {
            types.push(self.print(schema, indent, depth + 1));
        }
        match object.get("additionalProperties") {
            Some(Value::Bool(false)) if types.is_empty() => return "never".into(),
            Some(Value::Bool(false)) => {}
            Some(schema) => types.push(self.print(schema, indent, depth + 1)),
            None if types.is_empty() => return "unknown".into(),
            None => {}
        }
        union(types).text
    }

    /// One line per member: first those that must be there, as the schema orders them, then the others by name.
    fn object_lines(&self, object: &Map<String, Value>, indent: usize, depth: usize) -> String {
        let required: Vec<&str> = object
            .get("required")
            .and_then(Value::as_array)
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let pad = "  ".repeat(indent);
        let mut out = String::new();
        let properties = object.get("properties").and_then(Value::as_object);
        let needed = required.iter().filter_map(|name| properties?.get_key_value(*name));
        let optional =
            properties.into_iter().flatten().filter(|(name, _)| !required.contains(&name.as_str()));
        for (name, schema) in needed.chain(optional) {
            push_doc(&mut out, schema, indent);
            let mark = if required.contains(&name.as_str()) { "" } else { "?" };
            let value = self.print(schema, indent, depth + 1).text;
            out.push_str(&format!("{pad}{}{mark}: {value};\n", key(name)));
        }
        let open = object.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false));
        if open || object.contains_key("patternProperties") {
            out.push_str(&format!("{pad}[key: string]: unknown;\n"));
        }
        out
    }

    fn reference(&self, reference: &str, indent: usize, depth: usize) -> Type {
        match self.references {
            References::Named => Type::tight(reference.rsplit('/').next().unwrap_or("unknown")),
            References::Inline(root) => {
                let found = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
                found.map_or(Type::tight("unknown"), |schema| self.print(schema, indent, depth + 1))
            }
        }
    }
}

/// Text, or a template where the pattern is only fixed pieces with anything between them.
fn string(object: &Map<String, Value>) -> Type {
    let pattern = object.get("pattern").and_then(Value::as_str);
    let pieces = pattern.and_then(|pattern| pattern.strip_prefix('^')?.strip_suffix('$'));
    let Some(pieces) = pieces.filter(|pieces| pieces.contains(".*")) else { return Type::tight("string") };
    let fixed = |piece: &str| piece.chars().all(|c| c.is_ascii_alphanumeric() || "#:/_- ".contains(c));
    let pieces: Vec<&str> = pieces.split(".*").collect();
    if !pieces.iter().all(|piece| fixed(piece)) {
        return Type::tight("string");
    }
    Type::tight(format!("`{}`", pieces.join("${string}")))
}

fn push_doc(out: &mut String, schema: &Value, indent: usize) {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let deprecated = schema.get("deprecated") == Some(&Value::Bool(true));
    let text = if deprecated { format!("{text}\n@deprecated") } else { text.to_string() };
    out.push_str(&doc(&text, indent));
}

#[cfg(test)]
mod tests;
