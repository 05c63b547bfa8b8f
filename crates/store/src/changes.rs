//! Change stream: a bounded broadcast of what changed in the store, with a generation number for each topic.
//!
//! Whoever keeps something of the store in memory remembers the generation it was read at and reads it again when the
//! number is another one; asking for it takes no lock. A number is another one after every commit that changed the
//! topic, never before it, so what was read after the number was asked for is as new as it says. Whoever has to act on
//! a change subscribes. A change that another gateway made is fed in and looks the same, except that it says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::limits;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

/// What can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Topic {
    /// Config values.
    Config,
    /// Users, groups, who is in which, and whose sessions were ended.
    Accounts,
    /// Capabilities of groups.
    Grants,
    /// Devices, whether they are connected, and which groups may use them.
    Devices,
    /// The native file tree. The store has no files: whoever writes them says so.
    Files,
    /// Login tokens that were revoked. New ones are looked for when they are used.
    Tokens,
}

impl Topic {
    /// Every topic.
    pub const ALL: [Topic; 6] =
        [Topic::Config, Topic::Accounts, Topic::Grants, Topic::Devices, Topic::Files, Topic::Tokens];
}

/// A set of topics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Topics(u8);

impl Topics {
    /// The same with one more.
    pub fn and(self, topic: Topic) -> Topics {
        Topics(self.0 | 1 << topic as u8)
    }

    fn has(self, topic: Topic) -> bool {
        self.0 & (1 << topic as u8) != 0
    }
}

/// Something changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub topic: Topic,
    /// The topic's generation since then.
    pub generation: u64,
    /// Whether this gateway changed it. Only such a change is passed on to other gateways.
    pub is_ours: bool,
}

/// What a subscriber hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Something changed.
    Changed(Event),
    /// The subscriber was too slow and events were dropped: anything may have changed.
    Missed,
}

/// The change stream of a store. Cheap to clone.
#[derive(Clone)]
pub struct Changes {
    shared: Arc<Shared>,
}

struct Shared {
    generations: [AtomicU64; Topic::ALL.len()],
    events: broadcast::Sender<Event>,
}

impl Default for Changes {
    fn default() -> Changes {
        let (events, _) = broadcast::channel(limits::store::CHANGES_KEPT_MAX);
        Changes { shared: Arc::new(Shared { generations: Default::default(), events }) }
    }
}

impl Changes {
    /// The number of a topic: another one after every change of it.
    pub fn generation(&self, topic: Topic) -> u64 {
        self.shared.generations[topic as usize].load(Ordering::Acquire)
    }

    /// The numbers of several topics.
    pub fn generations<const N: usize>(&self, topics: [Topic; N]) -> [u64; N] {
        topics.map(|topic| self.generation(topic))
    }

    /// Says that this gateway has changed something. Returns its new generation.
    pub fn bump(&self, topic: Topic) -> u64 {
        self.tell(topic, true)
    }

    /// Says that another gateway has changed something. Returns its new generation.
    pub fn feed(&self, topic: Topic) -> u64 {
        self.tell(topic, false)
    }

    /// Only advances the number: for whoever keeps the topic in memory and has now changed what it keeps. The change in
    /// the store was told when it was made, so nobody hears of this, least of all another gateway.
    pub fn advance(&self, topic: Topic) -> u64 {
        self.shared.generations[topic as usize].fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Hears of every change from now on. One that reads too slowly hears [`Notice::Missed`] and loses the oldest.
    pub fn subscribe(&self) -> Subscription {
        Subscription { events: self.shared.events.subscribe() }
    }

    pub(crate) fn bump_all(&self, topics: Topics) {
        for topic in Topic::ALL.into_iter().filter(|topic| topics.has(*topic)) {
            self.bump(topic);
        }
    }

    /// Says so when the value is dropped, whatever becomes of the change meanwhile.
    pub(crate) fn bump_later(&self, topics: Topics) -> BumpLater<'_> {
        BumpLater { changes: self, topics }
    }

    fn tell(&self, topic: Topic, is_ours: bool) -> u64 {
        let generation = self.advance(topic);
        // Fails when nobody listens, which is nobody's fault.
        drop(self.shared.events.send(Event { topic, generation, is_ours }));
        generation
    }
}

/// See [`Changes::bump_later`].
pub(crate) struct BumpLater<'a> {
    changes: &'a Changes,
    topics: Topics,
}

impl Drop for BumpLater<'_> {
    fn drop(&mut self) {
        self.changes.bump_all(self.topics);
    }
}

/// A subscriber's end of the stream.
pub struct Subscription {
    events: broadcast::Receiver<Event>,
}

impl Subscription {
    /// The next notice; `None` when the store is gone.
    pub async fn next(&mut self) -> Option<Notice> {
        match self.events.recv().await {
            Ok(event) => Some(Notice::Changed(event)),
            Err(RecvError::Lagged(_)) => Some(Notice::Missed),
            Err(RecvError::Closed) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_count_apart() {
        let changes = Changes::default();
        assert_eq!(changes.bump(Topic::Grants), 1);
        assert_eq!(changes.feed(Topic::Grants), 2);
        let before = Topic::ALL.map(|topic| changes.generation(topic));
        assert_eq!(before, [0, 0, 2, 0, 0, 0]);
        assert_eq!(changes.generations([Topic::Grants, Topic::Config]), [2, 0]);
        changes.bump_all(Topics::default().and(Topic::Config).and(Topic::Files));
        assert_eq!(Topic::ALL.map(|topic| changes.generation(topic)), [1, 0, 2, 0, 1, 0]);
    }

    #[tokio::test]
    async fn a_subscriber_hears_who_changed_what() {
        let changes = Changes::default();
        changes.bump(Topic::Files);
        let mut subscription = changes.subscribe();
        changes.bump(Topic::Config);
        assert_eq!(changes.advance(Topic::Grants), 1, "of which nobody hears");
        changes.feed(Topic::Config);
        let event =
            |generation, is_ours| Some(Notice::Changed(Event { topic: Topic::Config, generation, is_ours }));
        assert_eq!(subscription.next().await, event(1, true));
        assert_eq!(subscription.next().await, event(2, false));
        drop(changes);
        assert_eq!(subscription.next().await, None);
    }

    #[tokio::test]
    async fn a_slow_subscriber_is_told_that_it_missed_something_and_holds_nobody_up() {
        let changes = Changes::default();
        let mut slow = changes.subscribe();
        let count = limits::store::CHANGES_KEPT_MAX as u64 * 2;
        for _ in 0..count {
            changes.bump(Topic::Devices);
        }
        assert_eq!(slow.next().await, Some(Notice::Missed));
        assert!(matches!(slow.next().await, Some(Notice::Changed(event)) if event.generation > count / 2));
        assert_eq!(changes.generation(Topic::Devices), count);
    }
}
