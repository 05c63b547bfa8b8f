//! Rendering of file contents for readers: numbered lines, pictures or a refusal; exact replacement; line search. The
//! device driver and the native target share it; where files come from is no matter of this crate.

pub mod edit;
pub mod lines;
pub mod query;
pub mod read;
pub mod side;
pub mod sniff;

pub use side::Side;
