//! `git log`: the history, newest first.

use std::collections::HashSet;

use base::limits::native_shell as limits;
use protocol::repo::Commit;
use regex::Regex;

use super::super::options::{Opt, flag, valued};
use super::super::{Cx, Done};
use super::dates::Form;
use super::diff::{self, How};
use super::formats::{Format, Style, names};
use super::history::Walk;
use super::pathspec::Pathspec;
use super::place::Place;
use super::revisions::{self, Range};
use super::words::{self, DIFFERENCES, Given, Shown};
use super::{fatal, usage};

/// Options that say how commits are printed.
pub(super) fn styles() -> Vec<Opt> {
    vec![
        flag('\0', "oneline"),
        valued('\0', "format"),
        valued('\0', "pretty"),
        valued('\0', "date"),
        flag('\0', "abbrev-commit"),
        flag('\0', "no-abbrev-commit"),
    ]
}

/// How commits are printed, by the options.
pub(super) fn style(cx: &Cx<'_>, place: &Place, given: &Given) -> Result<Style, Done> {
    let mut style = Style {
        format: Format::Medium,
        date: Form::Default,
        abbreviates: false,
        now_ms: cx.clock.now_ms(),
        names: names(&place.refs, &place.branch, place.head.as_deref()),
    };
    for (name, value) in given.options.given() {
        match name {
            "oneline" => (style.format, style.abbreviates) = (Format::Oneline, true),
            "abbrev-commit" => style.abbreviates = true,
            "no-abbrev-commit" => style.abbreviates = false,
            "format" | "pretty" => {
                style.format =
                    Format::parse(value).ok_or_else(|| fatal(format!("invalid --pretty format: {value}")))?;
            }
            "date" => {
                style.date =
                    Form::parse(value).ok_or_else(|| fatal(format!("unknown date format {value}")))?;
            }
            _ => {}
        }
    }
    Ok(style)
}

pub(super) async fn run(cx: &Cx<'_>) -> Result<Done, Done> {
    let mut own = styles();
    own.extend([
        valued('n', "max-count"),
        valued('\0', "skip"),
        valued('\0', "author"),
        valued('\0', "grep"),
        flag('i', "regexp-ignore-case"),
        flag('\0', "merges"),
        flag('\0', "no-merges"),
        flag('\0', "reverse"),
    ]);
    let given = words::read(cx.args, own, DIFFERENCES)?;
    let place = Place::here(cx).await?;
    place.head()?;
    let (ranges, wanted) = revisions::split(cx, &place, &given).await?;
    let mut chosen = Chosen::new(cx, &place, &given, ranges, wanted).await?;
    let (style, how) =
        (style(cx, &place, &given)?, How { shown: given.shown(Shown::Nothing), around: given.around()? });
    let mut printer = Printer {
        place: &place,
        style,
        how,
        with_merges: given.options.has("first-parent"),
        done: Done::default(),
        count: 0,
    };
    if given.options.has("reverse") {
        let mut all = Vec::new();
        while let Some(commit) = chosen.next(cx).await? {
            all.push(commit);
        }
        for commit in all.iter().rev() {
            printer.commit(cx, commit, &chosen.wanted).await?;
        }
    } else {
        while let Some(commit) = chosen.next(cx).await? {
            printer.commit(cx, &commit, &chosen.wanted).await?;
            if printer.done.is_full() {
                break;
            }
        }
    }
    let mut done = printer.done;
    if chosen.walk.was_cut() {
        let most = limits::GIT_COMMITS_MAX;
        done.stderr.extend_from_slice(format!("warning: only {most} commits were looked at\n").as_bytes());
    }
    Ok(done)
}

/// The commits that are wanted, one after the other.
struct Chosen {
    walk: Walk,
    wanted: Pathspec,
    /// With several paths: commits that changed one of them.
    among: Option<HashSet<String>>,
    hidden: HashSet<String>,
    author: Option<Regex>,
    grep: Option<Regex>,
    merges: Option<bool>,
    skip: u64,
    left: u64,
}

impl Chosen {
    async fn new(
        cx: &Cx<'_>,
        place: &Place,
        given: &Given,
        ranges: Vec<Range>,
        wanted: Pathspec,
    ) -> Result<Chosen, Done> {
        let (tip, hidden) = match ranges.as_slice() {
            [] => (place.head()?.to_string(), HashSet::new()),
            [Range::One(tip)] => (tip.hash.clone(), HashSet::new()),
            [Range::Two { from, to, three: false }] => {
                (to.hash.clone(), revisions::hashes(cx, place, &from.hash).await?)
            }
            _ => return Err(usage("git log takes one revision or A..B here")),
        };
        let number = |name| given.options.number(name).map_err(usage);
        let left = number("max-count")?.unwrap_or(u64::MAX);
        let pattern = |name: &str| match given.options.value(name) {
            Some(text) => {
                let case = if given.options.has("regexp-ignore-case") { "(?i)" } else { "" };
                Regex::new(&format!("{case}(?m){text}")).map(Some).map_err(|error| fatal(error.to_string()))
            }
            None => Ok(None),
        };
        let (author, grep) = (pattern("author")?, pattern("grep")?);
        let paths = wanted.paths();
        let mut among = None;
        if paths.len() > 1 {
            let mut found = HashSet::new();
            for path in paths {
                let mut walk = Walk::new(&place.repo, &tip, Some(path), u64::MAX);
                while let Some(commit) = walk.next(cx).await? {
                    found.insert(commit.hash);
                }
            }
            among = Some(found);
        }
        let skip = number("skip")?.unwrap_or(0);
        let few = if author.is_some() || grep.is_some() { u64::MAX } else { left.saturating_add(skip) };
        let only = if paths.len() == 1 { paths.first().map(String::as_str) } else { None };
        let walk = Walk::new(&place.repo, &tip, only, few);
        let merges = match (given.options.has("merges"), given.options.has("no-merges")) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        Ok(Chosen { walk, wanted, among, hidden, author, grep, merges, skip, left })
    }

    async fn next(&mut self, cx: &Cx<'_>) -> Result<Option<Commit>, Done> {
        while self.left > 0 {
            let Some(commit) = self.walk.next(cx).await? else { return Ok(None) };
            if !self.is_wanted(&commit) {
                continue;
            }
            if self.skip > 0 {
                self.skip -= 1;
                continue;
            }
            self.left -= 1;
            return Ok(Some(commit));
        }
        Ok(None)
    }

    fn is_wanted(&self, commit: &Commit) -> bool {
        let author = format!("{} <{}>", commit.author, commit.author_email);
        !self.hidden.contains(&commit.hash)
            && self.among.as_ref().is_none_or(|among| among.contains(&commit.hash))
            && self.author.as_ref().is_none_or(|pattern| pattern.is_match(&author))
            && self.grep.as_ref().is_none_or(|pattern| pattern.is_match(&commit.message))
            && self.merges.is_none_or(|merges| merges == (commit.parents.len() > 1))
    }
}

/// Prints commits, each with what it changed.
pub(super) struct Printer<'a> {
    pub(super) place: &'a Place,
    pub(super) style: Style,
    pub(super) how: How,
    /// Whether what a merge brought is printed too.
    pub(super) with_merges: bool,
    pub(super) done: Done,
    pub(super) count: usize,
}

impl Printer<'_> {
    pub(super) async fn commit(
        &mut self,
        cx: &Cx<'_>,
        commit: &Commit,
        wanted: &Pathspec,
    ) -> Result<(), Done> {
        if self.count > 0 && self.style.format.is_separated() {
            self.done.print("\n");
        }
        self.count += 1;
        self.done.print(self.style.print(commit));
        if self.how.shown == Shown::Nothing || (commit.parents.len() > 1 && !self.with_merges) {
            return Ok(());
        }
        let (changes, old, new) = diff::of_commit(cx, self.place, commit, wanted).await?;
        if !changes.is_empty() && self.style.format != Format::Oneline {
            self.done.print("\n");
        }
        diff::print(cx, self.place, &mut self.done, &changes, (&old, &new), self.how).await
    }
}
