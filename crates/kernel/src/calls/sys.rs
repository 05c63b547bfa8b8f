//! Handlers of `sys.*` that the kernel keeps.

pub(crate) mod account;
pub(crate) mod config;
pub(crate) mod connect;
pub(crate) mod device;
pub(crate) mod setup;
pub(crate) mod token;
