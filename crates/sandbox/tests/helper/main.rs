//! Test program: the helper of the sandbox, and raw attempts to get out of it that no shell can make.
#![allow(unsafe_code, clippy::expect_used)]

#[cfg(target_os = "linux")]
mod attempts;
#[cfg(target_os = "linux")]
mod bombs;
#[cfg(target_os = "linux")]
mod faults;
#[cfg(target_os = "linux")]
mod sockets;

fn main() {
    #[cfg(target_os = "linux")]
    attempts::main();
}
