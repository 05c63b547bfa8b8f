//! How many bytes each user keeps, for those with a quota. With no quota set nothing is counted.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use base::limits;
use protocol::ids::Uid;

use super::Disk;
use super::dir::There;
use super::fail::Fail;
use crate::fault::Code;
use crate::stat::Kind;

/// Quotas as they were last read, and what is used of them.
#[derive(Default)]
pub(crate) struct Usage {
    /// Whether anybody ever had a quota.
    on: AtomicBool,
    default_bytes: AtomicU64,
    own_bytes: Mutex<HashMap<Uid, u64>>,
    counted: Mutex<Option<Counted>>,
    /// Held while counting, so that it is done once.
    counting: Mutex<()>,
}

struct Counted {
    bytes: HashMap<Uid, i64>,
    at: Instant,
}

impl Usage {
    /// Remembers what everybody may keep and, if set, what one user may; 0 means any number.
    pub fn set_quota(&self, default_bytes: u64, uid: Uid, own_bytes: Option<u64>) {
        self.default_bytes.store(default_bytes, Ordering::Relaxed);
        if default_bytes > 0 || own_bytes.is_some_and(|bytes| bytes > 0) {
            self.on.store(true, Ordering::Relaxed);
        }
        let mut all = locked(&self.own_bytes);
        match own_bytes {
            Some(bytes) => all.insert(uid, bytes),
            None => all.remove(&uid),
        };
    }

    fn quota(&self, uid: Uid) -> u64 {
        if uid.is_root() {
            return 0;
        }
        let own = locked(&self.own_bytes).get(&uid).copied();
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
        if limited {
            self.count_usage()?;
        }
        let mut counted = locked(&self.usage.counted);
        let Some(counted) = counted.as_mut() else { return Ok(()) };
        let used = counted.bytes.entry(uid).or_default();
        if limited && used.saturating_add(bytes) > quota as i64 {
            let note =
                format!("disk quota exceeded: {used} of {quota} bytes are used, {bytes} more do not fit");
            return Err(Fail::because(Code::Quota, note));
        }
        *used += bytes;
        Ok(())
    }

    /// Takes back what was charged, or what was removed.
    pub(crate) fn refund(&self, uid: Uid, bytes: i64) {
        if self.counts_usage()
            && let Some(counted) = locked(&self.usage.counted).as_mut()
        {
            *counted.bytes.entry(uid).or_default() -= bytes;
        }
    }

    /// Takes back a file that is gone.
    pub(crate) fn refund_file(&self, gone: Option<&There>) {
        if let Some(gone) = gone.filter(|gone| gone.stat.kind == Kind::File) {
            self.refund(gone.stat.uid, gone.stat.size as i64);
        }
    }

    /// Whether anything is counted at all.
    pub(crate) fn counts_usage(&self) -> bool {
        self.usage.on.load(Ordering::Relaxed)
    }

    /// Counts everything, unless that was done a short while ago. While somebody counts anew, others go on with
    /// the old numbers.
    fn count_usage(&self) -> Result<(), Fail> {
        let age = || locked(&self.usage.counted).as_ref().map(|counted| counted.at.elapsed());
        let is_fresh =
            |age: Option<std::time::Duration>| age.is_some_and(|age| age < limits::FILE_USAGE_KEPT);
        let before = age();
        if is_fresh(before) {
            return Ok(());
        }
        let _counting = match before {
            None => locked(&self.usage.counting),
            Some(_) => match self.usage.counting.try_lock() {
                Ok(counting) => counting,
                Err(_) => return Ok(()),
            },
        };
        if is_fresh(age()) {
            return Ok(());
        }
        let mut bytes: HashMap<Uid, i64> = HashMap::new();
        self.tour(self.top(), &mut |_, _, there| {
            if there.stat.kind == Kind::File {
                *bytes.entry(there.stat.uid).or_default() += there.stat.size as i64;
            }
            Ok(())
        })?;
        *locked(&self.usage.counted) = Some(Counted { bytes, at: Instant::now() });
        Ok(())
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
