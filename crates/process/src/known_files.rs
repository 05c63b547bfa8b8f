//! Files that a conversation has read or written, so that writing over any other is asked about.
//!
//! Kept in memory only, within a bound: what is forgotten is asked about once more.

use std::collections::{HashMap, HashSet};

use base::limits;
use policy::Known;
use protocol::ids::ConversationId;

/// Files by target and resolved path.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownFiles {
    read: HashSet<(String, String)>,
    absent: HashSet<(String, String)>,
}

impl KnownFiles {
    /// What is known of a file.
    pub(crate) fn of(&self, target: &str, path: &str) -> Known {
        let key = (target.to_string(), path.to_string());
        match (self.read.contains(&key), self.absent.contains(&key)) {
            (true, _) => Known::Read,
            (false, true) => Known::Absent,
            (false, false) => Known::Unknown,
        }
    }

    /// The conversation has seen what is in it.
    pub(crate) fn saw(&mut self, target: &str, path: &str) {
        if self.read.len() >= limits::process::KNOWN_FILES_MAX {
            self.read.clear();
        }
        self.read.insert((target.to_string(), path.to_string()));
    }

    /// The target was asked for it, and it was not there.
    pub(crate) fn missed(&mut self, target: &str, path: &str) {
        if self.absent.len() >= limits::process::KNOWN_FILES_MAX {
            self.absent.clear();
        }
        self.absent.insert((target.to_string(), path.to_string()));
    }
}

/// The known files of the conversations of one process.
#[derive(Debug, Default)]
pub(crate) struct KnownByConversation(HashMap<ConversationId, KnownFiles>);

impl KnownByConversation {
    /// Those of a conversation.
    pub(crate) fn of(&self, id: &ConversationId) -> KnownFiles {
        self.0.get(id).cloned().unwrap_or_default()
    }

    /// The same, to be added to.
    pub(crate) fn of_mut(&mut self, id: &ConversationId) -> &mut KnownFiles {
        if self.0.len() >= limits::process::KNOWN_CONVERSATIONS_MAX && !self.0.contains_key(id) {
            self.0.clear();
        }
        self.0.entry(id.clone()).or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_where_it_was_seen_and_nowhere_else() {
        let mut known = KnownByConversation::default();
        let (here, there) = (ConversationId::from("a"), ConversationId::from("b"));
        known.of_mut(&here).saw("desk", "/w/x");
        known.of_mut(&here).missed("desk", "/w/y");
        assert_eq!(known.of(&here).of("desk", "/w/x"), Known::Read);
        assert_eq!(known.of(&here).of("desk", "/w/y"), Known::Absent);
        assert_eq!(known.of(&here).of("lap", "/w/x"), Known::Unknown);
        assert_eq!(known.of(&there).of("desk", "/w/x"), Known::Unknown);
    }

    #[test]
    fn what_is_too_much_is_forgotten() {
        let mut known = KnownFiles::default();
        for number in 0..=limits::process::KNOWN_FILES_MAX {
            known.saw("desk", &number.to_string());
        }
        assert_eq!(known.of("desk", "0"), Known::Unknown);
        assert_eq!(known.of("desk", &limits::process::KNOWN_FILES_MAX.to_string()), Known::Read);
    }
}
