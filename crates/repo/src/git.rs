//! Git's data model on disk: bare repositories, objects, refs. Knows nothing of the gateway; everything here blocks.

pub(crate) mod init;
