//! End-to-end tests of the real binary: a gateway, a device and the command line, each its own process.

// Helpers of tests are tests too, which clippy does not see.
#![allow(clippy::unwrap_used)]

mod accounts;
mod agents_crash;
mod agents_recall;
mod alone;
mod approving;
#[cfg(target_os = "linux")]
mod at_the_prompt;
mod chatting;
mod codemode;
mod compaction_crash;
mod confined_home;
mod copying;
mod corpus;
mod crash;
#[cfg(target_os = "linux")]
mod keyring;
mod login;
mod mcp;
mod native_copying;
mod newcomer;
mod other_drivers;
#[cfg(target_os = "linux")]
mod password_prompts;
#[cfg(target_os = "linux")]
mod readme;
#[cfg(target_os = "linux")]
mod rehearsing;
#[cfg(target_os = "linux")]
mod rehearsing_people;
#[cfg(unix)]
mod repo;
mod restart;
mod running;
#[cfg(unix)]
mod services;
#[cfg(target_os = "linux")]
mod terminal;
mod tls;
#[cfg(target_os = "linux")]
mod told_to_end;
mod undoing;
#[cfg(target_os = "linux")]
mod watching;
mod widened;
mod world;
