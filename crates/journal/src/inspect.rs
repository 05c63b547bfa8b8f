//! Test probes: what a journal holds, how to pause it and how to damage it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use base::limits;

use crate::journal::Journal;
use crate::log::{Phase, RecordGuard};
use crate::record::{Record, Written};
use crate::recovery;
use crate::segment::{self, SegmentHeader};

impl Journal {
    /// Nothing becomes durable by itself from now on, however slow the machine is.
    pub fn hold(&self) {
        self.shared.locked().has_checkpointer = true;
    }

    /// Makes everything durable by itself.
    pub fn checkpoint(&self) {
        while self.shared.checkpoint() {}
    }

    /// The paths that are durable by their records only, sorted.
    pub fn pending(&self) -> Vec<String> {
        let state = self.shared.locked();
        let mut paths: Vec<_> = state.pending.values().map(|pending| pending.path.to_string()).collect();
        paths.sort();
        paths
    }

    /// The epoch that would be next; nothing while there is no journal.
    pub fn next_epoch(&self) -> Option<u64> {
        match &self.shared.locked().phase {
            Phase::Ready(files) => Some(files.next_epoch()),
            _ => None,
        }
    }

    /// Whether it is not used for the rest of this run.
    pub fn is_off(&self) -> bool {
        matches!(self.shared.locked().phase, Phase::Off)
    }

    /// Bytes that are left in the file that records are added to; nothing while there is no journal.
    pub fn room(&self) -> Option<u64> {
        match &self.shared.locked().phase {
            Phase::Ready(files) => Some(limits::files::JOURNAL_BYTES - files.segments[files.active].end),
            _ => None,
        }
    }

    /// Adds a note that a path counts no longer.
    pub fn add_note(&self, path: &str) -> Option<RecordGuard<'_>> {
        self.add(&Record::Tombstone(path.to_string()))
    }

    /// Adds the record of a write, whatever it says.
    pub fn add_write(&self, written: Written) -> Option<RecordGuard<'_>> {
        self.add(&Record::Write(written))
    }

    /// Puts another file under the first of the two.
    pub fn swap_first(&self, file: File) {
        if let Phase::Ready(files) = &mut self.shared.locked().phase {
            files.segments[0].file = Arc::new(file);
        }
    }
}

/// What the records in a journal's directory would write: contents by path.
pub fn records_in(dir: &OwnedFd) -> io::Result<BTreeMap<String, Vec<u8>>> {
    recovery::contents(dir)
}

/// Where the last record of a file of the journal ends.
pub fn end_of(file: &File) -> io::Result<u64> {
    match SegmentHeader::read(file)? {
        Some(header) => segment::end_of(file, header.epoch),
        None => Ok(segment::FIRST_RECORD_AT),
    }
}
