//! Cancellation token of a running command: who wants it to end, and how long it has kept its thread busy.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use base::clock::Clock;
use base::limits;
use base::sync::lock;
use session::End;
use tokio::sync::Notify;

use crate::bounds::{TIMED_OUT, TOO_MUCH};
use crate::cpu::CpuClock;

/// Why a command is to end before it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// Its time was up, after so many milliseconds.
    Time(u64),
    /// It kept its thread busy too long.
    Cpu,
    /// It took too much memory.
    Memory,
    /// Somebody sent it this signal.
    Signal(i32),
    /// Its user lost rights that it runs with.
    Account,
    /// The gateway stops.
    Stopping,
}

impl StopReason {
    /// So much time is up.
    pub(crate) fn time(time: Duration) -> StopReason {
        StopReason::Time(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }

    /// How a command that ends so has ended.
    pub(crate) fn end(self) -> End {
        let (exit_code, signal, error) = match self {
            StopReason::Time(ms) => (TIMED_OUT, None, Some(format!("Command timed out after {ms}ms"))),
            StopReason::Cpu => {
                let seconds = limits::native_shell::CPU.as_secs();
                (TOO_MUCH, None, Some(stopped(&format!("more than {seconds} s of CPU"))))
            }
            StopReason::Memory => {
                let most = limits::native_shell::HELD_MAX_BYTES / 1024 / 1024;
                (TOO_MUCH, None, Some(stopped(&format!("more than {most} MiB of memory"))))
            }
            StopReason::Signal(number) => (128 + number, Some(format!("SIG{number}")), None),
            StopReason::Account => terminated("the account was changed"),
            StopReason::Stopping => terminated("the gateway stops"),
        };
        let timed_out = matches!(self, StopReason::Time(_));
        End { exit_code: Some(exit_code), signal, timed_out, error, ..End::default() }
    }
}

fn terminated(why: &str) -> (i32, Option<String>, Option<String>) {
    (128 + 15, Some("SIG15".to_string()), Some(format!("Command ended: {why}")))
}

/// What is said of a command that wanted more than it may have.
pub(crate) fn stopped(limit: &str) -> String {
    format!("Command stopped: {limit}")
}

/// One command's token: shared by the command, its watchdog and its callers.
#[derive(Default)]
pub(crate) struct Cancellation {
    cancelled: Mutex<Option<(StopReason, Instant)>>,
    flag: OnceLock<Arc<AtomicBool>>,
    busy: OnceLock<(CpuClock, Duration)>,
    news: Notify,
}

impl Cancellation {
    /// Tells the command to end. The first reason counts.
    pub(crate) fn cancel(&self, why: StopReason) {
        lock(&self.cancelled).get_or_insert_with(|| (why, Clock::system().instant()));
        if let Some(flag) = self.flag.get() {
            flag.store(true, Ordering::Relaxed);
        }
        self.news.notify_one();
    }

    /// Returns once it is to end. Only the command itself waits here.
    pub(crate) async fn until_cancelled(&self) {
        while self.cancelled().is_none() {
            self.news.notified().await;
        }
    }

    /// Why it is to end, and since when, if it is.
    pub(crate) fn cancelled(&self) -> Option<(StopReason, Instant)> {
        *lock(&self.cancelled)
    }

    /// Whether it was told to end some looks ago and still keeps its thread busy.
    pub(crate) fn is_overdue(&self) -> bool {
        let is_late = |(_, since): (StopReason, Instant)| {
            Clock::system().instant().saturating_duration_since(since) > limits::native_shell::TICK * 4
        };
        self.busy.get().is_some() && self.cancelled().is_some_and(is_late)
    }

    /// The command starts on this thread.
    pub(crate) fn begin(&self) {
        if let Some(clock) = CpuClock::of_this_thread() {
            let so_far = clock.read().unwrap_or_default();
            // It begins once; a second time would only start the count anew.
            drop(self.busy.set((clock, so_far)));
        }
    }

    /// The interpreter looks at this flag from now on.
    pub(crate) fn attach(&self, flag: Arc<AtomicBool>) {
        let flag = self.flag.get_or_init(|| flag);
        if self.cancelled().is_some() {
            flag.store(true, Ordering::Relaxed);
        }
    }

    /// How long it has kept its thread busy.
    pub(crate) fn busy_for(&self) -> Duration {
        let Some((clock, start)) = self.busy.get() else { return Duration::ZERO };
        clock.read().unwrap_or_default().saturating_sub(*start)
    }

    /// The thread it runs on, as the system calls it.
    pub(crate) fn thread(&self) -> Option<u32> {
        self.busy.get().and_then(|(clock, _)| clock.thread())
    }

    /// Nobody waits for it any more: all others go first.
    pub(crate) fn lower_priority(&self) {
        if let Some((clock, _)) = self.busy.get()
            && let Err(error) = clock.make_least_urgent()
        {
            tracing::debug!(%error, "the thread of a command could not be made less urgent");
        }
    }
}
