//! Translation of decoding errors into the words of JSON: what a caller sent, and what must stand there, without a
//! Rust type in it.
//!
//! serde gives its errors as text only, so its phrases are known here and nowhere else. What is not known passes as it is.

use serde::de::DeserializeOwned;

/// Why a JSON text is not what it should be.
#[derive(Debug, PartialEq)]
pub struct JsonError {
    /// Where, such as `rules[0].match`; empty for the whole.
    pub field: String,
    /// What is wrong there.
    pub fault: Fault,
}

/// What is wrong with a field.
#[derive(Debug, PartialEq)]
pub enum Fault {
    /// It must be there and is not.
    Missing,
    /// What stands there: `must be …`.
    Unfit(String),
}

impl JsonError {
    /// As one sentence; `whole` is what the text is called.
    pub fn sentence(&self, whole: &str) -> String {
        let field = if self.field.is_empty() { whole } else { &self.field };
        match &self.fault {
            Fault::Missing => format!("{field} is missing"),
            Fault::Unfit(why) => format!("{field} {why}"),
        }
    }
}

/// Decodes a text; a failure says where and what in the words of JSON.
pub fn decode<T: DeserializeOwned>(text: &str) -> Result<T, JsonError> {
    serde_json::from_str(text).map_err(|_| explain::<T>(text))
}

/// Decodes once more, for the path to the fault: the way that succeeds need not keep track of it.
pub fn explain<T: DeserializeOwned>(text: &str) -> JsonError {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let whole = |why: String| JsonError { field: String::new(), fault: Fault::Unfit(why) };
    let Err(error) = serde_path_to_error::deserialize::<_, T>(&mut deserializer) else {
        return whole("must be one JSON value and nothing after it".to_string());
    };
    let (path, inner) = (error.path().to_string(), error.inner());
    let text = inner.to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
    if inner.is_syntax() || inner.is_eof() {
        return whole(format!("must be JSON: {text} at column {}", inner.column()));
    }
    let path = if path == "." { String::new() } else { path };
    let quoted = |start: &str| text.strip_prefix(start).and_then(|rest| rest.split_once('`'));
    if let Some((field, _)) = quoted("missing field `") {
        return JsonError { field: below(&path, field), fault: Fault::Missing };
    }
    if let Some((field, rest)) = quoted("unknown field `") {
        // The path may end in the field itself.
        let field =
            if path == field || path.ends_with(&format!(".{field}")) { path } else { below(&path, field) };
        let known = names(rest);
        let known = if known.is_empty() { "nothing".to_string() } else { known.join(", ") };
        return JsonError { field, fault: Fault::Unfit(format!("is not known here; there are {known}")) };
    }
    if let Some((found, rest)) = quoted("unknown variant `") {
        let why = format!("must be one of {}; got \"{found}\"", names(rest).join(", "));
        return JsonError { field: path, fault: Fault::Unfit(why) };
    }
    JsonError { field: path, fault: Fault::Unfit(unfit(text)) }
}

fn below(path: &str, field: &str) -> String {
    if path.is_empty() { field.to_string() } else { format!("{path}.{field}") }
}

/// The names between backquotes.
fn names(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

fn unfit(text: &str) -> String {
    if text.starts_with("data did not match any variant") {
        return "has none of the shapes that are allowed here".to_string();
    }
    // serde reads an array as an object by the order of its fields, and complains only of its length.
    if text.starts_with("invalid length ") && text.contains(", expected struct ") {
        return "must be an object, got an array".to_string();
    }
    let parts = ["invalid type: ", "invalid value: ", "invalid length "].iter();
    let found = parts.filter_map(|start| text.strip_prefix(start)?.split_once(", expected ")).next();
    match found {
        Some((found, wanted)) => format!("must be {}, got {}", wanted_words(wanted), found_words(found)),
        None => text.to_string(),
    }
}

/// What serde calls the thing that it found.
fn found_words(found: &str) -> String {
    let value = || found.split('`').nth(1).unwrap_or(found).to_string();
    match found.split([' ', '`']).next().unwrap_or(found) {
        "string" => "a string".to_string(),
        "boolean" => value(),
        "integer" | "floating" => value(),
        "map" => "an object".to_string(),
        "sequence" => "an array".to_string(),
        "unit" | "Option" | "null" => "null".to_string(),
        count if count.parse::<u64>().is_ok() => format!("{count} members"),
        _ => found.to_string(),
    }
}

/// What serde calls the thing that it wanted.
fn wanted_words(wanted: &str) -> String {
    let words = match wanted.split([' ', '<']).next().unwrap_or(wanted) {
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => "a whole number, 0 or more",
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "bool" => "a boolean",
        "struct" | "map" | "internally" | "adjacently" => "an object",
        "tuple" | "sequence" => "an array",
        "enum" | "variant" | "field" => "a string",
        "unit" | "null" => "null",
        _ => match wanted {
            "a map" => "an object",
            "a sequence" => "an array",
            "a borrowed string" | "a character" | "string or map" => "a string",
            other => other,
        },
    };
    words.to_string()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "decoded only")]
    struct Sample {
        count: u64,
        signed: Option<i32>,
        share: Option<f64>,
        flag: Option<bool>,
        list: Option<Vec<Inner>>,
        by_name: Option<BTreeMap<String, String>>,
        pair: Option<(u8, u8)>,
        either: Option<Either>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "decoded only")]
    struct Inner {
        word: Word,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Word {
        One,
        Two,
    }

    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    #[allow(dead_code, reason = "decoded only")]
    enum Either {
        Text(String),
        Flag(bool),
    }

    #[test]
    fn faults_are_told_in_the_words_of_json() {
        let cases = [
            (r#"{}"#, "count is missing"),
            (r#"[]"#, "it must be an object, got an array"),
            (r#"{"count":"x"}"#, "count must be a whole number, 0 or more, got a string"),
            (r#"{"count":-1}"#, "count must be a whole number, 0 or more, got -1"),
            (r#"{"count":1.5}"#, "count must be a whole number, 0 or more, got 1.5"),
            (r#"{"count":null}"#, "count must be a whole number, 0 or more, got null"),
            (r#"{"count":1,"signed":"x"}"#, "signed must be a whole number, got a string"),
            (r#"{"count":1,"share":[]}"#, "share must be a number, got an array"),
            (r#"{"count":1,"flag":1}"#, "flag must be a boolean, got 1"),
            (r#"{"count":1,"list":{}}"#, "list must be an array, got an object"),
            (r#"{"count":1,"list":[3]}"#, "list[0] must be an object, got 3"),
            (r#"{"count":1,"list":[{}]}"#, "list[0].word is missing"),
            (r#"{"count":1,"list":[{"word":"six"}]}"#, "list[0].word must be one of one, two; got \"six\""),
            (r#"{"count":1,"list":[{"word":"one","x":1}]}"#, "list[0].x is not known here; there are word"),
            (r#"{"count":1,"by_name":[]}"#, "by_name must be an object, got an array"),
            (r#"{"count":1,"either":3}"#, "either has none of the shapes that are allowed here"),
            (r#"{"count":"#, "it must be JSON: EOF while parsing a value at column 9"),
            (r#"{"count":1} x"#, "it must be one JSON value and nothing after it"),
        ];
        for (text, says) in cases {
            assert_eq!(decode::<Sample>(text).unwrap_err().sentence("it"), says, "{text}");
        }
    }
}
