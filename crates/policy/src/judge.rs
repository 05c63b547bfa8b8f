//! Policy decision point: whether a call of an agent runs, is asked about or is refused.

use protocol::identity::ProcessIdentity;
use protocol::proc::approval::Scope;
use serde_json::{Map, Value};

use super::call_analysis::CallAnalysis;
use super::rules::{self, Action, Rule};
use super::shape;
use super::target::Target;
use super::way::{self, Course, Known, Setting, Way, Widening};
use protocol::confine::AgentMode;

/// A policy: rules and a default.
///
/// A rule that holds decides: `deny` refuses, `ask` asks, `auto` runs the call without a question, inside the sandbox if
/// it can run there. Only root and the owner of an agent can set rules, so that a rule may loosen what a way would ask
/// about. Where no rule holds the default does: `deny` and `ask` as they say, and `auto` lets the call go its [`Way`]; it
/// never runs unasked what is neither proved nor confined.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    default: Action,
    rules: Vec<Rule>,
}

/// A call as a policy sees it.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// The profile of the process.
    pub profile: &'a str,
    /// Its name, such as `fs.write`.
    pub syscall: &'a str,
    /// Its arguments, `target` included.
    pub args: &'a Map<String, Value>,
    /// Who makes it: home and cwd on the gateway itself.
    pub who: &'a ProcessIdentity,
    /// The device that the call goes to, as its driver announced itself; of no account for the gateway itself.
    pub target: &'a Target,
    /// For a call with `sessionId`: the way in which that command was started, if it is known.
    pub session: Option<Way>,
    /// What the conversation knows of a file, by target and resolved path.
    pub known: &'a dyn Fn(&str, &str) -> Known,
}

/// An approval that a person gave once and for all.
#[derive(Clone, Copy, Debug)]
pub struct Remembered<'a> {
    /// Its name, such as `fs.write`.
    pub syscall: &'a str,
    /// What it covers.
    pub scope: Scope,
    /// `gsv`, `device` for every device, or one device.
    pub target: &'a str,
    /// For scope `shape`.
    pub shape: Option<&'a str>,
}

/// What came out.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// What is done.
    pub action: Action,
    /// How it would run. `auto` with [`Way::Asked`] runs like a call that a person approved: outside the sandbox.
    pub way: Way,
    /// Why, as sentences without a subject ("reads SSH keys: /home/a/.ssh/id"), the most important first.
    pub reasons: Vec<String>,
    /// What would have to be opened in the sandbox, where paths and hosts are all that the call needs.
    pub widening: Option<Widening>,
    /// `gsv` or the device.
    pub target: String,
    /// The resolved path of a call about a file.
    pub path: Option<String>,
    /// Such as `destructive`, sorted.
    pub tags: Vec<String>,
    /// The program and the shape of its arguments, where there is one.
    pub shape: Option<String>,
    /// Of target, call, arguments and working directory: SHA-256 in hex.
    pub digest: String,
}

impl Policy {
    /// From JSON; blank or broken text is the built-in policy.
    pub fn parse(text: &str) -> Policy {
        let (default, rules) = rules::parse(text);
        Policy { default, rules }
    }

    /// Decides on a call. Remembered approvals turn an ask into auto, never a deny.
    pub fn judge<'a>(
        &self,
        call: Call<'_>,
        remembered: impl IntoIterator<Item = Remembered<'a>>,
    ) -> Judgement {
        let paths = CallAnalysis::paths(call.syscall, call.args, call.who, call.target);
        let analysis = CallAnalysis::of(call.syscall, call.args, &paths);
        let known = |path: &str| (call.known)(&analysis.target, path);
        let setting = Setting { target: call.target, paths: &paths, session: call.session, known: &known };
        let input = call.args.get("input").and_then(Value::as_str);
        let mut course = way::choose(call.syscall, input, &analysis, &setting);
        let mut action = self.action(call, &analysis, &mut course);
        if action == Action::Ask
            && remembered.into_iter().any(|approval| approval.covers(call.syscall, &analysis))
        {
            action = Action::Auto;
        }
        // What the owner of a machine has switched off no policy switches on.
        if !analysis.is_native() && call.target.mode() == AgentMode::Off {
            action = Action::Deny;
            course.reasons = vec!["is on a machine whose owner lets no agents work there".to_string()];
        }
        let digest = shape::digest(&analysis.target, call.syscall, call.args, &call.who.cwd);
        let Course { way, reasons, widening, .. } = course;
        let (tags, shape) = (analysis.tags.names(), analysis.shape);
        Judgement {
            action,
            way,
            reasons,
            widening,
            target: analysis.target,
            path: analysis.path,
            tags,
            shape,
            digest,
        }
    }

    /// Rules for exactly this call go before those for its domain; within either the first that holds decides.
    fn action(&self, call: Call<'_>, analysis: &CallAnalysis, course: &mut Course) -> Action {
        let exact = self.rules.iter().filter(|rule| rule.names(call.syscall));
        let wide = self.rules.iter().filter(|rule| rule.includes(call.syscall));
        let rule = exact.chain(wide).find(|rule| rule.holds(call.profile, call.args, analysis));
        match rule.map(|rule| rule.action) {
            Some(Action::Auto) => {
                // Nobody minds what it destroys; where it can be confined it still is.
                if course.way == Way::Asked && course.is_confinable {
                    course.way = Way::Confined;
                }
                Action::Auto
            }
            Some(action) => {
                if course.way != Way::Asked {
                    course
                        .reasons
                        .insert(0, format!("is named by a rule of the policy for {}", call.syscall));
                }
                action
            }
            None => match (self.default, course.way) {
                (Action::Auto, Way::Asked) => Action::Ask,
                (default, _) => default,
            },
        }
    }
}

impl Remembered<'_> {
    /// Whether it is about such a call.
    fn covers(&self, syscall: &str, analysis: &CallAnalysis) -> bool {
        let is_there = match self.scope {
            Scope::Class => self.target == analysis.class(),
            Scope::Target => shape::is_same_target(self.target, &analysis.target),
            Scope::Shape => {
                shape::is_same_target(self.target, &analysis.target)
                    && self.shape.is_some()
                    && self.shape == analysis.shape.as_deref()
            }
        };
        self.syscall == syscall && is_there
    }
}

#[cfg(test)]
mod tests;
