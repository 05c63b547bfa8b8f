//! Admission control of git requests: so many at once in all, of strangers and of each caller, with a short bounded
//! queue. Each holds a process of the git program, which is the scarce thing.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use base::clock::Clock;
use base::limits::git as limits;
use base::sync::lock;
use protocol::ids::Uid;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// What of git over HTTP is under way.
#[derive(Default)]
pub(crate) struct Traffic {
    pub(crate) admission: Admission,
    stopping: watch::Sender<bool>,
}

impl Traffic {
    /// Takes no further requests and ends those under way.
    pub(crate) async fn stop(&self, clock: &Clock) {
        self.stopping.send_replace(true);
        if clock.timeout(limits::STOP_TIMEOUT, self.admission.idle()).await.is_err() {
            tracing::warn!("some git requests did not end in time");
        }
    }

    /// Whether the gateway stops.
    pub(crate) fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.subscribe()
    }
}

/// Whose requests are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Whose {
    User(Uid),
    Address(IpAddr),
}

/// Why there is no turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crowded {
    /// Too many of the caller's wait already.
    Caller,
    /// The turn did not come in time.
    Everybody,
}

/// Turns of everybody.
pub(crate) struct Admission {
    all: Arc<Semaphore>,
    anonymous: Arc<Semaphore>,
    callers: Mutex<HashMap<Whose, Weak<Caller>>>,
}

/// Turns of one user, or of one address.
struct Caller {
    turns: Arc<Semaphore>,
    waiting: AtomicUsize,
}

/// One turn, given back when dropped.
pub(crate) struct Admitted {
    _turns: Vec<OwnedSemaphorePermit>,
    _caller: Arc<Caller>,
}

impl Default for Admission {
    fn default() -> Admission {
        Admission {
            all: Arc::new(Semaphore::new(limits::REQUESTS_MAX)),
            anonymous: Arc::new(Semaphore::new(limits::ANONYMOUS_REQUESTS_MAX)),
            callers: Mutex::default(),
        }
    }
}

impl Admission {
    /// A turn, once there is one.
    pub(crate) async fn admit(&self, whose: Whose, clock: &Clock) -> Result<Admitted, Crowded> {
        let caller = self.caller(whose);
        let _place = Waiting::begin(&caller).ok_or(Crowded::Caller)?;
        // The caller's own first: whoever has used up its turns waits without holding one of everybody's.
        let shared = match whose {
            Whose::User(_) => vec![&self.all],
            Whose::Address(_) => vec![&self.anonymous, &self.all],
        };
        let taking = async {
            let mut turns = Vec::with_capacity(3);
            for of in [vec![&caller.turns], shared].concat() {
                // They are never closed.
                turns.extend(of.clone().acquire_owned().await.ok());
            }
            turns
        };
        let turns = clock.timeout(limits::TURN_TIMEOUT, taking).await.map_err(|_| Crowded::Everybody)?;
        Ok(Admitted { _turns: turns, _caller: caller.clone() })
    }

    /// Requests under way.
    pub(crate) fn under_way(&self) -> usize {
        limits::REQUESTS_MAX - self.all.available_permits()
    }

    /// Returns once there are none.
    pub(crate) async fn idle(&self) {
        drop(self.all.acquire_many(limits::REQUESTS_MAX as u32).await);
    }

    fn caller(&self, whose: Whose) -> Arc<Caller> {
        let mut callers = lock(&self.callers);
        if let Some(caller) = callers.get(&whose).and_then(Weak::upgrade) {
            return caller;
        }
        if callers.len() >= limits::CALLERS_SPARE_MAX {
            callers.retain(|_, caller| caller.strong_count() > 0);
        }
        let turns = Arc::new(Semaphore::new(limits::REQUESTS_PER_CALLER_MAX));
        let caller = Arc::new(Caller { turns, waiting: AtomicUsize::new(0) });
        callers.insert(whose, Arc::downgrade(&caller));
        caller
    }
}

/// A place among those of a caller who wait.
struct Waiting<'a>(&'a Caller);

impl Waiting<'_> {
    fn begin(caller: &Caller) -> Option<Waiting<'_>> {
        let waiting = Waiting(caller);
        let before = caller.waiting.fetch_add(1, Ordering::Relaxed);
        (before < limits::WAITING_PER_CALLER_MAX).then_some(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nobody_takes_all_turns_and_they_are_given_back() {
        let (admission, clock) = (Admission::default(), Clock::manual(0));
        let (one, other) = (Whose::User(Uid(1)), Whose::User(Uid(2)));
        let mut held = Vec::new();
        for _ in 0..limits::REQUESTS_PER_CALLER_MAX {
            held.push(admission.admit(one, &clock).await.ok().unwrap());
        }
        let (waits, _) = tokio::join!(admission.admit(one, &clock), clock.pass(limits::TURN_TIMEOUT));
        assert_eq!(waits.err(), Some(Crowded::Everybody), "its turn did not come");
        held.push(admission.admit(other, &clock).await.ok().unwrap());
        let (next, ()) = tokio::join!(admission.admit(one, &clock), async { drop(held.remove(0)) });
        assert!(next.is_ok(), "a turn that is given back is the next one's");
        assert_eq!(admission.under_way(), limits::REQUESTS_PER_CALLER_MAX + 1);
        drop((next, held));
        admission.idle().await;
    }

    #[tokio::test]
    async fn those_who_wait_are_bounded_too() {
        let (admission, clock) = (Admission::default(), Clock::manual(0));
        let stranger = Whose::Address("192.0.2.1".parse().unwrap());
        let many = limits::REQUESTS_PER_CALLER_MAX + limits::WAITING_PER_CALLER_MAX + 10;
        let asked = futures_util::future::join_all((0..many).map(|_| admission.admit(stranger, &clock)));
        let (answers, ()) = tokio::join!(asked, clock.pass(limits::TURN_TIMEOUT));
        let refused: Vec<Crowded> = answers.iter().filter_map(|one| one.as_ref().err().copied()).collect();
        let both = refused.contains(&Crowded::Caller) && refused.contains(&Crowded::Everybody);
        assert!(both, "{refused:?}");
        assert_eq!(answers.iter().flatten().count(), limits::REQUESTS_PER_CALLER_MAX);
    }
}
