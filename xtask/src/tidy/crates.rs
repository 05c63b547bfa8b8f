//! Rules between crates: the dependency order, who may know which library, and the map in ARCHITECTURE.md.

use std::path::Path;

use anyhow::{Context, Result};

/// Who may depend on which of our crates, from the bottom to the top. What is not listed here does not exist yet.
const ORDER: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("tls", &["base"]),
    ("outgoing", &["base", "tls"]),
    ("protocol", &["base"]),
    ("policy", &["base", "protocol"]),
    ("store", &["base", "protocol"]),
    ("content", &["base", "protocol"]),
    ("session", &["base", "protocol"]),
    ("transfer", &["base", "protocol"]),
    ("journal", &["base"]),
    ("vfs", &["base", "protocol", "content", "journal", "store"]),
    ("shell", &["base", "outgoing", "protocol", "session", "store", "vfs"]),
    ("vfs", &["base", "protocol", "content", "store"]),
    ("skills", &["base", "protocol", "vfs"]),
    ("shell", &["base", "tls", "protocol", "session", "store", "vfs", "skills"]),
    ("codemode", &["base", "protocol", "store"]),
    ("mcp", &["base", "protocol", "store"]),
    ("repo", &["base", "protocol", "store"]),
    ("pkg", &["base", "protocol", "store", "repo"]),
    ("adapter", &["base", "protocol", "store"]),
    ("model", &["base", "outgoing", "protocol", "store"]),
    (
        "process",
        &[
            "base", "protocol", "policy", "store", "vfs", "skills", "codemode", "mcp", "repo", "pkg",
            "adapter", "model",
        ],
    ),
    (
        "kernel",
        &[
            "base", "protocol", "content", "session", "transfer", "store", "vfs", "shell", "codemode", "mcp",
            "repo", "pkg", "adapter", "model", "process",
        ],
    ),
    ("legacy", &["base", "protocol"]),
    ("server", &["base", "protocol", "store", "kernel", "legacy"]),
    ("client", &["base", "tls", "protocol", "transfer"]),
    ("device", &["base", "protocol", "content", "session", "transfer", "client"]),
    ("terminal", &["base", "protocol", "client"]),
    ("chat", &["base", "protocol", "client", "terminal"]),
    (
        "gsv",
        &[
            "base", "protocol", "transfer", "store", "kernel", "server", "client", "device", "terminal",
            "chat",
        ],
    ),
    ("testkit", &["base", "protocol", "store", "kernel", "server", "client", "device", "legacy", "model"]),
    ("xtask", &["protocol"]),
];

/// Libraries that only some crates may know.
const LIBRARIES: &[(&str, &[&str])] = &[
    ("rusqlite", &["store"]),
    ("tokio-postgres", &["store"]),
    ("deadpool-postgres", &["store"]),
    ("tokio-tungstenite", &["server", "client", "testkit"]),
    ("tokio-websockets", &["server", "client", "testkit"]),
    ("axum", &["server", "testkit"]),
    ("hyper", &["server", "outgoing", "testkit"]),
    ("rustls", &["tls"]),
    ("tokio-rustls", &["tls", "testkit"]),
    ("webpki-roots", &["tls"]),
    ("bashkit", &["shell"]),
    ("clap", &["gsv", "chat", "testkit"]),
    ("hyper-rustls", &["model"]),
    ("bashkit", &["policy", "shell"]),
    ("clap", &["gsv", "testkit"]),
    ("anyhow", &["gsv", "testkit", "xtask"]),
];

/// What breaks a rule between crates.
pub fn problems(root: &Path) -> Result<Vec<String>> {
    let map = std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap_or_default();
    let mut out = Vec::new();
    let mut folders: Vec<_> = std::fs::read_dir(root.join("crates"))
        .context("could not list crates/")?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|folder| folder.join("Cargo.toml").is_file())
        .collect();
    folders.sort();
    folders.push(root.join("xtask"));
    for folder in folders {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let manifest = folder.join("Cargo.toml");
        let text = std::fs::read_to_string(&manifest)
            .with_context(|| format!("could not read {name}/Cargo.toml"))?;
        out.extend(misplaced(&name, &dependencies(&text)));
        if folder.starts_with(root.join("crates")) && !in_map(&map, &name) {
            out.push(format!("ARCHITECTURE.md: no table has a row for the crate `{name}`"));
        }
    }
    Ok(out)
}

/// Dependencies of one crate that the order does not allow.
fn misplaced(name: &str, dependencies: &[String]) -> Vec<String> {
    let Some((_, allowed)) = ORDER.iter().find(|(other, _)| *other == name) else {
        return vec![format!(
            "crate `{name}`: has no place in the order of crates (xtask/src/tidy/crates.rs)"
        )];
    };
    let mut out = Vec::new();
    for dependency in dependencies.iter().map(String::as_str) {
        let ours = ORDER.iter().any(|(other, _)| *other == dependency);
        if ours && !allowed.contains(&dependency) {
            out.push(format!("crate `{name}`: must not depend on `{dependency}`"));
        }
        let library = LIBRARIES.iter().find(|(library, _)| *library == dependency);
        if let Some((library, users)) = library.filter(|(_, users)| !users.contains(&name)) {
            out.push(format!("crate `{name}`: must not know `{library}`; only {} may", users.join(", ")));
        }
    }
    out
}

/// The names under `[dependencies]` and its relatives; what only tests need is free.
fn dependencies(manifest: &str) -> Vec<String> {
    let mut counts = false;
    let mut out = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            counts = section.ends_with("dependencies") && !section.ends_with("dev-dependencies");
        } else if counts && !line.starts_with('#') {
            let name: String =
                line.chars().take_while(|c| c.is_alphanumeric() || "-_".contains(*c)).collect();
            if !name.is_empty() {
                out.push(name);
            }
        }
    }
    out
}

/// Whether the first cell of a table's row names the crate.
fn in_map(map: &str, name: &str) -> bool {
    let rows = map.lines().filter_map(|line| line.trim().strip_prefix('|'));
    rows.filter_map(|row| row.split('|').next()).any(|cell| {
        let named =
            |word: &str| word.trim_matches(|c: char| "`[]*/".contains(c)).rsplit('/').next() == Some(name);
        cell.split_whitespace().any(|word| named(word.split("](").next().unwrap_or(word)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_has_no_way_up() {
        for (index, (name, allowed)) in ORDER.iter().enumerate() {
            for below in *allowed {
                let place = ORDER.iter().position(|(other, _)| other == below);
                let fine = place.is_some_and(|place| place < index);
                assert!(fine, "{name} → {below}");
            }
        }
    }

    #[test]
    fn only_real_dependencies_count() {
        let manifest = "[package]\nname = \"x\"\n[dependencies]\nbase.workspace = true\n#store.workspace = true\n\
            tokio = { workspace = true }\n[target.'cfg(unix)'.dependencies]\nkernel = \"1\"\n[dev-dependencies]\ntestkit = \"1\"\n";
        assert_eq!(dependencies(manifest), ["base", "tokio", "kernel"]);
    }

    #[test]
    fn a_device_may_not_know_the_kernel_nor_the_kernel_a_socket() {
        let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        assert_eq!(
            misplaced("device", &names(&["base", "kernel"])),
            ["crate `device`: must not depend on `kernel`"]
        );
        assert_eq!(misplaced("kernel", &names(&["tokio-tungstenite"])).len(), 1);
        assert!(misplaced("kernel", &names(&["store", "serde"])).is_empty());
        assert_eq!(misplaced("surprise", &[]).len(), 1);
    }

    #[test]
    fn the_map_is_a_table() {
        let map = "The `store` is nice.\n| crate | does |\n|---|---|\n| `base` | x |\n| [`crates/kernel`](crates/kernel) | y `store` |\n";
        assert!(in_map(map, "base") && in_map(map, "kernel") && !in_map(map, "store"));
    }
}
