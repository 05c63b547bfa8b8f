//! The sandbox against real attempts: each runs inside, and what it must not do is looked for outside.

// A helper of tests that can not do its work has nothing better to do than to end the test.
#![allow(clippy::expect_used, unsafe_code)]
#![cfg(target_os = "linux")]

mod ahead;
mod faults;
mod files;
mod kernel;
mod landlock;
mod network;
mod overlay;
mod probe;
mod processes;
mod secrets;
mod stage;
mod work;
