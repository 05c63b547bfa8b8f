//! What every crate may lean on and nothing about GSV itself: time, randomness, limits, locks, stopping.

pub mod clock;
pub mod limits;
pub mod quick_hash;
pub mod random;
pub mod shutdown;
pub mod sync;
pub mod timer;
