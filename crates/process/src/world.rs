//! What all processes share.

use std::sync::Arc;

use base::clock::Clock;
use protocol::ids::RunId;
use protocol::signal::Signal;
use store::Store;
use store::processes::ProcessRow;

use crate::outside::{Note, NoteBody, Outside};

/// What all processes share. Cheap to clone.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) outside: Arc<dyn Outside>,
    pub(crate) client: model::Client,
}

impl World {
    /// Now, in milliseconds.
    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// Sends a signal of a process; those of a run say which.
    pub(crate) fn emit<S: Signal>(&self, process: &ProcessRow, run_id: Option<&RunId>, payload: &S) {
        self.outside.emit(Note {
            uid: process.uid,
            run_id: run_id.cloned(),
            name: S::SPEC.name,
            body: NoteBody::Text(protocol::frame::to_json(payload)),
        });
    }
}
