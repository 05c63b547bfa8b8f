//! `git blame`: who wrote each line of a file, found by walking the versions of the file.

use base::limits::native_shell as limits;

use super::super::options::valued;
use super::super::{Cx, Done};
use super::content::{Content, committed, live};
use super::dates::{self, Form};
use super::history::Walk;
use super::hunks;
use super::patch::SHORT;
use super::place::Place;
use super::{fatal, revisions, usage, words};

/// Who wrote a line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Writer {
    /// As it is shown: `^` stands before a first commit.
    hash: String,
    author: String,
    seconds: i64,
}

pub(super) async fn run(cx: &Cx<'_>) -> Result<Done, Done> {
    let given = words::read(cx.args, vec![valued('L', "range")], &[])?;
    let operands: Vec<&String> = given.options.operands.iter().chain(given.paths.iter().flatten()).collect();
    let (revision, file) = match operands.as_slice() {
        [file] => (None, *file),
        [revision, file] => (Some(revision.as_str()), *file),
        _ => return Err(usage("git blame takes one file")),
    };
    let place = Place::here(cx).await?;
    let path = place.path(cx, file)?;
    let start = match revision {
        Some(text) => revisions::wanted(cx, &place, text).await?.hash,
        None => place.head()?.to_string(),
    };
    let missing = || fatal(format!("no such path '{path}' in {}", revision.unwrap_or("HEAD")));
    let Ok(Some(newest)) = committed(cx, &place.repo, &start, &path).await else { return Err(missing()) };
    let mut writers = Writers::default();
    let text = match revision {
        Some(_) => text_of(&path, newest)?,
        None => {
            let now = text_of(&path, live(cx, &place, &path).await?)?;
            writers.begin(hunks::lines(&now).len());
            let then = text_of(&path, newest)?;
            let nobody = Writer {
                hash: "0".repeat(SHORT + 1),
                author: "Not Committed Yet".to_string(),
                seconds: cx.clock.now_ms().div_euclid(1_000),
            };
            writers.step(&then, &now, &nobody);
            now
        }
    };
    if revision.is_some() {
        writers.begin(hunks::lines(&text).len());
    }
    let first = match revision {
        Some(_) => text.clone(),
        None => match committed(cx, &place.repo, &start, &path).await? {
            Some(content) => text_of(&path, content)?,
            None => return Err(missing()),
        },
    };
    walk(cx, &place, &path, &start, first, &mut writers).await?;
    print(&text, &writers, given.options.value("range"), &path)
}

fn text_of(path: &str, content: Content) -> Result<Vec<u8>, Done> {
    match content {
        Content::Bytes(bytes) => Ok(bytes),
        Content::TooLarge(_) => Err(fatal(format!("{path} is too large to be blamed here"))),
    }
}

/// Goes back through the versions until every line has its writer.
async fn walk(
    cx: &Cx<'_>,
    place: &Place,
    path: &str,
    start: &str,
    mut text: Vec<u8>,
    writers: &mut Writers,
) -> Result<(), Done> {
    let mut walk = Walk::new(&place.repo, start, Some(path), u64::MAX);
    let mut next = walk.next(cx).await?;
    for looked_at in 0.. {
        let Some(commit) = next.take() else { break };
        next = walk.next(cx).await?;
        let is_last = next.is_none() || looked_at + 1 >= limits::GIT_VERSIONS_MAX;
        // Before the oldest version, and after it was deleted in between, there is nothing.
        let older = match &next {
            Some(older) if !is_last => match committed(cx, &place.repo, &older.hash, path).await {
                Ok(Some(content)) => text_of(path, content)?,
                _ => Vec::new(),
            },
            _ => Vec::new(),
        };
        let is_boundary = commit.parents.is_empty() || (is_last && next.is_some());
        let hash = match is_boundary {
            true => format!("^{}", &commit.hash[..SHORT.min(commit.hash.len())]),
            false => commit.hash[..(SHORT + 1).min(commit.hash.len())].to_string(),
        };
        let writer = Writer { hash, author: commit.author, seconds: commit.author_time };
        writers.step(&older, &text, &writer);
        if writers.are_all_known() || is_last {
            break;
        }
        text = older;
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// Who wrote each line, and where the others are in the version that is looked at.
#[derive(Default)]
struct Writers {
    known: Vec<Option<Writer>>,
    /// For each line of the version that is looked at: which line of the newest it is, if that has no writer yet.
    open: Vec<Option<usize>>,
}

impl Writers {
    fn begin(&mut self, lines: usize) {
        self.known = vec![None; lines];
        self.open = (0..lines).map(Some).collect();
    }

    /// From a version to the one before it: what differs was written by this one.
    fn step(&mut self, older: &[u8], newer: &[u8], writer: &Writer) {
        let mut open = vec![None; hunks::lines(older).len()];
        let (mut old, mut new) = (0, 0);
        for change in hunks::between(older, newer) {
            for (to, from) in (old..change.old.start).zip(new..change.new.start) {
                open[to] = self.open.get(from).copied().flatten();
            }
            for line in change.new.clone() {
                if let Some(line) = self.open.get(line).copied().flatten()
                    && let Some(known) = self.known.get_mut(line)
                {
                    *known = Some(writer.clone());
                }
            }
            (old, new) = (change.old.end, change.new.end);
        }
        for (to, from) in (old..open.len()).zip(new..self.open.len()) {
            open[to] = self.open[from];
        }
        self.open = open;
    }

    fn are_all_known(&self) -> bool {
        self.known.iter().all(Option::is_some)
    }
}

/// `2,5`, `2,+3` or `2`: the first line and the one after the last.
fn range(text: Option<&str>, count: usize, path: &str) -> Result<(usize, usize), Done> {
    let Some(text) = text else { return Ok((0, count)) };
    let wrong = || usage(format!("-L {text}: a range is FROM,TO or FROM,+COUNT"));
    let (from, to) = text.split_once(',').unwrap_or((text, ""));
    let number = |text: &str| text.parse::<usize>().map_err(|_| wrong());
    let from = if from.is_empty() { 1 } else { number(from)? };
    let to = match to.strip_prefix('+') {
        Some(many) => from.saturating_add(number(many)?).saturating_sub(1),
        None if to.is_empty() => count.max(from),
        None => number(to)?,
    };
    let (from, to) = (from.min(to).max(1), from.max(to));
    if from > count {
        let lines = if count == 1 { "line" } else { "lines" };
        return Err(fatal(format!("file {path} has only {count} {lines}")));
    }
    Ok((from - 1, to.min(count)))
}

fn print(text: &[u8], writers: &Writers, wanted: Option<&str>, path: &str) -> Result<Done, Done> {
    let lines = hunks::lines(text);
    let (from, to) = range(wanted, lines.len(), path)?;
    let unknown = Writer { hash: "?".repeat(SHORT + 1), author: "?".to_string(), seconds: 0 };
    let shown: Vec<&Writer> =
        writers.known[from..to].iter().map(|known| known.as_ref().unwrap_or(&unknown)).collect();
    let widest = shown.iter().map(|writer| writer.author.chars().count()).max().unwrap_or(0);
    let digits = to.to_string().len();
    let mut done = Done::default();
    for (at, writer) in shown.iter().enumerate() {
        let date = dates::shown(writer.seconds, Form::Iso, 0);
        let number = from + at + 1;
        done.print(format!("{} ({:<widest$} {date} {number:>digits$}) ", writer.hash, writer.author));
        let line = lines[from + at];
        done.print(line);
        if !line.ends_with(b"\n") {
            done.print("\n");
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_lines() {
        assert_eq!(range(None, 5, "f").unwrap(), (0, 5));
        assert_eq!(range(Some("2,3"), 5, "f").unwrap(), (1, 3));
        assert_eq!(range(Some("2,+2"), 5, "f").unwrap(), (1, 3));
        assert_eq!(range(Some("4"), 5, "f").unwrap(), (3, 5));
        assert_eq!(range(Some("9"), 5, "f").unwrap_err().code, 128);
        assert_eq!(range(Some("x"), 5, "f").unwrap_err().code, 129);
    }
}
