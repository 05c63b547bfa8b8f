//! Service layer: what the kernel asks of processes, one file per area. A call is checked here, reads the store itself, and
//! leaves every write to the actor of its process.

mod ai_config;
mod approval;
mod compaction;
mod conversation;
mod cost;
mod fork;
mod history;
mod media;
mod segment;
mod speech;
