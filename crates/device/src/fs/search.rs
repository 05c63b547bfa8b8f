//! `fs.search`: plain text in files, with ripgrep's libraries. Ignore files are honoured, hidden files are
//! searched, `.git` is not, links are not followed (they could lead out, or in circles), binary files are
//! skipped.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Instant;

use base::limits;
use globset::{Glob, GlobMatcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use ignore::{DirEntry, WalkBuilder};
use protocol::fs::{Match, Search, SearchResult};

use crate::files::{Entry, Files};

pub(super) fn search(files: &Files, args: &Search) -> Result<SearchResult, String> {
    let query = args.query.trim();
    if query.is_empty() {
        return Err("query is required".to_string());
    }
    let matcher = RegexMatcherBuilder::new()
        .fixed_strings(true)
        .line_terminator(Some(b'\n'))
        .build(query)
        .map_err(|error| format!("query cannot be searched for: {error}"))?;
    let include = args.include.as_deref().map(Glob::new).transpose();
    let include = include.map_err(|error| format!("Invalid include pattern: {error}"))?;
    let place = files.place(args.path.as_deref().unwrap_or(""))?;
    let entry =
        files.entry(&place).map_err(|error| format!("Failed to search '{}': {error}", place.text()))?;
    let mut hunt = Hunt {
        matcher,
        include: include.map(|glob| glob.compile_matcher()),
        searcher: SearcherBuilder::new().binary_detection(BinaryDetection::quit(0)).line_number(true).build(),
        deadline: Instant::now() + limits::SEARCH_TIME_MAX,
        matches: Vec::new(),
        truncated: false,
    };
    hunt.walk(files, &entry, &place.shown);
    let (count, truncated) = (hunt.matches.len() as u64, hunt.truncated.then_some(true));
    Ok(SearchResult { matches: hunt.matches, count, truncated })
}

struct Hunt {
    matcher: RegexMatcher,
    include: Option<GlobMatcher>,
    searcher: Searcher,
    deadline: Instant,
    matches: Vec<Match>,
    truncated: bool,
}

impl Hunt {
    fn walk(&mut self, files: &Files, entry: &Entry, shown: &Path) {
        let walk = WalkBuilder::new(entry.real())
            .hidden(false)
            .require_git(false)
            .parents(!files.is_confined())
            .follow_links(false)
            .filter_entry(|entry| entry.depth() == 0 || entry.file_name() != ".git")
            .sort_by_file_path(|a, b| a.cmp(b))
            .build();
        for found in walk {
            if Instant::now() >= self.deadline {
                self.truncated = true;
            }
            if self.truncated {
                return;
            }
            // What cannot be listed or opened is passed over, as a search by hand would.
            let Ok(found) = found else { continue };
            if found.file_type().is_some_and(|kind| kind.is_file()) && self.is_included(&found, entry.real())
            {
                self.look_into(files, &found, entry.real(), shown);
            }
        }
    }

    fn is_included(&self, found: &DirEntry, top: &Path) -> bool {
        let Some(include) = &self.include else { return true };
        include.is_match(found.file_name())
            || found.path().strip_prefix(top).is_ok_and(|relative| include.is_match(relative))
    }

    fn look_into(&mut self, files: &Files, found: &DirEntry, top: &Path, shown: &Path) {
        let Ok(file) = files.open_found(found.path()) else { return };
        let path = match found.path().strip_prefix(top) {
            Ok(relative) if !relative.as_os_str().is_empty() => shown.join(relative),
            _ => shown.to_path_buf(),
        };
        let mut lines = FileLines {
            path: path.to_string_lossy().into_owned(),
            room: limits::SEARCH_MATCHES_MAX - self.matches.len(),
            deadline: self.deadline,
            matches: Vec::new(),
            binary: false,
        };
        // An error in the middle of a file leaves what was found before it.
        let reader = Timed { file, deadline: self.deadline };
        drop(self.searcher.search_reader(&self.matcher, reader, &mut lines));
        if !lines.binary {
            self.matches.append(&mut lines.matches);
        }
        self.truncated |= self.matches.len() >= limits::SEARCH_MATCHES_MAX || Instant::now() >= self.deadline;
    }
}

/// A file that ends when the time is up.
struct Timed {
    file: File,
    deadline: Instant,
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if Instant::now() >= self.deadline { Ok(0) } else { self.file.read(buffer) }
    }
}

struct FileLines {
    path: String,
    room: usize,
    deadline: Instant,
    matches: Vec<Match>,
    binary: bool,
}

impl Sink for FileLines {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        let line = String::from_utf8_lossy(found.bytes());
        let content =
            line.trim_end_matches(['\n', '\r']).chars().take(limits::SEARCH_LINE_CHARS_MAX).collect();
        self.matches.push(Match { path: self.path.clone(), line: found.line_number().unwrap_or(0), content });
        Ok(self.matches.len() < self.room && Instant::now() < self.deadline)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, Self::Error> {
        self.binary = true;
        Ok(false)
    }
}
