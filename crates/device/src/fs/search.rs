//! `fs.search`: plain text in files, with ripgrep's libraries. Ignore files are honoured, hidden files are
//! searched, `.git` is not, links are not followed (they could lead out, or in circles), binary files are
//! skipped.

mod ignored;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use base::clock::Clock;
use base::limits;
use content::Side;
use content::query::{Lens, Query};
use protocol::fs::{Match, Search, SearchResult};

use self::ignored::Ignored;
use crate::files::{Entry, Failure, Files};

pub(super) fn search(files: &Files, args: &Search) -> Result<SearchResult, Failure> {
    let query = Query::new(Side::Device, args)?;
    let place = files.local_path(args.path.as_deref().unwrap_or(""))?;
    let entry = files.entry(&place).map_err(|error| Failure::of("search", &place, &error))?;
    let deadline = Clock::system().instant() + limits::device_files::SEARCH_TIME_MAX;
    let lens = query.lens(deadline);
    let mut hunt = Hunt { query: &query, lens, deadline, matches: Vec::new(), truncated: false };
    hunt.walk(files, &entry, &place.display);
    let is_truncated = hunt.truncated || hunt.lens.is_cut_short();
    let (count, truncated) = (hunt.matches.len() as u64, is_truncated.then_some(true));
    Ok(SearchResult { matches: hunt.matches, count, truncated })
}

struct Hunt<'a> {
    query: &'a Query,
    lens: Lens<'a>,
    deadline: Instant,
    matches: Vec<Match>,
    truncated: bool,
}

impl Hunt<'_> {
    /// Depth first and in the order of names.
    fn walk(&mut self, files: &Files, entry: &Entry, display: &Path) {
        let top = entry.real();
        let is_dir = entry.metadata_itself().is_ok_and(|metadata| metadata.is_dir());
        let above = Ignored::above(files, top);
        let mut waiting = vec![Found { path: top.to_path_buf(), is_dir, ignored: above }];
        while let Some(found) = waiting.pop() {
            self.truncated |= Clock::system().instant() >= self.deadline;
            if self.truncated {
                return;
            }
            if found.is_dir {
                let children = self.children(files, &found);
                waiting.extend(children);
            } else if self.is_included(&found.path, top) {
                self.look_into(files, &found.path, top, display);
            }
        }
    }

    /// The files and directories to look into, the last one first. What cannot be listed is passed over, as a
    /// search by hand would.
    fn children(&self, files: &Files, dir: &Found) -> Vec<Found> {
        let ignored = Ignored::of(files, &dir.path, dir.ignored.clone());
        let Ok(names) = files.list_found(&dir.path) else { return Vec::new() };
        let mut children = Vec::new();
        for name in names.take_while(|_| Clock::system().instant() < self.deadline).filter_map(Result::ok) {
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
        let below = found.strip_prefix(top).ok().filter(|below| !below.as_os_str().is_empty());
        below.or(found.file_name().map(Path::new)).is_some_and(|relative| self.query.includes(relative))
    }

    fn look_into(&mut self, files: &Files, found: &Path, top: &Path, display: &Path) {
        let Ok(file) = files.open_found(found) else { return };
        let path = || {
            let path = match found.strip_prefix(top) {
                Ok(relative) if !relative.as_os_str().is_empty() => display.join(relative),
                _ => display.to_path_buf(),
            };
            path.to_string_lossy().into_owned()
        };
        let room = limits::device_files::SEARCH_MATCHES_MAX - self.matches.len();
        self.matches.append(&mut self.lens.look(file, path, room));
        self.truncated |= self.matches.len() >= limits::device_files::SEARCH_MATCHES_MAX
            || Clock::system().instant() >= self.deadline;
    }
}

/// A file or directory on the way of a search.
struct Found {
    path: PathBuf,
    is_dir: bool,
    /// The rules of the directories above it.
    ignored: Option<Arc<Ignored>>,
}
