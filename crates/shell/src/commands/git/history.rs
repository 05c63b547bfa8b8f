//! Walk of a history along first parents, page by page.

use std::collections::VecDeque;

use base::limits::native_shell as limits;
use protocol::repo::{Commit, Log};

use super::super::{Cx, Done};
use super::refused;

/// Most commits of one page.
const PAGE: u64 = 100;

/// A walk from one commit back.
pub(super) struct Walk {
    repo: String,
    /// Only commits that changed this.
    path: Option<String>,
    next: Option<String>,
    met: VecDeque<Commit>,
    page: u64,
    left: usize,
}

impl Walk {
    /// Begins at a commit; `few` is how many are wanted at first.
    pub(super) fn new(repo: &str, from: &str, path: Option<&str>, few: u64) -> Walk {
        Walk {
            repo: repo.to_string(),
            path: path.filter(|path| !path.is_empty()).map(str::to_string),
            next: Some(from.to_string()),
            met: VecDeque::new(),
            page: few.clamp(1, PAGE),
            left: limits::GIT_COMMITS_MAX,
        }
    }

    /// The next older commit.
    pub(super) async fn next(&mut self, cx: &Cx<'_>) -> Result<Option<Commit>, Done> {
        if self.met.is_empty()
            && let Some(from) = self.next.take()
        {
            let args = Log {
                repo: self.repo.clone(),
                reference: Some(from),
                limit: Some(self.page),
                offset: None,
                path: self.path.clone(),
            };
            let entries = match cx.calls.call(&args).await {
                // A shallow history ends where it was cut.
                Err(error) if error.code == 404 => Vec::new(),
                log => log.map_err(|error| refused(&error))?.entries,
            };
            if entries.len() as u64 >= self.page {
                self.next = entries.last().and_then(|commit| commit.parents.first().cloned());
            }
            self.met = entries.into();
            self.page = PAGE;
        }
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        Ok(self.met.pop_front())
    }

    /// Whether it ended because it was long enough.
    pub(super) fn was_cut(&self) -> bool {
        self.left == 0
    }
}

/// A commit, so many first parents before what a ref or a hash names.
pub(super) async fn commit_at(
    cx: &Cx<'_>,
    repo: &str,
    reference: &str,
    back: u64,
) -> Result<Option<Commit>, Done> {
    let args = Log {
        repo: repo.to_string(),
        reference: Some(reference.to_string()),
        limit: Some(1),
        offset: Some(back),
        path: None,
    };
    match cx.calls.call(&args).await {
        Err(error) if matches!(error.code, 400 | 404) => Ok(None),
        log => Ok(log.map_err(|error| refused(&error))?.entries.into_iter().next()),
    }
}
