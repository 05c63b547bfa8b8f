//! When to ask a person before a tool runs. Pure: decided on what a call would do, not on its text alone.
//!
//! `facts` says what is known of a call, `survey` what a shell command would run, `rules` what the policy's JSON asks
//! for. What cannot be told is `opaque`; nothing opaque can be remembered by its shape.

mod awk;
mod calls;
mod catalogue;
mod facts;
mod git;
mod places;
mod rules;
mod sed;
mod shape;
mod survey;
mod tags;
mod wrappers;

use protocol::identity::ProcessIdentity;
use protocol::proc::approval::Scope;
use serde_json::{Map, Value};
use store::approvals::RuleRow;

use facts::Facts;
use rules::Rule;

/// What is done with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// It runs.
    Auto,
    /// A person is asked.
    Ask,
    /// It is refused.
    Deny,
}

/// A policy: rules and a default.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Policy {
    default: Action,
    rules: Vec<Rule>,
}

/// A call as a policy sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'a> {
    /// The profile of the process.
    pub(crate) profile: &'a str,
    /// The syscall.
    pub(crate) syscall: &'a str,
    /// Its arguments, `target` included.
    pub(crate) args: &'a Map<String, Value>,
    /// Who makes it: home and cwd.
    pub(crate) who: &'a ProcessIdentity,
}

/// What came out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Judgement {
    /// What is done.
    pub(crate) action: Action,
    /// `gsv` or the device.
    pub(crate) target: String,
    /// Such as `destructive`, sorted.
    pub(crate) tags: Vec<String>,
    /// The program and the shape of its arguments, where there is one.
    pub(crate) shape: Option<String>,
    /// Of target, call, arguments and working directory: SHA-256 in hex.
    pub(crate) digest: String,
}

impl Policy {
    /// From JSON; blank or broken text is the built-in policy.
    pub(crate) fn parse(text: &str) -> Policy {
        let (default, rules) = rules::parse(text);
        Policy { default, rules }
    }

    /// Decides on a call. Remembered approvals (`rules`) turn an ask into auto, never a deny.
    pub(crate) fn judge(&self, call: Call<'_>, rules: &[RuleRow]) -> Judgement {
        let facts = Facts::of(call.syscall, call.args, call.who);
        let mut action = self.action(call, &facts);
        if action == Action::Ask && rules.iter().any(|rule| covers(rule, call.syscall, &facts)) {
            action = Action::Auto;
        }
        let digest = shape::digest(&facts.target, call.syscall, call.args, &call.who.cwd);
        Judgement { action, target: facts.target, tags: facts.tags.names(), shape: facts.shape, digest }
    }

    /// Rules for exactly this call go before those for its domain; within either the first that holds decides.
    fn action(&self, call: Call<'_>, facts: &Facts) -> Action {
        let exact = self.rules.iter().filter(|rule| rule.names(call.syscall));
        let wide = self.rules.iter().filter(|rule| rule.includes(call.syscall));
        exact
            .chain(wide)
            .find(|rule| rule.holds(call.profile, call.args, facts))
            .map_or(self.default, |rule| rule.action)
    }
}

/// Whether a remembered approval is about such a call.
fn covers(rule: &RuleRow, syscall: &str, facts: &Facts) -> bool {
    let is_there = match rule.scope {
        Scope::Class => rule.target == facts.class(),
        Scope::Target => rule.target == facts.target,
        Scope::Shape => rule.target == facts.target && rule.shape.is_some() && rule.shape == facts.shape,
    };
    rule.syscall == syscall && is_there
}

#[cfg(test)]
mod tests;
