//! Registry of benchmarks, one row each. A new one is a file in `measures/` and a row here.

mod agent_history;
mod agent_latency;
mod agent_turns;
mod cheap_call;
mod codemode;
mod cold_start;
mod confined;
mod footprint;
mod idle_connections;
mod native_read;
mod native_search;
mod native_shell;
mod native_write;
mod repo;
mod routed_large;
mod routed_small;

use std::pin::Pin;

use anyhow::Result;

use crate::report::Row;
use crate::stage::Stage;

/// What running a measure gives.
type Found<'a> = Pin<Box<dyn Future<Output = Result<Vec<Row>>> + 'a>>;

/// One thing to find out; it may give several rows.
pub(crate) struct Measure {
    /// Its name for `--only`.
    pub name: &'static str,
    /// Finds it out.
    pub run: for<'a> fn(&'a Stage) -> Found<'a>,
}

/// In the order of the table.
pub(crate) static ALL: &[Measure] = &[
    Measure { name: "cheap-call", run: |stage| Box::pin(cheap_call::run(stage)) },
    Measure { name: "routed-small", run: |stage| Box::pin(routed_small::run(stage)) },
    Measure { name: "routed-large", run: |stage| Box::pin(routed_large::run(stage)) },
    Measure { name: "native-read", run: |stage| Box::pin(native_read::run(stage)) },
    Measure { name: "native-write", run: |stage| Box::pin(native_write::run(stage)) },
    Measure { name: "native-search", run: |stage| Box::pin(native_search::run(stage)) },
    Measure { name: "native-shell", run: |stage| Box::pin(native_shell::run(stage)) },
    Measure { name: "repo", run: |stage| Box::pin(repo::run(stage)) },
    Measure { name: "codemode", run: |stage| Box::pin(codemode::run(stage)) },
    Measure { name: "confined", run: |stage| Box::pin(confined::run(stage)) },
    Measure { name: "agent-latency", run: |stage| Box::pin(agent_latency::run(stage)) },
    Measure { name: "agent-turns", run: |stage| Box::pin(agent_turns::run(stage)) },
    Measure { name: "agent-history", run: |stage| Box::pin(agent_history::run(stage)) },
    Measure { name: "idle-connections", run: |stage| Box::pin(idle_connections::run(stage)) },
    Measure { name: "cold-start", run: |stage| Box::pin(cold_start::run(stage)) },
    Measure { name: "footprint", run: |stage| Box::pin(footprint::run(stage)) },
];
