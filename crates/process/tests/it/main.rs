//! Integration tests of processes on a real store and a real file tree, with a scripted model. Where the kernel would
//! be stands a recorder.

// What a host does is one future, deep in others here.
#![recursion_limit = "256"]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking, in its helpers too")]

mod approvals;
mod borrowed;
mod control;
mod crash;
mod faults;
mod leases;
mod notices;
mod overflow;
mod queue;
mod recorder;
mod scene;
mod sent_back;
mod sessions;
mod sweep;
mod tools;
mod turns;
mod widening;
