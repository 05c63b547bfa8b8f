//! Fault injection: ends the program at a chosen write of its agents, as `kill -9` would, so that tests can crash it at
//! every step. Only builds with debug assertions listen: `GSV_DIE_AT_WRITE=7` dies right after the seventh such write is
//! durable and before anybody is told, `GSV_DIE_AT_WRITE=before:7` right before it is.

use crate::sql::Batch;

/// Tables that only agents write.
const TABLES: [&str; 5] = [" steps ", " queue ", " routes ", " messages ", " approvals "];

/// When to die.
pub(super) struct Fault {
    at: Option<(u64, bool)>,
    count: u64,
}

impl Fault {
    /// As the environment says.
    pub fn from_env() -> Fault {
        let text = if cfg!(debug_assertions) { std::env::var("GSV_DIE_AT_WRITE").ok() } else { None };
        Fault { at: text.as_deref().and_then(parse), count: 0 }
    }

    /// How many writes one commit may hold: with a fault each is counted by itself.
    pub fn group_max(&self, usual: usize) -> usize {
        if self.at.is_some() { 1 } else { usual }
    }

    /// A write is about to be committed.
    pub fn before<'a>(&mut self, batches: impl Iterator<Item = &'a Batch>) {
        if self.at.is_some() && batches.into_iter().any(of_agents) {
            self.count += 1;
            self.die_if(true);
        }
    }

    /// It is durable.
    pub fn after(&self) {
        self.die_if(false);
    }

    fn die_if(&self, before: bool) {
        if self.at == Some((self.count, before)) {
            std::process::abort();
        }
    }
}

fn of_agents(batch: &Batch) -> bool {
    batch.steps.iter().any(|step| TABLES.iter().any(|table| step.statement.sql.contains(table)))
}

fn parse(text: &str) -> Option<(u64, bool)> {
    match text.strip_prefix("before:") {
        Some(number) => number.parse().ok().map(|number| (number, true)),
        None => text.parse().ok().map(|number| (number, false)),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn the_place_is_a_number_or_before_a_number() {
        assert_eq!(parse("7"), Some((7, false)));
        assert_eq!(parse("before:7"), Some((7, true)));
        assert_eq!(parse(""), None);
        assert_eq!(parse("before:x"), None);
    }
}
