//! Foundation crate, which knows nothing about GSV itself: clock, randomness, limits, locks, shutdown, timers.

pub mod clock;
pub mod limits;
pub mod quick_hash;
pub mod random;
pub mod shutdown;
pub mod sync;
pub mod timer;
