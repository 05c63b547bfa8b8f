//! What every crate may lean on and nothing about GSV itself: time, randomness, limits, stopping.

pub mod clock;
pub mod limits;
pub mod quick_hash;
pub mod random;
pub mod shutdown;
