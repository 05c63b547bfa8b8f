//! Git's data model on disk: bare repositories, objects, refs. Knows nothing of the gateway; everything here blocks.

pub(crate) mod bare;
pub(crate) mod bases;
pub(crate) mod commit;
pub(crate) mod diff;
pub(crate) mod edit;
pub(crate) mod fault;
pub(crate) mod history;
pub(crate) mod hold;
pub(crate) mod hunks;
pub(crate) mod init;
pub(crate) mod lock;
pub(crate) mod loose;
pub(crate) mod paths;
pub(crate) mod program;
pub(crate) mod refs;
pub(crate) mod search;
pub(crate) mod write;
