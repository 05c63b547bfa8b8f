//! Durable actors: a process is a mailbox and rows in the store.
//!
//! [`Host`] starts an actor for a process when there is mail for it, and lets it sleep when there is nothing to do.
//! The actor is the only writer of its process's rows; one step of it is one [`store::change::Change`]. What a run does
//! next follows from its rows alone (`run`), so that it goes on after a restart as it would have without one.
//! The world around it (calls, signals, files) comes through the handle of the gateway. [`Processes`] is the
//! subsystem.

mod actor;
mod answer;
mod approval;
mod archive;
mod calls;
mod checkpoint;
mod compaction;
mod config;
mod context;
mod conversation;
mod cost;
mod deeds;
mod directories;
mod discovery;
mod errors;
#[cfg(test)]
mod fixture;
mod handlers;
mod host;
mod ids;
mod known_files;
mod mail;
mod media;
mod notice;
mod pictures;
mod prepare;
mod pressure;
mod process_gateway;
mod profile;
mod prompt;
mod refused_hosts;
mod results;
mod run;
mod script_files;
mod setup;
mod signals;
mod skills;
mod speech;
mod starter;
mod subsystem;
mod tools;
mod turn;
mod world;

pub use host::Host;
pub use mail::{Condition, Event};
pub use profile::{SYSTEM_PROFILES, SystemProfile, is_interactive};
pub use subsystem::Processes;
