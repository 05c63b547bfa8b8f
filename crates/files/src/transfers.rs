//! Relay of file transfers: binary frames passed between a caller's socket and a device's, or the gateway's own end of
//! it, by transfer id, with a bound on what waits for each side.

pub(crate) mod native;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use base::clock::Clock;
use base::limits;
use base::sync::lock;
use base::timer::Alarm;
use bytes::Bytes;
use gateway::{Peer, Reply, Watch};
use protocol::args::Members;
use protocol::error::Error;
use protocol::transfer::{Control, FailReason, Failed, HEADER_BYTES, message, split};
use tokio::sync::mpsc;
use vfs::upload::{PartialId, Sweeper};

/// What may wait in the gateway for one side: the window, its acknowledgements, and some slack.
const WAITING_BYTES_MAX: usize = 2 * limits::transfer::WINDOW_BYTES as usize;

/// Transfers under way, by id, with what waits for each side.
pub(crate) struct Transfers {
    clock: Clock,
    next: AtomicU32,
    open: Mutex<Table>,
    /// Gives up transfers without any frame for too long.
    pub(crate) idle: Arc<Alarm>,
    /// Bytes passed on since the start.
    pub(crate) passed_bytes: AtomicU64,
    /// Files that are being sent to the gateway itself, by partial file.
    pub(crate) uploads: Arc<transfer::Uploads<PartialId>>,
    pub(crate) sweeper: Arc<Sweeper>,
}

#[derive(Default)]
struct Table {
    transfers: HashMap<u32, Transfer>,
    /// How many each socket takes part in, by its number.
    per_socket: HashMap<u64, usize>,
}

struct Transfer {
    caller: Arc<dyn Peer>,
    far: Side,
    /// True when the far side sends the file.
    pull: bool,
    last: Instant,
    to_caller: Arc<AtomicUsize>,
    to_far: Arc<AtomicUsize>,
}

/// The side that has, or will have, the file.
pub(crate) enum Side {
    /// A device, over its socket.
    Device(Arc<dyn Peer>),
    /// The gateway itself.
    Native(mpsc::Sender<(Bytes, Arc<AtomicUsize>)>),
}

impl Side {
    /// The number of its socket, if it has one.
    fn number(&self) -> Option<u64> {
        match self {
            Side::Device(device) => Some(device.number()),
            Side::Native(_) => None,
        }
    }

    /// Sends a message to it. False when it takes no more.
    fn send(&self, message: Bytes, waiting: &Arc<AtomicUsize>) -> bool {
        match self {
            Side::Device(device) => {
                device.send_bytes(message, waiting.clone());
                true
            }
            Side::Native(inbox) => inbox.try_send((message, waiting.clone())).is_ok(),
        }
    }

    fn is_crowded(&self) -> bool {
        match self {
            Side::Device(device) => device.is_crowded(),
            Side::Native(inbox) => inbox.capacity() == 0,
        }
    }
}

impl Table {
    fn sockets(transfer: &Transfer) -> impl Iterator<Item = u64> {
        [Some(transfer.caller.number()), transfer.far.number()].into_iter().flatten()
    }

    fn is_full(&self, socket: u64) -> bool {
        self.per_socket.get(&socket).is_some_and(|count| *count >= limits::transfer::PER_SOCKET_MAX)
    }

    fn insert(&mut self, id: u32, transfer: Transfer) {
        for socket in Table::sockets(&transfer) {
            *self.per_socket.entry(socket).or_default() += 1;
        }
        self.transfers.insert(id, transfer);
    }

    fn remove(&mut self, id: u32) -> Option<Transfer> {
        let transfer = self.transfers.remove(&id)?;
        for socket in Table::sockets(&transfer) {
            if let Some(count) = self.per_socket.get_mut(&socket) {
                *count -= 1;
                if *count == 0 {
                    self.per_socket.remove(&socket);
                }
            }
        }
        Some(transfer)
    }
}

impl Transfers {
    /// None yet.
    pub(crate) fn new(clock: Clock) -> Arc<Transfers> {
        let transfers = Arc::new(Transfers {
            idle: Alarm::new("idle transfers", clock.clone()),
            clock,
            next: AtomicU32::new(0),
            open: Mutex::default(),
            passed_bytes: AtomicU64::new(0),
            uploads: Arc::default(),
            sweeper: Arc::default(),
        });
        let weak = Arc::downgrade(&transfers);
        transfers.idle.does(move |now| {
            let transfers = weak.upgrade()?;
            transfers.expire(now);
            (transfers.count() > 0).then_some(limits::transfer::IDLE / 4)
        });
        transfers
    }

    /// Reserves an id for a transfer between a caller's socket and a file's side.
    pub(crate) fn reserve(&self, caller: &Arc<dyn Peer>, far: Side, pull: bool) -> Result<u32, Error> {
        let mut table = lock(&self.open);
        if table.is_full(caller.number()) || far.number().is_some_and(|socket| table.is_full(socket)) {
            return Err(Error::too_busy("too many file transfers are open"));
        }
        let id = loop {
            let id = self.next.fetch_add(1, Ordering::Relaxed);
            if id != 0 && !table.transfers.contains_key(&id) {
                break id;
            }
        };
        let transfer = Transfer {
            caller: caller.clone(),
            far,
            pull,
            last: self.clock.instant(),
            to_caller: Arc::default(),
            to_far: Arc::default(),
        };
        table.insert(id, transfer);
        drop(table);
        self.idle.within(limits::transfer::IDLE / 4);
        Ok(id)
    }

    /// 429 when a socket takes part in as many as it may.
    pub(crate) fn check_room(&self, socket: &Arc<dyn Peer>) -> Result<(), Error> {
        match lock(&self.open).is_full(socket.number()) {
            true => Err(Error::too_busy("too many file transfers are open")),
            false => Ok(()),
        }
    }

    /// The transfer will not happen, or is over.
    pub(crate) fn forget(&self, id: u32) {
        drop(lock(&self.open).remove(id));
    }

    /// How many are open.
    pub(crate) fn count(&self) -> usize {
        lock(&self.open).transfers.len()
    }

    fn ids_where(&self, fits: impl Fn(&Transfer) -> bool) -> Vec<u32> {
        let table = lock(&self.open);
        table.transfers.iter().filter(|(_, transfer)| fits(transfer)).map(|(id, _)| *id).collect()
    }

    /// Passes one binary message on. Messages of unknown transfers, and from third sockets, are dropped.
    pub(crate) fn pass(&self, socket: u64, message: &Bytes) -> bool {
        let Some((id, _)) = split(message) else { return false };
        self.pass_from(Some(socket), id, message.clone());
        true
    }

    /// The same for a sender that may be the gateway itself, which has no socket.
    fn pass_from(&self, from: Option<u64>, id: u32, message: Bytes) {
        let payload_bytes = message.len() - HEADER_BYTES;
        let mut finished = false;
        let mut flooded = false;
        {
            let mut table = lock(&self.open);
            let Some(transfer) = table.transfers.get_mut(&id) else { return };
            let to_far = Some(transfer.caller.number()) == from;
            if !to_far && transfer.far.number() != from {
                return;
            }
            transfer.last = self.clock.instant();
            let (waiting, crowded) = match to_far {
                true => (&transfer.to_far, transfer.far.is_crowded()),
                false => (&transfer.to_caller, transfer.caller.is_crowded()),
            };
            if payload_bytes > limits::transfer::CHUNK_MAX_BYTES
                || crowded
                || waiting.load(Ordering::Relaxed) + message.len() > WAITING_BYTES_MAX
            {
                flooded = true;
            } else {
                // The receiver of the file says how it ended.
                if to_far == transfer.pull {
                    let control = serde_json::from_slice::<Control>(&message[HEADER_BYTES..]);
                    finished = matches!(control, Ok(Control::Stored { .. } | Control::Failed(_)));
                }
                self.passed_bytes.fetch_add(payload_bytes as u64, Ordering::Relaxed);
                waiting.fetch_add(message.len(), Ordering::Relaxed);
                match to_far {
                    true => flooded = !transfer.far.send(message, waiting),
                    false => transfer.caller.send_bytes(message, waiting.clone()),
                }
            }
        }
        if flooded {
            self.abort(id, "the sender does not keep to the transfer window");
        } else if finished {
            self.forget(id);
        }
    }

    /// A socket is gone: the other sides of its transfers are told.
    pub(crate) fn closed(&self, socket: u64) {
        if !lock(&self.open).per_socket.contains_key(&socket) {
            return;
        }
        let fits = |transfer: &Transfer| Table::sockets(transfer).any(|number| number == socket);
        for id in self.ids_where(fits) {
            self.abort(id, Failed::because(FailReason::Disconnected, "the other side disconnected"));
        }
    }

    fn expire(&self, now: Instant) {
        let idle =
            |transfer: &Transfer| now.saturating_duration_since(transfer.last) > limits::transfer::IDLE;
        for id in self.ids_where(idle) {
            self.abort(id, "nothing was sent for too long");
        }
    }

    fn abort(&self, id: u32, why: impl Into<Failed>) {
        let Some(transfer) = lock(&self.open).remove(id) else { return };
        let error = protocol::frame::to_json(&Control::Failed(why.into()));
        let messages = |receives_file: bool| {
            // An empty chunk says that the trailer follows; the error stands in for it.
            let chunk = receives_file.then(|| message(id, b""));
            chunk.into_iter().chain([message(id, error.as_bytes())]).map(Bytes::from)
        };
        for message in messages(transfer.pull) {
            transfer.to_caller.fetch_add(message.len(), Ordering::Relaxed);
            transfer.caller.send_bytes(message, transfer.to_caller.clone());
        }
        for message in messages(!transfer.pull) {
            transfer.to_far.fetch_add(message.len(), Ordering::Relaxed);
            transfer.far.send(message, &transfer.to_far);
        }
    }
}

/// Looks at a device's answer to the call that opens a transfer.
pub(crate) fn opening(transfers: &Arc<Transfers>, id: u32) -> Box<dyn Watch> {
    Box::new(Opening { transfers: transfers.clone(), id, is_open: false })
}

/// A transfer that a device is asked to open; forgotten unless it does.
struct Opening {
    transfers: Arc<Transfers>,
    id: u32,
    is_open: bool,
}

impl Watch for Opening {
    fn answered(mut self: Box<Self>, data: Option<&str>) -> Reply {
        let members = data.and_then(Members::parse);
        self.is_open = members.is_some_and(|members| members.get("ok") == Some("true"));
        Reply::Same
    }

    fn failed(self: Box<Self>, error: Error) -> Error {
        error
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        if !self.is_open {
            self.transfers.forget(self.id);
        }
    }
}
