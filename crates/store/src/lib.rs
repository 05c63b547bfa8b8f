//! The store: the only SQL of the program. SQLite beside the gateway, or PostgreSQL by URL.
//!
//! Each noun has a file with its rows and its statements. A statement is written once and runs on both
//! engines. No policy here: who may do what is the kernel's business.

pub mod accounts;
pub mod config;
pub mod devices;
pub mod grants;
pub mod routes;
pub mod sessions;
pub mod tokens;

use std::path::PathBuf;

/// Where the store is.
#[derive(Clone, Debug)]
pub struct Options {
    /// The data directory: `gsv.db`, `keys/` and the lock live here.
    pub data: PathBuf,
    /// `postgres://…`; SQLite in the data directory when absent.
    pub url: Option<String>,
}

/// Why the store does not open.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another gateway has it.
    #[error("another gateway is using {0}")]
    Held(String),
    /// The directory or a file in it can not be written.
    #[error("{dir} is not writable: {why}")]
    NotWritable {
        /// Which.
        dir: String,
        /// Why.
        why: String,
    },
    /// A newer version wrote it.
    #[error("{place} was written by a newer gsv (schema {found}, this one knows {ours}): update gsv")]
    Newer {
        /// Which store.
        place: String,
        /// Its schema.
        found: i64,
        /// Ours.
        ours: i64,
    },
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

/// Why a statement failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// Something with that name or id is there already.
    #[error("already exists: {0}")]
    Conflict(String),
    /// The disk is full, the database is gone, or similar; nothing was changed.
    #[error("{0}")]
    Failed(String),
}

/// The result of a statement.
pub type Result<T> = std::result::Result<T, Error>;

/// The store. Cheap to clone.
#[derive(Clone)]
pub struct Store {}

impl Store {
    /// Opens it, takes the lock, migrates it.
    pub async fn open(_options: &Options) -> std::result::Result<Store, OpenError> {
        unimplemented!()
    }

    /// Prometheus text for `/metrics`: commits, statements, queue length, commit times.
    pub fn metrics(&self) -> String {
        unimplemented!()
    }
}
