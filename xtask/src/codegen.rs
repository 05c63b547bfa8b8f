//! `cargo xtask codegen`: writes `docs/reference` from the protocol's tables, or says what is out of date.

mod declarations;
mod pages;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use protocol::schema::Bundle;

use crate::place;

/// Where the generated files are, from the repository's root.
pub const REFERENCE: &str = "docs/reference";

/// Where the transcripts are, from the repository's root.
const TRANSCRIPTS: &str = "crates/server/tests/transcripts";

/// Writes every generated file.
pub fn write() -> Result<()> {
    let folder = place::root().join(REFERENCE);
    std::fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    for (path, text) in products() {
        std::fs::write(&path, text).with_context(|| format!("could not write {}", path.display()))?;
    }
    Ok(())
}

/// Compares every generated file with what would be written.
pub fn check() -> Result<()> {
    let mut stale = Vec::new();
    for (path, expected) in products() {
        let actual = std::fs::read_to_string(&path).unwrap_or_default();
        if let Some(hint) = difference(&actual, &expected) {
            stale.push(format!("{}: {hint}", path.strip_prefix(place::root()).unwrap_or(&path).display()));
        }
    }
    if !stale.is_empty() {
        bail!("generated files are out of date; run `cargo xtask codegen`:\n  {}", stale.join("\n  "));
    }
    Ok(())
}

fn products() -> Vec<(PathBuf, String)> {
    let bundle = Bundle::all();
    let schema = format!("{:#}\n", bundle.document());
    let files = [
        ("gsv.d.ts", declarations::file(&bundle)),
        ("schema.json", schema),
        ("syscalls.md", pages::syscalls(&bundle, &transcripts())),
        ("signals.md", pages::signals(&bundle)),
        ("errors.md", pages::errors()),
        ("config.md", pages::config()),
    ];
    let folder = place::root().join(REFERENCE);
    files.into_iter().map(|(name, text)| (folder.join(name), text)).collect()
}

/// The transcripts that the tests of the server play, by name: a call's, and those that begin with its name.
fn transcripts() -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(place::root().join(TRANSCRIPTS)).into_iter().flatten();
    let read = |path: PathBuf| {
        let name = path.file_stem()?.to_string_lossy().into_owned();
        Some((name, std::fs::read_to_string(path).ok()?))
    };
    entries.filter_map(|entry| read(entry.ok()?.path())).collect()
}

/// The first line that differs, if any.
fn difference(actual: &str, expected: &str) -> Option<String> {
    if actual == expected {
        return None;
    }
    if actual.is_empty() {
        return Some("is missing".into());
    }
    let mut old = actual.lines();
    let mut new = expected.lines();
    let mut number = 0;
    loop {
        number += 1;
        match (old.next(), new.next()) {
            (Some(before), Some(after)) if before == after => {}
            (None, None) => return Some("differs in its line ends".into()),
            (before, after) => {
                let (before, after) = (before.unwrap_or("<end>"), after.unwrap_or("<end>"));
                return Some(format!("line {number}\n    is        {before}\n    should be {after}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_told() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(difference("", "a\n").as_deref(), Some("is missing"));
        assert!(difference("a\nb\n", "a\nc\n").unwrap().starts_with("line 2"));
        assert!(difference("a\n", "a\nc\n").unwrap().contains("should be c"));
    }

    #[test]
    fn the_generated_files_are_up_to_date() {
        check().unwrap();
    }
}
