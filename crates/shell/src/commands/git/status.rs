//! `git status`: what of the live files is not committed yet.

use std::collections::BTreeSet;

use vfs::VPath;

use super::super::operand_path::relative;
use super::super::options::{flag, valued};
use super::super::{Cx, Done};
use super::content::Source;
use super::diff::uncommitted;
use super::place::Place;
use super::quote::quoted;
use super::trees::{self, Change};
use super::usage;
use super::words::{self, Given};

/// What differs, as status tells it.
pub(super) struct State {
    /// Files that are committed and differ.
    pub(super) changed: Vec<Change>,
    /// New files, whole directories with a slash behind.
    pub(super) untracked: Vec<String>,
}

pub(super) async fn run(cx: &Cx<'_>) -> Result<Done, Done> {
    let own = vec![
        flag('s', "short"),
        flag('b', "branch"),
        flag('\0', "porcelain"),
        flag('\0', "long"),
        flag('z', "null"),
        flag('\0', "no-renames"),
        flag('\0', "ignored"),
        valued('u', "untracked-files"),
    ];
    // `-u` and `-uall` are one word, and so are `--porcelain=v1` and `--untracked-files`.
    let spelled: Vec<String> = cx.args.iter().map(|word| spelled(word)).collect();
    let given = words::read(&spelled, own, &[])?;
    let place = Place::here(cx).await?;
    let state = state(cx, &place, &given).await?;
    let prefix = place.prefix(cx);
    let is_porcelain = given.options.has("porcelain") || given.options.has("null");
    if is_porcelain || given.options.has("short") {
        let names =
            Names { prefix: if is_porcelain { "" } else { &prefix }, plain: given.options.has("null") };
        return Ok(Done::printed(short(&place, &state, &given, &names)));
    }
    Ok(Done::printed(long(&place, &state, &Names { prefix: &prefix, plain: false })))
}

fn spelled(word: &str) -> String {
    match word {
        "-u" | "--untracked-files" => "--untracked-files=all".to_string(),
        "--porcelain=v1" | "--porcelain=1" => "--porcelain".to_string(),
        word => word.to_string(),
    }
}

async fn state(cx: &Cx<'_>, place: &Place, given: &Given) -> Result<State, Done> {
    let mut operands = given.options.operands.clone();
    operands.extend(given.paths.iter().flatten().cloned());
    let wanted = place.paths(cx, &operands)?;
    let head = place.head.clone().map_or(Source::Nothing, Source::Commit);
    let (new, changed): (Vec<Change>, Vec<Change>) = uncommitted(cx, place, &head, &wanted, true)
        .await?
        .into_iter()
        .partition(|change| change.old.is_none());
    let new: Vec<String> = new.into_iter().map(|change| change.path).collect();
    let untracked = match given.options.value("untracked-files").unwrap_or("normal") {
        "no" | "false" => Vec::new(),
        "all" => new,
        "normal" | "true" => {
            let tracked = trees::files(cx, &place.repo, place.head.as_deref(), &Default::default()).await?;
            gathered(new, tracked.keys())
        }
        other => return Err(usage(format!("Invalid untracked files mode '{other}'"))),
    };
    Ok(State { changed, untracked })
}

/// Directories in which everything is new are told as one.
fn gathered<'a>(new: Vec<String>, tracked: impl Iterator<Item = &'a String>) -> Vec<String> {
    let above =
        |path: &str| path.match_indices('/').map(|(at, _)| path[..at].to_string()).collect::<Vec<_>>();
    let known: BTreeSet<String> = tracked.flat_map(|path| above(path)).collect();
    let shown: BTreeSet<String> = new
        .into_iter()
        .map(|path| match above(&path).into_iter().find(|directory| !known.contains(directory)) {
            Some(directory) => format!("{directory}/"),
            None => path,
        })
        .collect();
    shown.into_iter().collect()
}

/// How names are shown.
struct Names<'a> {
    /// The directory they are seen from.
    prefix: &'a str,
    plain: bool,
}

impl Names<'_> {
    fn shown(&self, path: &str) -> String {
        if self.prefix.is_empty() {
            return path.to_string();
        }
        let absolute = |path: &str| VPath::absolute(&format!("/{path}"));
        match (absolute(self.prefix), absolute(path)) {
            (Ok(from), Ok(to)) => {
                let slash = if path.ends_with('/') { "/" } else { "" };
                format!("{}{slash}", relative(&from, &to))
            }
            _ => path.to_string(),
        }
    }

    fn long(&self, path: &str) -> String {
        quoted(&self.shown(path))
    }

    /// In short lists a blank needs quotes too.
    fn short(&self, path: &str) -> String {
        let name = self.shown(path);
        match quoted(&name) {
            _ if self.plain => name,
            same if same == name && name.contains(' ') => format!("\"{name}\""),
            quoted => quoted,
        }
    }
}

fn short(place: &Place, state: &State, given: &Given, names: &Names<'_>) -> String {
    let end = if names.plain { '\0' } else { '\n' };
    let mut out = String::new();
    if given.options.has("branch") {
        let none = if place.head.is_none() { "No commits yet on " } else { "" };
        out += &format!("## {none}{}{end}", place.branch);
    }
    for change in &state.changed {
        out += &format!(" {} {}{end}", change.letter(), names.short(&change.path));
    }
    for path in &state.untracked {
        out += &format!("?? {}{end}", names.short(path));
    }
    out
}

fn long(place: &Place, state: &State, names: &Names<'_>) -> String {
    let mut out = format!("On branch {}\n", place.branch);
    if place.head.is_none() {
        out += "\nNo commits yet\n\n";
    }
    if !state.changed.is_empty() {
        out += "Changes not staged for commit:\n";
        for change in &state.changed {
            let word = match change.letter() {
                'D' => "deleted:    ",
                'T' => "typechange: ",
                _ => "modified:   ",
            };
            out += &format!("\t{word}{}\n", names.long(&change.path));
        }
        out.push('\n');
    }
    if !state.untracked.is_empty() {
        out += "Untracked files:\n";
        for path in &state.untracked {
            out += &format!("\t{}\n", names.long(path));
        }
        out.push('\n');
    }
    out += match (state.changed.is_empty(), state.untracked.is_empty()) {
        (true, true) if place.head.is_none() => "nothing to commit\n",
        (true, true) => "nothing to commit, working tree clean\n",
        (true, false) => "nothing added to commit but untracked files present\n",
        (false, _) => "no changes added to commit\n",
    };
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_directories_are_told_as_one() {
        let text = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        let tracked = text(&["a/x", "top"]);
        let new = text(&["a/y", "b/c/1", "b/c/2", "a/d/e", "z"]);
        assert_eq!(gathered(new, tracked.iter()), text(&["a/d/", "a/y", "b/", "z"]));
    }
}
