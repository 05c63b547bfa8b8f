//! Integration tests of the protocol's tables as a whole, and of hostile input.

#![allow(clippy::expect_used, reason = "a test that cannot go on has failed")]

mod fuzz;
mod shapes;
mod tables;
