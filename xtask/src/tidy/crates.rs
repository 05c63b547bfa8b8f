//! Rules between crates: the dependency order, who may know which library, and the map in ARCHITECTURE.md.

use std::path::Path;

use anyhow::Result;

use super::manifest::{self, DependencyKind};

/// Who may depend on which of our crates, from the bottom to the top. What is not listed here does not exist yet.
const ORDER: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("tls", &["base"]),
    ("outgoing", &["base", "tls"]),
    ("protocol", &["base"]),
    ("egress", &["base", "outgoing", "protocol"]),
    ("places", &[]),
    ("policy", &["base", "places", "protocol"]),
    ("store", &["base", "protocol"]),
    ("auth", &["base", "protocol", "store"]),
    ("content", &["base", "protocol"]),
    ("session", &["base", "protocol"]),
    ("transfer", &["base", "protocol"]),
    ("journal", &["base"]),
    ("checkpoint", &["base"]),
    ("vfs", &["base", "protocol", "content", "journal", "store"]),
    ("skills", &["base", "protocol", "vfs"]),
    ("model", &["base", "outgoing", "protocol"]),
    ("gateway", &["base", "protocol", "store", "vfs", "model"]),
    ("sandbox", &["base"]),
    ("guest", &["base", "protocol", "sandbox"]),
    // The areas: they know the gateway's handle, and neither each other nor the kernel.
    ("files", &["base", "protocol", "content", "transfer", "store", "vfs", "gateway"]),
    ("shell", &["base", "outgoing", "protocol", "session", "store", "vfs", "skills", "gateway"]),
    ("process", &["base", "protocol", "policy", "store", "vfs", "skills", "model", "gateway"]),
    ("codemode", &["base", "protocol", "store", "guest", "gateway"]),
    ("mcp", &["base", "outgoing", "protocol", "store", "gateway"]),
    ("oauth", &["base", "outgoing", "protocol", "store", "gateway"]),
    ("repo", &["base", "outgoing", "protocol", "content", "store", "vfs", "gateway"]),
    ("pkg", &["base", "protocol", "store", "repo"]),
    ("adapter", &["base", "protocol", "store"]),
    (
        "kernel",
        &[
            "base", "protocol", "store", "auth", "vfs", "model", "gateway", "files", "shell", "process",
            "codemode", "mcp", "repo", "oauth", "pkg", "adapter",
        ],
    ),
    ("legacy", &["base", "protocol"]),
    ("server", &["base", "protocol", "store", "auth", "guest", "codemode", "kernel", "legacy"]),
    ("client", &["base", "tls", "protocol", "transfer"]),
    (
        "device",
        &[
            "base",
            "protocol",
            "content",
            "session",
            "transfer",
            "client",
            "checkpoint",
            "egress",
            "places",
            "sandbox",
        ],
    ),
    ("terminal", &["base", "protocol", "client"]),
    ("chat", &["base", "protocol", "client", "terminal"]),
    (
        "gsv",
        &[
            "base",
            "protocol",
            "transfer",
            "server",
            "client",
            "checkpoint",
            "sandbox",
            "device",
            "terminal",
            "chat",
            "policy",
        ],
    ),
    ("testkit", &["base", "protocol", "store", "model", "server", "legacy", "sandbox"]),
    ("xtask", &["base", "protocol"]),
];

/// The feature areas: what they want of each other they ask for by syscalls.
#[cfg(test)]
const AREAS: &[&str] = &["files", "shell", "process", "codemode", "repo"];

/// Libraries that only some crates may know.
const LIBRARIES: &[(&str, &[&str])] = &[
    ("rusqlite", &["store"]),
    ("tokio-postgres", &["store"]),
    ("deadpool-postgres", &["store"]),
    ("tokio-tungstenite", &["client", "testkit"]),
    ("tokio-websockets", &["server", "testkit"]),
    // An area's HTTP routes go through the gateway's trait and the kernel to the server.
    ("axum", &["gateway", "kernel", "oauth", "repo", "server"]),
    ("hyper", &["server", "outgoing"]),
    ("rustls", &["tls"]),
    ("tokio-rustls", &["tls", "testkit"]),
    ("webpki-roots", &["tls"]),
    ("bashkit", &["policy", "shell"]),
    ("rquickjs", &["codemode"]),
    ("oxc_parser", &["codemode"]),
    ("clap", &["gsv", "chat", "testkit"]),
    ("anyhow", &["gsv", "testkit", "xtask"]),
];

/// What breaks a rule between crates.
pub fn problems(root: &Path) -> Result<Vec<String>> {
    let map = std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap_or_default();
    let mut out = Vec::new();
    for manifest in manifest::all(root)? {
        let name = manifest.name.as_str();
        out.extend(misplaced(name, &manifest.dependencies(&[DependencyKind::Normal, DependencyKind::Build])));
        if manifest.folder.starts_with("crates/") && !in_map(&map, name) {
            out.push(format!("ARCHITECTURE.md: no table has a row for the crate `{name}`"));
        }
    }
    Ok(out)
}

/// Dependencies of one crate that the order does not allow.
fn misplaced(name: &str, dependencies: &[&str]) -> Vec<String> {
    let Some((_, allowed)) = ORDER.iter().find(|(other, _)| *other == name) else {
        return vec![format!(
            "crate `{name}`: has no place in the order of crates (xtask/src/tidy/crates.rs)"
        )];
    };
    let mut out = Vec::new();
    for dependency in dependencies.iter().copied() {
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
    fn each_crate_and_each_library_has_one_row() {
        for table in [ORDER, LIBRARIES] {
            let mut names: Vec<&str> = table.iter().map(|(name, _)| *name).collect();
            names.sort_unstable();
            let all = names.len();
            names.dedup();
            assert_eq!(names.len(), all, "{names:?}");
        }
    }

    #[test]
    fn an_area_knows_the_gateway_and_neither_another_area_nor_the_kernel() {
        for area in AREAS {
            let (_, allowed) = ORDER.iter().find(|(name, _)| name == area).expect("each area has a row");
            assert!(allowed.contains(&"gateway"), "{area}");
            let astray = |name: &&&str| AREAS.contains(name) || **name == "kernel";
            assert_eq!(allowed.iter().find(astray), None, "{area}");
        }
    }

    #[test]
    fn a_device_may_not_know_the_kernel_nor_the_kernel_a_socket() {
        assert_eq!(misplaced("device", &["base", "kernel"]), ["crate `device`: must not depend on `kernel`"]);
        assert_eq!(misplaced("kernel", &["tokio-tungstenite"]).len(), 1);
        assert!(misplaced("kernel", &["store", "serde"]).is_empty());
        assert_eq!(misplaced("surprise", &[]).len(), 1);
    }

    #[test]
    fn the_map_is_a_table() {
        let map = "The `store` is nice.\n| crate | does |\n|---|---|\n| `base` | x |\n| [`crates/kernel`](crates/kernel) | y `store` |\n";
        assert!(in_map(map, "base") && in_map(map, "kernel") && !in_map(map, "store"));
    }
}
