//! Fair semaphore: permits that commands of all users wait for, of which one user never has all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use base::sync::lock;
use protocol::ids::Uid;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

/// Places, and how many of them are whose.
pub(crate) struct FairSemaphore {
    all: Arc<Semaphore>,
    share: usize,
    of_user: Mutex<HashMap<Uid, Arc<Semaphore>>>,
}

/// A place that was taken; it is free again when this goes.
pub(crate) struct Permit {
    _own: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl FairSemaphore {
    pub(crate) fn new(all: usize, share: usize) -> FairSemaphore {
        FairSemaphore { all: Arc::new(Semaphore::new(all)), share, of_user: Mutex::default() }
    }

    /// Waits for a place. Who has all of its share waits for one of its own, in nobody's way.
    pub(crate) async fn take(&self, uid: Uid) -> Result<Permit, AcquireError> {
        let own = {
            let mut of_user = lock(&self.of_user);
            // Whoever has or waits for a place holds more than the one here.
            of_user.retain(|_, own| Arc::strong_count(own) > 1);
            of_user.entry(uid).or_insert_with(|| Arc::new(Semaphore::new(self.share))).clone()
        };
        let own = own.acquire_owned().await?;
        Ok(Permit { _own: own, _of_all: self.all.clone().acquire_owned().await? })
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn now<T>(future: impl Future<Output = T>) -> Option<T> {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => Some(done),
            Poll::Pending => None,
        }
    }

    #[test]
    fn one_user_never_has_all_places() {
        let places = FairSemaphore::new(8, 3);
        let (ann, bob) = (Uid(1_000), Uid(1_001));
        let mut of_ann: Vec<Permit> = (0..3).map(|_| now(places.take(ann)).unwrap().unwrap()).collect();
        assert!(now(places.take(ann)).is_none(), "ann has her share");
        assert!(now(places.take(bob)).is_some_and(|place| place.is_ok()), "bob does not wait for ann");
        of_ann.pop();
        assert!(now(places.take(ann)).is_some_and(|place| place.is_ok()), "one of hers is free");
    }

    #[test]
    fn users_who_have_gone_are_not_remembered() {
        let places = FairSemaphore::new(8, 3);
        for uid in 0..100 {
            drop(now(places.take(Uid(uid))).unwrap().unwrap());
        }
        assert!(places.of_user.lock().unwrap().len() <= 1);
    }
}
