//! Limits: every queue, size and timeout of the program, by area. Units come last in the names.

pub mod approval;
pub mod checkpoint;
pub mod cli;
pub mod client;
pub mod config;
pub mod curl;
pub mod device;
pub mod device_files;
pub mod egress;
pub mod files;
pub mod frame;
pub mod lifecycle;
pub mod login;
pub mod model;
pub mod native_shell;
pub mod oauth;
pub mod outgoing;
pub mod process;
pub mod route;
pub mod sandbox;
pub mod shell;
pub mod signal;
pub mod socket;
pub mod store;
pub mod tls;
pub mod transfer;
