//! Pattern matcher of the demo: one plain request becomes one tool call.

use serde_json::{Value, json};

/// What to do about a request.
#[derive(Debug, PartialEq)]
pub(super) enum Action {
    Call {
        tool: &'static str,
        arguments: Value,
        intro: String,
    },
    /// Say what the demo is.
    Explain,
}

/// What the demo is, and how to get a model.
pub(super) const EXPLANATION: &str = "\
This is the built-in demo, not an AI: no model is configured yet. It understands a few plain requests:

- `read PATH [on DEVICE]`
- `list PATH [on DEVICE]`
- `search TEXT [in PATH] [on DEVICE]`
- `write TEXT to PATH [on DEVICE]`
- `run COMMAND on DEVICE`
- `delete PATH [on DEVICE]`

Without a device, they are for the files and the shell of `gsv` itself.

To use a real model, choose a provider and give it a key:

```
gsv config set config/ai/provider anthropic
gsv config set config/ai/model claude-sonnet-4-6
gsv config set config/ai/api_key YOUR_KEY
```

Only root may set these, for everybody; with `users/UID/ai/` in place of `config/ai/` they are yours alone. \
Providers are `anthropic`, `openai`, `openai-chat` (any compatible server, with `config/ai/base_url`), `gemini`, `openrouter` \
and `ollama`. Or start the gateway with `ANTHROPIC_API_KEY`, `OPENAI_API_KEY`, `GEMINI_API_KEY` or \
`OPENROUTER_API_KEY` in its environment, or with Ollama running beside it.
";

/// Reads the last line of a request that says something.
pub(super) fn interpret(request: &str) -> Action {
    let line = request.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
    let line = strip_word(line, "please").unwrap_or(line);
    let Some((verb, rest)) = line.split_once(char::is_whitespace) else {
        return if line.eq_ignore_ascii_case("list") { list("") } else { Action::Explain };
    };
    let rest = rest.trim();
    match verb.to_ascii_lowercase().as_str() {
        "read" | "show" | "cat" => on_file("Read", "read", rest),
        "list" | "ls" => list(rest),
        "delete" | "remove" => on_file("Delete", "delete", rest),
        "run" => run(rest),
        "search" | "find" => search(rest),
        "write" => write(rest),
        _ => Action::Explain,
    }
}

fn on_file(tool: &'static str, verb: &str, rest: &str) -> Action {
    let (path, target) = on_device(rest);
    let path = unquote(path);
    if path.is_empty() {
        return Action::Explain;
    }
    let intro = format!("I will {verb} `{path}` on `{target}`.");
    Action::Call { tool, arguments: json!({ "path": path, "target": target }), intro }
}

fn list(rest: &str) -> Action {
    let (path, target) = on_device(rest);
    let path = if path.is_empty() { "." } else { unquote(path) };
    let intro = format!("I will list `{path}` on `{target}`.");
    Action::Call { tool: "Read", arguments: json!({ "path": path, "target": target }), intro }
}

fn run(rest: &str) -> Action {
    let (command, target) = on_device(rest);
    let command = unquote(command);
    if command.is_empty() {
        return Action::Explain;
    }
    let intro = format!("I will run `{command}` on `{target}`.");
    Action::Call { tool: "Shell", arguments: json!({ "input": command, "target": target }), intro }
}

fn search(rest: &str) -> Action {
    let (rest, target) = on_device(rest);
    let rest = strip_word(rest, "for").unwrap_or(rest);
    let (query, path) = match rest.rsplit_once(" in ") {
        Some((query, path)) => (query, unquote(path.trim())),
        None => (rest, "."),
    };
    let query = unquote(query.trim());
    if query.is_empty() {
        return Action::Explain;
    }
    let intro = format!("I will search for `{query}` in `{path}` on `{target}`.");
    Action::Call {
        tool: "Search",
        arguments: json!({ "query": query, "path": path, "target": target }),
        intro,
    }
}

fn write(rest: &str) -> Action {
    let (rest, target) = on_device(rest);
    let Some((content, path)) = rest.rsplit_once(" to ") else { return Action::Explain };
    let (content, path) = (unquote(content.trim()), unquote(path.trim()));
    if path.is_empty() {
        return Action::Explain;
    }
    let intro = format!("I will write {} characters to `{path}` on `{target}`.", content.chars().count());
    let arguments = json!({ "path": path, "content": format!("{content}\n"), "target": target });
    Action::Call { tool: "Write", arguments, intro }
}

/// `text` without `word` before it.
fn strip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let (first, rest) = text.split_once(char::is_whitespace)?;
    first.eq_ignore_ascii_case(word).then(|| rest.trim_start())
}

/// Takes `on DEVICE` off the end; without it the target is `gsv`.
fn on_device(text: &str) -> (&str, &str) {
    let named = text.rsplit_once(char::is_whitespace).and_then(|(head, device)| {
        let (rest, on) = head.trim_end().rsplit_once(char::is_whitespace).unwrap_or(("", head.trim_end()));
        let name = device.chars().all(|c| c.is_alphanumeric() || "._-".contains(c));
        (on.eq_ignore_ascii_case("on") && name).then_some((rest.trim_end(), device))
    });
    named.unwrap_or((text, "gsv"))
}

fn unquote(text: &str) -> &str {
    for quote in ['`', '"', '\''] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return inner;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(request: &str) -> (&'static str, Value) {
        match interpret(request) {
            Action::Call { tool, arguments, .. } => (tool, arguments),
            Action::Explain => ("", Value::Null),
        }
    }

    #[test]
    fn plain_requests_become_calls() {
        assert_eq!(call("read /etc/motd"), ("Read", json!({"path": "/etc/motd", "target": "gsv"})));
        assert_eq!(
            call("Please read a b.txt on laptop"),
            ("Read", json!({"path": "a b.txt", "target": "laptop"}))
        );
        assert_eq!(call("list"), ("Read", json!({"path": ".", "target": "gsv"})));
        assert_eq!(call("list /tmp on laptop"), ("Read", json!({"path": "/tmp", "target": "laptop"})));
        assert_eq!(call("list on laptop"), ("Read", json!({"path": ".", "target": "laptop"})));
        assert_eq!(
            call("run `uname -a` on my-pc.1"),
            ("Shell", json!({"input": "uname -a", "target": "my-pc.1"}))
        );
        assert_eq!(call("run date"), ("Shell", json!({"input": "date", "target": "gsv"})));
        assert_eq!(call("delete 'x y' on pc"), ("Delete", json!({"path": "x y", "target": "pc"})));
        assert_eq!(
            call("search for needle in src on pc"),
            ("Search", json!({"query": "needle", "path": "src", "target": "pc"}))
        );
        assert_eq!(
            call("write hello world to /tmp/a on pc"),
            ("Write", json!({"path": "/tmp/a", "content": "hello world\n", "target": "pc"}))
        );
        assert_eq!(call("[From: cli]\nread x\n"), ("Read", json!({"path": "x", "target": "gsv"})));
    }

    #[test]
    fn anything_else_is_explained() {
        for request in ["", "hello", "what is the weather?", "run", "write nothing", "delete", "on laptop"] {
            assert_eq!(interpret(request), Action::Explain, "{request}");
        }
    }
}
