//! Tokens and money: from a model's usage to what the store adds up, and back to the wire.

use model::Usage;
use store::runs::Used;

/// What is added to a run's row.
pub(crate) fn used(usage: &Usage) -> Used {
    let _ = usage;
    Used::default()
}

/// What the wire shows of it.
pub(crate) fn usage(used: &Used) -> Usage {
    let _ = used;
    unreachable!("scaffold")
}
