//! What runs work with, kept while nothing changes that it was made of. So a run of a process that has just had one, or
//! of another process like it, begins at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use base::limits;
use protocol::ids::Uid;
use store::processes::ProcessRow;
use vfs::Fingerprint;

use super::Setup;

/// What is kept.
#[derive(Default)]
pub(crate) struct Setups(Mutex<HashMap<Key, Kept>>);

/// What of a process its setup depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    uid: Uid,
    profile: String,
    cwd: String,
    workspace_id: Option<String>,
    context_files: String,
}

/// What of everything else it depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    config: u64,
    outside: [u64; 2],
    files: Fingerprint,
}

/// What a setup is made of, as it was before the making began.
pub(crate) struct Made {
    key: Key,
    stamp: Stamp,
    began: Instant,
}

impl Made {
    /// As it is now: the generations of config and of what is outside, and the user's texts.
    pub(crate) fn now(process: &ProcessRow, (config, outside): (u64, [u64; 2]), files: Fingerprint) -> Made {
        let key = Key {
            uid: process.uid,
            profile: process.profile.clone(),
            cwd: process.cwd.clone(),
            workspace_id: process.workspace_id.clone(),
            context_files: process.context_files.clone(),
        };
        Made { key, stamp: Stamp { config, outside, files }, began: Instant::now() }
    }
}

struct Kept {
    stamp: Stamp,
    /// When it was first seen so.
    since: Instant,
    /// Once the files had stood still, and when it was made.
    setup: Option<(Instant, Arc<Setup>)>,
}

impl Setups {
    /// The setup that was made of the same.
    pub(crate) fn find(&self, made: &Made) -> Option<Arc<Setup>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = kept.get(&made.key).filter(|kept| kept.stamp == made.stamp)?;
        let (at, setup) = kept.setup.as_ref()?;
        (made.began.saturating_duration_since(*at) < limits::PROCESS_SETUP_KEPT).then(|| setup.clone())
    }

    /// Keeps what was made, if nothing can have changed unseen while it was.
    pub(crate) fn keep(&self, made: Made, setup: &Arc<Setup>) {
        let Made { key, stamp, began } = made;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = all.get(&key).filter(|kept| kept.stamp == stamp);
        let since = before.map_or(began, |kept| kept.since);
        let is_settled = began.saturating_duration_since(since) >= stamp.files.stable_after();
        if all.len() >= limits::PROCESS_SETUPS_MAX && !all.contains_key(&key) {
            all.clear();
        }
        all.insert(key, Kept { stamp, since, setup: is_settled.then(|| (began, setup.clone())) });
    }
}
