//! Quota reservation: an upload takes all of its size from a user's quota at the beginning, however much has arrived.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use base::sync::lock;
use protocol::ids::Uid;

use super::PartialId;
use crate::disk::dir::OpenEntry;
use crate::disk::fail::Fail;
use crate::disk::usage::signed;
use crate::tree::Tree;

/// No upload counts for more, so that many of them together still are a number.
const COUNTED_BYTES_MAX: u64 = 1 << 50;

/// Uploads under way, by partial file.
#[derive(Default)]
pub(crate) struct Arriving(Mutex<HashMap<PartialId, Arc<Arrival>>>);

struct Arrival {
    uid: Uid,
    /// What is counted for it now.
    bytes: AtomicI64,
    /// Whether it counts only for what it has more than the file it will replace.
    replaces: bool,
}

impl Arriving {
    /// What a file counts for: one that is arriving for what was asked for it, any other for its size.
    pub fn counted(&self, there: &OpenEntry) -> i64 {
        let arrival = lock(&self.0).get(&there.id).map(|arrival| arrival.bytes.load(Ordering::Relaxed));
        arrival.unwrap_or_else(|| signed(there.stat.size))
    }
}

/// The room that one upload has taken.
pub(crate) struct Reservation {
    tree: Arc<Tree>,
    id: PartialId,
    arrival: Arc<Arrival>,
}

impl Reservation {
    /// Takes room for a partial file that will have `size` bytes and replace a file of its owner's with `replaced`.
    ///
    /// Of each user only one upload at a time may count on what it replaces: the same file could be replaced by
    /// any number of them.
    pub fn take(
        tree: &Arc<Tree>,
        partial: &OpenEntry,
        size: u64,
        replaced: u64,
    ) -> Result<Reservation, Fail> {
        let (id, uid) = (partial.id, partial.stat.uid);
        let here = signed(partial.stat.size);
        let mut arriving = lock(&tree.disk.usage.arriving.0);
        let replaces = replaced > 0
            && !arriving
                .iter()
                .any(|(other, arrival)| *other != id && arrival.uid == uid && arrival.replaces);
        let arrival = Arc::new(Arrival { uid, bytes: AtomicI64::new(here), replaces });
        arriving.insert(id, arrival.clone());
        drop(arriving);
        let reservation = Reservation { tree: tree.clone(), id, arrival };
        let wanted = size.saturating_sub(if replaces { replaced } else { 0 }).min(COUNTED_BYTES_MAX) as i64;
        if let Err(fail) = tree.disk.charge(uid, wanted - here) {
            reservation.forget();
            return Err(fail);
        }
        reservation.arrival.bytes.store(wanted, Ordering::Relaxed);
        Ok(reservation)
    }

    /// Gives back what was not used: `left` bytes stay on the disk.
    pub fn release(self, left: u64) {
        self.forget();
        let counted = self.arrival.bytes.load(Ordering::Relaxed);
        self.tree.disk.refund(self.arrival.uid, counted - signed(left));
    }

    /// Whose room it is.
    pub fn uid(&self) -> Uid {
        self.arrival.uid
    }

    /// A newer upload may have the same partial file by now.
    fn forget(&self) {
        let mut arriving = lock(&self.tree.disk.usage.arriving.0);
        if arriving.get(&self.id).is_some_and(|arrival| Arc::ptr_eq(arrival, &self.arrival)) {
            arriving.remove(&self.id);
        }
    }
}
