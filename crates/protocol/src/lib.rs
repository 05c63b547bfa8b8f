//! What is said on the wire: frames, calls, signals, errors. No sockets, no SQL, no files.
//!
//! Read [`spec`] for how a call is defined, then [`fs`] for a domain: its table on top, its types under it.
//! Everything else (dispatch, `sys.connect` lists, reference pages, TypeScript, command line help) follows
//! from [`ALL`], [`signal::SIGNALS`] and [`error::ERRORS`].

pub mod args;
pub mod capability;
pub mod config;
pub mod error;
pub mod frame;
pub mod fs;
pub mod identity;
pub mod ids;
pub mod outcome;
pub mod router;
pub mod shell;
pub mod signal;
pub mod spec;
pub mod sys;
pub mod transfer;

use spec::Spec;

/// The tables of all domains.
pub static ALL: &[&[Spec]] = &[
    fs::CALLS,
    shell::CALLS,
    sys::CALLS,
    sys::device::CALLS,
    sys::token::CALLS,
    sys::account::CALLS,
];

/// Every call, in the order of the tables.
pub fn calls() -> impl Iterator<Item = &'static Spec> {
    ALL.iter().flat_map(|table| table.iter())
}

/// The row of a call.
pub fn spec(name: &str) -> Option<&'static Spec> {
    use std::collections::HashMap;
    use std::sync::LazyLock;
    static BY_NAME: LazyLock<HashMap<&'static str, &'static Spec>> =
        LazyLock::new(|| calls().map(|spec| (spec.name, spec)).collect());
    BY_NAME.get(name).copied()
}
