//! Timer: runs what is due, sleeping until the earliest deadline, over an injected clock.
//!
//! An [`Alarm`] is one thing to be done in time: an expiry, a sweep, a keepalive. It says itself when it wants to run
//! next, and can be brought forward at any time from any thread; a deadline later than the known one costs a load.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::clock::Clock;
use crate::shutdown::Shutdown;

/// No deadline.
const NEVER: u64 = u64::MAX;

type Run = Box<dyn Fn(Instant) -> Option<Duration> + Send + Sync>;

/// One thing to be done in time.
pub struct Alarm {
    name: &'static str,
    clock: Clock,
    /// In microseconds of the clock's monotonic time.
    due_us: AtomicU64,
    /// Wakes the timer that runs it.
    timer: OnceLock<Arc<Notify>>,
    run: OnceLock<Run>,
}

impl Alarm {
    /// An alarm without a deadline and with nothing to do yet.
    pub fn new(name: &'static str, clock: Clock) -> Arc<Alarm> {
        Arc::new(Alarm {
            name,
            clock,
            due_us: AtomicU64::new(NEVER),
            timer: OnceLock::new(),
            run: OnceLock::new(),
        })
    }

    /// Says what is done when it is due: `run` gets the time and returns in how long it is to run again, if at all. It
    /// must not block; what takes a while is a task of its own.
    pub fn does(&self, run: impl Fn(Instant) -> Option<Duration> + Send + Sync + 'static) {
        assert!(self.run.set(Box::new(run)).is_ok(), "alarm {} has two things to do", self.name);
    }

    /// Runs at intervals, from one interval on.
    pub fn every(
        name: &'static str,
        clock: Clock,
        interval: Duration,
        run: impl Fn(Instant) + Send + Sync + 'static,
    ) -> Arc<Alarm> {
        let alarm = Alarm::new(name, clock);
        alarm.does(move |now| {
            run(now);
            Some(interval)
        });
        alarm.within(interval);
        alarm
    }

    /// Must run within so long from now, or earlier if that was known already.
    pub fn within(&self, wait: Duration) {
        // One that is due sooner is the rule, and costs no more than this look.
        let due_us = self.clock.elapsed().saturating_add(wait).as_micros() as u64;
        if self.due_us.load(Ordering::Acquire) <= due_us {
            return;
        }
        if self.due_us.fetch_min(due_us, Ordering::AcqRel) > due_us
            && let Some(timer) = self.timer.get()
        {
            timer.notify_one();
        }
    }

    /// The name that logs and metrics call it by.
    pub fn name(&self) -> &'static str {
        self.name
    }
}

/// Runs alarms until the program stops.
pub async fn run(clock: Clock, alarms: Vec<Arc<Alarm>>, mut shutdown: Shutdown) {
    let wake = Arc::new(Notify::new());
    for alarm in &alarms {
        assert!(alarm.timer.set(wake.clone()).is_ok(), "alarm {} has two timers", alarm.name);
    }
    loop {
        let now_us = clock.elapsed().as_micros() as u64;
        let mut next_us = NEVER;
        for alarm in &alarms {
            let due_us = alarm.due_us.load(Ordering::Acquire);
            if due_us > now_us {
                next_us = next_us.min(due_us);
                continue;
            }
            // Before it runs: a deadline that is set meanwhile counts.
            alarm.due_us.store(NEVER, Ordering::Release);
            if let Some(again) = alarm.run.get().and_then(|run| run(clock.instant())) {
                // Never at once again: an alarm that is wrong about its next deadline must not keep a core busy.
                alarm.within(again.max(Duration::from_millis(1)));
            }
            next_us = next_us.min(alarm.due_us.load(Ordering::Acquire));
        }
        let wait = Duration::from_micros(next_us.saturating_sub(clock.elapsed().as_micros() as u64));
        let due = async {
            match next_us {
                NEVER => std::future::pending().await,
                _ => clock.sleep(wait).await,
            }
        };
        tokio::select! {
            () = shutdown.requested() => return,
            () = wake.notified() => {}
            () = due => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::{shutdown, sync};

    #[tokio::test]
    async fn alarms_run_when_due_and_can_be_brought_forward() {
        let clock = Clock::manual(0);
        let log: Arc<Mutex<Vec<(&str, i64)>>> = Arc::default();
        let note = |name: &'static str| {
            let (log, clock) = (log.clone(), clock.clone());
            move |_: Instant| sync::lock(&log).push((name, clock.now_ms()))
        };
        let hourly = Alarm::every("hourly", clock.clone(), Duration::from_secs(3_600), note("hourly"));
        let once = Alarm::new("once", clock.clone());
        let noted = note("once");
        once.does(move |now| {
            noted(now);
            None
        });
        let (trigger, shutdown) = shutdown::channel();
        let running = tokio::spawn(run(clock.clone(), vec![hourly, once.clone()], shutdown));
        clock.pass(Duration::from_secs(10)).await;
        once.within(Duration::from_secs(100));
        once.within(Duration::from_secs(200));
        once.within(Duration::from_secs(50));
        clock.pass(Duration::from_secs(7_200)).await;
        assert_eq!(*sync::lock(&log), [("once", 60_000), ("hourly", 3_600_000), ("hourly", 7_200_000)]);
        trigger.stop();
        running.await.unwrap();
    }
}
