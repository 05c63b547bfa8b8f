//! Interface definition of the wire protocol: frames, calls, signals, errors. No sockets, no SQL, no files.
//!
//! Read [`mod@spec`] for how a call is defined, then [`fs`] for a domain: its table on top, its types under it.
//! Everything else (dispatch, `sys.connect` lists, reference pages, TypeScript, command line help) follows
//! from [`ALL`], [`signal::SIGNALS`] and [`error::ERRORS`].

pub mod adapter;
pub mod ai;
pub mod args;
pub mod calls;
pub mod capability;
pub mod codemode;
pub mod config;
pub mod confine;
mod device_id;
pub mod error;
pub mod frame;
pub mod fs;
pub mod hosts;
pub mod identity;
pub mod ids;
pub mod json_words;
pub mod literal;
pub mod mcp_functions;
pub mod media;
pub mod notification;
pub mod outcome;
pub mod pkg;
pub mod policy;
pub mod proc;
pub mod repo;
pub mod router;
pub mod scan;
pub mod sched;
pub mod schema;
pub mod shell;
pub mod signal;
pub mod signal_watch;
pub mod spec;
pub mod sys;
pub mod transfer;
pub mod typescript;

use spec::Spec;

/// The tables of all domains.
pub static ALL: &[&[Spec]] = &[
    fs::CALLS,
    fs::history::CALLS,
    shell::CALLS,
    codemode::CALLS,
    proc::CALLS,
    proc::profile::CALLS,
    proc::ipc::CALLS,
    proc::approval::CALLS,
    proc::history::CALLS,
    proc::conversation::CALLS,
    proc::segment::CALLS,
    proc::cost::CALLS,
    proc::undo::CALLS,
    pkg::CALLS,
    pkg::catalog::CALLS,
    repo::CALLS,
    repo::change::CALLS,
    sys::CALLS,
    sys::setup_assist::CALLS,
    sys::bootstrap::CALLS,
    sys::device::CALLS,
    sys::workspace::CALLS,
    sys::oauth::CALLS,
    sys::mcp::CALLS,
    sys::token::CALLS,
    sys::link::CALLS,
    sys::account::CALLS,
    ai::CALLS,
    adapter::CALLS,
    notification::CALLS,
    signal_watch::CALLS,
    sched::CALLS,
];

/// Every call, in the order of the tables.
pub fn calls() -> impl Iterator<Item = &'static Spec> {
    ALL.iter().flat_map(|table| table.iter())
}

/// The row of a call.
pub fn spec(name: &str) -> Option<&'static Spec> {
    use std::collections::HashMap;
    use std::sync::LazyLock;
    static BY_NAME: LazyLock<HashMap<&'static str, &'static Spec, base::quick_hash::QuickHash>> =
        LazyLock::new(|| calls().map(|spec| (spec.name, spec)).collect());
    BY_NAME.get(name).copied()
}

/// The row of the call that models see as this tool.
pub fn spec_of_tool(name: &str) -> Option<&'static Spec> {
    calls().find(|spec| spec.tool.is_some_and(|tool| tool.name == name))
}
