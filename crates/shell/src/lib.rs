//! Bash interpreter over the native file tree, inside the gateway: no program of the host is started.
//!
//! [`Shells`] runs commands on threads of its own (`pool`), each looked after from outside (`watch`, `cancellation`). Under
//! it are the interpreter (`engine`), the script as it reads it (`normalize`), its view of the tree (`files`), its limits
//! (`bounds`, `meter`, `memory`), what callers write to a running command (`stdin`), and the commands of this system,
//! one file each under `commands`.

mod adapter;
mod argument_bounds;
mod arithmetic;
mod bounds;
mod builtin_io;
mod builtins;
mod cancellation;
pub mod commands;
mod cpu;
mod depth;
mod endless;
mod engine;
mod enter;
mod fair_semaphore;
mod files;
mod find;
mod heavy;
mod jq;
mod line_budget;
mod memory;
mod meter;
mod missing;
mod normalize;
mod passthrough;
mod pool;
mod program_paths;
mod rewrites;
mod running;
mod scan;
mod settings;
mod shells;
mod sleep;
mod stdin;
mod stdin_demand;
mod streaming_tr;
mod streams;
mod subsystem;
mod timeout;
mod trap;
mod truncate;
mod umask;
mod watch;

pub use settings::Settings;
pub use shells::{Order, Shells};
pub use subsystem::ShellArea;
