//! `gsv` and the other commands of this system: they are judged by the calls they make.

use crate::programs::Word;
use serde_json::{Map, Value};

use super::super::Surveyor;
use crate::calls;
use crate::tags::Tags;

const DESTROY: Tags = Tags::DESTRUCTIVE.and(Tags::MUTATING);
const RULE: Tags = Tags::PRIVILEGED.and(Tags::MUTATING);

/// Options of `gsv` itself that take a value.
const VALUED: &[&str] = &["--url", "-u", "--user", "-p", "--password", "-t", "--token"];

impl Surveyor<'_> {
    /// `gsv …`, or one of its commands by itself.
    pub(super) fn gateway(&mut self, base: &str, args: &[Word]) {
        self.verbatim(base, args);
        if base != "gsv" {
            return self.command_of(base, args);
        }
        let mut at = 0;
        while let Some(word) = args.get(at) {
            let Some(text) = word.text.as_deref() else { return self.opaque() };
            if !text.starts_with('-') {
                return self.command_of(text, &args[at + 1..]);
            }
            match text {
                _ if VALUED.contains(&text) => at += 2,
                "--json" | "--help" | "-h" | "--version" | "-V" => at += 1,
                _ if text.starts_with("--") && text.contains('=') => at += 1,
                _ => return self.opaque(),
            }
        }
    }

    fn command_of(&mut self, name: &str, args: &[Word]) {
        let first = args.first().map(|word| word.text.as_deref().unwrap_or("?")).unwrap_or_default();
        match (name, first) {
            ("call", _) => self.call(args),
            ("run" | "exec", _) => self.elsewhere(args),
            // What a script calls is not looked at.
            ("codemode", _) => self.opaque(),
            (
                "shell" | "serve" | "setup" | "login" | "logout" | "auth" | "backup" | "restore" | "service",
                _,
            ) => {
                self.tags |= RULE;
            }
            ("cp", _) => {
                self.tags |= Tags::MUTATING;
                for word in args {
                    // `TARGET:/path`
                    let path = word.start.split_once(':').map_or(word.start.as_str(), |(_, path)| path);
                    self.written(path);
                }
            }
            ("chat", _) => self.tags |= Tags::MUTATING,
            (
                _,
                "" | "list" | "rules" | "ls" | "get" | "show" | "status" | "history" | "--help" | "-h"
                | "help" | "search",
            ) => {}
            ("mcp", "tools" | "describe" | "codemode") => {}
            // What was approved once may be another tool the next time.
            ("mcp", "call") => {
                self.tags |= calls::tags(calls::MCP_CALL);
                self.opaque();
            }
            (
                "config" | "users" | "user" | "groups" | "token" | "tokens" | "device" | "devices"
                | "approvals" | "mcp" | "adapter" | "link" | "oauth",
                _,
            ) => self.tags |= RULE,
            (_, "kill" | "reset" | "abort" | "remove" | "rm" | "delete" | "compact" | "close") => {
                self.tags |= DESTROY
            }
            ("pkg", _) => self.tags |= RULE,
            (_, "?") => self.opaque(),
            ("man" | "ps" | "targets" | "skills" | "calls" | "help" | "version" | "cost" | "notify", _) => {}
            _ => self.tags |= Tags::MUTATING,
        }
    }

    /// The `git` of the gateway's own shell, which runs no programs and reaches nobody: whether it is a command it has.
    /// The others it refuses; they are judged as those of the program.
    pub(super) fn native_git(&mut self, args: &[Word]) -> bool {
        let (mut at, mut moves) = (0, false);
        let name = loop {
            let Some(text) = args.get(at).and_then(|word| word.text.as_deref()) else { return false };
            at += 1;
            match text {
                "-C" => (at, moves) = (at + 1, true),
                "--no-pager" | "-P" => {}
                _ if text.starts_with('-') => return false,
                name => break name,
            }
        };
        match name {
            "add" | "stage" | "commit" => self.tags |= Tags::MUTATING,
            "clone" => {
                let args = &args[at..];
                // Addresses of others are refused here.
                if args.iter().any(|word| word.start.contains(':')) {
                    return false;
                }
                // Files are written to a place that is not known.
                if moves || args.iter().any(|word| word.text.is_none()) {
                    self.opaque();
                }
                self.tags |= Tags::MUTATING;
                self.written_by(args);
            }
            _ => return false,
        }
        true
    }

    /// `gsv call NAME --flag value …`
    fn call(&mut self, args: &[Word]) {
        let Some((name, rest)) = args.split_first() else { return };
        let Some(name) = name.text.as_deref() else { return self.opaque() };
        if rest.iter().any(|word| word.text.as_deref() == Some("--help")) {
            return;
        }
        self.tags |= calls::tags(name);
        let Some(given) = given(rest) else {
            // Arguments that are not known: they matter for whatever may change something.
            if name == "shell.exec" || self.tags.intersects(Tags::MUTATING) {
                self.opaque();
            }
            return;
        };
        let text = |name: &str| given.get(name).and_then(Value::as_str);
        if text("target").is_some_and(|target| !target.is_empty() && target != "gsv") {
            self.tags |= Tags::DEVICE;
        }
        if let Some(path) = text("path").filter(|_| self.tags.intersects(Tags::MUTATING)) {
            self.written(path);
        }
        if name == "shell.exec" {
            match text("input") {
                Some(script) if !given.contains_key("sessionId") => self.script(script),
                _ => self.opaque(),
            }
        }
    }

    /// `gsv run --target DEVICE -- WORDS`: one word is shell text, several are a program.
    fn elsewhere(&mut self, args: &[Word]) {
        self.tags |= Tags::DEVICE;
        let Some(at) = args.iter().position(|word| word.text.as_deref() == Some("--")) else {
            self.opaque();
            return self.unknown("gsv", args);
        };
        match &args[at + 1..] {
            [script] => match script.text.as_deref() {
                Some(script) => self.script(script),
                None => self.opaque(),
            },
            words => self.run(words, None),
        }
    }
}

/// The arguments of a call as flags give them; `None` when they are not all known.
fn given(words: &[Word]) -> Option<Map<String, Value>> {
    let mut given = Map::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let flag = word.text.as_deref()?.strip_prefix("--")?;
        let (name, value) = match flag.split_once('=') {
            Some((name, value)) => (name, value.to_string()),
            None => {
                at += 1;
                (flag, words.get(at)?.text.clone()?)
            }
        };
        at += 1;
        if name == "args" {
            match serde_json::from_str(&value) {
                Ok(Value::Object(members)) => given.extend(members),
                _ => return None,
            }
        } else {
            given.insert(camel(name), Value::String(value));
        }
    }
    Some(given)
}

/// `session-id` is `sessionId`.
fn camel(flag: &str) -> String {
    let mut parts = flag.split('-');
    let mut name = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let mut characters = part.chars();
        name.extend(characters.next().map(|character| character.to_ascii_uppercase()));
        name.push_str(characters.as_str());
    }
    name
}
