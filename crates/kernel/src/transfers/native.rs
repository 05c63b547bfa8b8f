//! The gateway's own end of a transfer: a wire between the engine and the table of transfers.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use base::limits;
use bytes::Bytes;
use protocol::transfer::HEADER_BYTES;
use tokio::time::{Instant, sleep};
use transfer::{Closed, Link, Wire};

use super::{Side, Transfer, abort, forget, pass_from};
use crate::Kernel;
use crate::connections::Connection;
use crate::outbox::{Outbox, Outgoing};

/// What the gateway's end does, from the first byte to the last.
pub(crate) type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What carries the messages of the gateway's own end. Dropped early, it tells the caller.
pub(crate) struct Native {
    kernel: Arc<Kernel>,
    id: u32,
    caller: Arc<Connection>,
    inbox: Arc<Outbox>,
}

/// Leaves the work of the gateway's end until the caller has its answer. It is not done when the transfer is
/// gone by then, or was not reserved for this caller.
pub(crate) fn leave<W: Future<Output = ()> + Send + 'static>(
    kernel: &Arc<Kernel>,
    caller: &Arc<Connection>,
    id: u32,
    work: impl FnOnce(Link<Native>) -> W,
) {
    let mut open = kernel.transfers.lock();
    let transfer = open.get_mut(&id).filter(|transfer| transfer.caller.number == caller.number);
    if let Some(Transfer { far: Side::Native(inbox), work: left, .. }) = transfer {
        let native = Native { kernel: kernel.clone(), id, caller: caller.clone(), inbox: inbox.clone() };
        *left = Some(Box::pin(work(Link::new(native, id))));
    }
}

/// The caller has its answer: the work begins, or without any the transfer is forgotten.
pub(crate) fn begin(kernel: &Kernel, id: u32) {
    let work = kernel.transfers.lock().get_mut(&id).and_then(|transfer| transfer.work.take());
    match work {
        Some(work) => drop(tokio::spawn(work)),
        None => forget(kernel, id),
    }
}

impl Wire for Native {
    /// Waits while much waits for the caller already: a caller that does not read slows only itself.
    async fn send(&self, message: Bytes) -> Result<(), Closed> {
        let deadline = Instant::now() + limits::TRANSFER_IDLE;
        while self.caller.outbox.is_high() {
            if self.caller.outbox.is_closing() || Instant::now() >= deadline {
                return Err(Closed);
            }
            sleep(limits::NATIVE_TRANSFER_PAUSE).await;
        }
        pass_from(&self.kernel, None, self.id, message);
        Ok(())
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            match self.inbox.take() {
                Some(Outgoing::Binary(message, _)) => {
                    return Poll::Ready(Some(message.slice(HEADER_BYTES..)));
                }
                Some(_) => {}
                None if self.inbox.is_closing() => return Poll::Ready(None),
                None if self.inbox.rest(cx.waker()) => {}
                None => return Poll::Pending,
            }
        }
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        abort(&self.kernel, self.id, "the gateway ended the transfer");
    }
}
