//! Bash over the native file tree, inside the gateway: no program of the host is started.
//!
//! [`Shells`] runs commands on threads of its own (`pool`), each looked after from outside (`watch`, `leash`). Under
//! it are the interpreter (`engine`), the script as it reads it (`mend`), its view of the tree (`files`), its limits
//! (`bounds`, `gauge`, `memory`), what callers write to a running command (`stdin`), and the commands of this system,
//! one file each under `commands`.

mod adapter;
mod bounds;
mod builtins;
pub mod commands;
mod cpu;
mod depth;
mod endless;
mod engine;
mod enter;
mod files;
mod find;
mod gauge;
mod heavy;
mod jq;
mod leash;
mod memory;
mod mend;
mod missing;
mod places;
mod pool;
pub mod programs;
mod readers;
mod rewrites;
mod scan;
mod shells;
pub mod skills;
mod sleep;
mod stdin;
mod streams;
mod subsystem;
mod timeout;
mod trap;
mod truncate;
mod umask;
mod watch;
mod weigh;

pub use shells::{Order, Settings, Shells};
pub use subsystem::ShellArea;
