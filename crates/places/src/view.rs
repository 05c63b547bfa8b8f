//! The device's side of the table: what a view of the machine for confined commands hides, and what it keeps read-only.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::classify::{Roots, below, classify, fits_anywhere, may_hold};
use crate::pattern::{self, names};
use crate::table::{At, HARMLESS, PLACES, SensitivePlace};

/// How a path stands in the view of a confined command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// As it is: no secret of the table is there or below.
    Shown,
    /// It leads to a secret: its children are looked at one by one.
    Opened,
    /// It is a secret.
    Hidden,
}

/// Patterns of paths within a workspace that are read-only there, at any depth: code that runs later.
pub static PROTECTED: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let places = PLACES.iter().filter(|place| place.at == At::Anywhere && place.kind.runs_later());
    places.map(|place| place.pattern).collect()
});

/// How a path stands in the view. What may be read in the workspace (`.env`) is shown there.
pub fn view_of(path: &str, at: &Roots<'_>) -> View {
    let is_shown = |place: &SensitivePlace| place.at == At::Anywhere && at.is_in_workspace(path);
    if classify(path, at).is_some_and(|place| place.kind.is_secret() && !is_shown(place)) {
        return View::Hidden;
    }
    if may_hold(path, at).is_some() { View::Opened } else { View::Shown }
}

/// Whether a file of this name is a secret wherever it lies (`.env`, private keys), but for the workspace.
pub fn is_secret_name(name: &str) -> bool {
    let is_one = SECRET_NAMES.0.contains(name)
        || SECRET_NAMES.1.iter().any(|pattern| pattern::is_like(pattern, name, false));
    is_one && !HARMLESS.contains(&name)
}

/// Names of secrets, and patterns of such names.
static SECRET_NAMES: LazyLock<(HashSet<&'static str>, Vec<&'static str>)> = LazyLock::new(|| {
    let places = PLACES.iter().filter(|place| place.at == At::Anywhere && place.kind.is_secret());
    let names = places.map(|place| place.pattern).filter(|pattern| !pattern.contains('/'));
    let (patterns, plain): (Vec<_>, Vec<_>) = names.partition(|pattern| pattern.contains('*'));
    (plain.into_iter().collect(), patterns)
});

/// Directories below the home that are built by inversion: an empty directory in which only the children are put back
/// that [`view_of`] does not hide, so that a secret that is made later stays unseen. `""` is the home itself.
pub fn home_inversion() -> &'static [&'static str] {
    &[
        "",
        ".config",
        ".local",
        ".local/share",
        ".local/state",
        ".cache",
        "Library",
        "Library/Application Support",
    ]
}

/// The secrets that are there: the deepest paths that have to be covered. `list` gives the names in a directory, and none
/// for what is no directory. Links are not followed; whoever covers a path covers what it resolves to as well.
pub fn to_hide(at: &Roots<'_>, list: &mut dyn FnMut(&str) -> Vec<String>) -> Vec<String> {
    let mut found = Vec::new();
    for place in PLACES.iter().filter(|place| place.kind.is_secret()) {
        let start = match (place.at, at.home) {
            (At::Home, Some(home)) => home.trim_end_matches('/').to_string(),
            // What may be anywhere is looked for where it usually is: beside the home's other settings.
            (At::Anywhere, Some(home)) => home.trim_end_matches('/').to_string(),
            (At::System, _) => String::new(),
            // Other homes are whole directories beside the user's.
            _ => continue,
        };
        expand(start, &names(place.pattern.trim_end_matches('$')), at.fold_case, list, &mut found);
    }
    let mut homes = Vec::new();
    for pattern in ["home/*", "Users/*", "root", "var/root"] {
        expand(String::new(), &names(pattern), at.fold_case, list, &mut homes);
    }
    let is_other = |path: &String| {
        classify(path, at).is_some_and(|place| place.at == At::OtherHome)
            && at.home.is_none_or(|home| below(home, path, at.fold_case).is_none())
    };
    found.extend(homes.into_iter().filter(is_other));
    found.sort();
    found.dedup();
    // What lies within another one is covered with it.
    let all = found.clone();
    found.retain(|path| !all.iter().any(|other| other != path && below(path, other, false).is_some()));
    found
}

/// Follows a pattern through the names that are there.
fn expand(
    directory: String,
    pattern: &[&str],
    fold_case: bool,
    list: &mut dyn FnMut(&str) -> Vec<String>,
    found: &mut Vec<String>,
) {
    let Some((first, rest)) = pattern.split_first() else {
        found.push(directory);
        return;
    };
    let here = if directory.is_empty() { "/" } else { directory.as_str() };
    for name in list(here) {
        if pattern::is_like(first, &name, fold_case) {
            expand(format!("{directory}/{name}"), rest, fold_case, list, found);
        }
    }
}

/// The place that a path within a workspace is, if it is read-only there. The path is relative to the workspace.
pub fn is_protected(relative: &str, fold_case: bool) -> Option<&'static SensitivePlace> {
    let path = names(relative);
    if HARMLESS.iter().any(|pattern| fits_anywhere(pattern, &path, fold_case)) {
        return None;
    }
    // As a directory `.git` is the repository, which agents commit to. Only as a file it says where another one is, and
    // which of both it is cannot be told by its name; a call that writes to it is asked about.
    let is_meant = |place: &&SensitivePlace| {
        place.at == At::Anywhere && place.kind.runs_later() && !place.pattern.ends_with('$')
    };
    PLACES.iter().filter(is_meant).find(|place| fits_anywhere(place.pattern, &path, fold_case))
}

/// What has to be read-only in a directory of a workspace: paths relative to it that are there. Every directory in which
/// a repository is found (the workspace, and nested ones) is to be asked about.
pub fn to_protect(
    directory: &str,
    fold_case: bool,
    list: &mut dyn FnMut(&str) -> Vec<String>,
) -> Vec<String> {
    let mut found = Vec::new();
    for pattern in PROTECTED.iter().filter(|pattern| !pattern.ends_with('$') && !pattern.contains("**")) {
        expand(directory.trim_end_matches('/').to_string(), &names(pattern), fold_case, list, &mut found);
    }
    found.retain(|path| !HARMLESS.iter().any(|pattern| fits_anywhere(pattern, &names(path), fold_case)));
    found.sort();
    found.dedup();
    found
}

/// Of the paths of a workspace, relative to it, those that are protected names: compared before and after a confined
/// command, they tell what appeared that could not be covered because it was not there.
pub fn in_workspace_names<'p>(
    paths: impl IntoIterator<Item = &'p str>,
    fold_case: bool,
) -> Vec<(&'p str, &'static SensitivePlace)> {
    paths.into_iter().filter_map(|path| Some((path, is_protected(path, fold_case)?))).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::pattern::Fit;

    /// A disk, as the names in its directories.
    fn disk(paths: &[&str]) -> BTreeMap<String, Vec<String>> {
        let mut disk: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for path in paths {
            let mut at = String::new();
            for name in names(path) {
                let here = if at.is_empty() { "/".to_string() } else { at.clone() };
                let entries = disk.entry(here).or_default();
                if !entries.iter().any(|known| known == name) {
                    entries.push(name.to_string());
                }
                at = format!("{at}/{name}");
            }
        }
        disk
    }

    fn alice() -> Roots<'static> {
        Roots { home: Some("/home/alice"), workspace: Some("/home/alice/app"), fold_case: false }
    }

    #[test]
    fn some_names_are_secrets_wherever_they_are() {
        for name in [".env", ".env.local", ".envrc", "id_rsa", "my.kdbx", ".npmrc", ".git-credentials"] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [".env.example", "env", "id_rsa.pub", "main.rs", ".gitignore", ".git"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn what_is_there_is_hidden() {
        let disk = disk(&[
            "/home/alice/.ssh/id",
            "/home/alice/.config/google-chrome-beta/x",
            "/home/alice/.config/nvim/init.lua",
            "/home/alice/.docker/config.json",
            "/home/alice/.netrc",
            "/home/alice/app/.env",
            "/home/bob/x",
            "/etc/ssh/ssh_host_rsa_key",
            "/etc/ssh/ssh_host_rsa_key.pub",
            "/etc/hosts",
            "/root/x",
        ]);
        let mut list = |path: &str| disk.get(path).cloned().unwrap_or_default();
        assert_eq!(
            to_hide(&alice(), &mut list),
            [
                "/etc/ssh/ssh_host_rsa_key",
                "/home/alice/.config/google-chrome-beta",
                "/home/alice/.docker",
                "/home/alice/.netrc",
                "/home/alice/.ssh",
                "/home/bob",
                "/root",
            ]
        );
    }

    #[test]
    fn the_home_is_opened_and_its_secrets_are_hidden() {
        let view = |path: &str| view_of(path, &alice());
        for (path, expected) in [
            ("/home/alice", View::Opened),
            ("/home/alice/.config", View::Opened),
            ("/home/alice/.config/gh", View::Hidden),
            ("/home/alice/.config/nvim", View::Shown),
            ("/home/alice/.bashrc", View::Shown),
            ("/home/alice/.ssh/x", View::Hidden),
            ("/home/alice/.netrc", View::Hidden),
            ("/home/alice/app", View::Shown),
            ("/home/alice/app/.env", View::Shown),
            ("/home/bob", View::Hidden),
            ("/etc", View::Opened),
            ("/usr", View::Shown),
        ] {
            assert_eq!(view(path), expected, "{path}");
        }
        // Whatever directory of the home has a secret right in it is built by inversion, or covered name by name.
        for directory in home_inversion() {
            let leads = |place: &&SensitivePlace| {
                place.at == At::Home && pattern::fit(place.pattern, &names(directory), false) != Fit::Apart
            };
            assert!(PLACES.iter().any(|place| leads(&place)), "{directory}");
        }
    }

    #[test]
    fn what_runs_later_is_protected_in_the_workspace() {
        for path in [
            ".git/hooks/x",
            "a/b/.git/config",
            ".vscode",
            ".envrc",
            ".mcp.json",
            ".gitmodules",
            ".npmrc",
            "x.git/config",
        ] {
            assert!(is_protected(path, false).is_some(), "{path}");
        }
        for path in
            [".git", ".git/index", ".git/hooks/pre-commit.sample", "src/x", ".env", ".gitignore", "hooks/x"]
        {
            assert!(is_protected(path, false).is_none(), "{path}");
        }
        let appeared = in_workspace_names(["a", ".envrc", "b/.git/hooks/x"], false);
        assert_eq!(appeared.iter().map(|(path, _)| *path).collect::<Vec<_>>(), [".envrc", "b/.git/hooks/x"]);
        let disk = disk(&["/w/.git/hooks/pre-commit", "/w/.git/config", "/w/.vscode/x", "/w/src/x"]);
        let mut list = |path: &str| disk.get(path).cloned().unwrap_or_default();
        assert_eq!(to_protect("/w", false, &mut list), ["/w/.git/config", "/w/.git/hooks", "/w/.vscode"]);
    }
}
