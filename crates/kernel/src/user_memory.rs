//! Back-pressure over all sockets of one user: bytes of requests under way, of large messages on their way in, and of
//! answers that nobody has read yet. With too much of one kind the user's sockets are not read further; other users
//! notice nothing.
//!
//! Each socket has limits of its own; what it holds below `SMALL_MESSAGE_BYTES` is not counted here, so that the usual
//! small calls of many sockets share no counter.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, Weak};

use base::limits;
use base::sync::lock;

/// A socket that can be told to look again.
pub(crate) trait Wake: Send + Sync {
    fn wake(&self);
}

/// What the sockets of one user hold.
#[derive(Default)]
pub struct UserMemory {
    in_flight: AtomicUsize,
    receiving: AtomicUsize,
    outgoing: AtomicUsize,
    /// Sockets that wait for room.
    blocked: Mutex<Vec<Weak<dyn Wake>>>,
}

/// What of a socket's bytes is counted for its user.
fn counted(bytes: usize) -> usize {
    bytes.saturating_sub(limits::socket::SMALL_MESSAGE_BYTES)
}

impl UserMemory {
    /// A socket's requests under way have grown or shrunk.
    pub(crate) fn in_flight(&self, before: usize, after: usize) {
        self.change(&self.in_flight, limits::socket::USER_IN_FLIGHT_MAX_BYTES, before, after);
    }

    /// What waits for a client to read it has grown or shrunk.
    pub(crate) fn outgoing(&self, before: usize, after: usize) {
        self.change(&self.outgoing, limits::socket::USER_OUTBOX_MAX_BYTES, before, after);
    }

    fn change(&self, counter: &AtomicUsize, max: usize, before: usize, after: usize) {
        let (before, after) = (counted(before), counted(after));
        if after > before {
            counter.fetch_add(after - before, Ordering::AcqRel);
        } else if after < before {
            let was = counter.fetch_sub(before - after, Ordering::AcqRel);
            if was >= max && was - (before - after) < max {
                self.wake();
            }
        }
    }

    /// Whether requests of the user may be read.
    pub(crate) fn may_ask(&self) -> bool {
        self.in_flight.load(Ordering::Acquire) < limits::socket::USER_IN_FLIGHT_MAX_BYTES
    }

    /// Whether too much waits for the user's clients to read it.
    pub(crate) fn is_unread(&self) -> bool {
        self.outgoing.load(Ordering::Acquire) >= limits::socket::USER_OUTBOX_MAX_BYTES
    }

    /// Takes room for a large message that is on its way in. One is always let in: no message is larger than all the room.
    pub fn reserve(&self, bytes: usize) -> bool {
        let fits = |held: usize| {
            let all = held.saturating_add(bytes);
            (held == 0 || all <= limits::socket::USER_RECEIVING_MAX_BYTES).then_some(all)
        };
        self.receiving.fetch_update(Ordering::AcqRel, Ordering::Acquire, fits).is_ok()
    }

    /// Gives that room back.
    pub fn release(&self, bytes: usize) {
        self.receiving.fetch_sub(bytes, Ordering::AcqRel);
        self.wake();
    }

    /// A socket is to be woken when there may be room. Whoever asks for that looks once more afterwards.
    pub(crate) fn block(&self, socket: Weak<dyn Wake>) {
        let mut blocked = lock(&self.blocked);
        if !blocked.iter().any(|known| known.ptr_eq(&socket)) {
            blocked.retain(|known| known.strong_count() > 0);
            blocked.push(socket);
        }
    }

    fn wake(&self) {
        let blocked = std::mem::take(&mut *lock(&self.blocked));
        blocked.iter().filter_map(Weak::upgrade).for_each(|socket| socket.wake());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1024 * 1024;

    #[test]
    fn small_things_are_not_counted_and_large_ones_are_given_back() {
        let memory = UserMemory::default();
        memory.in_flight(0, limits::socket::SMALL_MESSAGE_BYTES);
        assert_eq!(memory.in_flight.load(Ordering::Relaxed), 0);
        memory.in_flight(10, 300 * MIB);
        assert!(!memory.may_ask() && !memory.is_unread());
        memory.in_flight(300 * MIB, 0);
        assert!(memory.may_ask() && memory.in_flight.load(Ordering::Relaxed) == 0);
        memory.outgoing(0, 300 * MIB);
        assert!(memory.is_unread() && memory.may_ask());
    }

    #[test]
    fn messages_on_their_way_in_share_the_room() {
        let memory = UserMemory::default();
        let large = limits::frame::MAX_BYTES;
        let fit = (0..100).take_while(|_| memory.reserve(large)).count();
        assert_eq!(fit, limits::socket::USER_RECEIVING_MAX_BYTES / large);
        memory.release(large);
        assert!(memory.reserve(large) && !memory.reserve(large));
    }
}
