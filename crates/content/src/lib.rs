//! What a file is to a reader: numbered lines, a picture, or bytes nobody can read; exact replacement; lines that
//! match. The device driver and the native target share it; where files come from is no matter of this crate.

pub mod edit;
pub mod lines;
pub mod query;
pub mod read;
pub mod side;
pub mod sniff;

pub use side::Side;
