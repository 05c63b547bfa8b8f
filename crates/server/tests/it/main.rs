//! Integration tests of the gateway over real sockets, as clients see it.

// Helpers of tests are tests too, which clippy does not see.
#![allow(clippy::unwrap_used)]

mod abuse;
mod accounts;
mod agents;
mod asked_back;
mod codemode;
mod codemode_agents;
mod codemode_escapes;
mod config;
mod connect;
mod doors;
mod frames;
mod git_http;
mod http;
mod live;
mod matrix;
mod mcp;
mod mcp_peers;
mod native_fs;
mod native_git;
mod native_shell;
mod native_transfers;
mod oauth;
mod processes;
mod processes_ipc;
mod processes_spawn;
mod recall;
mod removed_users;
mod repos;
mod repos_import;
mod repos_race;
mod routing;
mod sessions;
mod setup;
mod shipped_clients;
mod signals;
mod signals_runs;
mod tokens;
mod toy_area;
mod transcripts;
mod transfers;
mod versions;
mod workspaces;
