//! Policy decision point: whether a call of an agent runs, is asked about or is refused.

use protocol::hosts::Allow;
use protocol::identity::ProcessIdentity;
use protocol::proc::approval::Scope;
use serde_json::{Map, Value};

use super::call_analysis::CallAnalysis;
use super::calls;
use super::rules::{self, Action, Rule};
use super::shape;
use super::target::Target;
use super::way::{self, Course, Known, Setting, Way};
use protocol::confine::{AgentMode, Widening};

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

/// What there is to know about a call besides itself: what is open in the sandbox, and what happened to it before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Circumstances<'a> {
    /// The hosts that all confined commands may reach, as in `config/agents/network`.
    pub hosts: &'a [String],
    /// The hosts that this very command was kept from when it ran before.
    pub refused_hosts: &'a [String],
    /// Why the device refused this very call, before it did anything.
    pub refusal: Option<&'a str>,
}

/// How a remembered approval lets a call run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cover {
    Outside,
    Widened,
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
    /// Whether `auto` is for inside the sandbox with that widening, by a remembered approval.
    pub is_widened: bool,
    /// The hosts that are remembered for the workspace of the target.
    pub open_hosts: Vec<String>,
    /// `gsv` or the device.
    pub target: String,
    /// The resolved path of a call about a file.
    pub path: Option<String>,
    /// Such as `destructive`, sorted.
    pub tags: Vec<String>,
    /// The program and the shape of its arguments, where there is one.
    pub shape: Option<String>,
    /// The same for a run inside the sandbox with the widening.
    pub widened_shape: Option<String>,
    /// What would be remembered of each host of the widening, where hosts are all of it.
    pub host_shapes: Vec<String>,
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
        self.judge_given(call, remembered, Circumstances::default())
    }

    /// The same with what is known besides the call.
    pub fn judge_given<'a>(
        &self,
        call: Call<'_>,
        remembered: impl IntoIterator<Item = Remembered<'a>>,
        given: Circumstances<'_>,
    ) -> Judgement {
        let paths = CallAnalysis::paths(call.syscall, call.args, call.who, call.target);
        let analysis = CallAnalysis::of(call.syscall, call.args, &paths);
        let known = |path: &str| (call.known)(&analysis.target, path);
        let remembered: Vec<Remembered<'a>> = remembered.into_iter().collect();
        let workspace = call.target.workspace.as_deref().filter(|_| !analysis.is_native());
        let open_hosts = open_hosts(&remembered, call.syscall, &analysis, workspace);
        let hosts: Vec<&str> = given.hosts.iter().chain(&open_hosts).map(String::as_str).collect();
        // A list that cannot be read allows nothing.
        let hosts = Allow::parse(&hosts.join(",")).unwrap_or_default();
        let setting = Setting {
            target: call.target,
            paths: &paths,
            session: call.session,
            known: &known,
            hosts: &hosts,
            refused_hosts: given.refused_hosts,
        };
        let input = call.args.get("input").and_then(Value::as_str);
        let mut course = way::choose(call.syscall, input, &analysis, &setting);
        if let Some(why) = given.refusal {
            course.refused_by_device(why);
        }
        let widened_shape = analysis.shape.as_deref().zip(course.widening.as_ref());
        let widened_shape = widened_shape.and_then(|(shape, widening)| shape::widened(shape, widening));
        let mut action = self.action(call, &analysis, &mut course);
        let mut is_widened = false;
        if action == Action::Ask
            && let Some(cover) = cover(&remembered, call.syscall, &analysis, widened_shape.as_deref())
        {
            action = Action::Auto;
            is_widened = cover == Cover::Widened;
        }
        // What the owner of a machine has switched off no policy switches on.
        if !analysis.is_native() && call.target.mode() == AgentMode::Off {
            action = Action::Deny;
            course.reasons = vec!["is on a machine whose owner lets no agents work there".to_string()];
        }
        let digest = shape::digest(&analysis.target, call.syscall, call.args, &call.who.cwd);
        let Course { way, reasons, widening, .. } = course;
        let host_shapes = host_shapes(widening.as_ref(), workspace);
        let (tags, shape) = (analysis.tags.names(), analysis.shape);
        Judgement {
            action,
            way,
            reasons,
            widening,
            is_widened,
            open_hosts,
            widened_shape,
            host_shapes,
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

/// How remembered approvals let a call run; the narrower one is enough.
fn cover(
    remembered: &[Remembered<'_>],
    syscall: &str,
    analysis: &CallAnalysis,
    widened: Option<&str>,
) -> Option<Cover> {
    let covers = remembered.iter().filter_map(|approval| approval.covers(syscall, analysis, widened));
    covers.min_by_key(|cover| *cover == Cover::Outside)
}

/// What would be remembered of each host of a widening that is of hosts alone.
fn host_shapes(widening: Option<&Widening>, workspace: Option<&str>) -> Vec<String> {
    let Some((widening, workspace)) = widening.filter(|widening| widening.is_of_hosts()).zip(workspace)
    else {
        return Vec::new();
    };
    widening.hosts.iter().map(|host| shape::of_host(host, workspace)).collect()
}

/// The hosts that approvals open for the workspace of a call's target.
fn open_hosts(
    remembered: &[Remembered<'_>],
    syscall: &str,
    analysis: &CallAnalysis,
    workspace: Option<&str>,
) -> Vec<String> {
    let Some(workspace) = workspace else { return Vec::new() };
    let is_here = |approval: &&Remembered<'_>| {
        approval.scope == Scope::Hosts
            && approval.syscall == syscall
            && shape::is_same_target(approval.target, &analysis.target)
    };
    let hosts = remembered.iter().filter(is_here);
    hosts.filter_map(|approval| shape::host_in(approval.shape?, workspace)).collect()
}

impl Remembered<'_> {
    /// How it lets such a call run; `None` when it is not about it.
    fn covers(&self, syscall: &str, analysis: &CallAnalysis, widened: Option<&str>) -> Option<Cover> {
        let is_here = || shape::is_same_target(self.target, &analysis.target);
        // Tools of MCP servers are remembered one by one, as each is described: nothing wider covers one.
        let is_wide = matches!(self.scope, Scope::Class | Scope::Target);
        if is_wide && syscall == calls::MCP_CALL {
            return None;
        }
        let cover = match self.scope {
            Scope::Class if self.target == analysis.class() => Cover::Outside,
            Scope::Target if is_here() => Cover::Outside,
            Scope::Shape if is_here() && self.shape.is_some() && self.shape == analysis.shape.as_deref() => {
                Cover::Outside
            }
            Scope::Shape if is_here() && self.shape.is_some() && self.shape == widened => Cover::Widened,
            // What these open is open for every command, and needs no cover.
            Scope::Hosts | Scope::Class | Scope::Target | Scope::Shape => return None,
        };
        (self.syscall == syscall).then_some(cover)
    }
}

#[cfg(test)]
mod tests;
