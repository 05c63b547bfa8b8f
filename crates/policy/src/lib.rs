//! Policy decision point for agents: a call is proved to only read, or confined, or asked about.
//!
//! Pure: no files, no store, no clock. `prove` proves that a command only reads. `programs` parses a script into the simple
//! commands it would run, `survey` classifies each of them, `call_analysis` does the same for a whole call, `way` chooses
//! between the three ways, `rules` are the policy's JSON, and [`Policy::judge`] decides. What cannot be told is never
//! harmless, and nothing opaque can be remembered by its shape. Sensitive paths are in the crate `places`.

mod awk;
mod call_analysis;
mod calls;
mod catalogue;
mod findings;
mod git;
mod judge;
mod parts;
mod paths;
mod programs;
mod prove;
mod rules;
mod script_files;
mod sed;
mod shape;
mod survey;
mod tags;
mod target;
mod way;
mod wrappers;

pub use judge::{Call, Circumstances, Judgement, Policy, Remembered};
pub use parts::simple_commands;
pub use protocol::confine::Widening;
pub use rules::Action;
pub use script_files::{ScriptFiles, script_files};
pub use shape::{digest_with_files, digest_with_widening, is_same_target};
pub use target::Target;
pub use way::{Known, Way};
