//! Bounded audit log: which hosts were tried, with what outcome. Attempts that are alike are one entry with a count, so
//! that a program that tries again and again pushes nothing else out.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Mutex;

use base::limits::egress::{LOG_MAX, NAME_MAX_BYTES};
use base::sync::lock;
use protocol::hosts;

/// A host that a confined command tried to reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// The host as it was named, in printable ASCII and within the length of a name.
    pub host: String,
    /// The port; `None` when only the name was asked for.
    pub port: Option<u16>,
    /// What came of it.
    pub outcome: Outcome,
    /// When it was last tried, in milliseconds of wall time.
    pub at_ms: i64,
    /// The call it belongs to, where the program passed its token on. A hint only: a command can use another's.
    pub token: Option<String>,
    /// How many times.
    pub times: u64,
}

/// What came of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A connection was opened.
    Reached,
    /// The host is allowed, but there was no connection; why, in words.
    Failed(String),
    /// It was not allowed, and nothing was sent.
    Refused(Refusal),
}

/// Why something was not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The name, or this port of it, is not on the list.
    NotListed,
    /// The host was given as an address.
    Address,
    /// What was given is no name of a host.
    NoName,
    /// The name leads to an address that is not of the public internet; which, in words.
    Guarded(String),
    /// A request named two different hosts, or could be read in two ways.
    Ambiguous,
    /// The bytes that may be sent or received are used up.
    Spent,
}

impl Tried {
    /// Whether the host was on the list.
    pub fn is_allowed(&self) -> bool {
        !matches!(self.outcome, Outcome::Refused(_))
    }

    /// The entry that would allow it, for a question to a person; `None` where no entry would help.
    pub fn entry(&self) -> Option<String> {
        let would_help = self.outcome == Outcome::Refused(Refusal::NotListed);
        let entry = would_help.then(|| hosts::entry(&self.host, self.port))?;
        hosts::Allow::parse(&entry).is_ok().then_some(entry)
    }

    fn is_like(&self, other: &Tried) -> bool {
        let kind = |outcome: &Outcome| std::mem::discriminant(outcome);
        self.host == other.host
            && self.port == other.port
            && self.token == other.token
            && kind(&self.outcome) == kind(&other.outcome)
    }
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = match self.port {
            Some(port) => format!("{}:{port}", self.host),
            None => self.host.clone(),
        };
        match &self.outcome {
            Outcome::Reached => write!(f, "reached {host}"),
            Outcome::Failed(why) => write!(f, "could not reach {host}: {why}"),
            Outcome::Refused(refusal) => write!(f, "tried to reach {host}: {refusal}"),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::NotListed => {
                "not allowed here; a person can allow it for confined commands (config/agents/network)"
            }
            Refusal::Address => "confined commands reach hosts by their names only, not by addresses",
            Refusal::NoName => "this is not the name of a host",
            Refusal::Guarded(why) => why,
            Refusal::Ambiguous => {
                "the request can be read in more than one way; send one Host and one length"
            }
            Refusal::Spent => "this run has sent or received as much as it may",
        })
    }
}

/// What was tried, the newest of each kind.
#[derive(Debug, Default)]
pub(crate) struct Log(Mutex<Entries>);

/// Refusals are apart from the rest: a flood of the one does not hide the other.
#[derive(Debug, Default)]
struct Entries {
    allowed: VecDeque<Tried>,
    refused: VecDeque<Tried>,
    forgotten: u64,
}

impl Log {
    /// Notes an attempt; true when it is to be reported: there was none like it, and nothing had to be forgotten for
    /// it. So there are no more reports than entries, however many names a program makes up.
    pub(crate) fn note(&self, tried: &Tried) -> bool {
        let mut entries = lock(&self.0);
        let Entries { allowed, refused, forgotten } = &mut *entries;
        let kept = if tried.is_allowed() { allowed } else { refused };
        if let Some(index) = kept.iter().position(|other| other.is_like(tried))
            && let Some(mut known) = kept.remove(index)
        {
            known.times = known.times.saturating_add(tried.times);
            known.at_ms = tried.at_ms;
            known.outcome = tried.outcome.clone();
            kept.push_back(known);
            return false;
        }
        let is_full = kept.len() >= LOG_MAX;
        if is_full {
            kept.pop_front();
            *forgotten += 1;
        }
        kept.push_back(tried.clone());
        !is_full
    }

    /// Everything that is remembered, in the order of the last attempt.
    pub(crate) fn entries(&self) -> Vec<Tried> {
        let entries = lock(&self.0);
        let mut all: Vec<Tried> = entries.allowed.iter().chain(&entries.refused).cloned().collect();
        all.sort_by_key(|tried| tried.at_ms);
        all
    }

    /// How many entries had to make room.
    pub(crate) fn forgotten(&self) -> u64 {
        lock(&self.0).forgotten
    }
}

/// A host as it may be shown: programs choose this text freely.
pub(crate) fn printable(host: &str) -> String {
    let printable: String = host.chars().flat_map(char::escape_default).take(NAME_MAX_BYTES + 1).collect();
    match printable.len() > NAME_MAX_BYTES {
        true => format!("{}...", &printable[..NAME_MAX_BYTES - 3]),
        false => printable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(host: &str, port: Option<u16>, outcome: Outcome) -> Tried {
        Tried { host: host.to_string(), port, outcome, at_ms: 0, token: None, times: 1 }
    }

    #[test]
    fn attempts_that_are_alike_are_one_entry() {
        let log = Log::default();
        let refused = tried("a.example", Some(443), Outcome::Refused(Refusal::NotListed));
        assert!(log.note(&refused) && !log.note(&Tried { at_ms: 9, ..refused.clone() }));
        assert!(log.note(&Tried { token: Some("t".into()), ..refused.clone() }));
        let found = log.entries();
        assert_eq!((found.len(), found[1].times, found[1].at_ms), (2, 2, 9));
    }

    #[test]
    fn a_flood_of_refusals_hides_nothing_that_was_reached() {
        let log = Log::default();
        log.note(&tried("good.example", Some(443), Outcome::Reached));
        let flood =
            |number| tried(&format!("x{number}.evil.example"), None, Outcome::Refused(Refusal::NotListed));
        let reported = (0..10 * LOG_MAX).filter(|number| log.note(&flood(*number))).count();
        assert_eq!(reported, LOG_MAX);
        let found = log.entries();
        assert_eq!(found.len(), LOG_MAX + 1);
        assert!(found.iter().any(|tried| tried.host == "good.example"));
        assert_eq!(log.forgotten(), 9 * LOG_MAX as u64);
    }

    #[test]
    fn an_entry_is_offered_only_where_it_would_help() {
        let not_listed = Outcome::Refused(Refusal::NotListed);
        assert_eq!(tried("a.example", None, not_listed.clone()).entry().as_deref(), Some("a.example"));
        assert_eq!(
            tried("a.example", Some(22), not_listed.clone()).entry().as_deref(),
            Some("ssh:a.example")
        );
        assert_eq!(tried("wpad", None, not_listed).entry(), None);
        assert_eq!(tried("1.2.3.4", Some(80), Outcome::Refused(Refusal::Address)).entry(), None);
        assert_eq!(tried("a.example", Some(80), Outcome::Reached).entry(), None);
    }

    #[test]
    fn what_is_shown_is_printable_and_short() {
        assert_eq!(printable("a.example"), "a.example");
        assert_eq!(printable("a\u{1b}[2J\n\u{202e}"), "a\\u{1b}[2J\\n\\u{202e}");
        assert_eq!(printable(&"a".repeat(10_000)).len(), NAME_MAX_BYTES);
    }
}
