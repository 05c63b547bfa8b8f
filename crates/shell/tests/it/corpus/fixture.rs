//! Fixture files that every script starts with: the corpus's `home` folder and what a checkout cannot hold.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::case;

/// When every fixture was last changed: 2024-01-02 03:04:05 UTC.
pub const MODIFIED_MS: i64 = 1_704_164_645_000;

/// One thing in the home, parents before children.
#[derive(Clone, Debug)]
pub struct Fixture {
    /// Its path below the home.
    pub path: String,
    pub kind: FixtureKind,
}

/// File type and content of a fixture.
#[derive(Clone, Debug)]
pub enum FixtureKind {
    /// A file with its mode and content.
    File(u32, Vec<u8>),
    Directory,
    /// A link and where it leads.
    Link(&'static str),
}

/// All of them.
pub fn load() -> Vec<Fixture> {
    let mut out = Vec::new();
    walk(&case::corpus_directory().join("home"), "", &mut out);
    for (path, target) in [("shortcut", "notes.txt"), ("manual", "docs/guide"), ("dangling", "nowhere")] {
        out.push(Fixture { path: path.into(), kind: FixtureKind::Link(target) });
    }
    out
}

fn walk(folder: &Path, below: &str, out: &mut Vec<Fixture>) {
    let mut entries: Vec<_> =
        std::fs::read_dir(folder).expect("fixtures").map(|entry| entry.expect("a fixture")).collect();
    entries.sort_by_key(|entry| entry.file_name());
    for entry in entries {
        let path = format!("{below}{}", entry.file_name().to_string_lossy());
        let facts = entry.metadata().expect("facts of a fixture");
        if facts.is_dir() {
            out.push(Fixture { path: path.clone(), kind: FixtureKind::Directory });
            walk(&entry.path(), &format!("{path}/"), out);
        } else {
            let mode = if facts.permissions().mode() & 0o100 == 0 { 0o644 } else { 0o755 };
            let bytes = std::fs::read(entry.path()).expect("a fixture is read");
            out.push(Fixture { path, kind: FixtureKind::File(mode, bytes) });
        }
    }
}
