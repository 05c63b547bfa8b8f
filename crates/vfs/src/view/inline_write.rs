//! Adaptive inline execution of small writes: done on the thread that asks, instead of handed to another.
//!
//! Handing a small write to another thread and its answer back costs a quick disk as much as half of the write. So
//! a write that nothing waits behind is done at once, while the runtime goes on with another thread. It is handed
//! over as usual when others are under way, when the disk has been slow, or when it was waiting already: then more
//! of them may follow on the same socket, and several at a time are faster.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use base::clock::Clock;
use base::limits;
use base::sync::lock;
use protocol::identity::ProcessIdentity;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::SemaphorePermit;

use crate::disk::Disk;
use crate::disk::fail::Fail;
use crate::view::{View, Work};

/// How long the last write took and when it ended, if there was one.
#[derive(Default)]
pub(crate) struct WriteLatency(Mutex<Option<Last>>);

#[derive(Clone, Copy)]
struct Last {
    ended: Instant,
    took: Duration,
}

impl WriteLatency {
    fn timed<T>(&self, work: impl FnOnce() -> T) -> T {
        let began = Clock::system().instant();
        let done = work();
        let ended = Clock::system().instant();
        let last = Last { ended, took: ended.duration_since(began) };
        *lock(&self.0) = Some(last);
        done
    }

    /// Whether the disk is quick and nobody was waiting for it.
    fn allows_inline(&self) -> bool {
        let last = *lock(&self.0);
        last.is_some_and(|last| {
            last.took <= limits::files::WRITE_HERE_TIME_MAX
                && Clock::system().instant().saturating_duration_since(last.ended)
                    >= limits::files::WRITE_HERE_GAP
        })
    }
}

impl View {
    /// Writes so many bytes to the disk: here, if that is quicker, or where this view does its work.
    pub(super) async fn writes_to_disk<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce(&Disk, &ProcessIdentity) -> Result<T, Fail> + Send + 'static,
    ) -> Result<T, Fail> {
        if self.work == Work::Aside
            && let Some(_turn) = self.turn_at_once(bytes)
        {
            let (disk, who, write_latency) = (&self.tree.disk, &self.who, &self.tree.write_latency);
            return tokio::task::block_in_place(|| write_latency.timed(|| work(disk, who)));
        }
        let tree = self.tree.clone();
        self.on_disk(move |disk, who| tree.write_latency.timed(|| work(disk, who))).await
    }

    /// A turn at the disk for a write that may be done here and now.
    fn turn_at_once(&self, bytes: usize) -> Option<SemaphorePermit<'_>> {
        let may_wait_here =
            Handle::try_current().is_ok_and(|here| here.runtime_flavor() == RuntimeFlavor::MultiThread);
        // Counting what users keep may take long.
        let is_small = bytes <= limits::files::WRITE_HERE_MAX_BYTES && !self.tree.disk.counts_usage();
        if !may_wait_here || !is_small || !self.tree.write_latency.allows_inline() {
            return None;
        }
        let turn = self.tree.turns.try_acquire().ok()?;
        let is_alone = self.tree.turns.available_permits() + 1 == limits::files::WORK_MAX;
        is_alone.then_some(turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_quick_disk_that_nobody_waits_for_allows_it() {
        let write_latency = WriteLatency::default();
        let allows_inline = |ended, took| {
            *write_latency.0.lock().unwrap() = Some(Last { ended, took });
            write_latency.allows_inline()
        };
        let (now, second) = (Clock::system().instant(), Duration::from_secs(1));
        let quick = limits::files::WRITE_HERE_TIME_MAX;
        assert!(!WriteLatency::default().allows_inline(), "nothing is known yet");
        assert!(allows_inline(now.checked_sub(second).unwrap(), quick));
        assert!(!allows_inline(now.checked_sub(second).unwrap(), quick * 2));
        assert!(!allows_inline(now.checked_add(second * 60).unwrap(), quick), "it has only just ended");
        write_latency.timed(|| {});
        assert!(write_latency.0.lock().unwrap().is_some_and(|last| last.ended >= now));
    }
}
