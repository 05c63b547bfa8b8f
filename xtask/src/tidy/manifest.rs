//! Reader of Cargo manifests: the names under their tables of dependencies, and what kind each is. No full TOML; our manifests
//! have one dependency a line.

use std::path::Path;

use anyhow::{Context, Result};

/// The table of a manifest that lists a dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DependencyKind {
    /// `[dependencies]`, also of a platform.
    Normal,
    /// `[dev-dependencies]`.
    Dev,
    /// `[build-dependencies]`.
    Build,
    /// `[workspace.dependencies]`.
    Workspace,
}

/// One `Cargo.toml`.
pub struct Manifest {
    /// The crate's name, which is its folder's; empty for the workspace.
    pub name: String,
    /// From the repository's root, such as `crates/kernel`.
    pub folder: String,
    listed: Vec<(DependencyKind, String)>,
}

impl Manifest {
    /// Reads one from its text.
    pub fn new(folder: &str, text: &str) -> Manifest {
        let mut kind = None;
        let mut listed = Vec::new();
        for line in text.lines().map(str::trim) {
            if let Some(section) = line.strip_prefix('[') {
                kind = kind_of(section.trim_end_matches(']'));
            } else if let Some(kind) = kind {
                let name: String =
                    line.chars().take_while(|c| c.is_alphanumeric() || "-_".contains(*c)).collect();
                if !name.is_empty() {
                    listed.push((kind, name));
                }
            }
        }
        let name = folder.rsplit('/').next().unwrap_or_default().to_string();
        Manifest { name, folder: folder.to_string(), listed }
    }

    /// The names of these kinds, in the order of the file.
    pub fn dependencies(&self, kinds: &[DependencyKind]) -> Vec<&str> {
        let wanted = self.listed.iter().filter(|(kind, _)| kinds.contains(kind));
        wanted.map(|(_, name)| name.as_str()).collect()
    }
}

/// The manifests of all our crates.
pub fn all(root: &Path) -> Result<Vec<Manifest>> {
    let mut folders = vec!["xtask".to_string()];
    for entry in std::fs::read_dir(root.join("crates")).context("could not list crates/")? {
        let entry = entry?;
        if entry.path().join("Cargo.toml").is_file() {
            folders.push(format!("crates/{}", entry.file_name().to_string_lossy()));
        }
    }
    folders.sort();
    folders.iter().map(|folder| read(root, folder)).collect()
}

/// The manifest in one folder; the empty name is the workspace's.
pub fn read(root: &Path, folder: &str) -> Result<Manifest> {
    let path = root.join(folder).join("Cargo.toml");
    let text =
        std::fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
    Ok(Manifest::new(folder, &text))
}

fn kind_of(section: &str) -> Option<DependencyKind> {
    match section.rsplit('.').next()? {
        "dependencies" if section.starts_with("workspace.") => Some(DependencyKind::Workspace),
        "dependencies" => Some(DependencyKind::Normal),
        "dev-dependencies" => Some(DependencyKind::Dev),
        "build-dependencies" => Some(DependencyKind::Build),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_table_has_its_kind_and_comments_do_not_count() {
        let text = "[package]\nname = \"x\"\n[dependencies]\nbase.workspace = true\n#store.workspace = true\n\
            tokio = { workspace = true }\n[target.'cfg(unix)'.dependencies]\nkernel = \"1\"\n[dev-dependencies]\n\
            testkit = \"1\"\n\n[build-dependencies]\ncc = \"1\"\n[workspace.dependencies]\nserde = \"1\"\n[lints]\nworkspace = true\n";
        let manifest = Manifest::new("crates/x", text);
        assert_eq!(manifest.name, "x");
        assert_eq!(
            manifest.dependencies(&[DependencyKind::Normal, DependencyKind::Build]),
            ["base", "tokio", "kernel", "cc"]
        );
        assert_eq!(manifest.dependencies(&[DependencyKind::Dev]), ["testkit"]);
        assert_eq!(manifest.dependencies(&[DependencyKind::Workspace]), ["serde"]);
    }
}
