//! Line search by ripgrep's libraries: lines with a plain text in them, in one file at a time. Binary files are passed
//! over.

use std::io::Read;
use std::path::{Component, Path};
use std::time::Instant;

use base::clock::Clock;
use base::limits;
use globset::{Glob, GlobMatcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use protocol::fs::{Match, Search};

use crate::Side;

/// What to look for, and in which files.
pub struct Query {
    side: Side,
    matcher: RegexMatcher,
    include: Option<GlobMatcher>,
}

impl Query {
    /// What the arguments of `fs.search` mean; the error is for the person who gave them.
    pub fn new(side: Side, args: &Search) -> Result<Query, String> {
        let query = args.query.trim();
        if query.is_empty() {
            return Err(side.query_required().to_string());
        }
        let matcher = RegexMatcherBuilder::new()
            .fixed_strings(true)
            .line_terminator(Some(b'\n'))
            .build(query)
            .map_err(|error| format!("query cannot be searched for: {error}"))?;
        let include = args.include.as_deref().map(Glob::new).transpose();
        let include = include.map_err(|error| format!("Invalid include pattern: {error}"))?;
        Ok(Query { side, matcher, include: include.map(|glob| glob.compile_matcher()) })
    }

    /// Whether a file is looked into: the glob fits its name, or its path below the start of the search. On the
    /// native target the path may also begin anywhere below, at a name.
    pub fn includes(&self, relative: &Path) -> bool {
        let Some(include) = &self.include else { return true };
        if include.is_match(relative) || relative.file_name().is_some_and(|name| include.is_match(name)) {
            return true;
        }
        let mut rest = relative.components();
        self.side == Side::Native
            && std::iter::from_fn(|| rest.next().map(|_| rest.as_path())).any(|below| {
                matches!(below.components().next(), Some(Component::Normal(_))) && include.is_match(below)
            })
    }

    /// Something to look into files with; one for each thread.
    pub fn lens(&self, deadline: Instant) -> Lens<'_> {
        let binary = BinaryDetection::quit(0);
        let searcher = SearcherBuilder::new()
            .binary_detection(binary)
            .line_number(true)
            .heap_limit(Some(limits::device_files::SEARCH_HEAP_MAX_BYTES))
            .build();
        Lens { query: self, searcher, deadline, is_cut_short: false }
    }
}

/// Looks into files, one after the other. Its buffers are used again.
pub struct Lens<'a> {
    query: &'a Query,
    searcher: Searcher,
    deadline: Instant,
    is_cut_short: bool,
}

impl Lens<'_> {
    /// The first `room` lines that match, as far as the time goes. An error in the middle of a file, or a line that
    /// is too long, leaves what was found before it.
    pub fn look(&mut self, file: impl Read, path: impl Fn() -> String, room: usize) -> Vec<Match> {
        let deadline = self.deadline;
        let mut lines = FileLines { path, room, deadline, matches: Vec::new(), binary: false };
        let looked = self.searcher.search_reader(&self.query.matcher, Timed { file, deadline }, &mut lines);
        if let Err(error) = looked {
            tracing::debug!(%error, "a file was not searched to its end");
            self.is_cut_short = true;
        }
        if lines.binary { Vec::new() } else { lines.matches }
    }

    /// Whether some file could not be looked into to its end, for another reason than time.
    pub fn is_cut_short(&self) -> bool {
        self.is_cut_short
    }
}

/// A file that ends when the time is up.
struct Timed<R> {
    file: R,
    deadline: Instant,
}

impl<R: Read> Read for Timed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if Clock::system().instant() >= self.deadline { Ok(0) } else { self.file.read(buffer) }
    }
}

struct FileLines<P> {
    path: P,
    room: usize,
    deadline: Instant,
    matches: Vec<Match>,
    binary: bool,
}

impl<P: Fn() -> String> Sink for FileLines<P> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        let line = found.bytes();
        let end = line.iter().rposition(|byte| !b"\r\n".contains(byte)).map_or(0, |last| last + 1);
        // No character has more than four bytes.
        let line = String::from_utf8_lossy(&line[..end.min(4 * limits::device_files::SEARCH_LINE_MAX_CHARS)]);
        let content = line.chars().take(limits::device_files::SEARCH_LINE_MAX_CHARS).collect();
        self.matches.push(Match { path: (self.path)(), line: found.line_number().unwrap_or(0), content });
        Ok(self.matches.len() < self.room && Clock::system().instant() < self.deadline)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, Self::Error> {
        self.binary = true;
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, repeat};
    use std::time::Duration;

    use super::*;

    fn query(side: Side, text: &str, include: Option<&str>) -> Query {
        let args = Search { query: text.into(), path: None, include: include.map(str::to_string) };
        Query::new(side, &args).unwrap()
    }

    fn look(file: impl Read) -> (Vec<Match>, bool) {
        let query = query(Side::Native, "needle", None);
        let mut lens = query.lens(Clock::system().instant() + Duration::from_secs(3_600));
        let matches = lens.look(file, || "/x".to_string(), 9);
        (matches, lens.is_cut_short())
    }

    #[test]
    fn a_line_without_an_end_takes_no_more_than_its_share() {
        let endless = Cursor::new("needle 1\n").chain(repeat(b'x'));
        let (matches, is_cut_short) = look(endless);
        assert_eq!(matches.len(), 1, "what was found before it stays");
        assert!(is_cut_short);
        let long = format!("{}needle\n", "é".repeat(1 << 20));
        let (matches, is_cut_short) = look(long.as_bytes());
        assert_eq!(matches[0].content, "é".repeat(limits::device_files::SEARCH_LINE_MAX_CHARS));
        assert!(!is_cut_short, "a long line that fits is a line like others");
    }

    #[test]
    fn a_line_is_shown_without_its_end_and_cut_between_characters() {
        let max = limits::device_files::SEARCH_LINE_MAX_CHARS;
        for (line, shown) in [
            ("needle\r\n".to_string(), "needle".to_string()),
            ("needle".to_string(), "needle".to_string()),
            (format!("x{}needle\n", "\u{1f600}".repeat(max)), format!("x{}", "\u{1f600}".repeat(max - 1))),
        ] {
            assert_eq!(look(line.as_bytes()).0[0].content, shown);
        }
    }

    #[test]
    fn a_glob_fits_names_and_the_ends_of_paths() {
        let includes = |side, glob, path: &str| query(side, "x", Some(glob)).includes(Path::new(path));
        for (glob, path, native) in [
            ("*.rs", "deep/er/main.rs", true),
            ("ma?n.rs", "deep/er/main.rs", true),
            ("src/*.rs", "src/main.rs", true),
            ("src/*.rs", "crates/one/src/main.rs", true),
            ("one/src/*.{rs,md}", "crates/one/src/main.rs", true),
            ("rc/*.rs", "crates/one/src/main.rs", false),
            ("src/*.rs", "crates/src/main.md", false),
            ("crates/main.rs", "crates/src/main.rs", false),
        ] {
            assert_eq!(includes(Side::Native, glob, path), native, "{glob} {path}");
        }
        assert!(
            !includes(Side::Device, "src/*.rs", "crates/one/src/main.rs"),
            "a device's globs begin at the start"
        );
    }
}
