//! Integration tests of the client against a real WebSocket server on a free port.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod calls;
mod gateway;
mod signals;
mod transfers;
