//! State of the area: the handle, the open transfers, and back-pressure for large reads.

use std::sync::Arc;

use base::clock::Clock;
use base::limits;
use gateway::Gateway;
use protocol::error::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::transfers::Transfers;

/// Native files, and transfers.
pub struct Files {
    pub(crate) gateway: Gateway,
    pub(crate) transfers: Arc<Transfers>,
    pub(crate) reads: Reads,
}

impl Files {
    /// State without any open transfer.
    pub fn new(gateway: Gateway) -> Arc<Files> {
        let transfers = Transfers::new(gateway.clock().clone());
        Arc::new(Files { gateway, transfers, reads: Default::default() })
    }
}

/// The memory that contents of large files may take while they are made, by KiB; so many can be in the making that
/// each alone is small enough and all together are not.
pub(crate) struct Reads(pub(crate) Arc<Semaphore>);

impl Default for Reads {
    fn default() -> Reads {
        Reads(Arc::new(Semaphore::new((limits::files::READS_MAX_BYTES / 1024) as usize)))
    }
}

impl Reads {
    /// Waits for a part of it, for a while.
    pub(crate) async fn take(&self, clock: &Clock, bytes: u64) -> Result<OwnedSemaphorePermit, Error> {
        let part = u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX);
        match clock.timeout(limits::files::READ_WAIT, self.0.clone().acquire_many_owned(part)).await {
            Ok(Ok(part)) => Ok(part),
            _ => Err(Error::too_busy("too many large files are being read, try again later")),
        }
    }
}
