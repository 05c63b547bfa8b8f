//! Capability patterns, and the precomputed set of calls that they cover.

use std::collections::{BTreeSet, HashSet};

use base::quick_hash::QuickHash;
use protocol::capability;

/// What a caller may do: its patterns, and the known calls they cover.
#[derive(Debug, Default)]
pub struct Capabilities {
    /// Sorted, without repetition.
    pub patterns: Vec<String>,
    covered: HashSet<&'static str, QuickHash>,
}

impl Capabilities {
    /// What some patterns allow.
    pub fn new(patterns: impl IntoIterator<Item = String>) -> Capabilities {
        let patterns: Vec<String> = patterns.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
        let covered = protocol::calls()
            .map(|spec| spec.name)
            .filter(|name| capability::covers(&patterns, name))
            .collect();
        Capabilities { patterns, covered }
    }

    /// Whether a call's name is covered, known or not.
    pub fn cover(&self, name: &str) -> bool {
        self.covered.contains(name) || capability::covers(&self.patterns, name)
    }
}
