//! `fs.search`: plain text in files, with ripgrep's libraries. Ignore files are honoured, hidden files are
//! searched, `.git` is not, links are not followed (they could lead out, or in circles), binary files are
//! skipped.

mod ignored;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use base::limits;
use globset::{Glob, GlobMatcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use protocol::fs::{Match, Search, SearchResult};

use self::ignored::Ignored;
use crate::files::{Entry, Failure, Files};

pub(super) fn search(files: &Files, args: &Search) -> Result<SearchResult, Failure> {
    let query = args.query.trim();
    if query.is_empty() {
        return Err("query is required".to_string().into());
    }
    let matcher = RegexMatcherBuilder::new()
        .fixed_strings(true)
        .line_terminator(Some(b'\n'))
        .build(query)
        .map_err(|error| format!("query cannot be searched for: {error}"))?;
    let include = args.include.as_deref().map(Glob::new).transpose();
    let include = include.map_err(|error| format!("Invalid include pattern: {error}"))?;
    let place = files.place(args.path.as_deref().unwrap_or(""))?;
    let entry = files.entry(&place).map_err(|error| Failure::of("search", &place, &error))?;
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
    /// Depth first and in the order of names.
    fn walk(&mut self, files: &Files, entry: &Entry, shown: &Path) {
        let top = entry.real();
        let is_dir = entry.metadata_itself().is_ok_and(|metadata| metadata.is_dir());
        let above = Ignored::above(files, top);
        let mut waiting = vec![Found { path: top.to_path_buf(), is_dir, ignored: above }];
        while let Some(found) = waiting.pop() {
            self.truncated |= Instant::now() >= self.deadline;
            if self.truncated {
                return;
            }
            if found.is_dir {
                let children = self.children(files, &found);
                waiting.extend(children);
            } else if self.is_included(&found.path, top) {
                self.look_into(files, &found.path, top, shown);
            }
        }
    }

    /// The files and directories to look into, the last one first. What cannot be listed is passed over, as a
    /// search by hand would.
    fn children(&self, files: &Files, dir: &Found) -> Vec<Found> {
        let ignored = Ignored::of(files, &dir.path, dir.ignored.clone());
        let Ok(names) = files.list_found(&dir.path) else { return Vec::new() };
        let mut children = Vec::new();
        for name in names.take_while(|_| Instant::now() < self.deadline).filter_map(Result::ok) {
            let Ok(kind) = name.file_type() else { continue };
            let path = dir.path.join(name.file_name());
            let is_searched = kind.is_file() || (kind.is_dir() && name.file_name() != ".git");
            if is_searched && !ignored.covers(&path, kind.is_dir()) {
                children.push(Found { path, is_dir: kind.is_dir(), ignored: Some(ignored.clone()) });
            }
        }
        children.sort_by(|a, b| b.path.cmp(&a.path));
        children
    }

    fn is_included(&self, found: &Path, top: &Path) -> bool {
        let Some(include) = &self.include else { return true };
        found.file_name().is_some_and(|name| include.is_match(name))
            || found.strip_prefix(top).is_ok_and(|relative| include.is_match(relative))
    }

    fn look_into(&mut self, files: &Files, found: &Path, top: &Path, shown: &Path) {
        let Ok(file) = files.open_found(found) else { return };
        let path = match found.strip_prefix(top) {
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

/// A file or directory on the way of a search.
struct Found {
    path: PathBuf,
    is_dir: bool,
    /// The rules of the directories above it.
    ignored: Option<Arc<Ignored>>,
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
