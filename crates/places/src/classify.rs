//! Classification of a path against the table: which place it is in, and whether secrets may lie below it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use crate::pattern::{self, Fit, names};
use crate::table::{At, HARMLESS, PLACES, SensitivePlace};

/// Directories that hold the homes of users, where a machine does not say otherwise.
const HOMES: &[&str] = &["home", "Users", "export/home", "var/home"];
/// Homes that stand by themselves.
const LONE_HOMES: &[&str] = &["root", "var/root", "private/var/root"];

/// What the paths of one machine are measured by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Roots<'a> {
    /// The home of the user whose machine it is; unknown homes are guessed by where homes usually are.
    pub home: Option<&'a str>,
    /// The directory in which agents work.
    pub workspace: Option<&'a str>,
    /// Whether capital letters do not count: on macOS and Windows, and wherever a question too many is the lesser harm.
    pub fold_case: bool,
}

impl<'a> Roots<'a> {
    /// Whether a path is the workspace, or in it.
    pub fn is_in_workspace(&self, path: &str) -> bool {
        self.workspace.is_some_and(|workspace| below(path, workspace, self.fold_case).is_some())
    }

    /// What a path is called from the home, if it is in it.
    fn home_path<'p>(&self, path: &'p str) -> Option<Vec<&'p str>> {
        if let Some(home) = self.home
            && let Some(rest) = below(path, home, self.fold_case)
        {
            return Some(rest);
        }
        // Whose home it is cannot be told; then each is taken for the user's.
        if self.home.is_some_and(|home| home.starts_with('/')) { None } else { usual_home(path) }
    }
}

/// The place a path is in. Of several, one that is a credential goes first.
pub fn classify(path: &str, at: &Roots<'_>) -> Option<&'static SensitivePlace> {
    let folded = if at.fold_case { Cow::Owned(path.to_lowercase()) } else { Cow::Borrowed(path) };
    let path = folded.as_ref();
    let whole = names(path);
    let home_path = at.home_path(path);
    let mut found: Vec<usize> = Vec::new();
    for start in 0..whole.len() {
        found.extend(INDEX.fitting(At::Anywhere, &whole[start..], at.fold_case));
    }
    found.extend(INDEX.fitting(At::System, &whole, at.fold_case));
    found.extend(home_path.iter().flat_map(|rest| INDEX.fitting(At::Home, rest, at.fold_case)));
    if is_of_another(path, home_path.is_some(), at) {
        found.extend(PLACES.iter().position(|place| place.at == At::OtherHome));
    }
    if found.is_empty() || HARMLESS.iter().any(|pattern| fits_anywhere(pattern, &whole, false)) {
        return None;
    }
    found.sort_unstable();
    let places = || found.iter().map(|index| &PLACES[*index]);
    // The workspace is where agents work, even if somebody put it into a directory of the system.
    let is_meant = |place: &&SensitivePlace| place.at != At::System || !at.is_in_workspace(path);
    places().find(|place| place.kind.is_secret()).or_else(|| places().find(is_meant))
}

/// The table by the first name of each pattern, so that a path is compared with few of them.
struct Index {
    plain: HashMap<(At, String), Vec<usize>>,
    /// Those whose first name has a `*`.
    starred: HashMap<At, Vec<usize>>,
    /// Every pattern in small letters.
    folded: Vec<String>,
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let folded = PLACES.iter().map(|place| place.pattern.to_lowercase()).collect();
    let mut index = Index { plain: HashMap::new(), starred: HashMap::new(), folded };
    for (at, place) in PLACES.iter().enumerate() {
        let first = place.pattern.trim_end_matches('$').split('/').next().unwrap_or_default();
        match first.contains('*') {
            true => index.starred.entry(place.at).or_default().push(at),
            false => index.plain.entry((place.at, first.to_ascii_lowercase())).or_default().push(at),
        }
    }
    index
});

impl Index {
    /// The places whose pattern fits a path from its first name on. A path that is folded has small letters only.
    fn fitting(&self, at: At, path: &[&str], fold_case: bool) -> Vec<usize> {
        let Some(first) = path.first() else { return Vec::new() };
        let plain = self.plain.get(&(at, first.to_ascii_lowercase())).into_iter().flatten();
        let all = plain.chain(self.starred.get(&at).into_iter().flatten());
        let pattern =
            |index: usize| if fold_case { self.folded[index].as_str() } else { PLACES[index].pattern };
        let fits = |index: &&usize| pattern::fit(pattern(**index), path, false) == Fit::Within;
        all.filter(fits).copied().collect()
    }
}

/// A place that is a secret and may lie strictly below a directory. Places that are possible in any directory (`.env`)
/// do not count; [`secret_below`] is for them.
pub fn may_hold(directory: &str, at: &Roots<'_>) -> Option<&'static SensitivePlace> {
    let whole = names(directory);
    let from_home = at.home_path(directory);
    // Homes and their secrets are below whatever is above the home.
    let is_above_homes = at.home.is_some_and(|home| below(home, directory, at.fold_case).is_some())
        || HOMES.iter().chain(LONE_HOMES).any(|home| pattern::fit(home, &whole, at.fold_case) == Fit::Above)
        || HOMES.iter().any(|home| names(home) == whole);
    let holds = |place: &&SensitivePlace| match place.at {
        At::Home => {
            let is_above = |rest: &[&str]| pattern::fit(place.pattern, rest, at.fold_case) == Fit::Above;
            is_above_homes || from_home.as_deref().is_some_and(is_above)
        }
        At::System => pattern::fit(place.pattern, &whole, at.fold_case) == Fit::Above,
        At::OtherHome => is_above_homes && !at.is_in_workspace(directory),
        At::Anywhere => false,
    };
    PLACES.iter().filter(|place| place.kind.is_secret()).find(holds)
}

/// A secret that reading everything below a directory could meet, those that are possible in any directory included.
/// There is always one; the answer says which is the worst.
pub fn secret_below(directory: &str, at: &Roots<'_>) -> Option<&'static SensitivePlace> {
    let anywhere = || PLACES.iter().find(|place| place.at == At::Anywhere && place.kind.is_secret());
    classify(directory, at)
        .filter(|place| place.kind.is_secret())
        .or_else(|| may_hold(directory, at))
        .or_else(anywhere)
}

/// Whether a pattern fits from some name of the path on.
pub(crate) fn fits_anywhere(pattern: &str, path: &[&str], fold_case: bool) -> bool {
    (0..path.len()).any(|start| pattern::fit(pattern, &path[start..], fold_case) == Fit::Within)
}

/// The names that lead from a directory to a path in it.
pub(crate) fn below<'p>(path: &'p str, directory: &str, fold_case: bool) -> Option<Vec<&'p str>> {
    let (path, directory) = (names(path), names(directory));
    let is_same = |(one, other): (&&str, &&str)| match fold_case {
        true => {
            one.eq_ignore_ascii_case(other) || (!one.is_ascii() && one.to_lowercase() == other.to_lowercase())
        }
        false => one == other,
    };
    let is_below = path.len() >= directory.len() && path.iter().zip(&directory).all(is_same);
    is_below.then(|| path[directory.len()..].to_vec())
}

/// The names that lead from a usual home to a path in it.
fn usual_home(path: &str) -> Option<Vec<&str>> {
    for home in HOMES {
        if let Some(rest) = below(path, home, true).filter(|rest| !rest.is_empty()) {
            return Some(rest[1..].to_vec());
        }
    }
    LONE_HOMES.iter().find_map(|home| below(path, home, true))
}

/// Whether a path is in a home that is not the user's, and not in the workspace, which may be there all the same.
fn is_of_another(path: &str, is_own: bool, at: &Roots<'_>) -> bool {
    !is_own && path.starts_with('/') && usual_home(path).is_some() && !at.is_in_workspace(path)
        // What leads to the workspace has to be passed.
        && at.workspace.is_none_or(|workspace| below(workspace, path, at.fold_case).is_none())
}

#[cfg(test)]
mod tests;
