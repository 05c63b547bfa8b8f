//! CodeMode: small programs over the tools of an agent or a person, in a sandbox.
//!
//! Two halves that meet in `program.rs`. The area (`subsystem.rs`, `blocks.rs`) answers `codemode.*` in the gateway: it
//! runs no JavaScript, it hands a block to a guest and makes the calls that the block asks for. The engine (`engine.rs`)
//! runs in the guest, a child of this program that can do nothing but compute and ask.

mod blocks;
mod crash;
mod engine;
mod program;
mod settings;
mod subsystem;

use guest::Kind;
pub use subsystem::CodeMode;

/// The kind of guest that runs blocks.
pub const GUEST: Kind = Kind { name: "codemode", serve: |channel| engine::serve(channel, false) };

/// The same with `__crash(how)`, which ends the child in the ways that tests want to see.
pub const GUEST_THAT_CRASHES: Kind = Kind { name: "codemode", serve: |channel| engine::serve(channel, true) };
