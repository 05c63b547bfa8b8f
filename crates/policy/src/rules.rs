//! Rule language of policies: its JSON, and when a rule of it holds.

use serde_json::{Map, Value};

use super::call_analysis::CallAnalysis;
use super::tags::Tags;

/// What holds when nobody has said otherwise. What no rule is about goes its way: what is proved or confined runs, the
/// rest is asked about.
const BUILT_IN: &str = r#"{
  "default": "auto",
  "rules": [
    { "match": "fs.delete", "when": { "profile": "cron" }, "action": "deny" },
    { "match": "sys.mcp.call", "when": { "profile": "cron" }, "action": "deny" },
    { "match": "fs.delete", "action": "ask" },
    { "match": "sys.mcp.call", "action": "ask" }
  ]
}"#;

/// What is done with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It runs.
    Auto,
    /// A person is asked.
    Ask,
    /// It is refused.
    Deny,
}

/// What is done about the calls that a subject and all conditions fit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rule {
    subject: Subject,
    /// What is done when it holds.
    pub(super) action: Action,
    /// All of these must be so.
    conditions: Vec<Condition>,
}

#[derive(Clone, Debug, PartialEq)]
enum Subject {
    Call(String),
    /// `fs.*`, kept as `fs`.
    Domain(String),
}

#[derive(Clone, Debug, PartialEq)]
enum Condition {
    Profile(Vec<String>),
    AnyTag(Tags),
    AllTags(Tags),
    Equals(Map<String, Value>),
    Prefix(Vec<(String, String)>),
    Target(String),
}

/// The default and the rules of a policy.
pub(super) fn parse(text: &str) -> (Action, Vec<Rule>) {
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(policy)) => from_object(&policy),
        _ => built_in(),
    }
}

fn built_in() -> (Action, Vec<Rule>) {
    match serde_json::from_str::<Value>(BUILT_IN) {
        Ok(Value::Object(policy)) => from_object(&policy),
        // Not so in this program; if it were, everything would be asked about.
        _ => (Action::Ask, Vec::new()),
    }
}

fn from_object(policy: &Map<String, Value>) -> (Action, Vec<Rule>) {
    let default = policy.get("default").and_then(action).unwrap_or(Action::Auto);
    let rules = match policy.get("rules") {
        Some(Value::Array(rules)) => rules.iter().filter_map(rule).collect(),
        _ => built_in().1,
    };
    (default, rules)
}

fn action(value: &Value) -> Option<Action> {
    match value.as_str()? {
        "auto" => Some(Action::Auto),
        "ask" => Some(Action::Ask),
        "deny" => Some(Action::Deny),
        _ => None,
    }
}

fn rule(value: &Value) -> Option<Rule> {
    let name = value.get("match")?.as_str()?.trim();
    let subject = match name.strip_suffix(".*") {
        Some("") => return None,
        Some(domain) => Subject::Domain(domain.to_string()),
        None if name.is_empty() => return None,
        None => Subject::Call(name.to_string()),
    };
    let action = action(value.get("action")?)?;
    let (conditions, is_whole) = match value.get("when") {
        None | Some(Value::Null) => (Vec::new(), true),
        Some(Value::Object(when)) => conditions(when),
        Some(_) => (Vec::new(), false),
    };
    // A condition that cannot be understood must not let a call through.
    (is_whole || action != Action::Auto).then_some(Rule { subject, action, conditions })
}

/// The conditions that are understood, and whether those are all.
fn conditions(when: &Map<String, Value>) -> (Vec<Condition>, bool) {
    let (mut found, mut is_whole) = (Vec::new(), true);
    for (name, value) in when {
        match condition(name, value) {
            Some(condition) => found.push(condition),
            None => is_whole = false,
        }
    }
    (found, is_whole)
}

fn condition(name: &str, value: &Value) -> Option<Condition> {
    let texts = || -> Option<Vec<String>> {
        value.as_array()?.iter().map(|text| text.as_str().map(str::to_string)).collect()
    };
    let tags = || -> Option<Tags> {
        texts()?.iter().try_fold(Tags::NONE, |tags, name| Some(tags | Tags::named(name)?))
    };
    Some(match name {
        "profile" => Condition::Profile(vec![value.as_str()?.to_string()]),
        "anyProfile" => Condition::Profile(texts()?),
        "anyTag" => Condition::AnyTag(tags()?),
        "allTags" => Condition::AllTags(tags()?),
        "argEquals" => {
            let members = value.as_object()?;
            let is_plain = |value: &Value| value.is_string() || value.is_number() || value.is_boolean();
            members.values().all(is_plain).then(|| Condition::Equals(members.clone()))?
        }
        "argPrefix" => {
            let pair = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_string()));
            Condition::Prefix(value.as_object()?.iter().map(pair).collect::<Option<_>>()?)
        }
        "target" => Condition::Target(value.as_str()?.to_string()),
        _ => return None,
    })
}

impl Rule {
    /// Whether it is about exactly this call.
    pub(super) fn names(&self, syscall: &str) -> bool {
        matches!(&self.subject, Subject::Call(name) if name == syscall)
    }

    /// Whether it is about the domain of this call.
    pub(super) fn includes(&self, syscall: &str) -> bool {
        let Subject::Domain(domain) = &self.subject else { return false };
        syscall.strip_prefix(domain.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    /// Whether all its conditions are so.
    pub(super) fn holds(&self, profile: &str, args: &Map<String, Value>, analysis: &CallAnalysis) -> bool {
        self.conditions.iter().all(|condition| match condition {
            Condition::Profile(profiles) => profiles.iter().any(|known| known == profile),
            Condition::AnyTag(tags) => analysis.tags.intersects(*tags),
            Condition::AllTags(tags) => analysis.tags.contains(*tags),
            Condition::Equals(members) => members.iter().all(|(name, value)| args.get(name) == Some(value)),
            Condition::Prefix(members) => members.iter().all(|(name, start)| {
                args.get(name).and_then(Value::as_str).is_some_and(|text| text.starts_with(start.as_str()))
            }),
            Condition::Target(target) => *target == analysis.class() || *target == analysis.target,
        })
    }
}
