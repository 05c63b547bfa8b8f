//! Operating-system sandbox for the commands of agents: Linux namespaces, mounts, seccomp and Landlock.
//!
//! It takes a [`Spec`] and knows nothing of policies, places or agents. The program that uses it calls
//! [`run_if_helper`] first thing in its `main`; a [`Sandbox`] then runs the program itself once more as the helper that
//! sets everything up and runs the command. Whatever fails on the way, the command is not started.
//! Read `helper.rs` (the processes), `view.rs` (the files), `privileges.rs` and `rules.rs` (the rights), in that order.

#[cfg(target_os = "linux")]
mod cgroup;
#[cfg(target_os = "linux")]
mod descriptors;
#[cfg(target_os = "linux")]
mod failure;
#[cfg(target_os = "linux")]
mod helper;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod network;
// Tests on Linux see to it that it still compiles, and still refuses.
#[cfg(any(test, not(target_os = "linux")))]
#[cfg_attr(target_os = "linux", allow(dead_code))]
mod nowhere;
#[cfg(target_os = "linux")]
pub mod overlay;
#[cfg(target_os = "linux")]
mod privileges;
mod probe;
#[cfg(target_os = "linux")]
mod request;
#[cfg(target_os = "linux")]
mod rules;
mod seclusion;
#[cfg(target_os = "linux")]
mod setup;
mod spec;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod view;

#[cfg(target_os = "linux")]
pub use helper::run_if_helper;
#[cfg(target_os = "linux")]
pub use launch::{Ahead, Confined, Sandbox, Waiting};
#[cfg(target_os = "linux")]
pub use network::{Listeners, NetworkNamespace};
#[cfg(not(target_os = "linux"))]
pub use nowhere::{
    Ahead, Confined, Listeners, NetworkNamespace, Sandbox, Setup, Told, Waiting, run_if_helper,
};
pub use probe::{Strength, Trial};
pub use seclusion::{Seclusion, seclude};
#[cfg(target_os = "linux")]
pub use setup::{Setup, Told};
pub use spec::{Inverted, Limits, Mode, Outcome, Overlay, Spec};
