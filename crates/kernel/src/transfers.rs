//! File transfers: binary frames passed between a caller's socket and a device's, by transfer id.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use base::limits;
use bytes::Bytes;
use protocol::args::Members;
use protocol::error::Error;
use protocol::transfer::{self, Control};

use crate::Kernel;
use crate::connections::Connection;
use crate::outbox::Outgoing;

/// All transfers.
#[derive(Default)]
pub(crate) struct Transfers {
    next: AtomicU32,
    open: Mutex<HashMap<u32, Transfer>>,
}

struct Transfer {
    caller: Arc<Connection>,
    device: Arc<Connection>,
    /// True when the device sends the file.
    pull: bool,
    last: Instant,
    to_caller: Arc<AtomicUsize>,
    to_device: Arc<AtomicUsize>,
}

/// What may wait in the gateway for one side: the window, its acknowledgements, and some slack.
const WAITING_BYTES_MAX: usize = 2 * limits::TRANSFER_WINDOW_BYTES as usize;

impl Transfers {
    /// Reserves an id for a transfer between two sockets.
    pub(crate) fn reserve(
        &self,
        caller: &Arc<Connection>,
        device: &Arc<Connection>,
        pull: bool,
    ) -> Result<u32, Error> {
        let full = |side: &Connection| {
            side.transfers.load(Ordering::Relaxed) as usize >= limits::TRANSFERS_PER_SOCKET_MAX
        };
        if full(caller) || full(device) {
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
        device.transfers.fetch_add(1, Ordering::Relaxed);
        let transfer = Transfer {
            caller: caller.clone(),
            device: device.clone(),
            pull,
            last: Instant::now(),
            to_caller: Arc::default(),
            to_device: Arc::default(),
        };
        open.insert(id, transfer);
        Ok(id)
    }

    fn remove(&self, id: u32) -> Option<Transfer> {
        let transfer = self.lock().remove(&id)?;
        transfer.caller.transfers.fetch_sub(1, Ordering::Relaxed);
        transfer.device.transfers.fetch_sub(1, Ordering::Relaxed);
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
    let Some((id, payload)) = transfer::split(&message) else { return };
    let mut finished = false;
    let mut flooded = false;
    {
        let mut open = kernel.transfers.lock();
        let Some(transfer) = open.get_mut(&id) else { return };
        let (to, waiting, from_receiver) = if transfer.caller.number == from.number {
            (&transfer.device, &transfer.to_device, transfer.pull)
        } else if transfer.device.number == from.number {
            (&transfer.caller, &transfer.to_caller, !transfer.pull)
        } else {
            return;
        };
        transfer.last = Instant::now();
        if payload.len() > limits::TRANSFER_CHUNK_BYTES_MAX
            || to.outbox.is_crowded()
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
            to.outbox.send(Outgoing::Binary(message.clone(), waiting.clone()));
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
    let number = connection.number;
    let fits = |transfer: &Transfer| transfer.caller.number == number || transfer.device.number == number;
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
        (&transfer.caller, transfer.pull, &transfer.to_caller),
        (&transfer.device, !transfer.pull, &transfer.to_device),
    ];
    for (side, receives_file, waiting) in sides {
        let mut messages = Vec::with_capacity(2);
        if receives_file {
            // An empty chunk says that the trailer follows; the error stands in for it.
            messages.push(transfer::message(id, b""));
        }
        messages.push(transfer::message(id, error.as_bytes()));
        for message in messages {
            waiting.fetch_add(message.len(), Ordering::Relaxed);
            side.outbox.send(Outgoing::Binary(message.into(), waiting.clone()));
        }
    }
}
