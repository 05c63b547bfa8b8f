//! What happened to one path in the course of a run, by all that is known of it. Pure.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::commands::Commands;
use crate::overwritten::{Record, State};

/// The path's states, oldest first. Never empty.
#[derive(Debug)]
pub(super) struct Trail(Vec<Point>);

/// One thing that is known.
#[derive(Debug)]
pub(super) struct Point {
    pub(super) at_ms: i64,
    /// What was there before a call changed it; `None` for a checkpoint, which only saw it.
    pub(super) before: Option<State>,
    pub(super) after: State,
    /// A checkpoint after a command: what is different then was the command's.
    pub(super) follows_command: bool,
}

impl Trail {
    /// What was there before the run.
    pub(super) fn before(&self) -> &State {
        let first = &self.0[0];
        first.before.as_ref().unwrap_or(&first.after)
    }

    /// Whether the run left it so. A call that was killed before it changed anything left what it found.
    pub(super) fn was_left_as(&self, present: &State) -> bool {
        let Some(last) = self.0.last() else { return false };
        last.after.is_same(present) || last.before.as_ref().is_some_and(|before| before.is_same(present))
    }

    /// Whether somebody else changed it in between.
    pub(super) fn is_mixed(&self) -> bool {
        self.0.windows(2).any(|pair| {
            let (earlier, later) = (&pair[0], &pair[1]);
            if later.follows_command {
                return false;
            }
            let found = later.before.as_ref().unwrap_or(&later.after);
            let is_left = earlier.after.is_same(found)
                || earlier.before.as_ref().is_some_and(|before| before.is_same(found));
            !is_left
        })
    }

    /// Whether it is about a directory and nothing else: those are told by what they hold.
    pub(super) fn is_directory(&self) -> bool {
        let is_no_file = |state: &State| matches!(state, State::Dir { .. } | State::Absent);
        self.0.iter().all(|point| point.before.as_ref().is_none_or(is_no_file) && is_no_file(&point.after))
            && self.0.iter().any(|point| {
                matches!(point.after, State::Dir { .. }) || matches!(point.before, Some(State::Dir { .. }))
            })
    }
}

/// The trail of each path that calls of a run changed.
pub(super) fn trails(records: &[Record], commands: &Commands) -> BTreeMap<PathBuf, Trail> {
    let mut points: BTreeMap<PathBuf, Vec<Point>> = BTreeMap::new();
    for record in records {
        for item in &record.items {
            let (before, after) = (Some(item.before.clone()), item.after.clone());
            let point = Point { at_ms: record.at_ms, before, after, follows_command: false };
            points.entry(item.path.clone()).or_default().push(point);
        }
    }
    let paths: Vec<PathBuf> = points.keys().cloned().collect();
    for (path, seen) in commands.seen(&paths) {
        if let Some(points) = points.get_mut(&path) {
            points.push(seen);
        }
    }
    for points in points.values_mut() {
        points.sort_by_key(|point| point.at_ms);
    }
    points.into_iter().map(|(path, points)| (path, Trail(points))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(at_ms: i64, before: &str, after: &str) -> Point {
        Point { at_ms, before: Some(file(before)), after: file(after), follows_command: false }
    }

    fn seen(at_ms: i64, state: &str, follows_command: bool) -> Point {
        Point { at_ms, before: None, after: file(state), follows_command }
    }

    fn file(content: &str) -> State {
        if content.is_empty() { State::Absent } else { State::file(content.as_bytes()) }
    }

    #[test]
    fn the_first_and_the_last_count() {
        let trail = Trail(vec![call(1, "", "a"), seen(2, "a", false), seen(3, "b", true), call(4, "b", "c")]);
        assert!(trail.before().is_same(&State::Absent) && !trail.is_mixed());
        assert!(trail.was_left_as(&file("c")) && !trail.was_left_as(&file("a")));
        let trail = Trail(vec![seen(1, "x", false), seen(2, "y", true), call(3, "y", "")]);
        assert!(trail.before().is_same(&file("x")) && trail.was_left_as(&State::Absent));
    }

    #[test]
    fn what_others_did_in_between_is_noticed() {
        assert!(Trail(vec![call(1, "a", "b"), call(2, "p", "q")]).is_mixed());
        assert!(Trail(vec![call(1, "a", "b"), seen(2, "p", false)]).is_mixed());
        assert!(!Trail(vec![call(1, "a", "b"), call(2, "a", "c")]).is_mixed(), "the first was not made");
        assert!(
            Trail(vec![call(1, "a", "b"), call(2, "b", "c")]).was_left_as(&file("b")),
            "nor was the last"
        );
    }

    #[test]
    fn directories_are_told_by_what_they_hold() {
        let dir = State::Dir { mode: None };
        let of = |before: State, after: State| {
            Trail(vec![Point { at_ms: 1, before: Some(before), after, follows_command: false }])
                .is_directory()
        };
        assert!(of(State::Absent, dir.clone()) && of(dir.clone(), State::Absent));
        assert!(!of(State::Absent, file("a")) && !of(dir, file("a")) && !of(file("a"), State::Absent));
    }
}
