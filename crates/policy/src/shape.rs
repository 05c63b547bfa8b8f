//! Shapes: what a remembered approval covers besides the very call. Two calls of one shape do the same kind of thing
//! in the same place. And the digest, which binds an approval to one call alone.

use base::limits;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::paths;

/// The shape of a script while it is made: a line for each program.
#[derive(Debug)]
pub(super) struct Shape {
    /// `None` once something has no shape.
    lines: Option<Vec<String>>,
}

impl Shape {
    /// The shape of what runs in a directory.
    pub(super) fn new(cwd: &str) -> Shape {
        Shape { lines: Some(vec![format!("in {}", quote(cwd))]) }
    }

    /// A program with its words.
    pub(super) fn add<'a>(&mut self, words: impl IntoIterator<Item = &'a str>) {
        if let Some(lines) = &mut self.lines {
            lines.push(words.into_iter().map(quote).collect::<Vec<_>>().join(" "));
        }
    }

    /// Something has no shape.
    pub(super) fn lose(&mut self) {
        self.lines = None;
    }

    /// The whole, if it is short enough to be shown to a person.
    pub(super) fn finish(self) -> Option<String> {
        let whole = self.lines.filter(|lines| lines.len() > 1)?.join("; ");
        (whole.len() <= limits::approval::SHAPE_MAX_BYTES).then_some(whole)
    }
}

/// The shape of a call about a file: any file in that directory.
pub(super) fn of_file(syscall: &str, path: &str) -> Option<String> {
    let directory = paths::directory(path);
    // Deleting takes what is below along, and a hidden file is not like its neighbours.
    let is_single = syscall == "fs.delete" || directory == "/" || path == "~" || is_hidden(path);
    let place = if is_single { path.to_string() } else { format!("{directory}/*") };
    let shape = format!("{syscall} {}", quote(&place));
    (shape.len() <= limits::approval::SHAPE_MAX_BYTES).then_some(shape)
}

/// Whether the last name begins with a dot.
pub(super) fn is_hidden(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.starts_with('.'))
}

/// The shape of any other call: all its arguments as they are.
pub(super) fn of_call(syscall: &str, args: &Map<String, Value>) -> Option<String> {
    let mut shape = format!("{syscall} ");
    canonical(&Value::Object(args.clone()), &mut shape);
    (shape.len() <= limits::approval::SHAPE_MAX_BYTES).then_some(shape)
}

/// A word as it can stand among others without being taken for two.
pub(super) fn quote(word: &str) -> String {
    let is_plain =
        |character: char| character.is_alphanumeric() || "_./~*?=:@%+,-…{}[]^#<>|".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n"))
}

/// SHA-256 in hex, of target, call, arguments and working directory. Each has its length before it, so that no two
/// different calls are the same text.
pub(super) fn digest(target: &str, syscall: &str, args: &Map<String, Value>, cwd: &str) -> String {
    let mut text = String::new();
    canonical(&Value::Object(args.clone()), &mut text);
    let mut sha = Sha256::new();
    for part in [target, syscall, &text, cwd] {
        sha.update((part.len() as u64).to_be_bytes());
        sha.update(part.as_bytes());
    }
    sha.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// JSON with its members in order and no blanks.
fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => {
            let mut names: Vec<&String> = members.keys().collect();
            names.sort();
            out.push('{');
            for (at, name) in names.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                out.push_str(&Value::String(name.clone()).to_string());
                out.push(':');
                canonical(&members[name], out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                canonical(item, out);
            }
            out.push(']');
        }
        plain => out.push_str(&plain.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn args(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn the_digest_is_of_the_call_alone() {
        let one = args(json!({ "a": 1, "b": { "x": [1, 2], "y": "z" } }));
        let same: Map<String, Value> =
            serde_json::from_str(r#"{ "b": {"y":"z","x":[1,2]}, "a": 1 }"#).expect("JSON");
        let first = digest("gsv", "fs.read", &one, "/home/a");
        assert_eq!(first.len(), 64);
        assert_eq!(first, digest("gsv", "fs.read", &same, "/home/a"));
        let others = [
            digest("gsvf", "s.read", &one, "/home/a"),
            digest("gsv", "fs.read", &one, "/home/b"),
            digest("mac", "fs.read", &one, "/home/a"),
            digest("gsv", "fs.read", &args(json!({ "a": "1", "b": { "x": [1, 2], "y": "z" } })), "/home/a"),
            digest("gsv", "fs.read", &args(json!({ "a": 1, "b": { "x": [2, 1], "y": "z" } })), "/home/a"),
            digest("gsv", "fs.read", &args(json!({ "a": 1, "b": { "x": [1, 2] }, "y": "z" })), "/home/a"),
        ];
        for (at, other) in others.iter().enumerate() {
            assert_ne!(&first, other, "{at}");
            assert_eq!(others.iter().filter(|known| *known == other).count(), 1, "{at}");
        }
    }

    #[test]
    fn words_do_not_run_together() {
        let shape = |lines: &[&[&str]]| {
            let mut shape = Shape::new("/");
            lines.iter().for_each(|line| shape.add(line.iter().copied()));
            shape.finish()
        };
        assert_eq!(shape(&[&["a", "b c"]]).as_deref(), Some("in /; a 'b c'"));
        let all = [
            shape(&[&["a", "b"], &["c"]]),
            shape(&[&["a", "b; c"]]),
            shape(&[&["a", "'b'; 'c'"]]),
            shape(&[&["a", "b", ";", "c"]]),
            shape(&[&["a", "", "b"], &["c"]]),
            shape(&[&["a", "\\n"]]),
            shape(&[&["a", "\n"]]),
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(all.iter().skip(at + 1).all(|other| other != one), "{one:?}");
        }
        assert_eq!(shape(&[]), None);
    }
}
