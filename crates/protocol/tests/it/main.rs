//! The tables as a whole, and hostile input.

#![allow(clippy::expect_used, reason = "a test that cannot go on has failed")]

mod fuzz;
mod shapes;
mod tables;
