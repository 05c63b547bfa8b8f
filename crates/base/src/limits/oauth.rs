//! Limits of OAuth flows.

use std::time::Duration;

/// How long a person may take to agree at the service.
pub const FLOW_KEPT: Duration = Duration::from_secs(10 * 60);
/// Flows of one user that may wait for a person at the same time.
pub const FLOWS_MAX: usize = 100;
/// How long a service may take to turn a code into a token.
pub const TOKEN_TIMEOUT: Duration = Duration::from_secs(30);
/// Largest answer with a token, in bytes.
pub const TOKEN_MAX_BYTES: usize = 1024 * 1024;
/// Longest token, in bytes.
pub const TOKEN_TEXT_MAX_BYTES: usize = 64 * 1024;
/// Unused connections kept per service.
pub const IDLE_CONNECTIONS_MAX: usize = 1;
/// Access tokens are renewed so long before they end, those that live shorter when they are used.
pub const RENEWED_BEFORE: Duration = Duration::from_secs(5 * 60);
/// How often tokens that end are looked for.
pub const SWEEP_INTERVAL: Duration = Duration::from_secs(60);
/// How many are renewed in one sweep.
pub const SWEEP_MAX: usize = 200;
/// A token that ended so long ago is not renewed by itself any more.
pub const ENDED_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a gateway that renews an account keeps others from it.
pub const RENEWAL_LEASE: Duration = Duration::from_secs(60);
