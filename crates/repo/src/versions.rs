//! Versioning of homes and workspaces: what changes in the file tree becomes commits, and commits that come otherwise
//! are put into the file tree.
//!
//! `notes` is told of every change and remembers it, the crate's `committer` decides when it is seen to, `agree` does it, with
//! `live` to find what differs. `roots` is the rule of what is versioned. `undo` takes back what a run did.

pub(crate) mod agree;
pub(crate) mod live;
pub(crate) mod merge;
pub(crate) mod message;
pub(crate) mod notes;
pub(crate) mod roots;
pub(crate) mod undo;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, Weak};

use base::clock::Clock;
use base::limits::versions as limits;
use base::sync::lock;

use self::live::{Index, Skipped};
use self::notes::Notes;
use self::roots::Root;
use crate::slug::Slug;

/// Paths whose being skipped was said; all may be said again when there are more.
const SAID_MAX: usize = 10_000;

/// What the versioning of files keeps in memory. All of it can be found out again.
pub(crate) struct Versions {
    pub(crate) notes: Arc<Notes>,
    locks: Mutex<HashMap<Slug, Weak<tokio::sync::Mutex<()>>>>,
    indexes: Mutex<HashMap<Root, Index>>,
    said: Mutex<HashSet<String>>,
}

impl Versions {
    pub(crate) fn new(clock: Clock) -> Versions {
        Versions {
            notes: Arc::new(Notes::new(clock)),
            locks: Mutex::default(),
            indexes: Mutex::default(),
            said: Mutex::default(),
        }
    }

    /// Held while a repository and its directory are brought to agreement.
    pub(crate) fn lock_of(&self, slug: &Slug) -> Arc<tokio::sync::Mutex<()>> {
        let mut locks = lock(&self.locks);
        if let Some(held) = locks.get(slug).and_then(Weak::upgrade) {
            return held;
        }
        locks.retain(|_, held| held.strong_count() > 0);
        let new = Arc::new(tokio::sync::Mutex::new(()));
        locks.insert(slug.clone(), Arc::downgrade(&new));
        new
    }

    pub(crate) fn take_index(&self, root: &Root) -> Index {
        lock(&self.indexes).remove(root).unwrap_or_default()
    }

    pub(crate) fn keep_index(&self, root: Root, index: Index) {
        let mut indexes = lock(&self.indexes);
        let known: usize = indexes.values().map(Index::len).sum();
        if known + index.len() > limits::KNOWN_FILES_MAX {
            indexes.clear();
        }
        indexes.insert(root, index);
    }

    /// Says once of each file that it is not versioned.
    pub(crate) fn say_skipped(&self, root: &Root, skipped: Skipped) {
        let mut said = lock(&self.said);
        for (path, why) in skipped {
            let path = format!("{}/{path}", root.path());
            if said.len() >= SAID_MAX {
                said.clear();
            }
            if said.insert(path.clone()) {
                tracing::info!(path, why, "a file is not versioned");
            }
        }
    }
}
