//! File subsystem: `fs.*` on the gateway itself, and file transfers between any two ends.

mod area;
mod calls;
mod subsystem;
mod transfer_calls;
mod transfers;

pub use area::Files;
