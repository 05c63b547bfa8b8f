//! Integration tests of the driver: its handlers on real files and real shells, and the whole of it against a small
//! real gateway.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod bench;
mod change;
mod confine;
mod gateway;
mod ledger;
mod mounts;
mod online;
mod overwritten;
mod read;
mod search;
mod shell;
mod transfers;
