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
