//! Argument parser driven by a schema: words of the command line become the arguments of a call.

use serde_json::{Map, Value};
use terminal::failure::{Failure, Result};

use super::schema::{Args, ArgumentType, Field};
use crate::globals::Globals;

/// What the words say.
#[derive(Debug)]
pub struct Given {
    pub help: bool,
    pub args: Option<String>,
    /// `--target`, for calls that can be routed.
    pub target: Option<String>,
    /// The call's own flags.
    pub values: Map<String, Value>,
    /// The global flags, as far as they came after the call's name.
    pub globals: Globals,
}

/// Reads the words after the call's name. A flag of the call wins over a global flag of the same name.
pub fn parse(schema: &Args, words: &[String], routable: bool, globals: &Globals) -> Result<Given> {
    let mut given =
        Given { help: false, args: None, target: None, values: Map::new(), globals: globals.clone() };
    let mut words = words.iter().map(String::as_str).peekable();
    while let Some(word) = words.next() {
        let (flag, attached) = match word.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => (flag, Some(value)),
            _ => (word, None),
        };
        if !flag.starts_with('-') {
            return Err(Failure::usage(format!("unexpected word: {word}"))
                .with_hint("arguments are flags; see --help"));
        }
        if let Some((field, no)) = find(schema, flag) {
            let value = match (&field.kind, attached) {
                (ArgumentType::Flag, None) => {
                    let next = words.next_if(|next| matches!(*next, "true" | "false") && !no);
                    Value::Bool(next.map_or(!no, |text| text == "true"))
                }
                (kind, Some(text)) => value_of(field, kind, text)?,
                (kind, None) => value_of(field, kind, take(flag, words.next())?)?,
            };
            put(&mut given.values, field, value);
            continue;
        }
        let mut text = || match attached {
            Some(text) => Ok(text.to_string()),
            None => take(flag, words.next()).map(str::to_string),
        };
        match flag {
            "--help" | "-h" => given.help = true,
            "--args" => given.args = Some(text()?),
            "--target" if routable => given.target = Some(text()?),
            "--json" => given.globals.json = true,
            "--url" => given.globals.url = Some(text()?),
            "--user" | "-u" => given.globals.user = Some(text()?),
            "--password" | "-p" => given.globals.password = Some(text()?),
            "--token" | "-t" => given.globals.token = Some(text()?),
            _ => return Err(Failure::usage(format!("unknown flag: {flag}")).with_hint(known(schema))),
        }
    }
    Ok(given)
}

/// The field of a flag in kebab or camel case; true beside it for `--no-…` of a yes-or-no field.
fn find<'a>(schema: &'a Args, flag: &str) -> Option<(&'a Field, bool)> {
    let bare = |text: &str| text.replace(['-', '_'], "").to_ascii_lowercase();
    let flag = flag.strip_prefix("--")?;
    if let Some(field) = schema.fields.iter().find(|field| bare(&field.name) == bare(flag)) {
        return Some((field, false));
    }
    let negated = flag.strip_prefix("no-")?;
    let field = schema.fields.iter().find(|field| bare(&field.name) == bare(negated))?;
    (field.kind == ArgumentType::Flag).then_some((field, true))
}

fn take<'a>(flag: &str, word: Option<&'a str>) -> Result<&'a str> {
    word.ok_or_else(|| Failure::usage(format!("{flag} needs a value")))
}

fn value_of(field: &Field, kind: &ArgumentType, text: &str) -> Result<Value> {
    let wrong = |wanted: &str| Failure::usage(format!("{}: `{text}` is not {wanted}", field.flag()));
    match kind {
        ArgumentType::Text => Ok(Value::String(text.to_string())),
        ArgumentType::Integer => {
            let signed = text.parse::<i64>().map(Value::from);
            signed.or_else(|_| text.parse::<u64>().map(Value::from)).map_err(|_| wrong("a whole number"))
        }
        ArgumentType::Number => {
            let number = text.parse::<f64>().ok().and_then(serde_json::Number::from_f64);
            // Whole numbers stay whole on the wire.
            let whole = text.parse::<i64>().ok().map(Value::from);
            whole.or(number.map(Value::Number)).ok_or_else(|| wrong("a number"))
        }
        ArgumentType::Flag => text.parse::<bool>().map(Value::Bool).map_err(|_| wrong("true or false")),
        ArgumentType::Choice(words) if words.iter().any(|word| word == text) => {
            Ok(Value::String(text.to_string()))
        }
        ArgumentType::Choice(words) => Err(wrong(&format!("one of {}", words.join(", ")))),
        ArgumentType::List(item) => match serde_json::from_str(text) {
            Ok(Value::Array(values)) => Ok(Value::Array(values)),
            _ => value_of(field, item, text).map(|value| Value::Array(vec![value])),
        },
        ArgumentType::Json => serde_json::from_str(text).map_err(|error| wrong(&format!("JSON ({error})"))),
    }
}

/// A repeated list flag adds; any other repeated flag replaces.
fn put(values: &mut Map<String, Value>, field: &Field, value: Value) {
    match (values.get_mut(&field.name), value) {
        (Some(Value::Array(all)), Value::Array(more)) => all.extend(more),
        (_, value) => {
            values.insert(field.name.clone(), value);
        }
    }
}

fn known(schema: &Args) -> String {
    let flags: Vec<String> = schema.fields.iter().map(Field::flag).collect();
    if flags.is_empty() {
        "this call takes no flags".to_string()
    } else {
        format!("there is {}", flags.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(call: &str, words: &[&str]) -> Result<Given> {
        let schema = super::super::schema::of(protocol::spec(call).unwrap());
        let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
        parse(&schema, &words, true, &Globals::default())
    }

    fn values(call: &str, words: &[&str]) -> String {
        serde_json::to_string(&parsed(call, words).unwrap().values).unwrap()
    }

    #[test]
    fn flags_become_typed_arguments() {
        assert_eq!(values("fs.read", &["--path", "x", "--limit=3"]), r#"{"limit":3,"path":"x"}"#);
        assert_eq!(values("fs.read", &["--path", "--limit"]), r#"{"path":"--limit"}"#);
    }

    #[test]
    fn both_cases_and_all_spellings_of_yes_are_understood() {
        for words in [
            &["--replace-all"][..],
            &["--replaceAll", "true"],
            &["--replace-all=true"],
            &["--no-replace-all", "--replace-all"],
        ] {
            assert_eq!(values("fs.edit", words), r#"{"replaceAll":true}"#, "{words:?}");
        }
        for words in [&["--no-replace-all"][..], &["--replace-all", "false"], &["--replaceAll=false"]] {
            assert_eq!(values("fs.edit", words), r#"{"replaceAll":false}"#, "{words:?}");
        }
        let both = values("fs.edit", &["--old-string", "a=b", "--new-string=c=d"]);
        assert_eq!(both, r#"{"newString":"c=d","oldString":"a=b"}"#);
    }

    #[test]
    fn lists_come_by_repetition_or_as_json() {
        for words in [&["--groups", "a", "--groups", "b"][..], &["--groups", r#"["a","b"]"#]] {
            assert_eq!(values("sys.user.create", words), r#"{"groups":["a","b"]}"#);
        }
        assert_eq!(values("sys.setup", &["--node", r#"{"deviceId":"d"}"#]), r#"{"node":{"deviceId":"d"}}"#);
    }

    #[test]
    fn wrong_values_are_refused_by_name() {
        for (call, words, part) in [
            ("fs.read", &["--limit", "many"][..], "--limit: `many` is not a whole number"),
            ("fs.read", &["--limit"], "--limit needs a value"),
            ("fs.read", &["--colour", "red"], "unknown flag: --colour"),
            ("fs.read", &["x"], "unexpected word: x"),
            ("sys.token.create", &["--kind", "car"], "one of node, service, user"),
            ("sys.setup", &["--node", "{"], "is not JSON"),
        ] {
            let failure = parsed(call, words).unwrap_err();
            assert!(failure.message.contains(part) && failure.exit == 2, "{words:?}: {}", failure.message);
        }
    }

    #[test]
    fn the_calls_own_flags_win_over_global_ones() {
        let given =
            parsed("sys.user.create", &["--password", "new", "-p", "mine", "-u", "root", "--json"]).unwrap();
        assert_eq!(given.values["password"], "new");
        assert_eq!(given.globals.password.as_deref(), Some("mine"));
        assert_eq!(given.globals.user.as_deref(), Some("root"));
        assert!(given.globals.json && !given.help);
        let given = parsed("fs.read", &["--target", "mac", "--args", "{}", "-h"]).unwrap();
        assert_eq!(
            (given.target.as_deref(), given.args.as_deref(), given.help),
            (Some("mac"), Some("{}"), true)
        );
    }
}
