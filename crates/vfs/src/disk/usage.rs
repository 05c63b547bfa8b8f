//! Quota accounting: how many bytes each user keeps, for those with a quota. With no quota set nothing is counted.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use base::limits;
use base::sync::{lock, read};
use protocol::ids::Uid;

use super::Disk;
use super::dir::OpenEntry;
use super::fail::Fail;
use crate::fault::Code;
use crate::stat::FileKind;
use crate::upload::Arriving;

/// Quotas as they were last read, and what is used of them.
#[derive(Default)]
pub(crate) struct Usage {
    /// Whether anybody ever had a quota.
    on: AtomicBool,
    default_bytes: AtomicU64,
    own_bytes: Mutex<HashMap<Uid, u64>>,
    counted: Mutex<Option<Counted>>,
    /// Uploads under way.
    pub(crate) arriving: Arriving,
    /// Whether somebody counts, so that it is done once.
    counting: Mutex<bool>,
    finished: Condvar,
    /// What users keep beside the files.
    pub(crate) elsewhere: RwLock<Option<Elsewhere>>,
}

/// Tells how many bytes users keep beside the files, by their names.
pub type Elsewhere = Box<dyn Fn() -> Vec<(String, u64)> + Send + Sync>;

struct Counted {
    bytes: HashMap<Uid, i64>,
    at: Instant,
    took: Duration,
}

impl Counted {
    /// A count that takes long is made less often.
    fn is_fresh(&self, now: Instant) -> bool {
        let kept = limits::files::USAGE_KEPT.max(self.took.saturating_mul(limits::files::USAGE_KEPT_TIMES));
        now.saturating_duration_since(self.at) < kept
    }
}

/// Says that the counting is over, however it ends.
struct Counting<'a>(&'a Usage);

impl Drop for Counting<'_> {
    fn drop(&mut self) {
        *lock(&self.0.counting) = false;
        self.0.finished.notify_all();
    }
}

impl Usage {
    /// Remembers what everybody may keep and, if set, what one user may; 0 means any number.
    pub fn set_quota(&self, default_bytes: u64, uid: Uid, own_bytes: Option<u64>) {
        self.default_bytes.store(default_bytes, Ordering::Relaxed);
        if default_bytes > 0 || own_bytes.is_some_and(|bytes| bytes > 0) {
            self.on.store(true, Ordering::Relaxed);
        }
        let mut all = lock(&self.own_bytes);
        match own_bytes {
            Some(bytes) => all.insert(uid, bytes),
            None => all.remove(&uid),
        };
    }

    fn anybody_is_limited(&self) -> bool {
        self.default_bytes.load(Ordering::Relaxed) > 0 || lock(&self.own_bytes).values().any(|own| *own > 0)
    }

    fn quota(&self, uid: Uid) -> u64 {
        if uid.is_root() {
            return 0;
        }
        let own = lock(&self.own_bytes).get(&uid).copied();
        own.unwrap_or_else(|| self.default_bytes.load(Ordering::Relaxed))
    }
}

impl Disk {
    /// Adds to what a user keeps; EDQUOT when that would be more than the quota.
    pub(crate) fn charge(&self, uid: Uid, bytes: i64) -> Result<(), Fail> {
        if !self.counts_usage() {
            return Ok(());
        }
        let quota = self.usage.quota(uid);
        let limited = bytes > 0 && quota > 0;
        if limited && lock(&self.usage.counted).is_none() {
            self.count_usage();
        }
        let mut counted = lock(&self.usage.counted);
        let Some(counted) = counted.as_mut() else { return Ok(()) };
        let used = counted.bytes.entry(uid).or_default();
        if limited && used.saturating_add(bytes) > signed(quota) {
            let note =
                format!("disk quota exceeded: {used} of {quota} bytes are used, {bytes} more do not fit");
            return Err(Fail::because(Code::Quota, note));
        }
        *used = used.saturating_add(bytes);
        Ok(())
    }

    /// Takes back what was charged, or what was removed.
    pub(crate) fn refund(&self, uid: Uid, bytes: i64) {
        if self.counts_usage()
            && let Some(counted) = lock(&self.usage.counted).as_mut()
        {
            let used = counted.bytes.entry(uid).or_default();
            *used = used.saturating_sub(bytes);
        }
    }

    /// Takes back a file that is gone.
    pub(crate) fn refund_file(&self, gone: Option<&OpenEntry>) {
        if let Some(gone) = gone.filter(|gone| gone.stat.kind == FileKind::File) {
            self.refund(gone.stat.uid, signed(gone.stat.size));
        }
    }

    /// Whether anything is counted at all.
    pub(crate) fn counts_usage(&self) -> bool {
        self.usage.on.load(Ordering::Relaxed)
    }

    /// Sees to it that the count is not too old. To be called before a file's lock is taken: it may take long.
    pub(crate) fn freshen_usage(&self) {
        if self.counts_usage() && self.usage.anybody_is_limited() {
            self.count_usage();
        }
    }

    /// Counts everything, unless that was done a short while ago. While somebody counts anew, others go on with
    /// the old numbers; for the first ones they wait, but not for ever.
    fn count_usage(&self) {
        let age = || lock(&self.usage.counted).as_ref().map(|counted| counted.is_fresh(self.clock.instant()));
        let before = age();
        if before == Some(true) {
            return;
        }
        let mut counting = lock(&self.usage.counting);
        if *counting && before.is_none() {
            let waited =
                self.usage
                    .finished
                    .wait_timeout_while(counting, limits::files::USAGE_WAIT, |counting| *counting);
            counting = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if *counting || age() == Some(true) {
            return;
        }
        *counting = true;
        drop(counting);
        let _counting = Counting(&self.usage);
        let began = self.clock.instant();
        match self.count() {
            Ok(bytes) => {
                let at = self.clock.instant();
                let counted = Counted { bytes, at, took: at.saturating_duration_since(began) };
                *lock(&self.usage.counted) = Some(counted);
            }
            Err(fail) => tracing::error!(?fail, "what users keep could not be counted; the old count holds"),
        }
    }

    /// Everybody's bytes, those of unfinished writes and uploads included. What cannot be looked into is left
    /// out: it must not keep anybody else from writing.
    fn count(&self) -> Result<HashMap<Uid, i64>, Fail> {
        let mut bytes: HashMap<Uid, i64> = HashMap::new();
        let mut add = |there: &OpenEntry| {
            if there.stat.kind == FileKind::File {
                let all = bytes.entry(there.stat.uid).or_default();
                *all = all.saturating_add(self.usage.arriving.counted(there));
            }
            Ok(())
        };
        self.traverse(self.top(), &mut add, &mut |path, fail| {
            tracing::warn!(%path, ?fail, "its bytes are not counted");
            if path.as_str() == "/" { Err(fail) } else { Ok(()) }
        })?;
        let elsewhere = read(&self.usage.elsewhere).as_ref().map(|tell| tell()).unwrap_or_default();
        for (name, more) in elsewhere {
            if let Some((uid, _)) = self.home_owner(&name) {
                let all = bytes.entry(uid).or_default();
                *all = all.saturating_add(signed(more));
            }
        }
        Ok(bytes)
    }
}

/// A number of bytes that can be reckoned with.
pub(crate) fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
