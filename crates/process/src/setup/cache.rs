//! Generation-checked cache of run setups: an entry counts while the generations of config, accounts, grants and
//! devices and the fingerprint of the user's texts are those it was made with.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use base::limits;
use base::sync::lock;
use protocol::ids::Uid;
use store::processes::ProcessRow;

use super::Setup;

/// What is kept.
#[derive(Default)]
pub(crate) struct SetupCache(Mutex<HashMap<Key, Entry>>);

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
struct Generations {
    /// Of config, accounts, grants and devices.
    rows: [u64; 4],
    files: vfs::Fingerprint,
}

/// What a setup is made of, as it was before the making began.
pub(crate) struct Fingerprint {
    key: Key,
    generations: Generations,
    began: Instant,
}

impl Fingerprint {
    /// As it is `now`: the generations of config, accounts, grants and devices, and the user's texts.
    pub(crate) fn new(
        process: &ProcessRow,
        rows: [u64; 4],
        files: vfs::Fingerprint,
        now: Instant,
    ) -> Fingerprint {
        let key = Key {
            uid: process.uid,
            profile: process.profile.clone(),
            cwd: process.cwd.clone(),
            workspace_id: process.workspace_id.clone(),
            context_files: process.context_files.clone(),
        };
        Fingerprint { key, generations: Generations { rows, files }, began: now }
    }
}

struct Entry {
    generations: Generations,
    /// When it was first seen so.
    since: Instant,
    /// Once the files had stood still, and when it was made.
    setup: Option<(Instant, Arc<Setup>)>,
}

impl SetupCache {
    /// The setup that was made of the same.
    pub(crate) fn find(&self, fingerprint: &Fingerprint) -> Option<Arc<Setup>> {
        let kept = lock(&self.0);
        let kept = kept.get(&fingerprint.key).filter(|kept| kept.generations == fingerprint.generations)?;
        let (at, setup) = kept.setup.as_ref()?;
        (fingerprint.began.saturating_duration_since(*at) < limits::process::SETUP_KEPT)
            .then(|| setup.clone())
    }

    /// Keeps what was made, if nothing can have changed unseen while it was.
    pub(crate) fn keep(&self, fingerprint: Fingerprint, setup: &Arc<Setup>) {
        let Fingerprint { key, generations, began } = fingerprint;
        let mut all = lock(&self.0);
        let before = all.get(&key).filter(|kept| kept.generations == generations);
        let since = before.map_or(began, |kept| kept.since);
        let is_settled = began.saturating_duration_since(since) >= generations.files.stable_after();
        if all.len() >= limits::process::SETUPS_MAX && !all.contains_key(&key) {
            all.clear();
        }
        all.insert(key, Entry { generations, since, setup: is_settled.then(|| (began, setup.clone())) });
    }
}
