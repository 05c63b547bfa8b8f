//! Lines with a plain text in them, by ripgrep's libraries: what to look for, and looking into one file.
//! Binary files are passed over.

use std::io::Read;
use std::path::Path;
use std::time::Instant;

use base::limits;
use globset::{Glob, GlobMatcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use protocol::fs::{Match, Search};

use crate::Side;

/// What to look for, and in which files.
pub struct Query {
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
        Ok(Query { matcher, include: include.map(|glob| glob.compile_matcher()) })
    }

    /// Whether a file is looked into: the glob fits its name, or its path below the start of the search.
    pub fn includes(&self, relative: &Path) -> bool {
        let Some(include) = &self.include else { return true };
        include.is_match(relative) || relative.file_name().is_some_and(|name| include.is_match(name))
    }

    /// Something to look into files with; one for each thread.
    pub fn lens(&self, deadline: Instant) -> Lens<'_> {
        let binary = BinaryDetection::quit(0);
        let searcher = SearcherBuilder::new().binary_detection(binary).line_number(true).build();
        Lens { query: self, searcher, deadline }
    }
}

/// Looks into files, one after the other. Its buffers are used again.
pub struct Lens<'a> {
    query: &'a Query,
    searcher: Searcher,
    deadline: Instant,
}

impl Lens<'_> {
    /// The first `room` lines that match, as far as the time goes. An error in the middle of a file leaves what was
    /// found before it.
    pub fn look(&mut self, file: impl Read, path: impl Fn() -> String, room: usize) -> Vec<Match> {
        let deadline = self.deadline;
        let mut lines = FileLines { path, room, deadline, matches: Vec::new(), binary: false };
        drop(self.searcher.search_reader(&self.query.matcher, Timed { file, deadline }, &mut lines));
        if lines.binary { Vec::new() } else { lines.matches }
    }
}

/// A file that ends when the time is up.
struct Timed<R> {
    file: R,
    deadline: Instant,
}

impl<R: Read> Read for Timed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if Instant::now() >= self.deadline { Ok(0) } else { self.file.read(buffer) }
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
        let line = String::from_utf8_lossy(found.bytes());
        let content =
            line.trim_end_matches(['\n', '\r']).chars().take(limits::SEARCH_LINE_CHARS_MAX).collect();
        self.matches.push(Match { path: (self.path)(), line: found.line_number().unwrap_or(0), content });
        Ok(self.matches.len() < self.room && Instant::now() < self.deadline)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, Self::Error> {
        self.binary = true;
        Ok(false)
    }
}
