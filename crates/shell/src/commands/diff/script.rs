//! Myers diff: a shortest edit script, found from both ends, its runs moved the way GNU diff does.

use std::collections::HashMap;
use std::ops::Range;

/// A run of changed lines: those that go, and those that come in their place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
}

/// Beyond so many steps a path that is good enough is taken.
const STEPS_MAX: usize = 4_096;

/// Diagonals that are followed for two files altogether; what was not compared by then counts as changed.
const WORK_MAX: usize = 100_000_000;

/// What changed between two lists of lines, given as what is compared of each.
pub(super) fn changes(old: &[Vec<u8>], new: &[Vec<u8>]) -> Vec<Change> {
    let mut numbers = HashMap::new();
    let mut number = |line| {
        let next = numbers.len();
        *numbers.entry(line).or_insert(next)
    };
    let old: Vec<usize> = old.iter().map(&mut number).collect();
    let new: Vec<usize> = new.iter().map(&mut number).collect();
    let mut flags = compare(&old, &new, numbers.len(), WORK_MAX);
    let (first, second) = flags.split_at_mut(1);
    shift(&old, &mut first[0], &second[0]);
    shift(&new, &mut second[0], &first[0]);
    collect(&flags[0], &flags[1])
}

/// Which lines changed, with an unchanged one before the first and after the last.
struct Flags(Vec<bool>);

impl Flags {
    fn new(lines: usize) -> Flags {
        Flags(vec![false; lines + 2])
    }

    fn at(&self, line: isize) -> bool {
        usize::try_from(line + 1).ok().and_then(|at| self.0.get(at).copied()).unwrap_or(false)
    }

    fn set(&mut self, line: isize, changed: bool) {
        if let Some(flag) = usize::try_from(line + 1).ok().and_then(|at| self.0.get_mut(at)) {
            *flag = changed;
        }
    }

    fn lines(&self) -> isize {
        self.0.len() as isize - 2
    }
}

/// Finds the changed lines. Those that the other side does not have at all are not searched for.
fn compare(old: &[usize], new: &[usize], numbers: usize, work: usize) -> [Flags; 2] {
    let mut seen = [vec![false; numbers], vec![false; numbers]];
    old.iter().for_each(|line| seen[0][*line] = true);
    new.iter().for_each(|line| seen[1][*line] = true);
    let mut flags = [Flags::new(old.len()), Flags::new(new.len())];
    let mut kept: [Vec<(usize, usize)>; 2] = Default::default();
    for (side, lines) in [old, new].into_iter().enumerate() {
        for (at, line) in lines.iter().enumerate() {
            if seen[1 - side][*line] {
                kept[side].push((at, *line));
            } else {
                flags[side].set(at as isize, true);
            }
        }
    }
    let lines = |side: usize| kept[side].iter().map(|(_, line)| *line).collect::<Vec<_>>();
    let mut search = Search::new(lines(0), lines(1), work);
    search.run();
    for (side, changed) in [search.old_changed, search.new_changed].into_iter().enumerate() {
        for at in changed {
            flags[side].set(kept[side][at].0 as isize, true);
        }
    }
    flags
}

struct Search {
    x: Vec<usize>,
    y: Vec<usize>,
    /// How far each diagonal was followed, from the front and from the back.
    forward: Vec<isize>,
    backward: Vec<isize>,
    old_changed: Vec<usize>,
    new_changed: Vec<usize>,
    /// Diagonals that may still be followed.
    work: usize,
}

type Part = [isize; 4];

impl Search {
    fn new(x: Vec<usize>, y: Vec<usize>, work: usize) -> Search {
        let diagonals = x.len() + y.len() + 3;
        Search {
            x,
            y,
            forward: vec![0; diagonals],
            backward: vec![0; diagonals],
            old_changed: Vec::new(),
            new_changed: Vec::new(),
            work,
        }
    }

    fn run(&mut self) {
        let mut todo: Vec<Part> = vec![[0, self.x.len() as isize, 0, self.y.len() as isize]];
        while let Some([mut x, mut x_end, mut y, mut y_end]) = todo.pop() {
            while x < x_end && y < y_end && self.same(x, y) {
                (x, y) = (x + 1, y + 1);
            }
            while x < x_end && y < y_end && self.same(x_end - 1, y_end - 1) {
                (x_end, y_end) = (x_end - 1, y_end - 1);
            }
            if x == x_end || y == y_end || self.work == 0 {
                self.new_changed.extend(y as usize..y_end as usize);
                self.old_changed.extend(x as usize..x_end as usize);
            } else {
                let (x_middle, y_middle) = self.middle([x, x_end, y, y_end]);
                todo.push([x_middle, x_end, y_middle, y_end]);
                todo.push([x, x_middle, y, y_middle]);
            }
        }
    }

    fn same(&self, x: isize, y: isize) -> bool {
        self.x[x as usize] == self.y[y as usize]
    }

    /// Where a diagonal is kept.
    fn slot(&self, diagonal: isize) -> usize {
        (diagonal + self.y.len() as isize + 1) as usize
    }

    /// A point on a shortest path, where the searches from both ends meet.
    fn middle(&mut self, part: Part) -> (isize, isize) {
        let [x0, x_end, y0, y_end] = part;
        let (lowest, highest) = (x0 - y_end, x_end - y0);
        let (front, back) = (x0 - y0, x_end - y_end);
        let (mut f_low, mut f_high, mut b_low, mut b_high) = (front, front, back, back);
        let odd = (front - back) & 1 != 0;
        let (f, b) = (self.slot(front), self.slot(back));
        self.forward[f] = x0;
        self.backward[b] = x_end;
        for steps in 1usize.. {
            self.widen(&mut f_low, &mut f_high, lowest, highest, true);
            let mut diagonal = f_high;
            while diagonal >= f_low {
                let (x, y) = self.advance(diagonal, part);
                if odd && (b_low..=b_high).contains(&diagonal) && self.backward[self.slot(diagonal)] <= x {
                    return (x, y);
                }
                diagonal -= 2;
            }
            self.widen(&mut b_low, &mut b_high, lowest, highest, false);
            let mut diagonal = b_high;
            while diagonal >= b_low {
                let (x, y) = self.retreat(diagonal, part);
                if !odd && (f_low..=f_high).contains(&diagonal) && x <= self.forward[self.slot(diagonal)] {
                    return (x, y);
                }
                diagonal -= 2;
            }
            self.work = self.work.saturating_sub(steps.saturating_mul(2));
            if steps >= STEPS_MAX || self.work == 0 {
                return self.farthest(part, [f_low, f_high, b_low, b_high]);
            }
        }
        (x0, y0)
    }

    /// Takes in one more diagonal on either side, as far as there are any.
    fn widen(&mut self, low: &mut isize, high: &mut isize, lowest: isize, highest: isize, forward: bool) {
        let outside = if forward { -1 } else { isize::MAX };
        if *low > lowest {
            *low -= 1;
            let slot = self.slot(*low - 1);
            self.side(forward)[slot] = outside;
        } else {
            *low += 1;
        }
        if *high < highest {
            *high += 1;
            let slot = self.slot(*high + 1);
            self.side(forward)[slot] = outside;
        } else {
            *high -= 1;
        }
    }

    fn side(&mut self, forward: bool) -> &mut [isize] {
        if forward { &mut self.forward } else { &mut self.backward }
    }

    fn advance(&mut self, diagonal: isize, [_, x_end, _, y_end]: Part) -> (isize, isize) {
        let slot = self.slot(diagonal);
        let (below, above) = (self.forward[slot - 1], self.forward[slot + 1]);
        let mut x = if below < above { above } else { below + 1 };
        let mut y = x - diagonal;
        while x < x_end && y < y_end && self.same(x, y) {
            (x, y) = (x + 1, y + 1);
        }
        self.forward[slot] = x;
        (x, y)
    }

    fn retreat(&mut self, diagonal: isize, [x0, _, y0, _]: Part) -> (isize, isize) {
        let slot = self.slot(diagonal);
        let (below, above) = (self.backward[slot - 1], self.backward[slot + 1]);
        let mut x = if below < above { below } else { above - 1 };
        let mut y = x - diagonal;
        while x0 < x && y0 < y && self.same(x - 1, y - 1) {
            (x, y) = (x - 1, y - 1);
        }
        self.backward[slot] = x;
        (x, y)
    }

    /// The point that got farthest, from whichever end.
    fn farthest(&self, part: Part, [f_low, f_high, b_low, b_high]: [isize; 4]) -> (isize, isize) {
        let [x0, x_end, y0, y_end] = part;
        let steps = |low: isize, high: isize| (low..=high).rev().step_by(2);
        let inside = |x: isize, diagonal: isize| {
            let x = x.clamp(x0, x_end);
            let y = (x - diagonal).clamp(y0, y_end);
            (y + diagonal, y)
        };
        let front = steps(f_low, f_high)
            .map(|diagonal| inside(self.forward[self.slot(diagonal)], diagonal))
            .max_by_key(|(x, y)| x + y)
            .unwrap_or((x0, y0));
        let back = steps(b_low, b_high)
            .map(|diagonal| inside(self.backward[self.slot(diagonal)], diagonal))
            .min_by_key(|(x, y)| x + y)
            .unwrap_or((x_end, y_end));
        let (done_front, done_back) = (front.0 + front.1 - x0 - y0, x_end + y_end - back.0 - back.1);
        if done_back < done_front { front } else { back }
    }
}

/// Moves every run of changes so that runs meet and lie as late as they can, or beside one of the other side.
fn shift(lines: &[usize], changed: &mut Flags, other: &Flags) {
    let same = |a: isize, b: isize| lines.get(a as usize) == lines.get(b as usize);
    let (mut i, mut j, end) = (0, 0, changed.lines());
    loop {
        while i < end && !changed.at(i) {
            while other.at(j) {
                j += 1;
            }
            (i, j) = (i + 1, j + 1);
        }
        if i == end {
            return;
        }
        let mut start = i;
        while changed.at(i) {
            i += 1;
        }
        while other.at(j) {
            j += 1;
        }
        loop {
            let length = i - start;
            while start > 0 && same(start - 1, i - 1) {
                (start, i) = (start - 1, i - 1);
                changed.set(start, true);
                changed.set(i, false);
                while changed.at(start - 1) {
                    start -= 1;
                }
                j -= 1;
                while other.at(j) {
                    j -= 1;
                }
            }
            let mut beside = if other.at(j - 1) { i } else { end };
            while i != end && same(start, i) {
                changed.set(start, false);
                changed.set(i, true);
                (start, i) = (start + 1, i + 1);
                while changed.at(i) {
                    i += 1;
                }
                j += 1;
                while other.at(j) {
                    beside = i;
                    j += 1;
                }
            }
            if length == i - start {
                while beside < i {
                    (start, i) = (start - 1, i - 1);
                    changed.set(start, true);
                    changed.set(i, false);
                    j -= 1;
                    while other.at(j) {
                        j -= 1;
                    }
                }
                break;
            }
        }
    }
}

fn collect(old: &Flags, new: &Flags) -> Vec<Change> {
    let (mut changes, mut i, mut j) = (Vec::new(), 0, 0);
    while i < old.lines() || j < new.lines() {
        let (from_i, from_j) = (i, j);
        while old.at(i) {
            i += 1;
        }
        while new.at(j) {
            j += 1;
        }
        if i > from_i || j > from_j {
            changes.push(Change { old: from_i as usize..i as usize, new: from_j as usize..j as usize });
        }
        (i, j) = (i + 1, j + 1);
    }
    changes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_takes_too_long_to_compare_counts_as_changed() {
        let (old, new): (Vec<usize>, Vec<usize>) = ((0..1_000).collect(), (0..1_000).rev().collect());
        let unchanged = |work: usize| {
            let [old, new] = compare(&old, &new, 1_000, work);
            let kept = |flags: &Flags| (0..flags.lines()).filter(|at| !flags.at(*at)).count();
            (kept(&old), kept(&new))
        };
        assert_eq!(unchanged(WORK_MAX), (1, 1));
        let (old, new) = unchanged(1_000);
        assert!(old <= 1 && old == new, "both sides keep the same lines");
    }

    fn lines(text: &str) -> Vec<Vec<u8>> {
        text.chars().map(|line| vec![line as u8]).collect()
    }

    fn script(old: &str, new: &str) -> Vec<(Range<usize>, Range<usize>)> {
        changes(&lines(old), &lines(new)).into_iter().map(|change| (change.old, change.new)).collect()
    }

    #[test]
    fn changes_lie_where_gnu_diff_puts_them() {
        assert_eq!(script("abc", "abc"), []);
        assert_eq!(script("", "ab"), [(0..0, 0..2)]);
        // Of equal lines the last one is the one that goes.
        assert_eq!(script("aab", "ab"), [(1..2, 1..1)]);
        assert_eq!(script("abc", "axc"), [(1..2, 1..2)]);
        assert_eq!(script("abcd", "acd"), [(1..2, 1..1)]);
        assert_eq!(script("ab", "cd"), [(0..2, 0..2)]);
        assert_eq!(script("abcabba", "cbabac"), [(0..2, 0..0), (3..4, 1..1), (5..5, 2..3), (7..7, 5..6)]);
    }

    #[test]
    fn very_different_texts_are_compared_too() {
        let text = |seed: usize| -> Vec<Vec<u8>> {
            (0..12_000_usize).map(|at| (at.wrapping_mul(seed) % 97).to_string().into_bytes()).collect()
        };
        let (old, new) = (text(31), text(57));
        assert_eq!(rebuild(&old, &new, &changes(&old, &new)), new);
    }

    fn rebuild(old: &[Vec<u8>], new: &[Vec<u8>], changes: &[Change]) -> Vec<Vec<u8>> {
        let (mut out, mut at) = (Vec::new(), 0);
        for change in changes {
            out.extend_from_slice(&old[at..change.old.start]);
            out.extend_from_slice(&new[change.new.clone()]);
            at = change.old.end;
        }
        out.extend_from_slice(&old[at..]);
        out
    }

    proptest! {
        #[test]
        fn the_changes_make_the_new_text_of_the_old(old in "[a-d]{0,30}", new in "[a-d]{0,30}") {
            let (old, new) = (lines(&old), lines(&new));
            prop_assert_eq!(rebuild(&old, &new, &changes(&old, &new)), new);
        }
    }
}
