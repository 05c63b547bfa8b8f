//! Integration tests of the store: one suite, run on SQLite and on PostgreSQL.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking, in its helpers too")]

mod accounts;
mod approvals;
mod changes;
mod config;
mod crash;
mod devices;
mod disk;
mod grants;
mod home;
mod leases;
mod mcp;
mod messages;
mod model;
mod oauth;
mod opening;
mod ownership;
mod postgres;
mod postgres_only;
mod processes;
mod queue;
mod repos;
mod runs;
mod secrets;
mod segments;
mod sessions;
mod setup;
mod tokens;
mod workspaces;
