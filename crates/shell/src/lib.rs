//! Bash over the native file tree, inside the gateway: no program of the host is started.
//!
//! [`Shells`] runs commands on threads of its own. Under it are the interpreter's view of the tree (`files`),
//! its limits, and the commands of this system, one file each under `commands`.

pub mod commands;
mod shells;

pub use shells::{Order, Settings, Shells};
