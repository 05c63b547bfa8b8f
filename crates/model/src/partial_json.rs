//! Lenient parser of incomplete JSON: what can be said about a tool's arguments while they stream in.

use base::limits;
use serde_json::{Map, Value};

/// The arguments of a tool call whose JSON is complete. What is no object is wrapped as `value`; so is text
/// that is no JSON at all.
pub fn complete_arguments(text: &str) -> Map<String, Value> {
    if text.trim().is_empty() {
        return Map::new();
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => map,
        Ok(other) => Map::from_iter([("value".to_owned(), other)]),
        Err(_) => Map::from_iter([("value".to_owned(), Value::from(text))]),
    }
}

/// The arguments as far as they have arrived; empty when nothing can be said yet.
pub fn partial_arguments(text: &str) -> Map<String, Value> {
    match parse(text) {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

/// The value that `text` begins, with what is open closed. `None` when no value has begun.
pub fn parse(text: &str) -> Option<Value> {
    if let Ok(value) = serde_json::from_str(text) {
        return Some(value);
    }
    Reader { text, at: 0 }.value(0)
}

/// Reads as far as it can. Each method returns what it has when the text ends or stops making sense.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > limits::model::JSON_DEPTH_MAX {
            return None;
        }
        self.skip_blanks();
        match self.peek()? {
            b'{' => Some(Value::Object(self.object(depth))),
            b'[' => Some(Value::Array(self.array(depth))),
            b'"' => self.string().map(Value::String),
            _ => self.word(),
        }
    }

    fn object(&mut self, depth: usize) -> Map<String, Value> {
        let mut map = Map::new();
        self.at += 1;
        loop {
            self.skip_blanks();
            if self.peek() != Some(b'"') {
                self.take(b'}');
                return map;
            }
            let Some(key) = self.string() else { return map };
            self.skip_blanks();
            // A key whose value has not begun says nothing yet.
            if !self.take(b':') {
                return map;
            }
            let Some(value) = self.value(depth + 1) else { return map };
            map.insert(key, value);
            self.skip_blanks();
            if !self.take(b',') {
                self.take(b'}');
                return map;
            }
        }
    }

    fn array(&mut self, depth: usize) -> Vec<Value> {
        let mut items = Vec::new();
        self.at += 1;
        loop {
            self.skip_blanks();
            if matches!(self.peek(), None | Some(b']')) {
                self.take(b']');
                return items;
            }
            let Some(item) = self.value(depth + 1) else { return items };
            items.push(item);
            self.skip_blanks();
            if !self.take(b',') {
                self.take(b']');
                return items;
            }
        }
    }

    /// A string, closed or not; half an escape at its end is left out.
    fn string(&mut self) -> Option<String> {
        let start = self.at;
        self.at += 1;
        let mut whole = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.at += 1;
                    return unescape(&self.text[start..self.at], "");
                }
                b'\\' => self.skip_escape(),
                _ => self.at += 1,
            }
            if self.at <= self.text.len() {
                whole = self.at;
            }
        }
        self.at = self.text.len();
        unescape(&self.text[start..whole], "\"")
    }

    /// Goes past the escape here; a pair of surrogates is one escape.
    fn skip_escape(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        let high = rest
            .get(2..4)
            .is_some_and(|two| two[0].eq_ignore_ascii_case(&b'd') && b"89abAB".contains(&two[1]));
        self.at += match (rest.get(1), high) {
            (Some(b'u'), true) => 12,
            (Some(b'u'), false) => 6,
            _ => 2,
        };
        while self.at < self.text.len() && !self.text.is_char_boundary(self.at) {
            self.at += 1;
        }
    }

    /// A number or a literal. A word that ends with the text may be unfinished: it counts as far as it goes.
    fn word(&mut self) -> Option<Value> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)) {
            self.at += 1;
        }
        let word = &self.text[start..self.at];
        if word.is_empty() {
            return None;
        }
        for (literal, value) in
            [("true", Value::Bool(true)), ("false", Value::Bool(false)), ("null", Value::Null)]
        {
            if literal.starts_with(word) {
                return Some(value);
            }
        }
        // What an unfinished number lacks is an exponent's digits, or those after the point.
        let least = word.len().saturating_sub(4).max(1);
        (least..=word.len()).rev().find_map(|end| serde_json::from_str(&word[..end]).ok())
    }
}

/// Lets the real parser read the string, so that all escapes mean the same here and there.
fn unescape(quoted: &str, closing: &str) -> Option<String> {
    serde_json::from_str(&format!("{quoted}{closing}")).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_there_is_said() {
        let of = |text: &str| Value::Object(partial_arguments(text));
        assert_eq!(of(""), json!({}));
        assert_eq!(of("{"), json!({}));
        assert_eq!(of(r#"{"pa"#), json!({}));
        assert_eq!(of(r#"{"path": "/ho"#), json!({"path": "/ho"}));
        assert_eq!(of(r#"{"path": "/ho\"#), json!({"path": "/ho"}));
        assert_eq!(of(r#"{"path": "a\u00e"#), json!({"path": "a"}));
        assert_eq!(of(r#"{"path": "a\ud83d\ude0"#), json!({"path": "a"}));
        assert_eq!(of(r#"{"path": "a\ud83d\ude00"#), json!({"path": "a😀"}));
        assert_eq!(of(r#"{"a": [1, {"b": tr"#), json!({"a": [1, {"b": true}]}));
        assert_eq!(of(r#"{"a": 12."#), json!({"a": 12}));
        assert_eq!(of(r#"{"a": -"#), json!({}));
        assert_eq!(of("[1"), json!({}));
    }

    #[test]
    fn bad_final_arguments_are_wrapped() {
        let of = |text: &str| Value::Object(complete_arguments(text));
        assert_eq!(of("  "), json!({}));
        assert_eq!(of("[1]"), json!({"value": [1]}));
        assert_eq!(of("\"x\""), json!({"value": "x"}));
        assert_eq!(of("{\"a\":"), json!({"value": "{\"a\":"}));
        assert_eq!(of("{\"a\":1}"), json!({"a": 1}));
    }

    #[test]
    fn depth_has_an_end() {
        let deep = "[".repeat(100_000);
        assert!(parse(&deep).is_some());
        let deep = format!("{{\"a\":{}", "{\"a\":".repeat(100_000));
        assert!(parse(&deep).is_some());
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..5)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_prefix_parses_to_a_beginning(value in any_json(), pretty in any::<bool>()) {
            let wrapped = json!({"value": value});
            let text = if pretty { serde_json::to_string_pretty(&wrapped) } else { serde_json::to_string(&wrapped) };
            let text = text.expect("a value has a text");
            prop_assert_eq!(parse(&text), Some(serde_json::from_str(&text).expect("its own text")));
            for end in (1..text.len()).filter(|end| text.is_char_boundary(*end)) {
                let part = parse(&text[..end]);
                prop_assert!(matches!(part, Some(Value::Object(_))), "{:?}", &text[..end]);
            }
        }

        #[test]
        fn anything_at_all_is_survived(text in any::<String>()) {
            parse(&text);
            complete_arguments(&text);
        }
    }
}
