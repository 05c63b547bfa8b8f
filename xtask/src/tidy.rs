//! `cargo xtask tidy`: the house rules that a machine can check. The longest files and functions are advice only.

mod crates;
mod cycles;
mod longest;
mod manifest;
mod source;
mod unused;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::place;
use source::Source;

/// Checks everything and prints what breaks a rule.
pub fn run() -> Result<()> {
    let root = place::root();
    let mut sources = Vec::new();
    for folder in ["crates", "xtask"] {
        for path in rust_files(&root.join(folder))? {
            let text = std::fs::read_to_string(&path)
                .with_context(|| format!("could not read {}", path.display()))?;
            let path = path.strip_prefix(&root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            sources.push(Source::new(&path, &text));
        }
    }
    let mut problems: Vec<String> = sources.iter().flat_map(problems).collect();
    problems.extend(crates::problems(&root)?);
    problems.extend(unused::problems(&root, &sources)?);
    problems.extend(cycles::problems(&sources));
    longest::print(&sources);
    if problems.is_empty() {
        println!("tidy: {} files, nothing to complain about", sources.len());
        return Ok(());
    }
    bail!("{} house rules are broken:\n  {}", problems.len(), problems.join("\n  "))
}

fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries =
        std::fs::read_dir(folder).with_context(|| format!("could not list {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() && !path.ends_with("target") {
            found.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// What breaks a rule in one file.
fn problems(source: &Source) -> Vec<String> {
    let mut out = Vec::new();
    let path = source.path.as_str();
    if !source.text.starts_with("//!") {
        out.push(format!("{path}: opens without `//!` lines that say what it is"));
    }
    if path.ends_with("/mod.rs") {
        out.push(format!("{path}: is named mod.rs; use foo.rs beside foo/"));
    }
    if path.starts_with("crates/") && !path.starts_with("crates/store/") {
        let sql = source.literals.iter().filter(|(_, text)| is_sql(text));
        out.extend(sql.map(|(line, _)| format!("{path}:{line}: has SQL; only the store may")));
    }
    if !may_print(path) {
        for name in ["println!", "eprintln!", "print!", "eprint!"] {
            let lines = source.lines_with(name);
            out.extend(lines.map(|line| format!("{path}:{line}: has {name}; only gsv and chat print")));
        }
    }
    for name in ["todo!(", "unimplemented!(", "#[ignore"] {
        out.extend(source.lines_with(name).map(|line| format!("{path}:{line}: has {name}")));
    }
    out
}

fn may_print(path: &str) -> bool {
    let places = ["crates/gsv/", "crates/chat/", "xtask/", "crates/testkit/src/bin/"];
    places.iter().any(|place| path.starts_with(place))
        || path.contains("/tests/")
        || path.ends_with("/tests.rs")
}

fn is_sql(literal: &str) -> bool {
    let words: Vec<&str> = literal.split_whitespace().take(3).collect();
    matches!(
        words.as_slice(),
        ["SELECT", _, ..]
            | ["INSERT", "INTO" | "OR", ..]
            | ["DELETE", "FROM", ..]
            | ["UPDATE", _, "SET"]
            | ["CREATE", "TABLE" | "INDEX" | "UNIQUE", ..]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(path: &str, text: &str) -> Vec<String> {
        problems(&Source::new(path, text))
    }

    #[test]
    fn a_clean_file_passes() {
        let text = "//! Clean.\n\n// println!(\"in a comment\")\nfn f() -> &'static str {\n    \"todo!() in text\"\n}\n";
        assert_eq!(complaints("crates/kernel/src/a.rs", text), Vec::<String>::new());
    }

    #[test]
    fn each_rule_is_seen() {
        let broken = "fn f() { println!(\"x\"); todo!() }\n";
        let found = complaints("crates/kernel/src/a/mod.rs", broken);
        assert_eq!(found.len(), 4, "{found:?}");
        let sql = "//! x\nconst A: &str = \"SELECT 1\";\nconst B: &str = r#\"\n  DELETE FROM t\"#;\n";
        assert_eq!(complaints("crates/kernel/src/a.rs", sql).len(), 2);
        assert!(complaints("crates/store/src/a.rs", sql).is_empty());
        let ignored = "//! x\n#[test]\n#[ignore = \"slow\"]\nfn f() {}\n";
        assert_eq!(
            complaints("crates/kernel/tests/it/a.rs", ignored),
            ["crates/kernel/tests/it/a.rs:3: has #[ignore"]
        );
    }

    #[test]
    fn prose_is_not_sql() {
        for text in ["SELECT", "Update the row", "UPDATE available", "create table", "INSERT coin"] {
            assert!(!is_sql(text), "{text}");
        }
        assert!(is_sql("UPDATE users SET x = 1") && is_sql("  INSERT INTO t"));
    }
}
