//! Admission control of searches: a few at a time and fewer of one user, for each takes disks and threads for seconds.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use base::limits;
use base::sync::lock;
use protocol::ids::Uid;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::disk::fail::Fail;
use crate::fault::Code;

/// The searches of one tree.
pub(crate) struct Admission {
    all: Arc<Semaphore>,
    /// Of users who search or wait for it.
    of_users: Mutex<HashMap<Uid, Arc<Semaphore>>>,
}

impl Default for Admission {
    fn default() -> Admission {
        Admission { all: Arc::new(Semaphore::new(limits::files::SEARCHES_MAX)), of_users: Mutex::default() }
    }
}

/// The right to search, until it is dropped.
pub(super) struct Permit {
    _own: OwnedSemaphorePermit,
    _one: OwnedSemaphorePermit,
}

impl Admission {
    /// Waits for a turn, for a while.
    pub(super) async fn take(&self, uid: Uid) -> Result<Permit, Fail> {
        let own = self.of(uid);
        let both = async {
            // The own turn comes first: who waits for it takes none from others.
            let own = own.acquire_owned().await.ok()?;
            let one = self.all.clone().acquire_owned().await.ok()?;
            Some(Permit { _own: own, _one: one })
        };
        let turn = tokio::time::timeout(limits::files::SEARCH_WAIT, both).await;
        let busy = || Fail::because(Code::Io, "too many searches are under way, try again later");
        turn.ok().flatten().ok_or_else(busy)
    }

    fn of(&self, uid: Uid) -> Arc<Semaphore> {
        let mut users = lock(&self.of_users);
        users.retain(|_, turns| Arc::strong_count(turns) > 1);
        let new = || Arc::new(Semaphore::new(limits::files::SEARCHES_PER_USER_MAX));
        users.entry(uid).or_insert_with(new).clone()
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;

    #[tokio::test]
    async fn one_user_leaves_turns_to_others() {
        let turns = Admission::default();
        let take = |uid| {
            let mut taking = Box::pin(turns.take(Uid(uid)));
            match taking.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(turn) => turn.ok(),
                Poll::Pending => None,
            }
        };
        let of_ann = (take(1).unwrap(), take(1).unwrap());
        assert!(take(1).is_none(), "two are all that one user gets");
        let (of_bob, of_cat) = (take(2).unwrap(), take(3).unwrap());
        assert!(take(2).is_none() && take(4).is_none(), "four are all there are");
        drop(of_cat);
        assert!(take(2).is_some());
        drop((of_ann, of_bob));
        assert!(take(1).is_some());
        assert_eq!(turns.of_users.lock().unwrap().len(), 1, "who does not search is forgotten");
    }
}
