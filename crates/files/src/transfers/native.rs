//! In-process end of a transfer: a channel pair between the transfer engine and the relay.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use base::limits;
use bytes::Bytes;
use gateway::Peer;
use protocol::error::Error;
use protocol::router::Then;
use protocol::transfer::HEADER_BYTES;
use tokio::sync::mpsc;
use transfer::{Closed, Link, Wire};

use super::{Side, Transfers};

/// Messages that may wait for the gateway's own end; what they hold is bounded by bytes as well.
const INBOX_MESSAGES_MAX: usize = 4_096;

/// What carries the messages of the gateway's own end. Dropped early, it tells the caller.
pub(crate) struct Native {
    transfers: Arc<Transfers>,
    id: u32,
    caller: Arc<dyn Peer>,
    inbox: mpsc::Receiver<(Bytes, Arc<AtomicUsize>)>,
}

/// Opens a transfer between a caller and the gateway itself. The caller does not know of it before it is answered.
pub(crate) fn open(
    transfers: &Arc<Transfers>,
    caller: &Arc<dyn Peer>,
    pull: bool,
) -> Result<(u32, Link<Native>), Error> {
    let (sender, inbox) = mpsc::channel(INBOX_MESSAGES_MAX);
    let id = transfers.reserve(caller, Side::Native(sender), pull)?;
    let native = Native { transfers: transfers.clone(), id, caller: caller.clone(), inbox };
    Ok((id, Link::new(native, id)))
}

/// Begins the work of the gateway's end once the caller has its answer.
pub(crate) fn begin(work: impl Future<Output = ()> + Send + 'static) -> Then {
    Box::new(move || drop(tokio::spawn(work)))
}

impl Wire for Native {
    /// Waits while much waits for the caller already: a caller that does not read slows only itself.
    async fn send(&self, message: Bytes) -> Result<(), Closed> {
        let clock = &self.transfers.clock;
        let deadline = clock.instant() + limits::transfer::IDLE;
        while self.caller.is_behind() {
            if self.caller.is_closing() || clock.instant() >= deadline {
                return Err(Closed);
            }
            clock.sleep(limits::files::TRANSFER_PAUSE).await;
        }
        self.transfers.pass_from(None, self.id, message);
        Ok(())
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.inbox.poll_recv(cx).map(|received| {
            let (message, waiting) = received?;
            waiting.fetch_sub(message.len(), Ordering::Relaxed);
            Some(message.slice(HEADER_BYTES..))
        })
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        self.transfers.abort(self.id, "the gateway ended the transfer");
    }
}
