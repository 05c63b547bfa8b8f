//! Arguments as raw JSON text: decoding them with a useful error, and cutting members out of them
//! without decoding the rest.

use std::borrow::Cow;

use crate::error::Error;
use crate::json_words::{self, Fault};
use crate::scan;
use crate::spec::Syscall;

/// Decodes the arguments of a call; a failure names the field.
pub fn decode<S: Syscall>(raw: &str) -> Result<S, Error> {
    serde_json::from_str(raw).map_err(|_| explain::<S>(raw))
}

fn explain<S: Syscall>(raw: &str) -> Error {
    let call = S::SPEC.name;
    let wrong = json_words::explain::<S>(raw);
    let field = if wrong.field.is_empty() { "args" } else { &wrong.field };
    match &wrong.fault {
        Fault::Missing => Error::missing_argument(call, field),
        Fault::Unfit(why) => Error::bad_argument(call, field, why),
    }
}

/// The members of a JSON object, keys decoded, values untouched.
pub struct Members<'a> {
    members: Vec<(Cow<'a, str>, &'a str)>,
}

impl<'a> Members<'a> {
    /// Splits an object's text. `None` when the text is not a JSON object.
    pub fn parse(raw: &'a str) -> Option<Members<'a>> {
        let mut members = Vec::with_capacity(4);
        scan::members(raw, |member| members.push(member))?;
        Some(Members { members })
    }

    /// The raw value of a member; the last one of that name counts.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.members.iter().rev().find(|(name, _)| name == key).map(|(_, value)| *value)
    }

    /// A member that is a JSON string.
    pub fn text(&self, key: &str) -> Option<Cow<'a, str>> {
        text_of(self.get(key)?)
    }

    /// The object's text again, without some members and with others set to the given raw JSON.
    pub fn rewrite(&self, drop: &[&str], set: &[(&str, &str)]) -> String {
        let mut out = String::with_capacity(self.size() + 2);
        self.rewrite_into(&mut out, drop, set);
        out
    }

    /// About how long the object's text is.
    pub fn size(&self) -> usize {
        self.members.iter().map(|(key, value)| key.len() + value.len() + 4).sum()
    }

    /// The same, appended to a text.
    pub fn rewrite_into(&self, out: &mut String, drop: &[&str], set: &[(&str, &str)]) {
        out.push('{');
        let start = out.len();
        for (key, value) in &self.members {
            let dropped = drop.contains(&key.as_ref()) || set.iter().any(|(name, _)| name == key);
            if !dropped {
                push_member(out, start, key, value);
            }
        }
        for (key, value) in set {
            push_member(out, start, key, value);
        }
        out.push('}');
    }
}

fn push_member(out: &mut String, start: usize, key: &str, raw: &str) {
    if out.len() > start {
        out.push(',');
    }
    push_string(out, key);
    out.push(':');
    out.push_str(raw);
}

/// Appends `text` as a JSON string.
pub fn push_string(out: &mut String, text: &str) {
    if text.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\') {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        // Writing a str as JSON has no way to fail; the fallback only satisfies the type.
        out.push_str(&serde_json::to_string(text).unwrap_or_else(|_| "\"\"".to_string()));
    }
}

/// The value of a raw JSON string; borrowed when it has no escapes.
pub fn text_of(raw: &str) -> Option<Cow<'_, str>> {
    // By bytes: asked for characters, the standard library calls a function for each of the two quotes.
    let [b'"', inner @ .., b'"'] = raw.as_bytes() else { return None };
    if inner.contains(&b'\\') {
        return serde_json::from_str::<String>(raw).ok().map(Cow::Owned);
    }
    raw.get(1..raw.len() - 1).map(Cow::Borrowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_and_sets_members_without_touching_the_rest() {
        let raw = r#"{ "target":"lap\u0074op" , "n": 1.50, "deep":{"target":[1, 2]}}"#;
        let members = Members::parse(raw).unwrap();
        assert_eq!(members.text("target").unwrap(), "laptop");
        assert_eq!(members.rewrite(&["target"], &[]), r#"{"n":1.50,"deep":{"target":[1, 2]}}"#);
        assert_eq!(members.rewrite(&["target", "deep"], &[("n", "2")]), r#"{"n":2}"#);
        assert_eq!(members.rewrite(&["target", "deep", "n"], &[]), "{}");
    }

    #[test]
    fn refuses_what_is_not_an_object() {
        for raw in ["[]", "3", "", "{", "{}x", "null"] {
            assert!(Members::parse(raw).is_none(), "{raw}");
        }
    }

    #[test]
    fn an_argument_error_names_the_field() {
        let error = decode::<crate::fs::Read>(r#"{"path":3}"#).unwrap_err();
        assert_eq!((error.code, error.message.as_str()), (400, "fs.read: path: must be a string, got 3"));
        let error = decode::<crate::fs::Read>("{}").unwrap_err();
        assert_eq!((error.code, error.message.as_str()), (400, "fs.read requires path"));
    }
}
