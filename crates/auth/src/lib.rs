//! Authentication: password hashes, token hashes, and throttling of failed logins. Knows no sockets.

mod passwords;
mod throttle;

pub use passwords::{Passwords, is_unset, new_token, token_hash, token_prefix};
pub use throttle::{Attempt, Logins};
