//! What a running command is held by: who wants it to end, and how long it has kept its thread busy.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use base::limits;
use session::End;
use tokio::sync::Notify;

use crate::bounds::{TIMED_OUT, TOO_MUCH};
use crate::cpu::CpuClock;

/// Why a command is to end before it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
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

impl Why {
    /// So much time is up.
    pub(crate) fn time(time: Duration) -> Why {
        Why::Time(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }

    /// How a command that ends so has ended.
    pub(crate) fn end(self) -> End {
        let (exit_code, signal, error) = match self {
            Why::Time(ms) => (TIMED_OUT, None, Some(format!("Command timed out after {ms}ms"))),
            Why::Cpu => {
                let seconds = limits::NATIVE_SHELL_CPU.as_secs();
                (TOO_MUCH, None, Some(stopped(&format!("more than {seconds} s of CPU"))))
            }
            Why::Memory => {
                let most = limits::NATIVE_SHELL_HELD_BYTES_MAX / 1024 / 1024;
                (TOO_MUCH, None, Some(stopped(&format!("more than {most} MiB of memory"))))
            }
            Why::Signal(number) => (128 + number, Some(format!("SIG{number}")), None),
            Why::Account => terminated("the account was changed"),
            Why::Stopping => terminated("the gateway stops"),
        };
        let timed_out = matches!(self, Why::Time(_));
        End { exit_code: Some(exit_code), signal, timed_out, error, cwd: None }
    }
}

fn terminated(why: &str) -> (i32, Option<String>, Option<String>) {
    (128 + 15, Some("SIG15".to_string()), Some(format!("Command ended: {why}")))
}

/// What is said of a command that wanted more than it may have.
pub(crate) fn stopped(limit: &str) -> String {
    format!("Command stopped: {limit}")
}

/// Holds one command.
#[derive(Default)]
pub(crate) struct Leash {
    pulled: Mutex<Option<(Why, Instant)>>,
    cancel: OnceLock<Arc<AtomicBool>>,
    busy: OnceLock<(CpuClock, Duration)>,
    news: Notify,
}

impl Leash {
    /// Tells the command to end. The first reason counts.
    pub(crate) fn pull(&self, why: Why) {
        self.lock().get_or_insert_with(|| (why, Instant::now()));
        if let Some(cancel) = self.cancel.get() {
            cancel.store(true, Ordering::Relaxed);
        }
        self.news.notify_one();
    }

    /// Returns once it is to end. Only the command itself waits here.
    pub(crate) async fn until_pulled(&self) {
        while self.pulled().is_none() {
            self.news.notified().await;
        }
    }

    /// Why it is to end, and since when, if it is.
    pub(crate) fn pulled(&self) -> Option<(Why, Instant)> {
        *self.lock()
    }

    /// Whether it was told to end some looks ago and still keeps its thread busy.
    pub(crate) fn is_overdue(&self) -> bool {
        let is_late = |(_, since): (Why, Instant)| since.elapsed() > limits::NATIVE_SHELL_TICK * 4;
        self.busy.get().is_some() && self.pulled().is_some_and(is_late)
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
    pub(crate) fn tie(&self, cancel: Arc<AtomicBool>) {
        let cancel = self.cancel.get_or_init(|| cancel);
        if self.pulled().is_some() {
            cancel.store(true, Ordering::Relaxed);
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
    pub(crate) fn let_go(&self) {
        if let Some((clock, _)) = self.busy.get()
            && let Err(error) = clock.make_least_urgent()
        {
            tracing::debug!(%error, "the thread of a command could not be made less urgent");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<(Why, Instant)>> {
        self.pulled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
