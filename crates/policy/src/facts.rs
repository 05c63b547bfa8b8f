//! What is known of a call before it is made.

use protocol::identity::ProcessIdentity;
use serde_json::{Map, Value};

use super::paths::PathContext;
use super::survey::Survey;
use super::tags::Tags;
use super::{calls, shape};

/// The gateway itself, as a target.
const NATIVE: &str = "gsv";

/// What is known of a call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Facts {
    /// `gsv`, or the device; `device` where only that much is known.
    pub(super) target: String,
    /// Whether it runs on the gateway itself.
    is_native: bool,
    pub(super) tags: Tags,
    /// What rememberScope `shape` covers.
    pub(super) shape: Option<String>,
}

impl Facts {
    /// Looks at a call.
    pub(super) fn of(syscall: &str, args: &Map<String, Value>, who: &ProcessIdentity) -> Facts {
        let text = |name: &str| args.get(name).and_then(Value::as_str);
        let is_routed = syscall == "shell.exec" || syscall.starts_with("fs.");
        let is_blank =
            |value: &Value| value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty());
        let is_session = syscall == "shell.exec" && args.get("sessionId").is_some_and(|id| !is_blank(id));
        // Only the gateway's own name is the gateway, exactly as the router reads it.
        let target = match args.get("target").filter(|_| is_routed) {
            Some(Value::String(target)) if !target.is_empty() => target.clone(),
            None | Some(Value::Null | Value::String(_)) if !is_session => NATIVE.to_string(),
            _ => "device".to_string(),
        };
        let is_native = target == NATIVE;
        let paths = PathContext::new(is_native, who, text("cwd").filter(|_| syscall == "shell.exec"));
        let mut facts = Facts { target, is_native, tags: calls::tags(syscall), shape: None };
        if !is_native {
            facts.tags |= Tags::DEVICE;
        }
        match syscall {
            "shell.exec" if is_session => facts.stdin(args.get("input")),
            "shell.exec" => facts.command(text("input"), &paths),
            _ if is_routed => facts.file(syscall, args, &paths),
            _ => facts.shape = shape::of_call(syscall, args),
        }
        facts
    }

    /// `gsv` or `device`.
    pub(super) fn class(&self) -> &'static str {
        if self.is_native { NATIVE } else { "device" }
    }

    /// Text for a program that runs already, and that is not known here. Nothing at all just asks how it stands.
    fn stdin(&mut self, input: Option<&Value>) {
        let is_nothing = match input {
            None | Some(Value::Null) => true,
            Some(Value::String(input)) => input.is_empty(),
            Some(_) => false,
        };
        if !is_nothing {
            self.tags |= Tags::OPAQUE;
        }
    }

    fn command(&mut self, input: Option<&str>, paths: &PathContext) {
        match input {
            Some(input) => {
                let survey = Survey::of(input, paths);
                self.tags |= survey.tags;
                self.shape = survey.shape;
            }
            None => self.tags |= Tags::OPAQUE,
        }
    }

    fn file(&mut self, syscall: &str, args: &Map<String, Value>, paths: &PathContext) {
        let path = match args.get("path") {
            None | Some(Value::Null) => "",
            Some(Value::String(path)) => path,
            // The call will be refused; until then nothing is known of it.
            Some(_) => return self.tags |= Tags::OPAQUE,
        };
        let whole = paths.resolve(path);
        self.tags |= paths.tags(&whole);
        if self.tags.intersects(Tags::MUTATING) {
            self.tags |= paths.writing(&whole);
        }
        self.shape = shape::of_file(syscall, &whole).filter(|_| !paths.is_lost(path));
    }
}
