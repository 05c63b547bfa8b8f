//! Virtual file system: the users' files on disk, and the kernel's state as files.
//!
//! A [`View`] is the tree as one caller sees it; everything goes through it. Under it are two parts: `disk`,
//! plain files below the data directory with owners of their own, and `live`, what the kernel knows as text.

mod cwd;
pub mod disk;
pub mod fault;
pub mod home;
mod links;
pub mod live;
pub mod observe;
pub mod path;
pub mod search;
pub mod stat;
pub mod tree;
pub mod upload;
pub mod versioned;
pub mod view;
pub mod workspace;

pub use disk::fingerprint::Fingerprint;
pub use fault::{Code, Fault};
pub use path::VPath;
pub use stat::{FileKind, Named, Stat};
pub use tree::Tree;
pub use view::{Follow, View};
