//! `git diff`: what is not committed yet, or what differs between two commits; and the printing of differences.

use super::super::options::flag;
use super::super::{Cx, Done};
use super::content::{self, Source};
use super::pathspec::Pathspec;
use super::place::Place;
use super::quote::quoted;
use super::revisions::{self, Range};
use super::stat;
use super::trees::{self, Change, differences};
use super::words::{self, DIFFERENCES, Shown};
use super::{live, patch, usage};

pub(super) async fn run(cx: &Cx<'_>) -> Result<Done, Done> {
    let own = vec![flag('\0', "cached"), flag('\0', "staged"), flag('\0', "exit-code"), flag('q', "quiet")];
    let given = words::read(cx.args, own, DIFFERENCES)?;
    let place = Place::here(cx).await?;
    let (ranges, wanted) = revisions::split(cx, &place, &given).await?;
    let with_new = given.options.has("cached") || given.options.has("staged");
    let (old, new) = sides(cx, &place, &ranges).await?;
    let changes = match (&old, &new) {
        (old, Source::Live) => uncommitted(cx, &place, old, &wanted, with_new).await?,
        (old, new) => trees::compare(cx, &place.repo, commit(old), commit(new), &wanted).await?,
    };
    let mut done = Done::default();
    if given.options.has("exit-code") || given.options.has("quiet") {
        done.code = i32::from(!changes.is_empty());
    }
    if !given.options.has("quiet") {
        let how = How { shown: given.shown(Shown::Patch), around: given.around()? };
        print(cx, &place, &mut done, &changes, (&old, &new), how).await?;
    }
    Ok(done)
}

fn commit(source: &Source) -> Option<&str> {
    match source {
        Source::Commit(hash) => Some(hash),
        Source::Live | Source::Nothing => None,
    }
}

/// What is compared with what.
async fn sides(cx: &Cx<'_>, place: &Place, ranges: &[Range]) -> Result<(Source, Source), Done> {
    let of = |hash: &str| Source::Commit(hash.to_string());
    Ok(match ranges {
        [] => (place.head.as_deref().map_or(Source::Nothing, of), Source::Live),
        [Range::One(old)] => (of(&old.hash), Source::Live),
        [Range::One(old), Range::One(new)] => (of(&old.hash), of(&new.hash)),
        [Range::Two { from, to, three: false }] => (of(&from.hash), of(&to.hash)),
        [Range::Two { from, to, three: true }] => {
            let base = revisions::common(cx, place, from, to).await?;
            (base.as_deref().map_or(Source::Nothing, of), of(&to.hash))
        }
        _ => return Err(usage("git diff takes at most two revisions")),
    })
}

/// What differs between a commit and the live files. New files count only where `with_new` says so.
pub(super) async fn uncommitted(
    cx: &Cx<'_>,
    place: &Place,
    old: &Source,
    wanted: &Pathspec,
    with_new: bool,
) -> Result<Vec<Change>, Done> {
    let before = trees::files(cx, &place.repo, commit(old), wanted).await?;
    let mut after = live::files(cx, place, wanted).await?;
    match place.head.as_deref() {
        // What the gateway keeps about a workspace in its own way is nobody's news.
        _ if with_new => {
            after.retain(|path, _| before.contains_key(path) || !super::pathspec::is_within(path, ".gsv"));
        }
        head if head == commit(old) => after.retain(|path, _| before.contains_key(path)),
        // With an older commit it is still the last one that says which files are new.
        head => {
            let tracked = trees::files(cx, &place.repo, head, wanted).await?;
            after.retain(|path, _| tracked.contains_key(path));
        }
    }
    Ok(differences(before, after))
}

/// How differences are printed.
#[derive(Clone, Copy)]
pub(super) struct How {
    pub(super) shown: Shown,
    pub(super) around: usize,
}

/// Prints differences.
pub(super) async fn print(
    cx: &Cx<'_>,
    place: &Place,
    done: &mut Done,
    changes: &[Change],
    (old, new): (&Source, &Source),
    how: How,
) -> Result<(), Done> {
    let mut counts = Vec::new();
    for change in changes {
        if done.is_full() {
            break;
        }
        match how.shown {
            Shown::Nothing => return Ok(()),
            Shown::NameOnly => done.print(format!("{}\n", quoted(&change.path))),
            Shown::NameStatus => done.print(format!("{}\t{}\n", change.letter(), quoted(&change.path))),
            Shown::Patch | Shown::Stat | Shown::ShortStat | Shown::NumStat => {
                let before = content::of(cx, place, old, &change.path, change.old.as_ref()).await?;
                let after = content::of(cx, place, new, &change.path, change.new.as_ref()).await?;
                if how.shown == Shown::Patch {
                    let mut out = Vec::new();
                    patch::print(&mut out, change, &before, &after, how.around);
                    done.print(out);
                } else {
                    counts.push(stat::count(change, &before, &after));
                }
                tokio::task::yield_now().await;
            }
        }
    }
    match how.shown {
        Shown::Stat if !counts.is_empty() => done.print(stat::table(&counts)),
        Shown::ShortStat => done.print(stat::summary(&counts)),
        Shown::NumStat => done.print(stat::numbers(&counts)),
        _ => {}
    }
    Ok(())
}

/// What a commit changed, compared with its first parent.
pub(super) async fn of_commit(
    cx: &Cx<'_>,
    place: &Place,
    commit: &protocol::repo::Commit,
    wanted: &Pathspec,
) -> Result<(Vec<Change>, Source, Source), Done> {
    let new = Source::Commit(commit.hash.clone());
    // A shallow history ends where it was cut.
    let parent = match commit.parents.first() {
        Some(parent) => super::history::commit_at(cx, &place.repo, parent, 0).await?,
        None => None,
    };
    let old = parent.map_or(Source::Nothing, |parent| Source::Commit(parent.hash));
    let changes = trees::compare(cx, &place.repo, self::commit(&old), Some(&commit.hash), wanted).await?;
    Ok((changes, old, new))
}
