//! Summaries of tool calls and their results in a few lines: the target, the action, the outcome.

use serde_json::{Map, Value};
use terminal::escape;
use terminal::exact;
use terminal::layout::{self, RED, Style};

use crate::diff;
use crate::look::Look;

/// Lines of a result that are shown.
const RESULT_LINES_MAX: usize = 6;
/// Characters of an argument that are shown in a line.
const ARGUMENT_CHARS_MAX: usize = 80;
/// What stands before the lines that belong to a call.
pub const INDENT: &str = "  ";

/// What a tool is called with.
pub type Args = Map<String, Value>;

/// Where a call runs; `None` for calls that run nowhere in particular.
pub fn target<'a>(syscall: &str, args: &'a Args) -> Option<&'a str> {
    let routed = syscall.starts_with("fs.") || syscall.starts_with("shell.");
    match args.get("target").and_then(Value::as_str) {
        Some(target) if !target.is_empty() => Some(target),
        _ => routed.then_some("gsv"),
    }
}

/// What a call does, on one line: `ls -l`, `/etc/hosts`, `"text" in src`.
pub fn summary(syscall: &str, args: &Args) -> String {
    let text = |name: &str| args.get(name).and_then(Value::as_str);
    let path = text("path").unwrap_or_default();
    let plain = match syscall {
        "shell.exec" => match (text("input"), text("sessionId"), text("signal")) {
            (_, Some(session), Some(signal)) => format!("{signal} to session {session}"),
            (Some(""), Some(session), _) => format!("output of session {session}"),
            (Some(input), Some(session), _) => format!("{input} (session {session})"),
            (Some(input), None, _) => input.to_string(),
            (None, _, _) => others(args, &[]),
        },
        "fs.read" => {
            match (args.get("offset").and_then(Value::as_u64), args.get("limit").and_then(Value::as_u64)) {
                (None, None) => path.to_string(),
                (offset, limit) => {
                    let from = offset.unwrap_or(0) + 1;
                    let to = limit.map_or_else(String::new, |limit| (from + limit - 1).to_string());
                    format!("{path} (lines {from}-{to})")
                }
            }
        }
        "fs.write" => {
            let content = text("content").unwrap_or_default();
            format!("{path} ({})", count(content.lines().count(), "line"))
        }
        "fs.edit" => match args.get("replaceAll").and_then(Value::as_bool) {
            Some(true) => format!("{path} (every place)"),
            _ => path.to_string(),
        },
        "fs.delete" => path.to_string(),
        "fs.search" => {
            let query = text("query").unwrap_or_default();
            let include = text("include").map(|include| format!(" ({include})")).unwrap_or_default();
            format!("{query:?} in {}{include}", text("path").unwrap_or("."))
        }
        _ => others(args, &["target"]),
    };
    exact::line(plain.trim_end_matches('\n'))
}

/// The line a call begins with.
pub fn heading(name: &str, syscall: &str, args: &Args, look: Look) -> String {
    let name = escape::line(if name.is_empty() { syscall } else { name });
    let title = match target(syscall, args) {
        Some(target) => format!("{name} on {}", escape::line(target)),
        None => name,
    };
    let summary = look.cut(&summary(syscall, args), layout::width(&title) + 4);
    format!("● {}  {}", look.paint(Style::BOLD, &title), look.paint(Style::DIM, &summary))
        .trim_end()
        .to_string()
}

/// What an edit changes or a file gets, as a comparison; empty for other calls.
pub fn changes(syscall: &str, args: &Args, look: Look) -> String {
    let text = |name: &str| args.get(name).and_then(Value::as_str).unwrap_or_default();
    match syscall {
        "fs.edit" => diff::render(text("oldString"), text("newString"), INDENT, look),
        "fs.write" => diff::render("", text("content"), INDENT, look),
        _ => String::new(),
    }
}

/// What came of a call: its first lines, or why it failed.
pub fn result(ok: bool, output: Option<&Value>, error: Option<&str>, look: Look) -> String {
    if !ok {
        let error = error.map(str::to_string).or_else(|| output.map(as_text)).unwrap_or_default();
        let error = if error.is_empty() { "failed".to_string() } else { error };
        // A command that failed is told with its output, as JSON.
        if let Ok(Value::Object(object)) = serde_json::from_str(&error) {
            return lines(&told(&object), Style::colour(RED), look);
        }
        let error = first_lines(error.trim_start_matches("Error: "));
        return lines(&format!("✗ {error}"), Style::colour(RED), look);
    }
    let output = output.cloned().unwrap_or(Value::Null);
    match object(&output) {
        Some(object) => lines(&told(&object), Style::DIM, look),
        None => lines(&first_lines(&as_text(&output)), Style::DIM, look),
    }
}

/// How a call ended, in a word or two: `ok`, `exit 1`, or why it failed.
pub fn ending(ok: bool, output: Option<&Value>, error: Option<&str>) -> String {
    let failed = || error.unwrap_or("failed").to_string();
    // A command that failed is told with its output, as JSON, where a reason would stand.
    let result = if ok { output.and_then(object) } else { error.and_then(|error| object(&error.into())) };
    let Some(result) = result else { return if ok { "ok".to_string() } else { failed() } };
    let text = |name: &str| result.get(name).and_then(Value::as_str);
    match (text("status"), result.get("exitCode").and_then(Value::as_i64)) {
        (Some("running"), _) => "still running".to_string(),
        (Some(_), Some(code)) if code != 0 => format!("exit {code}"),
        (Some("failed"), _) => text("error").unwrap_or("failed").to_string(),
        _ if ok => "ok".to_string(),
        _ => failed(),
    }
}

/// A result that is an object. Results reach the model as text, and history as the same text; it is JSON then.
fn object(output: &Value) -> Option<Map<String, Value>> {
    match output {
        Value::Object(object) => Some(object.clone()),
        Value::String(text) if text.starts_with('{') => serde_json::from_str(text).ok(),
        _ => None,
    }
}

/// A call's result in words.
fn told(result: &Map<String, Value>) -> String {
    let text = |name: &str| result.get(name).and_then(Value::as_str);
    let number = |name: &str| result.get(name).and_then(Value::as_u64);
    let many = |name: &str| result.get(name).and_then(Value::as_array).map_or(0, Vec::len);
    if let (Some(output), Some(status)) = (text("output"), text("status")) {
        let code = result.get("exitCode").and_then(Value::as_i64);
        let end = match (status, code) {
            ("running", _) => "(still running)".to_string(),
            (_, Some(code)) => format!("(exit code {code})"),
            (_, None) => text("error").map_or_else(|| format!("({status})"), |error| format!("({error})")),
        };
        return format!("{}\n{end}", first_lines(output.trim_end_matches(['\n', '\r'])))
            .trim_start()
            .to_string();
    }
    if let (Some(files), Some(directories)) = (result.get("files"), result.get("directories")) {
        let names = |list: &Value| list.as_array().map_or(0, Vec::len);
        return format!(
            "{}, {}",
            count(names(files), "file"),
            plural(names(directories), "directory", "directories")
        );
    }
    if result.contains_key("matches") {
        let found =
            number("count").map_or(many("matches"), |count| usize::try_from(count).unwrap_or(usize::MAX));
        return plural(found, "match", "matches");
    }
    if let Some(replacements) = number("replacements") {
        return count(usize::try_from(replacements).unwrap_or(usize::MAX), "replacement");
    }
    if result.contains_key("content")
        && let Some(size) = number("size")
    {
        return match number("lines") {
            Some(lines) => {
                format!("{}, {size} bytes", count(usize::try_from(lines).unwrap_or(usize::MAX), "line"))
            }
            None => format!("{size} bytes"),
        };
    }
    if let (Some(size), Some(_)) = (number("size"), text("path")) {
        return format!("{size} bytes written");
    }
    if result.keys().all(|name| name == "ok" || name == "path") {
        return "done".to_string();
    }
    escape::line(&others(result, &["ok"]))
}

fn as_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The beginning of a text, and how much more there is.
fn first_lines(text: &str) -> String {
    let all: Vec<&str> = text.lines().collect();
    if all.len() <= RESULT_LINES_MAX {
        return text.to_string();
    }
    let kept = all[..RESULT_LINES_MAX - 1].join("\n");
    format!("{kept}\n… {}", count(all.len() - (RESULT_LINES_MAX - 1), "more line"))
}

fn lines(text: &str, style: Style, look: Look) -> String {
    let mut out = String::new();
    for line in text.lines() {
        // Where a line was written over, its last version is what a terminal would show.
        let line = line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default();
        let line = escape::line(&line.replace('\t', "    "));
        out.push_str(&format!("{INDENT}{}\n", look.paint(style, &look.cut(&line, INDENT.len()))));
    }
    out
}

/// Arguments without a form of their own: `name=value`, the long ones cut.
fn others(args: &Map<String, Value>, without: &[&str]) -> String {
    let listed = args.iter().filter(|(name, _)| !without.contains(&name.as_str()));
    let parts: Vec<String> = listed
        .map(|(name, value)| {
            let value = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            format!("{name}={}", layout::cut(&value, ARGUMENT_CHARS_MAX))
        })
        .collect();
    parts.join(" ")
}

/// `1 line`, `2 lines`.
pub fn count(number: usize, what: &str) -> String {
    plural(number, what, &format!("{what}s"))
}

fn plural(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PLAIN: Look = Look { colour: false, columns: None };

    fn args(value: Value) -> Args {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn every_tool_says_what_it_does_and_where() {
        let line = |name: &str, syscall: &str, value: Value| heading(name, syscall, &args(value), PLAIN);
        assert_eq!(
            line("Shell", "shell.exec", json!({"input":"ls -l\npwd","target":"desk"})),
            "● Shell on desk  ls -l⏎pwd"
        );
        assert_eq!(line("Read", "fs.read", json!({"path":"/a"})), "● Read on gsv  /a");
        assert_eq!(
            line("Read", "fs.read", json!({"path":"/a","offset":9,"limit":5})),
            "● Read on gsv  /a (lines 10-14)"
        );
        assert_eq!(
            line("Write", "fs.write", json!({"path":"a","content":"x\ny\n"})),
            "● Write on gsv  a (2 lines)"
        );
        assert_eq!(
            line("Edit", "fs.edit", json!({"path":"a","replaceAll":true})),
            "● Edit on gsv  a (every place)"
        );
        assert_eq!(
            line("Search", "fs.search", json!({"query":"x","path":"src"})),
            "● Search on gsv  \"x\" in src"
        );
        assert_eq!(
            line("", "sys.mcp.call", json!({"tool":"t","arguments":{"a":1}})),
            "● sys.mcp.call  arguments={\"a\":1} tool=t"
        );
    }

    #[test]
    fn lines_fit_the_terminal() {
        let look = Look { colour: false, columns: Some(40) };
        let long = args(json!({ "input": "日".repeat(100), "target": "desk" }));
        assert!(layout::width(&heading("Shell", "shell.exec", &long, look)) <= 40);
        for line in result(true, Some(&json!("x".repeat(200))), None, look).lines() {
            assert!(layout::width(line) <= 40);
        }
    }

    #[test]
    fn results_are_short() {
        let shell = |output: &str, code: i64| {
            let value = json!({ "ok": true, "status": "completed", "output": output, "exitCode": code });
            (
                result(true, Some(&value), None, PLAIN),
                result(true, Some(&json!(value.to_string())), None, PLAIN),
            )
        };
        let (object, text) = shell("a\nb\n", 0);
        assert_eq!(object, "  a\n  b\n  (exit code 0)\n");
        assert_eq!(text, object);
        assert_eq!(shell("", 1).0, "  (exit code 1)\n");
        let many: String = (0..100).map(|i| format!("{i}\n")).collect();
        assert!(shell(&many, 3).0.ends_with("  (exit code 3)\n"), "{}", shell(&many, 3).0);
        assert_eq!(
            result(true, Some(&json!({"ok":true,"content":"…","path":"a","lines":3,"size":9})), None, PLAIN),
            "  3 lines, 9 bytes\n"
        );
        assert_eq!(result(true, Some(&json!({"ok":true,"path":"a"})), None, PLAIN), "  done\n");
        assert_eq!(
            result(true, Some(&json!({"ok":true,"matches":[],"count":1})), None, PLAIN),
            "  1 match\n"
        );
        assert_eq!(result(false, None, Some("Error: no such file"), PLAIN), "  ✗ no such file\n");
        let failed = json!({ "ok": false, "status": "failed", "output": "bad\n", "exitCode": 2 }).to_string();
        assert_eq!(result(false, None, Some(&failed), PLAIN), "  bad\n  (exit code 2)\n");
        assert_eq!(result(true, Some(&json!("10%\r50%\r100%\r\n")), None, PLAIN), "  100%\n");
    }

    #[test]
    fn an_ending_is_ok_only_when_the_command_was() {
        let shell = |status: &str, code: Option<i64>| {
            let result =
                json!({ "status": status, "output": "x", "exitCode": code, "error": "ended by SIGKILL" });
            let text = json!(result.to_string());
            (ending(true, Some(&result), None), ending(true, Some(&text), None))
        };
        let both = |text: &str| (text.to_string(), text.to_string());
        assert_eq!(shell("completed", Some(0)), both("ok"));
        assert_eq!(shell("failed", Some(1)), both("exit 1"));
        assert_eq!(shell("failed", None), both("ended by SIGKILL"));
        assert_eq!(shell("running", None), both("still running"));
        assert_eq!(ending(true, Some(&json!({ "ok": true, "path": "a" })), None), "ok");
        assert_eq!(ending(true, Some(&json!("{not json")), None), "ok");
        assert_eq!(ending(false, None, Some("Not found: /x")), "Not found: /x");
        let failed = json!({ "ok": false, "status": "failed", "output": "", "exitCode": 2 }).to_string();
        assert_eq!(ending(false, None, Some(&failed)), "exit 2");
        assert_eq!(ending(false, None, None), "failed");
    }

    #[test]
    fn edits_are_comparisons() {
        let edit = args(json!({ "path": "a", "oldString": "x\n", "newString": "y\n" }));
        assert_eq!(changes("fs.edit", &edit, PLAIN), "  - x\n  + y\n");
        assert_eq!(changes("fs.write", &args(json!({ "content": "n\n" })), PLAIN), "  + n\n");
    }

    #[test]
    fn tools_cannot_steer_the_terminal() {
        let shown = [
            result(true, Some(&json!("\u{1b}]0;x\u{7}a\u{9b}b")), None, PLAIN),
            result(false, None, Some("\u{1b}[2J"), PLAIN),
            heading("\u{1b}c", "x\u{1b}", &args(json!({ "a\u{1b}": "\u{1b}[1m" })), PLAIN),
        ];
        for text in shown {
            assert!(!text.trim_end_matches('\n').chars().any(char::is_control), "{text:?}");
        }
    }
}
