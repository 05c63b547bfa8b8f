//! Write-ahead log for small files: a file that was written is durable, with its name, as soon as its record is, which
//! takes one sync of a file that never grows. The file itself is made durable within a second, and after a power cut the
//! record makes it whole again.
//!
//! Whoever changes in another way what a record may still be about must let it go first ([`Journal::let_go`]).
//! Where there can be no journal, files are synced before they take their place, as without one.

mod checkpoint;
mod gate;
#[cfg(any(test, feature = "inspect"))]
pub mod inspect;
mod journal;
mod log;
mod record;
mod replay;
mod segment;
mod sync;

pub use crate::gate::Closed;
pub use crate::journal::{DirectoryId, Entered, Error, JOURNAL, Journal, boot};
pub use crate::log::{Ticket, Unlogged};
pub use crate::record::{Attributes, Identity, Written};
pub use crate::replay::{Redo, Step};
pub use crate::segment::Boot;
pub use crate::sync::{cannot_be_synced, make_durable, sync_directory};
