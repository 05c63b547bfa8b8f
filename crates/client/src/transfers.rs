//! Demultiplexer of binary messages: routes each by its transfer id. Messages that come before anybody asked for them
//! are kept, messages that come after a transfer ended are dropped.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use base::limits;
use base::sync::lock;
use bytes::Bytes;
use tokio::sync::mpsc;

/// What became of a message.
pub(crate) enum Placed {
    /// It was taken in, or dropped on purpose.
    Taken,
    /// There is no room for it here.
    Left,
}

/// The transfers of one connection.
#[derive(Default)]
pub(crate) struct Transfers {
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    open: HashMap<u32, mpsc::Sender<Bytes>>,
    early: HashMap<u32, Vec<Bytes>>,
    early_bytes: usize,
    ended: VecDeque<u32>,
    closed: bool,
}

impl Transfers {
    /// Starts to collect the messages of a transfer.
    pub(crate) fn register(&self, id: u32) -> mpsc::Receiver<Bytes> {
        let (sender, receiver) = mpsc::channel(limits::transfer::QUEUE_MAX);
        let mut table = lock(&self.table);
        for payload in table.take_early(id) {
            // The early messages are fewer than the queue holds.
            drop(sender.try_send(payload));
        }
        table.ended.retain(|ended| *ended != id);
        if !table.closed {
            table.open.insert(id, sender);
        }
        receiver
    }

    /// Forgets a transfer.
    pub(crate) fn end(&self, id: u32) {
        lock(&self.table).end(id);
    }

    /// Puts a message where it belongs.
    pub(crate) fn place(&self, id: u32, payload: Bytes) -> Placed {
        let mut table = lock(&self.table);
        if let Some(sender) = table.open.get(&id) {
            // A full queue means that the other side does not keep to the window; a dropped receiver that
            // nobody listens. Either way this transfer ends here and the socket goes on.
            if sender.try_send(payload).is_err() {
                table.end(id);
            }
            return Placed::Taken;
        }
        if table.ended.contains(&id) {
            return Placed::Taken;
        }
        table.keep_early(id, payload)
    }

    /// Ends all transfers: their receivers see the end of the queue.
    pub(crate) fn close(&self) {
        let mut table = lock(&self.table);
        table.closed = true;
        table.open.clear();
        table.early.clear();
        table.early_bytes = 0;
    }
}

impl Table {
    fn end(&mut self, id: u32) {
        self.open.remove(&id);
        self.take_early(id);
        if !self.ended.contains(&id) {
            self.ended.push_back(id);
        }
        if self.ended.len() > limits::transfer::ENDED_KEPT {
            self.ended.pop_front();
        }
    }

    fn keep_early(&mut self, id: u32, payload: Bytes) -> Placed {
        let waiting = self.early.get(&id).map_or(0, Vec::len);
        let new_id = waiting == 0 && self.early.len() >= limits::transfer::PER_SOCKET_MAX;
        let bytes = self.early_bytes + payload.len();
        if new_id || waiting >= limits::transfer::QUEUE_MAX || bytes > limits::transfer::EARLY_MAX_BYTES {
            return Placed::Left;
        }
        self.early_bytes = bytes;
        self.early.entry(id).or_default().push(payload);
        Placed::Taken
    }

    fn take_early(&mut self, id: u32) -> Vec<Bytes> {
        let early = self.early.remove(&id).unwrap_or_default();
        self.early_bytes -= early.iter().map(Bytes::len).sum::<usize>();
        early
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn early_messages_wait_for_their_transfer() {
        let transfers = Transfers::default();
        assert!(matches!(transfers.place(7, Bytes::from_static(b"a")), Placed::Taken));
        assert!(matches!(transfers.place(8, Bytes::from_static(b"x")), Placed::Taken));
        assert!(matches!(transfers.place(7, Bytes::from_static(b"b")), Placed::Taken));
        let mut seven = transfers.register(7);
        assert!(matches!(transfers.place(7, Bytes::from_static(b"c")), Placed::Taken));
        let got: Vec<_> = std::iter::from_fn(|| seven.try_recv().ok()).collect();
        assert_eq!(got, [&b"a"[..], b"b", b"c"]);
    }

    #[test]
    fn early_messages_have_a_bound() {
        let transfers = Transfers::default();
        let taken = (0..limits::transfer::QUEUE_MAX + 5)
            .filter(|_| matches!(transfers.place(1, Bytes::from_static(b"x")), Placed::Taken))
            .count();
        assert_eq!(taken, limits::transfer::QUEUE_MAX);
    }

    #[test]
    fn a_transfer_that_floods_ends_alone() {
        let transfers = Transfers::default();
        let (mut flooded, mut other) = (transfers.register(1), transfers.register(2));
        for _ in 0..limits::transfer::QUEUE_MAX + 1 {
            transfers.place(1, Bytes::from_static(b"x"));
        }
        transfers.place(2, Bytes::from_static(b"y"));
        while flooded.try_recv().is_ok() {}
        assert!(flooded.is_closed());
        assert_eq!(other.try_recv().unwrap(), b"y"[..]);
    }

    #[test]
    fn what_comes_after_the_end_is_dropped() {
        let transfers = Transfers::default();
        drop(transfers.register(3));
        transfers.end(3);
        transfers.place(3, Bytes::from_static(b"late"));
        assert!(transfers.register(3).try_recv().is_err());
    }
}
