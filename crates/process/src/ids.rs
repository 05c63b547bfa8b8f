//! Id generation for runs and processes, and the fixed id of `init`.

use base::random::Random;
use protocol::ids::RunId;
use store::processes::ProcessRow;

/// The one `init` of a user is never gone for good.
pub(crate) fn is_init(process: &ProcessRow) -> bool {
    process.pid.as_str() == format!("init:{}", process.uid)
}

/// A run id nobody has.
pub(crate) fn new_run_id(random: &Random) -> RunId {
    RunId(random.uuid())
}
