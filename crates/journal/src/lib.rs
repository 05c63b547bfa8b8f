//! Write-ahead log for small files: a write is answered when its record is durable, which takes one `fdatasync` of a
//! preallocated file. A checkpointer makes the file itself durable within a second, and after a power cut crash
//! recovery writes it anew from its record. The reasons are in `docs/decisions/0011`.
//!
//! The log is two segments. Records go to the active one; when it is half full or a second old they go to the other,
//! the files of the first are synced, and a new epoch in its header makes it empty. The tree that the files belong to
//! is not known here: it passes handles, names and paths, and does what [`Redo`] says ([`Journal::recover`]).
//!
//! # Invariants
//!
//! Each names the test that guards it; those of `vfs` run over a real disk.
//!
//! 1. **A write that was answered survives a power cut**, with its name, owner, mode and time.
//!    `every_answered_write_is_there_after_a_power_cut`, `files_whose_content_was_lost_are_whole_again`
//! 2. **A record is durable before its file takes its place**, and [`RecordGuard::commit`] returns only then: a leader
//!    writes and syncs for all that came meanwhile. `many_writers_share_the_journal_while_its_files_change_places`
//! 3. **No segment is emptied while something is durable by its records only**: not before their writers are done with
//!    them, their files and directories are synced, and everything that was added is written.
//!    `a_checkpoint_leaves_nothing_and_so_does_a_clean_stop`, `while_both_files_are_in_use_writes_go_the_ordinary_way`
//! 4. **Records of an older epoch never count.** Every reuse of a segment has a new epoch, and the first record whose
//!    epoch, number, length or checksum is wrong ends the reading. `records_are_read_back_until_the_epoch_changes`,
//!    `a_torn_end_is_no_record`, `a_flipped_bit_ends_the_reading`, `a_damaged_head_says_nothing`
//! 5. **A record never brings back what was changed later by other means.** Whoever changes, moves or removes a file in
//!    another way retires its record first ([`Journal::retire`]): the file is synced, and a durable tombstone says that
//!    its records count no longer. `moving_a_file_and_being_moved_over`, `appending_and_writing_much`,
//!    `modes_owners_and_times`, `removing_a_tree`
//! 6. **A path leads where it led when the record was made.** A record names its file by path, so no directory is moved
//!    or removed while a journaled write is under way ([`Journal::close_gate`]), and pending files are told by
//!    directory and name. `nobody_is_inside_while_it_is_closed`, `directories_may_move_under_the_writers`
//! 7. **What a record depends on is durable before it.** The tree syncs changed directories before it asks for a
//!    record. `what_a_record_depends_on_is_durable_before_it`
//! 8. **A write that fails after its record does not happen later** ([`Journal::withdraw`]).
//!    `a_write_that_fails_after_its_record_does_not_happen_later`
//! 9. **Recovery may be done again**, after a crash in the middle of it too, and leaves alone what somebody on the
//!    machine has changed since. `it_may_be_done_again`, `a_newer_file_of_somebody_else_is_kept`
//! 10. **Recovery trusts nothing it reads and writes nowhere but into the tree.**
//!     `a_record_leads_nowhere_but_into_the_tree`
//! 11. **Nothing is served until what was promised is there again.**
//!     `nothing_is_served_until_what_was_promised_is_there_again`
//! 12. **A log that fails loses nothing and is not used again in this run.** What it held is synced, then it is removed;
//!     writes go on without it. `a_broken_journal_loses_nothing`, `where_it_cannot_be_made_writes_go_on`
//! 13. **One gateway writes to a log**: whoever holds the lock of its directory.
//!     `a_second_gateway_leaves_the_journal_of_the_first_alone`
//!
//! Locks, in the order in which they are taken: a file's lock in the tree, the gate, the checkpointer's lock, the
//! state. Nothing is written or synced while the state is locked.

mod checkpoint;
mod gate;
#[cfg(any(test, feature = "inspect"))]
pub mod inspect;
mod journal;
mod log;
mod record;
mod recovery;
mod segment;
mod sync;

pub use crate::gate::ClosedGate;
pub use crate::journal::{DirectoryId, Error, JOURNAL, Journal, WritePermit, boot_id};
pub use crate::log::{CommitError, RecordGuard};
pub use crate::record::{Attributes, Identity, Written};
pub use crate::recovery::{Redo, Step};
pub use crate::segment::BootId;
pub use crate::sync::{cannot_be_synced, make_durable, sync_directory};

#[cfg(test)]
mod tests {
    use std::path::Path;

    fn sources(dir: &Path, all: &mut String) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, all);
            } else if path.extension().is_some_and(|end| end == "rs") {
                all.push_str(&std::fs::read_to_string(path).unwrap());
            }
        }
    }

    #[test]
    fn every_test_that_guards_an_invariant_is_there() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut all = String::new();
        sources(&crates.join("journal/src"), &mut all);
        sources(&crates.join("vfs/src/disk"), &mut all);
        let page = include_str!("lib.rs").lines().take_while(|line| line.starts_with("//!"));
        let page = page.collect::<Vec<_>>().join("\n");
        let is_test =
            |word: &&str| word.contains('_') && word.bytes().all(|b| b == b'_' || b.is_ascii_lowercase());
        let tests: Vec<&str> = page.split('`').skip(1).step_by(2).filter(is_test).collect();
        assert!(tests.len() > 13);
        for test in tests {
            assert!(all.contains(&format!("fn {test}()")), "{test}");
        }
    }
}
