//! `git`: which of its commands destroy, which talk to others, and which run programs.

use crate::programs::Word;

use super::tags::Tags;

const FETCH: Tags = Tags::NETWORK.and(Tags::MUTATING);

/// What a `git` does.
pub(super) struct Effect<'a> {
    pub(super) tags: Tags,
    /// A program it runs.
    pub(super) runs: &'a [Word],
    /// A script it runs.
    pub(super) script: Option<&'a str>,
}

/// What a `git` with these arguments does; `None` when that cannot be told.
pub(super) fn effect(args: &[Word]) -> Option<Effect<'_>> {
    let mut at = 0;
    let name = loop {
        let Some(word) = args.get(at) else { return Some(plain(Tags::NONE)) };
        let text = word.text.as_deref()?;
        at += 1;
        match text {
            "-C" | "--git-dir" | "--work-tree" | "--namespace" => at += 1,
            "--no-pager"
            | "-P"
            | "--bare"
            | "--no-replace-objects"
            | "--literal-pathspecs"
            | "--version"
            | "-v"
            | "--help"
            | "-h"
            | "--no-optional-locks" => {}
            _ if text.starts_with("--git-dir=") || text.starts_with("--work-tree=") => {}
            // `-c` sets what git runs, and so may any option that is not known.
            _ if text.starts_with('-') => return None,
            name => break name,
        }
    };
    let args = &args[at..];
    let words = Words { args };
    match name {
        "bisect" if words.first() == Some("run") => {
            Some(Effect { runs: &args[1..], ..plain(Tags::MUTATING) })
        }
        "submodule" if words.first() == Some("foreach") => submodule(args),
        "rebase" if words.any(&["-x", "--exec"]) => None,
        "filter-branch" | "difftool" | "mergetool" | "instaweb" | "daemon" | "credential" | "send-email"
        | "gui" => None,
        "config" => config(words),
        _ => words.tags(name).map(plain),
    }
}

fn plain(tags: Tags) -> Effect<'static> {
    Effect { tags, runs: &[], script: None }
}

fn submodule(args: &[Word]) -> Option<Effect<'_>> {
    let script = args.get(1..)?.iter().find(|word| !word.start.starts_with('-'))?;
    Some(Effect { script: Some(script.text.as_deref()?), ..plain(Tags::MUTATING) })
}

/// Some settings are programs that git runs later.
fn config(words: Words<'_>) -> Option<Effect<'static>> {
    let operands: Option<Vec<&str>> = words
        .args
        .iter()
        .map(|word| word.text.as_deref())
        .filter(|text| text.is_none_or(|it| !it.starts_with('-')))
        .collect();
    let operands = operands?;
    let is_reading = words.any(&["--get", "--get-all", "--list", "-l", "--get-regexp"])
        || matches!(operands.first(), Some(&("get" | "list")));
    if is_reading || operands.len() < 2 {
        return Some(plain(Tags::NONE));
    }
    let is_harmless =
        |key: &str| key.starts_with("user.") || key.starts_with("color.") || key.starts_with("branch.");
    let key = operands.iter().find(|word| word.contains('.'))?;
    is_harmless(&key.to_ascii_lowercase()).then(|| plain(Tags::MUTATING))
}

#[derive(Clone, Copy)]
struct Words<'a> {
    args: &'a [Word],
}

impl Words<'_> {
    fn first(&self) -> Option<&str> {
        self.args.first().and_then(|word| word.text.as_deref())
    }

    /// Whether one of these options is there, or may be.
    fn any(&self, options: &[&str]) -> bool {
        let is_it = |word: &Word| {
            let Some(text) = word.text.as_deref() else { return word.may_be_option() };
            let name = text.split('=').next().unwrap_or(text);
            options.iter().any(|option| match option.strip_prefix("--") {
                // Long options may be cut short.
                Some(long) => name.len() > 3 && name.starts_with("--") && long.starts_with(&name[2..]),
                None => text.starts_with('-') && !text.starts_with("--") && text.contains(&option[1..]),
            })
        };
        self.args.iter().any(is_it)
    }

    fn operands(&self) -> impl Iterator<Item = &str> {
        self.args.iter().map(|word| word.text.as_deref().unwrap_or("?")).filter(|text| !text.starts_with('-'))
    }

    fn begins(&self, start: &str) -> bool {
        self.args.iter().any(|word| word.start.starts_with(start))
    }

    fn tags(&self, name: &str) -> Option<Tags> {
        if READING.contains(&name) {
            if self.begins("--ext-diff") || self.begins("--open-files") || self.begins("-O") {
                return None;
            }
            return Some(if self.begins("--output") { Tags::MUTATING } else { Tags::NONE });
        }
        let tags = self.changes(name);
        let runs = ["--upload-pack", "--receive-pack", "--exec", "--config", "--template", "-c", "-u"];
        let is_opaque = self.any(&runs) || self.begins("ext::") || self.begins("fd::");
        (!is_opaque || !tags.intersects(Tags::NETWORK)).then_some(tags)
    }

    fn changes(&self, name: &str) -> Tags {
        let first = self.first().unwrap_or_default();
        let destroys = match name {
            "clean" | "rm" | "gc" | "prune" | "filter-repo" | "update-ref" | "replace" => true,
            "reset" => self.any(&["--hard", "--merge", "--keep"]),
            "checkout" => self.checks_out_files(),
            "restore" => !self.begins("--staged") || self.any(&["--worktree", "-W"]),
            "switch" => self.any(&["--force", "--discard-changes", "-f", "-C"]),
            "branch" => self.any(&["--delete", "--force", "-d", "-D", "-M", "-f", "-C"]),
            "tag" => self.any(&["--delete", "--force", "-d", "-f"]),
            "stash" => matches!(first, "drop" | "clear"),
            "reflog" | "worktree" | "remote" | "notes" | "submodule" | "lfs" => {
                ["delete", "expire", "remove", "rm", "prune", "deinit"].contains(&first)
            }
            "push" => {
                let rewrites = self.operands().any(|it| it.starts_with(['+', ':', '?']));
                rewrites
                    || self.any(&[
                        "--force",
                        "--force-with-lease",
                        "--delete",
                        "--mirror",
                        "--prune",
                        "-f",
                        "-d",
                    ])
            }
            _ => false,
        };
        let talks = matches!(
            name,
            "clone" | "fetch" | "pull" | "push" | "ls-remote" | "submodule" | "lfs" | "remote"
        );
        let tags = if talks { FETCH } else { Tags::MUTATING };
        if destroys { tags | Tags::DESTRUCTIVE } else { tags }
    }

    /// Files that are checked out replace what was changed in them.
    fn checks_out_files(&self) -> bool {
        let is_file = |text: &str| text.contains(['.', '*', '?']) || text == "--";
        let is_new_branch = self.begins("-b") && !self.any(&["-f", "-B", "--force"]);
        let has_files = self.operands().count() > 1 || self.operands().any(is_file) || self.begins("--");
        (has_files && !is_new_branch) || self.any(&["--force", "-f", "-B", "-p"])
    }
}

/// Commands that only tell.
#[rustfmt::skip]
const READING: &[&str] = &[
    "status", "log", "show", "diff", "blame", "shortlog", "describe", "rev-parse", "rev-list", "ls-files", "ls-tree",
    "cat-file", "grep", "whatchanged", "name-rev", "merge-base", "for-each-ref", "show-ref", "var", "version", "help",
    "count-objects", "cherry", "range-diff", "diff-tree", "diff-index", "check-ignore", "show-branch",
];
