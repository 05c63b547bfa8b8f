//! Policy decision point: whether a call of an agent runs, is asked about or is refused.

use protocol::identity::ProcessIdentity;
use protocol::proc::approval::Scope;
use serde_json::{Map, Value};

use super::facts::Facts;
use super::rules::{self, Action, Rule};
use super::shape;

/// A policy: rules and a default.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    default: Action,
    rules: Vec<Rule>,
}

/// A call as a policy sees it.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The profile of the process.
    pub profile: &'a str,
    /// The syscall.
    pub syscall: &'a str,
    /// Its arguments, `target` included.
    pub args: &'a Map<String, Value>,
    /// Who makes it: home and cwd.
    pub who: &'a ProcessIdentity,
}

/// An approval that a person gave once and for all.
#[derive(Clone, Copy, Debug)]
pub struct Remembered<'a> {
    /// The syscall.
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
    /// `gsv` or the device.
    pub target: String,
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
        let facts = Facts::of(call.syscall, call.args, call.who);
        let mut action = self.action(call, &facts);
        if action == Action::Ask
            && remembered.into_iter().any(|approval| approval.covers(call.syscall, &facts))
        {
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

impl Remembered<'_> {
    /// Whether it is about such a call.
    fn covers(&self, syscall: &str, facts: &Facts) -> bool {
        let is_there = match self.scope {
            Scope::Class => self.target == facts.class(),
            Scope::Target => self.target == facts.target,
            Scope::Shape => {
                self.target == facts.target && self.shape.is_some() && self.shape == facts.shape.as_deref()
            }
        };
        self.syscall == syscall && is_there
    }
}

#[cfg(test)]
mod tests;
