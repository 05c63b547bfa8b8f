//! Guests: children of this very program that run code that is not ours, held by the operating system.
//!
//! A child has one socket to the gateway and nothing else: no files, no network, no other programs, no token. It is given
//! a *block*, asks for calls by their names, and says how the block ended; the gateway makes the calls as whoever the
//! block belongs to. The gateway's side is `pool.rs` (children that are ready) and `block.rs` (one block, its calls, its
//! limits); the child's side is `child.rs`. What a block means is for the crates above: this one knows no language.

mod block;
mod child;
mod frame;
mod message;
mod pool;
mod spawner;

pub use block::{Block, CallNote, Failure, Report};
pub use child::{Answer, Channel, Incoming, Kind, run_if_guest};
pub use pool::{Pool, Tenant};
