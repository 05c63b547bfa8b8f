//! Injected clock: wall time, monotonic time and waiting, from the machine or from a test's hand.
//!
//! Nothing outside this crate reads a clock of the machine. A virtual clock stands still until it is moved; moving it
//! wakes whoever waits, in the order of their deadlines, so that a week passes in as long as its timers take to run.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::sync::lock;

/// The machine's clock, or a virtual one. Cheap to clone; clones of a virtual clock move together.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    hand: Option<Arc<Hand>>,
}

/// What a virtual clock shows.
#[derive(Debug)]
struct Hand {
    /// The instant at which its monotonic time is zero.
    origin: Instant,
    wall_ms: AtomicI64,
    elapsed_us: AtomicU64,
    sleepers: Mutex<Sleepers>,
}

/// Who waits, by deadline; the number keeps those of one deadline in the order of their coming.
#[derive(Debug, Default)]
struct Sleepers {
    next: u64,
    by_deadline: BTreeMap<(Duration, u64), Waker>,
}

/// When the program began, for the monotonic time of the machine's clock.
static STARTED: LazyLock<Instant> = LazyLock::new(instant_of_the_machine);

impl Clock {
    /// The machine's clock.
    pub fn system() -> Clock {
        Clock { hand: None }
    }

    /// A clock that stands still until moved.
    pub fn manual(start_ms: i64) -> Clock {
        let hand = Hand {
            origin: instant_of_the_machine(),
            wall_ms: AtomicI64::new(start_ms),
            elapsed_us: AtomicU64::new(0),
            sleepers: Mutex::default(),
        };
        Clock { hand: Some(Arc::new(hand)) }
    }

    /// Wall time, in milliseconds since the Unix epoch. It may jump.
    pub fn now_ms(&self) -> i64 {
        match &self.hand {
            Some(hand) => hand.wall_ms.load(Ordering::Relaxed),
            None => system_ms(),
        }
    }

    /// Monotonic time. It never goes back.
    pub fn instant(&self) -> Instant {
        match &self.hand {
            Some(hand) => hand.origin + hand.elapsed(),
            None => instant_of_the_machine(),
        }
    }

    /// Monotonic time since the clock began, for what is kept in an atomic number.
    pub fn elapsed(&self) -> Duration {
        match &self.hand {
            Some(hand) => hand.elapsed(),
            None => instant_of_the_machine().saturating_duration_since(*STARTED),
        }
    }

    /// Moves a manual clock, wall and monotonic time alike; the machine's does not move.
    pub fn advance(&self, by_ms: i64) {
        let Some(hand) = &self.hand else { return };
        hand.wall_ms.fetch_add(by_ms, Ordering::Relaxed);
        if let Ok(by_ms) = u64::try_from(by_ms) {
            hand.elapsed_us.fetch_add(by_ms.saturating_mul(1_000), Ordering::AcqRel);
            hand.wake();
        }
    }

    /// Lets the wall time of a manual clock jump, as an administrator or a time server would.
    pub fn jump(&self, by_ms: i64) {
        if let Some(hand) = &self.hand {
            hand.wall_ms.fetch_add(by_ms, Ordering::Relaxed);
        }
    }

    /// How long until somebody who waits on a manual clock is woken.
    pub fn next_deadline_in(&self) -> Option<Duration> {
        let hand = self.hand.as_ref()?;
        let (deadline, _) = *lock(&hand.sleepers).by_deadline.keys().next()?;
        Some(deadline.saturating_sub(hand.elapsed()))
    }

    /// Lets time pass on a manual clock, from one deadline to the next, and lets the program run in between.
    pub async fn pass(&self, duration: Duration) {
        let end = self.elapsed() + duration;
        loop {
            run_the_others().await;
            let left = end.saturating_sub(self.elapsed());
            let step = self.next_deadline_in().map_or(left, |next| next.min(left));
            // A whole millisecond at least: wall time counts no finer.
            self.advance(step.as_millis().max(1) as i64);
            if left <= step {
                return run_the_others().await;
            }
        }
    }

    /// Waits so long.
    pub fn sleep(&self, duration: Duration) -> Sleep {
        match &self.hand {
            None => Sleep(Waiting::Machine(Box::pin(tokio::time::sleep(duration)))),
            Some(hand) => {
                let deadline = hand.elapsed().saturating_add(duration);
                Sleep(Waiting::Virtual { hand: hand.clone(), deadline, key: None })
            }
        }
    }

    /// Waits until then.
    pub fn sleep_until(&self, deadline: Instant) -> Sleep {
        self.sleep(deadline.saturating_duration_since(self.instant()))
    }

    /// Waits for a future, so long at most.
    pub async fn timeout<F: Future>(&self, duration: Duration, future: F) -> Result<F::Output, Elapsed> {
        if self.hand.is_none() {
            // The same without a box.
            return tokio::time::timeout(duration, future).await.map_err(|_| Elapsed);
        }
        let mut future = std::pin::pin!(future);
        let mut sleep = self.sleep(duration);
        std::future::poll_fn(|cx| {
            if let Poll::Ready(output) = future.as_mut().poll(cx) {
                return Poll::Ready(Ok(output));
            }
            Pin::new(&mut sleep).poll(cx).map(|()| Err(Elapsed))
        })
        .await
    }
}

/// The time was up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the time is up")]
pub struct Elapsed;

/// Other tasks get their turn until nothing is left to do at this moment. Work on other threads, such as the store's,
/// gets some time as well: it does not know the virtual clock.
async fn run_the_others() {
    for _ in 0..16 {
        tokio::task::yield_now().await;
    }
}

impl Hand {
    fn elapsed(&self) -> Duration {
        Duration::from_micros(self.elapsed_us.load(Ordering::Acquire))
    }

    fn wake(&self) {
        let now = self.elapsed();
        let due: Vec<Waker> = {
            let mut sleepers = lock(&self.sleepers);
            let later = sleepers.by_deadline.split_off(&(now + Duration::from_nanos(1), 0));
            std::mem::replace(&mut sleepers.by_deadline, later).into_values().collect()
        };
        due.into_iter().for_each(Waker::wake);
    }
}

/// A wait that is under way.
pub struct Sleep(Waiting);

enum Waiting {
    Machine(Pin<Box<tokio::time::Sleep>>),
    Virtual { hand: Arc<Hand>, deadline: Duration, key: Option<(Duration, u64)> },
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.0 {
            Waiting::Machine(sleep) => sleep.as_mut().poll(cx),
            Waiting::Virtual { hand, deadline, key } => {
                let mut sleepers = lock(&hand.sleepers);
                if let Some(key) = key.take() {
                    sleepers.by_deadline.remove(&key);
                }
                // Under the lock: a hand that moves now finds the waker, or is seen here.
                if hand.elapsed() >= *deadline {
                    return Poll::Ready(());
                }
                sleepers.next += 1;
                let entry = (*deadline, sleepers.next);
                sleepers.by_deadline.insert(entry, cx.waker().clone());
                *key = Some(entry);
                Poll::Pending
            }
        }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Waiting::Virtual { hand, key: Some(key), .. } = &self.0 {
            lock(&hand.sleepers).by_deadline.remove(key);
        }
    }
}

/// By way of tokio, which has the same time unless a test has paused it: then this agrees with [`Clock::sleep`].
#[allow(clippy::disallowed_methods)]
fn instant_of_the_machine() -> Instant {
    tokio::time::Instant::now().into_std()
}

#[allow(clippy::disallowed_methods)]
fn system_ms() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => since.as_millis() as i64,
        Err(before) => -(before.duration().as_millis() as i64),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn a_manual_clock_moves_only_when_moved() {
        let clock = Clock::manual(1_000);
        let began = clock.instant();
        assert_eq!(clock.now_ms(), 1_000);
        clock.advance(500);
        assert_eq!(clock.clone().now_ms(), 1_500);
        assert_eq!(clock.instant() - began, Duration::from_millis(500));
        clock.jump(-1_000);
        assert_eq!((clock.now_ms(), clock.elapsed()), (500, Duration::from_millis(500)));
    }

    #[test]
    fn the_system_clock_is_past_2020() {
        assert!(Clock::system().now_ms() > 1_577_836_800_000);
    }

    #[tokio::test]
    async fn a_week_of_hours_passes_at_once_and_in_order() {
        let (clock, hours) = (Clock::manual(0), Arc::new(AtomicUsize::new(0)));
        let ticking = {
            let (clock, hours) = (clock.clone(), hours.clone());
            tokio::spawn(async move {
                loop {
                    clock.sleep(Duration::from_secs(3_600)).await;
                    assert_eq!(clock.now_ms() % 3_600_000, 0);
                    hours.fetch_add(1, Ordering::Relaxed);
                }
            })
        };
        clock.pass(Duration::from_secs(7 * 24 * 3_600)).await;
        assert_eq!(hours.load(Ordering::Relaxed), 7 * 24);
        ticking.abort();
    }

    #[tokio::test]
    async fn what_is_in_time_is_there_and_what_is_not_is_given_up() {
        for clock in [Clock::system(), Clock::manual(0)] {
            assert_eq!(clock.timeout(Duration::from_secs(60), async { 1 }).await, Ok(1));
        }
        let clock = Clock::manual(0);
        let waiting = {
            let clock = clock.clone();
            let never = std::future::pending::<()>();
            tokio::spawn(async move { clock.timeout(Duration::from_secs(60), never).await })
        };
        clock.pass(Duration::from_secs(61)).await;
        assert_eq!(waiting.await.unwrap(), Err(Elapsed));
        assert_eq!(clock.next_deadline_in(), None, "a wait that ended is forgotten");
        drop(clock.sleep(Duration::from_secs(1)));
        assert_eq!(clock.next_deadline_in(), None);
    }
}
