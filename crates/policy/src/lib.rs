//! Static analysis of shell commands and calls: what a call of an agent would do, told before it runs, and whether a
//! person is asked about it.
//!
//! Pure: no files, no store, no clock. `programs` parses a script into the simple commands it would run, `survey`
//! classifies each of them, `facts` does the same for a whole call, `rules` are the policy's JSON, and [`Policy::judge`]
//! decides. What cannot be told is `opaque`; nothing opaque can be remembered by its shape.

mod awk;
mod calls;
mod catalogue;
mod facts;
mod git;
mod judge;
mod paths;
mod programs;
mod rules;
mod sed;
mod shape;
mod survey;
mod tags;
mod wrappers;

pub use judge::{Call, Judgement, Policy, Remembered};
pub use rules::Action;
