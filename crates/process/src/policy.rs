//! When to ask a person before a tool runs. Pure: decided on the call's facts, not on its text alone.

use protocol::identity::ProcessIdentity;
use serde_json::{Map, Value};
use store::approvals::RuleRow;

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
pub(crate) struct Policy {}

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
        let _ = text;
        Policy {}
    }

    /// Decides on a call. Remembered approvals (`rules`) turn an ask into auto, never a deny.
    pub(crate) fn judge(&self, call: Call<'_>, rules: &[RuleRow]) -> Judgement {
        let _ = (call, rules);
        Judgement {
            action: Action::Ask,
            target: String::new(),
            tags: Vec::new(),
            shape: None,
            digest: String::new(),
        }
    }
}
