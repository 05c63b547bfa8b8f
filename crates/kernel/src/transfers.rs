//! File transfers: binary frames passed between a caller's socket and a device's, or the gateway's own end of
//! it, by transfer id.

pub(crate) mod native;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use base::limits;
use bytes::Bytes;
use protocol::args::Members;
use protocol::error::Error;
use protocol::transfer::{Control, HEADER_BYTES, message, split};
use vfs::upload::{PartialId, Sweeper};

use crate::Kernel;
use crate::connections::Connection;
use crate::outbox::{Outbox, Outgoing};
use crate::transfers::native::Work;

/// All transfers.
#[derive(Default)]
pub(crate) struct Transfers {
    next: AtomicU32,
    open: Mutex<HashMap<u32, Transfer>>,
    /// Files that are being sent to the gateway itself, by partial file.
    pub(crate) uploads: Arc<transfer::Uploads<PartialId>>,
    pub(crate) sweeper: Arc<Sweeper>,
}

struct Transfer {
    caller: Arc<Connection>,
    far: Side,
    /// True when the far side sends the file.
    pull: bool,
    last: Instant,
    to_caller: Arc<AtomicUsize>,
    to_far: Arc<AtomicUsize>,
    /// What the gateway's own end does once the caller has its answer.
    work: Option<Work>,
}

/// The side that has, or will have, the file.
pub(crate) enum Side {
    /// A device, over its socket.
    Device(Arc<Connection>),
    /// The gateway itself; what is sent to it waits here.
    Native(Arc<Outbox>),
}

impl Side {
    /// The number of its socket, if it has one.
    fn number(&self) -> Option<u64> {
        match self {
            Side::Device(device) => Some(device.number),
            Side::Native(_) => None,
        }
    }

    fn outbox(&self) -> &Outbox {
        match self {
            Side::Device(device) => &device.outbox,
            Side::Native(inbox) => inbox,
        }
    }

    fn is_full(&self) -> bool {
        match self {
            Side::Device(device) => is_full(device),
            Side::Native(_) => false,
        }
    }
}

fn is_full(socket: &Connection) -> bool {
    socket.transfers.load(Ordering::Relaxed) as usize >= limits::TRANSFERS_PER_SOCKET_MAX
}

/// What may wait in the gateway for one side: the window, its acknowledgements, and some slack.
const WAITING_BYTES_MAX: usize = 2 * limits::TRANSFER_WINDOW_BYTES as usize;

impl Transfers {
    /// Reserves an id for a transfer between a caller's socket and a file's side.
    pub(crate) fn reserve(&self, caller: &Arc<Connection>, far: Side, pull: bool) -> Result<u32, Error> {
        if is_full(caller) || far.is_full() {
            return Err(Error::too_busy("too many file transfers are open"));
        }
        let mut open = self.lock();
        let id = loop {
            let id = self.next.fetch_add(1, Ordering::Relaxed);
            if id != 0 && !open.contains_key(&id) {
                break id;
            }
        };
        caller.transfers.fetch_add(1, Ordering::Relaxed);
        if let Side::Device(device) = &far {
            device.transfers.fetch_add(1, Ordering::Relaxed);
        }
        let transfer = Transfer {
            caller: caller.clone(),
            far,
            pull,
            last: Instant::now(),
            to_caller: Arc::default(),
            to_far: Arc::default(),
            work: None,
        };
        open.insert(id, transfer);
        Ok(id)
    }

    fn remove(&self, id: u32) -> Option<Transfer> {
        let transfer = self.lock().remove(&id)?;
        transfer.caller.transfers.fetch_sub(1, Ordering::Relaxed);
        if let Side::Device(device) = &transfer.far {
            device.transfers.fetch_sub(1, Ordering::Relaxed);
        }
        Some(transfer)
    }

    /// How many are open.
    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    fn ids_where(&self, fits: impl Fn(&Transfer) -> bool) -> Vec<u32> {
        self.lock().iter().filter(|(_, transfer)| fits(transfer)).map(|(id, _)| *id).collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u32, Transfer>> {
        self.open.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// The device answered the call that opens the transfer.
pub(crate) fn opened(kernel: &Kernel, id: u32, data: Option<&str>) {
    let accepted = data.and_then(Members::parse).is_some_and(|members| members.get("ok") == Some("true"));
    if !accepted {
        forget(kernel, id);
    }
}

/// The transfer will not happen.
pub(crate) fn forget(kernel: &Kernel, id: u32) {
    drop(kernel.transfers.remove(id));
}

/// Passes one binary message on. Messages of unknown transfers, and from third sockets, are dropped.
pub(crate) fn pass(kernel: &Kernel, from: &Arc<Connection>, message: Bytes) {
    let Some((id, _)) = split(&message) else { return };
    pass_from(kernel, Some(from.number), id, message);
}

/// The same for a sender that may be the gateway itself, which has no socket.
fn pass_from(kernel: &Kernel, from: Option<u64>, id: u32, message: Bytes) {
    let payload = &message[HEADER_BYTES..];
    let mut finished = false;
    let mut flooded = false;
    {
        let mut open = kernel.transfers.lock();
        let Some(transfer) = open.get_mut(&id) else { return };
        let (to, waiting, from_receiver) = if Some(transfer.caller.number) == from {
            (transfer.far.outbox(), &transfer.to_far, transfer.pull)
        } else if transfer.far.number() == from {
            (&transfer.caller.outbox, &transfer.to_caller, !transfer.pull)
        } else {
            return;
        };
        transfer.last = Instant::now();
        if payload.len() > limits::TRANSFER_CHUNK_BYTES_MAX
            || to.is_crowded()
            || waiting.load(Ordering::Relaxed) + message.len() > WAITING_BYTES_MAX
        {
            flooded = true;
        } else {
            if from_receiver {
                let control = serde_json::from_slice::<Control>(payload);
                finished = matches!(control, Ok(Control::Stored { .. } | Control::Failed { .. }));
            }
            kernel.metrics.transfer_bytes.fetch_add(payload.len() as u64, Ordering::Relaxed);
            waiting.fetch_add(message.len(), Ordering::Relaxed);
            to.send(Outgoing::Binary(message.clone(), waiting.clone()));
        }
    }
    if flooded {
        abort(kernel, id, "the sender does not keep to the transfer window");
    } else if finished {
        forget(kernel, id);
    }
}

/// A socket is gone: the other sides of its transfers are told.
pub(crate) fn closed(kernel: &Kernel, connection: &Connection) {
    let number = Some(connection.number);
    let fits =
        |transfer: &Transfer| Some(transfer.caller.number) == number || transfer.far.number() == number;
    for id in kernel.transfers.ids_where(fits) {
        abort(kernel, id, "the other side disconnected");
    }
}

/// Gives up transfers without any frame for too long.
pub(crate) fn expire(kernel: &Kernel, now: Instant) {
    let idle = |transfer: &Transfer| now.duration_since(transfer.last) > limits::TRANSFER_IDLE;
    for id in kernel.transfers.ids_where(idle) {
        abort(kernel, id, "nothing was sent for too long");
    }
}

fn abort(kernel: &Kernel, id: u32, why: &str) {
    let Some(transfer) = kernel.transfers.remove(id) else { return };
    let error = protocol::frame::to_json(&Control::Failed { error: why.to_string() });
    let sides = [
        (&transfer.caller.outbox, transfer.pull, &transfer.to_caller),
        (transfer.far.outbox(), !transfer.pull, &transfer.to_far),
    ];
    for (side, receives_file, waiting) in sides {
        let mut messages = Vec::with_capacity(2);
        if receives_file {
            // An empty chunk says that the trailer follows; the error stands in for it.
            messages.push(message(id, b""));
        }
        messages.push(message(id, error.as_bytes()));
        for message in messages {
            waiting.fetch_add(message.len(), Ordering::Relaxed);
            side.send(Outgoing::Binary(message.into(), waiting.clone()));
        }
    }
}
