//! Static analysis of one call before it is made: its target, its tags, the path it is about and what its command would do.

use protocol::identity::ProcessIdentity;
use serde_json::{Map, Value};

use super::findings::Findings;
use super::paths::PathContext;
use super::survey::Survey;
use super::tags::Tags;
use super::target::Target;
use super::{calls, shape};

/// The gateway itself, as a target.
const NATIVE: &str = "gsv";

/// What can be said of a call from its arguments alone.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CallAnalysis {
    /// `gsv`, or the device; `device` where only that much is known.
    pub(super) target: String,
    /// Whether it runs on the gateway itself.
    is_native: bool,
    pub(super) tags: Tags,
    /// What rememberScope `shape` covers.
    pub(super) shape: Option<String>,
    /// What a command was found to do.
    pub(super) findings: Findings,
    /// Whether it goes on with a command that runs already.
    pub(super) is_session: bool,
    /// The whole path of a call about a file.
    pub(super) path: Option<String>,
    /// Whether that path leads above a home that is not known.
    pub(super) is_lost: bool,
}

impl CallAnalysis {
    /// The target that arguments name, exactly as the router reads it: only the gateway's own name is the gateway.
    pub(super) fn target(syscall: &str, args: &Map<String, Value>) -> String {
        let named = args.get("target").filter(|_| is_routed(syscall));
        match named {
            Some(Value::String(target)) if !target.is_empty() => target.clone(),
            None | Some(Value::Null | Value::String(_)) if !is_session(syscall, args) => NATIVE.to_string(),
            _ => "device".to_string(),
        }
    }

    /// Where the paths of a call start.
    pub(super) fn paths(
        syscall: &str,
        args: &Map<String, Value>,
        who: &ProcessIdentity,
        target: &Target,
    ) -> PathContext {
        let cwd = args.get("cwd").and_then(Value::as_str).filter(|_| syscall == "shell.exec");
        PathContext::new(CallAnalysis::target(syscall, args) == NATIVE, who, target, cwd)
    }

    /// Looks at a call.
    pub(super) fn of(syscall: &str, args: &Map<String, Value>, paths: &PathContext) -> CallAnalysis {
        let target = CallAnalysis::target(syscall, args);
        let text = |name: &str| args.get(name).and_then(Value::as_str);
        let mut analysis = CallAnalysis {
            is_native: target == NATIVE,
            target,
            tags: calls::tags(syscall),
            shape: None,
            findings: Findings::default(),
            is_session: is_session(syscall, args),
            path: None,
            is_lost: false,
        };
        if !analysis.is_native {
            analysis.tags |= Tags::DEVICE;
        }
        match syscall {
            "shell.exec" if analysis.is_session => analysis.stdin(args.get("input"), paths),
            "shell.exec" => analysis.command(text("input"), text("cwd"), paths),
            _ if is_routed(syscall) => analysis.file(syscall, args, paths),
            calls::MCP_CALL => analysis.shape = shape::of_mcp_tool(args),
            _ => analysis.shape = shape::of_call(syscall, args),
        }
        analysis
    }

    /// Whether it runs on the gateway itself.
    pub(super) fn is_native(&self) -> bool {
        self.is_native
    }

    /// `gsv` or `device`.
    pub(super) fn class(&self) -> &'static str {
        if self.is_native { NATIVE } else { "device" }
    }

    /// Text for a program that runs already, and that is not known here. Nothing at all just asks how it stands.
    fn stdin(&mut self, input: Option<&Value>, paths: &PathContext) {
        let is_nothing = match input {
            None | Some(Value::Null) => true,
            Some(Value::String(input)) => input.is_empty(),
            Some(_) => false,
        };
        if !is_nothing {
            self.tags |= Tags::OPAQUE;
        }
        // A shell may be what reads it.
        if let Some(Value::String(input)) = input {
            self.findings = Survey::of(input, paths).findings;
        }
    }

    fn command(&mut self, input: Option<&str>, cwd: Option<&str>, paths: &PathContext) {
        match input {
            Some(input) => {
                let survey = Survey::of(input, paths);
                self.tags |= survey.tags;
                self.shape = survey.shape.and_then(|_| shape::of_command(input, cwd, paths));
                self.findings = survey.findings;
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
        self.is_lost = paths.is_lost(path);
        self.shape = shape::of_file(syscall, path, paths);
        self.path = Some(whole);
    }
}

/// Whether a call goes to a target.
fn is_routed(syscall: &str) -> bool {
    syscall == "shell.exec" || syscall.starts_with("fs.")
}

fn is_session(syscall: &str, args: &Map<String, Value>) -> bool {
    let is_blank =
        |value: &Value| value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty());
    syscall == "shell.exec" && args.get("sessionId").is_some_and(|id| !is_blank(id))
}
