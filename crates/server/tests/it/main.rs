//! The gateway over real sockets, as clients see it.

// Helpers of tests are tests too, which clippy does not see.
#![allow(clippy::unwrap_used)]

mod abuse;
mod accounts;
mod config;
mod connect;
mod frames;
mod http;
mod live;
mod matrix;
mod native_fs;
mod native_shell;
mod native_transfers;
mod routing;
mod sessions;
mod setup;
mod shipped_clients;
mod tokens;
mod transfers;
