//! Checkpoints: content-addressed snapshots of a workspace, taken around what an agent does in it, to bring it back.
//!
//! ```text
//!   take: lock → walk by descriptor ─┬─ unchanged since the last time ─► known object     (cache.rs)
//!                                    └─ read, hash, pack ─► objects/pack                  (objects/)
//!         → trees and notes → fsync → ref → entry in the list, by rename                  (take.rs, list.rs)
//!   restore: take one of the present → plan (pure) → temporary beside the target → rename (plan.rs, restore.rs)
//! ```
//!
//! The store is a git repository of its own (bare, SHA-256) outside the workspace; the git program can read it and is
//! never run. What git's trees cannot hold (modes, times, owners, what was left out) is in a side file per checkpoint.
//! Nothing here knows agents, policies or sandboxes, and nothing here decides what is protected.
//!
//! Kept: what git would not ignore, as bytes, the files of nested repositories among them; of each `.git` everything,
//! its objects up to a limit. Not kept: what is ignored, sockets, devices, FIFOs, extended attributes, that two names
//! are one file, and what lies on another file system.

pub mod atomic;
mod budget;
mod cache;
mod checkpoints;
mod diff;
mod error;
mod escape;
mod faults;
mod label;
mod list;
mod load;
pub mod lock;
mod objects;
mod place;
mod plan;
mod prune;
mod record;
mod restore;
mod seen;
mod side;
mod snapshot;
mod state;
mod store;
mod take;
#[cfg(test)]
mod tests;
mod tree;
mod walk;

pub use budget::Budget;
pub use checkpoints::Checkpoints;
pub use diff::{Change, Difference};
pub use error::{Error, is_disk_full};
pub use label::{Id, Label, LeftOut, Summary, Taken, When, Why};
pub use prune::{Pruned, prune_all};
pub use restore::{Conflict, Failed, Restore, Restored};
pub use seen::Seen;
pub use store::open_private;
