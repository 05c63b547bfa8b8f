//! Hosts that the sandboxes of commands refused, by command: when the same command is run again, a person is asked whether
//! it may reach them.
//!
//! Kept in memory only, within a bound: what is forgotten is refused, and told to the model, once more.

use std::collections::HashMap;

use base::limits;
use serde_json::{Map, Value};

/// The hosts that commands of a process were kept from.
#[derive(Debug, Default)]
pub(crate) struct RefusedHosts {
    by_command: HashMap<Command, Vec<String>>,
    /// Commands that go on, by the ids of their sessions.
    sessions: HashMap<String, Command>,
}

/// A command by what it says and where it runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Command {
    target: String,
    input: String,
    cwd: String,
}

impl Command {
    fn of(args: &Map<String, Value>) -> Option<Command> {
        let text = |name: &str| args.get(name).and_then(Value::as_str).unwrap_or_default().to_string();
        let (target, input) = (text("target"), text("input"));
        (!input.is_empty()).then(|| Command { target, input, cwd: text("cwd") })
    }
}

impl RefusedHosts {
    /// Those of a command, as far as is known.
    pub(crate) fn of(&self, args: &Map<String, Value>) -> &[String] {
        let command = Command::of(args).filter(|_| session_of(args).is_none());
        command.and_then(|command| self.by_command.get(&command)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Takes in what a `shell.exec` answered.
    pub(crate) fn note(&mut self, args: &Map<String, Value>, answer: &Value) {
        let command = match session_of(args) {
            Some(id) => self.sessions.get(id).cloned(),
            None => Command::of(args),
        };
        let Some(command) = command else { return };
        let hosts = answer["refusedHosts"].as_array().into_iter().flatten();
        let hosts: Vec<String> = hosts.filter_map(|host| host.as_str().map(str::to_string)).collect();
        if !hosts.is_empty() {
            make_room(&mut self.by_command);
            self.by_command.insert(command.clone(), hosts);
        }
        if let Some(id) = answer["sessionId"].as_str().filter(|_| answer["status"] == "running") {
            make_room(&mut self.sessions);
            self.sessions.insert(id.to_string(), command);
        }
    }
}

fn session_of(args: &Map<String, Value>) -> Option<&str> {
    args.get("sessionId").and_then(Value::as_str).map(str::trim).filter(|id| !id.is_empty())
}

fn make_room<K, V>(map: &mut HashMap<K, V>) {
    if map.len() >= limits::process::REFUSED_COMMANDS_MAX {
        map.clear();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn args(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn the_same_command_is_known_by_what_it_was_kept_from() {
        let mut refused = RefusedHosts::default();
        let install = args(json!({ "input": "npm i", "target": "mac" }));
        refused.note(&install, &json!({ "status": "failed", "refusedHosts": ["registry.npmjs.org"] }));
        assert_eq!(refused.of(&install), ["registry.npmjs.org"]);
        assert!(refused.of(&args(json!({ "input": "npm i", "target": "pi" }))).is_empty());
        assert!(refused.of(&args(json!({ "input": "npm i x", "target": "mac" }))).is_empty());
    }

    #[test]
    fn a_command_that_goes_on_is_found_by_its_session() {
        let mut refused = RefusedHosts::default();
        let build = args(json!({ "input": "make", "target": "mac" }));
        refused.note(&build, &json!({ "status": "running", "sessionId": "sh_1" }));
        let poll = args(json!({ "input": "", "sessionId": "sh_1" }));
        refused.note(&poll, &json!({ "status": "completed", "refusedHosts": ["a.example"] }));
        assert_eq!(refused.of(&build), ["a.example"]);
        assert!(refused.of(&poll).is_empty());
    }

    #[test]
    fn what_is_too_much_is_forgotten() {
        let mut refused = RefusedHosts::default();
        for number in 0..=limits::process::REFUSED_COMMANDS_MAX {
            let command = args(json!({ "input": number.to_string() }));
            refused.note(&command, &json!({ "refusedHosts": ["a.example"] }));
        }
        assert!(refused.of(&args(json!({ "input": "0" }))).is_empty());
        assert!(refused.by_command.len() <= limits::process::REFUSED_COMMANDS_MAX);
    }
}
