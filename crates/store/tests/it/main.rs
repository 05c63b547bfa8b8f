//! One suite, run on SQLite and on PostgreSQL.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking, in its helpers too")]

mod accounts;
mod config;
mod crash;
mod devices;
mod disk;
mod grants;
mod home;
mod model;
mod opening;
mod postgres;
mod postgres_only;
mod secrets;
mod sessions;
mod setup;
mod tokens;
