//! `fs.search` over the tree: plain files by ripgrep's libraries, live files by asking for their text.
//! Hidden files are searched and ignore files mean nothing; links are not followed, `.git` is not entered, binary
//! files and what the caller may not read are passed over.

mod admission;
mod first_matches;
mod live;
mod on_disk;

use std::ffi::OsString;
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use base::clock::Clock;
use base::limits;
use base::sync::lock;
use content::query::Query;
use protocol::fs::Match;
use protocol::identity::ProcessIdentity;

use self::admission::Permit;
use self::first_matches::FirstMatches;
use self::on_disk::DiskSearch;
use crate::disk::Disk;
use crate::disk::fail::Fail;
use crate::disk::meta::READ;
use crate::disk::walk;
use crate::fault::{Code, Fault};
use crate::path::VPath;
use crate::view::{Follow, View};

pub(crate) use self::admission::Admission;

/// What a search found.
#[derive(Debug)]
pub struct Found {
    /// Lines that match, in the order of paths.
    pub matches: Vec<Match>,
    /// Whether there may be more.
    pub is_truncated: bool,
}

impl View {
    /// Searches a directory and all below it, or one file. The start may be a link.
    pub async fn search(&self, start: &VPath, query: Query) -> Result<Found, Fault> {
        let at = |fail: Fail| fail.at("scandir", start.as_str());
        let turn = self.tree.searches.take(self.who.uid).await.map_err(at)?;
        let from = start.clone();
        let searched = self.on_disk(move |disk, who| Search::on_disk(disk, who, from, query, turn)).await;
        let search = searched.map_err(at)?;
        live::search(self, &search).await;
        let (matches, is_truncated) = search.found.finish();
        Ok(Found { matches, is_truncated })
    }
}

/// What is looked for, where it is shown to be, and what was found.
struct Search {
    query: Query,
    found: FirstMatches,
    deadline: Instant,
    /// The start as the caller named it.
    start: VPath,
    /// The start, free of links.
    real: VPath,
    /// Live names in directories that the search on disk came through.
    met: Mutex<Vec<VPath>>,
    /// It is over when all is done, even if nobody waits for it any more.
    _turn: Permit,
}

impl Search {
    /// Finds the start and searches the files on disk.
    fn on_disk(
        disk: &Disk,
        who: &ProcessIdentity,
        start: VPath,
        query: Query,
        turn: Permit,
    ) -> Result<Search, Fail> {
        let found = disk.find(who, &start, Follow::Yes)?;
        let (real, place) = match found {
            walk::Found::Live(real) => (real, None),
            walk::Found::Root(dir) => (VPath::root(), Some((dir, None))),
            walk::Found::Entry(entry) if entry.existing()?.is_directory() => {
                let real = entry.path();
                (real, Some((disk.directory(who, walk::Found::Entry(entry))?, None)))
            }
            walk::Found::Entry(entry) => {
                if !entry.existing()?.meta().allows(who, READ) {
                    return Err(Code::Denied.into());
                }
                (entry.path(), Some((entry.dir, Some(OsString::from(entry.name)))))
            }
        };
        let found = FirstMatches::new(limits::files::SEARCH_MATCHES_MAX);
        let deadline = Clock::system().instant() + limits::device_files::SEARCH_TIME_MAX;
        let search = Search { query, found, deadline, start, real, met: Mutex::default(), _turn: turn };
        if let Some((dir, only)) = place {
            DiskSearch::run(disk, who, &search, dir, only);
        }
        Ok(search)
    }

    /// Remembers the live names in a directory, for later.
    fn meet(&self, directory: &VPath) {
        let names = crate::live::names_in(directory).iter().map(|name| directory.join(name));
        let live: Vec<VPath> = names.filter(crate::live::covers).collect();
        if !live.is_empty() {
            lock(&self.met).extend(live);
        }
    }

    fn met(&self) -> Vec<VPath> {
        lock(&self.met).clone()
    }

    /// The path of a file as the caller sees it.
    fn display_path(&self, directory: &VPath, name: &str) -> String {
        let mut display_path = self.directory_path(directory);
        if !display_path.ends_with('/') {
            display_path.push('/');
        }
        display_path.push_str(name);
        display_path
    }

    fn directory_path(&self, real: &VPath) -> String {
        if self.start == self.real {
            return real.to_string();
        }
        let below = real.as_str().strip_prefix(self.real.as_str()).unwrap_or_default();
        format!("{}{below}", self.start.as_str().trim_end_matches('/'))
    }

    /// Whether a file is to be looked into.
    fn wants(&self, display_path: &str) -> bool {
        let below = display_path.strip_prefix(self.start.as_str()).map(|below| below.trim_start_matches('/'));
        let relative = below.filter(|below| !below.is_empty()).or_else(|| display_path.rsplit('/').next());
        self.query.includes(Path::new(relative.unwrap_or(display_path))) && self.found.wants(display_path)
    }

    fn is_late(&self) -> bool {
        let is_late = Clock::system().instant() >= self.deadline;
        if is_late {
            self.found.cut_short();
        }
        is_late
    }
}
