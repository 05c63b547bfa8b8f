//! Import of repositories: a git client that fetches one ref over smart HTTP (protocol v2), checks what came in
//! quarantine, and only then lets it be seen. The git program is not needed.

pub(crate) mod local;
pub(crate) mod pkt;
pub(crate) mod quarantine;
pub(crate) mod remote;
