//! Bounded registry of feeds, one for each user who has connected since the gateway started.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};

use base::clock::Clock;
use base::limits;
use base::sync::{lock, read, write};
use protocol::identity::ProcessIdentity;
use protocol::ids::Uid;

use super::feed::Feed;
use super::ring::Total;
use super::run_routes::RunRoutes;
use crate::connections::Connection;

type Users = HashMap<Uid, Arc<Mutex<Feed>>>;

/// The feeds by user, with a bound on the bytes of all of them together.
pub(crate) struct Feeds {
    clock: Clock,
    users: RwLock<Users>,
    pub(super) runs: RunRoutes,
    /// What all of them keep together, and how much that may be.
    total: Total,
    bytes_max: usize,
    /// No feed begins below this: the highest place of those that were forgotten.
    beginning: AtomicU64,
}

impl Default for Feeds {
    fn default() -> Feeds {
        Feeds {
            clock: Clock::system(),
            users: RwLock::default(),
            runs: RunRoutes::default(),
            total: Total::default(),
            bytes_max: limits::signal::KEPT_ALL_BYTES,
            beginning: AtomicU64::new(0),
        }
    }
}

impl Feeds {
    /// Nobody was told anything yet.
    pub(crate) fn new(clock: Clock) -> Feeds {
        Feeds { clock, ..Feeds::default() }
    }

    /// The user's feed, if there is one.
    pub(super) fn of(&self, uid: Uid) -> Option<Arc<Mutex<Feed>>> {
        read(&self.users).get(&uid).cloned()
    }

    /// Every feed.
    pub(super) fn all(&self) -> Vec<Arc<Mutex<Feed>>> {
        read(&self.users).values().cloned().collect()
    }

    /// Does something with the user's feed, which is made if need be.
    pub(super) fn with<T>(
        &self,
        who: &Arc<ProcessIdentity>,
        now_ms: i64,
        act: impl FnOnce(&mut Feed) -> T,
    ) -> T {
        loop {
            let found = self.of(who.uid).unwrap_or_else(|| self.begin(who, now_ms));
            let mut feed = lock(&found);
            // It may have been forgotten since it was found.
            if !feed.is_forgotten() {
                feed.belong_to(who);
                return act(&mut feed);
            }
        }
    }

    fn begin(&self, who: &Arc<ProcessIdentity>, now_ms: i64) -> Arc<Mutex<Feed>> {
        // The clock's milliseconds times a thousand: more than any number an earlier gateway gave out.
        let clock = u64::try_from(now_ms).unwrap_or(0).saturating_mul(1_000);
        let mut users = write(&self.users);
        if users.len() >= limits::signal::USERS_MAX && !users.contains_key(&who.uid) {
            self.forget_quietest(&mut users);
        }
        let begin = || {
            let beginning = clock.max(self.beginning.load(Ordering::Relaxed));
            Arc::new(Mutex::new(Feed::new(who.clone(), beginning, self.total.clone(), self.clock.clone())))
        };
        users.entry(who.uid).or_insert_with(begin).clone()
    }

    /// Connected users are not forgotten, however many they are.
    fn forget_quietest(&self, users: &mut Users) {
        let quiet = users.iter().filter_map(|(uid, feed)| Some((lock(feed).quiet_since()?, *uid)));
        let Some((_, uid)) = quiet.min() else { return };
        if let Some(feed) = users.remove(&uid) {
            self.beginning.fetch_max(lock(&feed).forget(), Ordering::Relaxed);
        }
    }

    /// A user was removed: what is kept for it goes, whoever is still connected.
    pub(crate) fn remove(&self, uid: Uid) {
        let mut users = write(&self.users);
        if let Some(feed) = users.remove(&uid) {
            self.beginning.fetch_max(lock(&feed).forget(), Ordering::Relaxed);
        }
    }

    /// Gives up what is kept for users nothing happened to for longest, if all together is too much. No feed may be
    /// locked by the one who calls.
    pub(super) fn make_room(&self) {
        if self.total.bytes() <= self.bytes_max {
            return;
        }
        let mut feeds = self.all();
        feeds.sort_by_cached_key(|feed| lock(feed).active());
        // A bit more than needed, so that this is not done again for each of the next signals.
        let enough = self.bytes_max - self.bytes_max / 8;
        for feed in feeds {
            if self.total.bytes() <= enough {
                return;
            }
            lock(&feed).clear();
        }
    }

    /// A connection is gone.
    pub(crate) fn detach(&self, uid: Uid, connection: &Connection) {
        if let Some(feed) = self.of(uid) {
            lock(&feed).detach(connection);
        }
    }

    /// A user's account changed.
    pub(crate) fn refresh(&self, identity: &Arc<ProcessIdentity>) {
        if let Some(feed) = self.of(identity.uid) {
            lock(&feed).belong_to(identity);
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::ids::Gid;

    use super::super::feed::Told;
    use super::*;
    use crate::text_signal::SignalText;

    fn who(uid: u32) -> Arc<ProcessIdentity> {
        Arc::new(ProcessIdentity {
            uid: Uid(uid),
            gid: Gid(uid),
            gids: vec![Gid(uid)],
            username: format!("user-{uid}"),
            home: "/home".into(),
            cwd: "/home".into(),
            workspace_id: None,
        })
    }

    fn changed(payload: &str) -> SignalText {
        SignalText { name: "proc.changed", payload: Arc::new(payload.to_string()) }
    }

    #[test]
    fn the_quietest_user_makes_room_and_no_number_comes_twice() {
        let feeds = Feeds::default();
        let newest = |feed: &mut Feed| {
            feed.tell_text(changed("{}"), None, None);
            feed.forget()
        };
        let tell = |feed: &mut Feed| assert_eq!(feed.tell_text(changed("{}"), None, None), Told::default());
        let users = limits::signal::USERS_MAX as u32;
        (0..users).for_each(|uid| feeds.with(&who(uid), 5, tell));
        // User 0 said something after user 1 did.
        feeds.with(&who(0), 5, tell);
        feeds.with(&who(users), 5, tell);
        assert!(feeds.of(Uid(0)).is_some() && feeds.of(Uid(1)).is_none());
        assert_eq!(feeds.all().len(), limits::signal::USERS_MAX);
        // The clock went back; the numbers do not.
        assert_eq!(feeds.with(&who(1), 4, newest), 5_002);
    }

    #[test]
    fn all_together_keep_no_more_than_allowed_and_the_quietest_give_up_first() {
        let feeds = Feeds { bytes_max: 64_000, ..Feeds::default() };
        let text = "x".repeat(1_000);
        let tell = |uid: u32| {
            let told = feeds.with(&who(uid), 5, |feed| feed.tell_text(changed(&text), None, None));
            assert_eq!(told, Told::default());
            feeds.make_room();
            assert!(feeds.total.bytes() <= 64_000, "{}", feeds.total.bytes());
        };
        let keeps = |uid: u32| lock(&feeds.of(Uid(uid)).unwrap()).keeps_after(5_000);
        (0..5).for_each(|_| (0..10).for_each(tell));
        assert!((0..10).all(keeps));
        (0..20).for_each(|_| tell(9));
        assert!((0..4).all(|uid| !keeps(uid)), "room was made twice, two of them each time");
        assert!((4..10).all(keeps));
        let all = feeds.all();
        all.iter().for_each(|feed| lock(feed).clear());
        assert_eq!(feeds.total.bytes(), 0);
        tell(1);
        drop((all, feeds.users.write().unwrap().drain()));
        assert_eq!(feeds.total.bytes(), 0, "what is dropped counts no longer");
    }
}
