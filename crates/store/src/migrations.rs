//! Schema migrations, numbered. One is never edited once released; a change is a new file.
//!
//! The text is shared by both engines; only the names of types differ and are filled in when it is run.

/// Every step, in order. The schema's version is how many of them have been run.
pub(crate) const ALL: &[&str] = &[
    include_str!("../migrations/0001_first.sql"),
    include_str!("../migrations/0002_processes.sql"),
    include_str!("../migrations/0003_oauth.sql"),
    include_str!("../migrations/0004_loose_archives.sql"),
    include_str!("../migrations/0005_compact_at.sql"),
    include_str!("../migrations/0006_leases.sql"),
    include_str!("../migrations/0007_who_may_approve.sql"),
    include_str!("../migrations/0008_approval_details.sql"),
    include_str!("../migrations/0009_session_way.sql"),
    include_str!("../migrations/0010_families_of_tokens.sql"),
    include_str!("../migrations/0011_repos.sql"),
    include_str!("../migrations/0012_workspaces.sql"),
    include_str!("../migrations/0013_nested_calls.sql"),
    include_str!("../migrations/0014_wire_id_of_routes.sql"),
    include_str!("../migrations/0015_oauth_refresh.sql"),
    include_str!("../migrations/0016_mcp.sql"),
];

/// The version this program knows.
pub(crate) const VERSION: i64 = ALL.len() as i64;

/// Where the version, and the proof that the key is the right one, are kept.
pub(crate) const META: &str = "CREATE TABLE IF NOT EXISTS meta (\
    name {TEXT} PRIMARY KEY, version {BIGINT}, value {TEXT}) {STRICT}";

/// Reads the version.
pub(crate) const FIND_VERSION: &str = "SELECT version FROM meta WHERE name = 'schema'";

/// Notes the version.
pub(crate) const SET_VERSION: &str = "INSERT INTO meta (name, version) VALUES ('schema', $1) \
    ON CONFLICT (name) DO UPDATE SET version = excluded.version";

/// Fills in SQLite's names. Strict tables keep what PostgreSQL would keep.
pub(crate) fn for_sqlite(text: &str) -> String {
    text.replace("{TEXT}", "TEXT").replace("{BIGINT}", "INTEGER").replace("{STRICT}", "STRICT")
}

/// Fills in PostgreSQL's names. The collation makes texts sort by their bytes, as in SQLite.
pub(crate) fn for_postgres(text: &str) -> String {
    text.replace("{TEXT}", "TEXT COLLATE \"C\"").replace("{BIGINT}", "BIGINT").replace("{STRICT}", "")
}

/// The steps a store of that version still needs, each with the version it leads to.
pub(crate) fn after(version: i64) -> impl Iterator<Item = (i64, &'static str)> {
    ALL.iter().enumerate().map(|(index, text)| (index as i64 + 1, *text)).filter(move |(to, _)| *to > version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hole_is_filled_in() {
        for text in ALL.iter().chain([&META]) {
            assert!(!for_sqlite(text).contains('{') && !for_postgres(text).contains('{'));
        }
    }

    #[test]
    fn only_missing_steps_run() {
        assert_eq!(after(0).count() as i64, VERSION);
        assert_eq!(after(VERSION).count(), 0);
    }
}
