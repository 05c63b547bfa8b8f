//! Unused dependencies: one that a crate lists and no file of its own names, and one of the workspace that no crate lists.

use std::path::Path;

use anyhow::Result;

use super::manifest::{self, DependencyKind, Manifest};
use super::source::Source;

/// Dependencies that are needed though no file names them: crate, dependency, reason.
const UNNAMED: &[(&str, &str, &str)] = &[];

/// Dependencies that nothing uses.
pub fn problems(root: &Path, sources: &[Source]) -> Result<Vec<String>> {
    let manifests = manifest::all(root)?;
    let mut out: Vec<String> = manifests.iter().flat_map(|manifest| unused(manifest, sources)).collect();
    out.extend(unlisted(&manifest::read(root, "")?, &manifests));
    Ok(out)
}

/// Dependencies of one crate that no file names where it could be used.
fn unused(manifest: &Manifest, sources: &[Source]) -> Vec<String> {
    let mut out = Vec::new();
    for (kind, table, places) in [
        (DependencyKind::Normal, "dependencies", &["src/"][..]),
        (DependencyKind::Dev, "dev-dependencies", &["src/", "tests/", "benches/", "examples/"]),
        (DependencyKind::Build, "build-dependencies", &["build.rs"]),
    ] {
        let files: Vec<&Source> = sources.iter().filter(|source| within(manifest, source, places)).collect();
        for name in manifest.dependencies(&[kind]) {
            let excused = UNNAMED.iter().any(|(of, other, _)| *of == manifest.name && *other == name);
            if !excused && !files.iter().any(|source| names(&source.code, &name.replace('-', "_"))) {
                let places = places.join(", ");
                out.push(format!(
                    "{}/Cargo.toml: [{table}] lists `{name}`, which no file under {places} names: remove it",
                    manifest.folder
                ));
            }
        }
    }
    out
}

fn within(manifest: &Manifest, source: &Source, places: &[&str]) -> bool {
    let inside = source.path.strip_prefix(&manifest.folder).and_then(|path| path.strip_prefix('/'));
    inside.is_some_and(|path| places.iter().any(|place| path.starts_with(place)))
}

/// Whether code names a crate: as the head of a path, or whole in a `use`. A module of the same name inside another path
/// does not count.
fn names(code: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(name).any(|(at, _)| {
        let (before, after) = (&code[..at], &code[at + name.len()..]);
        if before.ends_with(is_word) || after.starts_with(is_word) {
            return false;
        }
        // `::name` is the crate, `other::name` is not.
        if let Some(head) = before.strip_suffix("::") {
            return !head.ends_with(|c: char| is_word(c) || c == '>');
        }
        let used = before.trim_end().ends_with("use") && after.trim_start().starts_with([';', 'a']);
        used || after.trim_start().starts_with("::")
    })
}

/// Dependencies of the workspace that no crate lists.
fn unlisted(workspace: &Manifest, manifests: &[Manifest]) -> Vec<String> {
    let kinds = [DependencyKind::Normal, DependencyKind::Dev, DependencyKind::Build];
    let listed = |name: &str| manifests.iter().any(|manifest| manifest.dependencies(&kinds).contains(&name));
    let names = workspace.dependencies(&[DependencyKind::Workspace]).into_iter().filter(|name| !listed(name));
    names
        .map(|name| {
            format!("Cargo.toml: [workspace.dependencies] has `{name}`, which no crate lists: remove it")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_is_named_as_the_head_of_a_path() {
        for code in [
            "use serde::Serialize;",
            "fn f() -> serde :: X {}",
            "use serde;",
            "use serde as s;",
            "use ::serde::X;",
        ] {
            assert!(names(code, "serde"), "{code}");
        }
        for code in
            ["use crate::serde::X;", "let serde = 1;", "use serde_json::Value;", "x.serde()", "my_serde::f()"]
        {
            assert!(!names(code, "serde"), "{code}");
        }
    }

    #[test]
    fn what_is_named_elsewhere_only_is_unused() {
        let text = "[dependencies]\nserde-json = \"1\"\ntokio = \"1\"\n[dev-dependencies]\nproptest = \"1\"\ntempfile = \"1\"\n";
        let manifest = Manifest::new("crates/x", text);
        let sources = [
            Source::new("crates/x/src/lib.rs", "use serde_json::Value;\n// tokio::spawn\n"),
            Source::new("crates/x/tests/it/main.rs", "use tokio::test; use proptest::proptest;\n"),
            Source::new("crates/xy/src/lib.rs", "use tokio::test;\nuse tempfile::TempDir;\n"),
        ];
        let found = unused(&manifest, &sources);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("[dependencies] lists `tokio`"), "{found:?}");
        assert!(found[1].contains("[dev-dependencies] lists `tempfile`"), "{found:?}");
    }

    #[test]
    fn the_workspace_keeps_nothing_that_no_crate_lists() {
        let workspace = Manifest::new("", "[workspace.dependencies]\nserde = \"1\"\ntoml = \"1\"\n");
        let crates = [Manifest::new("crates/x", "[dev-dependencies]\nserde.workspace = true\n")];
        let found = unlisted(&workspace, &crates);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("`toml`"));
    }
}
