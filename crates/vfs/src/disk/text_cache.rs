//! Validated cache of small files as they were last shown: showing one again takes a single `stat`.
//!
//! What is kept counts while the host says that the path still names the same file, unchanged: its inode, its size
//! and the time of its last change, which no program can set. A change can hide only within one tick of the file
//! system's clock, or while it lasts, so a file is kept only after it has stood still for a while. All of it is
//! forgotten as soon as the way to the file is, which is within a second.
//!
//! One look is enough for everybody who had asked before it was taken: what it saw is no older than their question.

use std::collections::HashMap;
use std::sync::RwLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use base::clock::Clock;
use base::limits;
use base::sync::{read, write};
use content::lines::Window;
use protocol::fs::{Content, FileContent};
use protocol::identity::ProcessIdentity;
use rustix::fs::{AtFlags, statat};

use super::Disk;
use super::dir::{HostId, host_id};
use super::fast::{Passed, Plain};
use super::meta::{Meta, READ};
use crate::path::VPath;

/// The files that were shown.
pub(crate) struct TextCache {
    clock: Clock,
    files: RwLock<HashMap<String, CachedText>>,
    /// Looks are counted in nanoseconds from here.
    began: Instant,
    /// How long a file must have stood still, whatever clock its file system has.
    pub unchanged_min: Duration,
}

impl TextCache {
    pub fn new(clock: Clock) -> TextCache {
        let began = clock.instant();
        TextCache { clock, files: RwLock::default(), began, unchanged_min: limits::files::UNCHANGED_MIN }
    }

    fn nanos(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.began).as_nanos()).unwrap_or(u64::MAX)
    }

    /// How long this file must have stood still.
    fn unchanged_min(&self, version: &FileVersion) -> Duration {
        if version.is_fine() {
            self.unchanged_min.min(limits::files::UNCHANGED_MIN_FINE)
        } else {
            self.unchanged_min
        }
    }
}

/// What tells a file from every other one, and from itself before a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FileVersion {
    id: HostId,
    size: i64,
    changed: (i64, i64),
}

impl FileVersion {
    // The host decides how wide these numbers are.
    #[allow(clippy::unnecessary_cast)]
    pub fn of(host: &rustix::fs::Stat) -> FileVersion {
        let changed = (host.st_ctime as i64, host.st_ctime_nsec as i64);
        FileVersion { id: host_id(host), size: host.st_size as i64, changed }
    }

    /// When it last changed, in milliseconds.
    pub fn changed_ms(&self) -> i64 {
        self.changed.0.saturating_mul(1_000).saturating_add(self.changed.1 / 1_000_000)
    }

    /// True when the file system's clock shows more than whole milliseconds: then it ticks with the machine's.
    pub fn is_fine(&self) -> bool {
        self.changed.1 % 1_000_000 != 0
    }
}

struct CachedText {
    version: FileVersion,
    /// When it was first seen so.
    since: Instant,
    /// Whose it is, and the way to it.
    meta: Meta,
    passed: Passed,
    /// When the last look that found it unchanged began.
    looked: AtomicU64,
    /// How it was shown, once it had stood still.
    rendered: Option<(Window, FileContent)>,
}

impl Disk {
    /// A file as it was shown before, if the caller, who asked at `since`, may read it and nothing has changed.
    pub(crate) fn recall(
        &self,
        who: &ProcessIdentity,
        path: &VPath,
        window: Window,
        since: Instant,
    ) -> Option<FileContent> {
        let files = read(&self.text_cache.files);
        let kept = files.get(path.as_str())?;
        let (_, content) = kept.rendered.as_ref().filter(|(rendered, _)| *rendered == window)?;
        let may = kept.passed.lets(who) && kept.meta.allows(who, READ);
        if !may || !self.directory_cache.is_fresh(&kept.passed, since) {
            return None;
        }
        if kept.looked.load(Ordering::SeqCst) <= self.text_cache.nanos(since) {
            let now = self.text_cache.nanos(self.text_cache.clock.instant());
            let host = path.as_str().trim_start_matches('/');
            let seen = statat(&*self.files, host, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            if FileVersion::of(&seen) != kept.version || !self.directory_cache.is_unchanged(&kept.passed) {
                return None;
            }
            kept.looked.fetch_max(now, Ordering::SeqCst);
        }
        Some(content.clone())
    }

    /// Keeps how a file was shown whose reading began at `began`, after it was opened as `plain`.
    pub(crate) fn keep(
        &self,
        path: &VPath,
        window: Window,
        plain: &Plain,
        began: Instant,
        content: &FileContent,
    ) {
        let is_text = matches!(content.content, Content::Json(_) | Content::Text(_));
        if plain.stat.size > limits::files::TEXT_CACHE_FILE_MAX_BYTES || !is_text {
            return;
        }
        let mut files = write(&self.text_cache.files);
        let before = files.get(path.as_str()).filter(|kept| kept.version == plain.version);
        let since = before.map_or_else(|| self.text_cache.clock.instant(), |kept| kept.since);
        let stood_still = began.saturating_duration_since(since);
        let is_stable = began >= since && stood_still >= self.text_cache.unchanged_min(&plain.version);
        if before.is_some() && !is_stable {
            return;
        }
        if files.len() >= limits::files::TEXT_CACHE_FILES_MAX && !files.contains_key(path.as_str()) {
            files.clear();
        }
        let meta = Meta { uid: plain.stat.uid, gid: plain.stat.gid, mode: plain.stat.mode };
        let rendered = is_stable.then(|| (window, content.clone()));
        let kept = CachedText {
            version: plain.version,
            since,
            meta,
            passed: plain.passed.clone(),
            looked: AtomicU64::new(0),
            rendered,
        };
        files.insert(path.as_str().to_string(), kept);
    }
}
