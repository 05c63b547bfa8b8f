//! The proxy on real sockets: real servers behind it, hostile clients before it.

// A helper of tests that cannot do its work has nothing better to do than to end the test.
#![allow(clippy::expect_used)]

#[cfg(target_os = "linux")]
mod abuse;
mod guard;
mod http;
#[cfg(target_os = "linux")]
mod names;
#[cfg(target_os = "linux")]
mod namespace;
mod socks;
mod upstream;
mod world;
