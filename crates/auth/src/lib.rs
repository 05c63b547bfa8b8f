//! Authentication: a password or a token in, an account out, with throttling of failures. Knows no sockets.
//!
//! [`Authenticator::authenticate`] is the one door: `sys.connect`, HTTP Basic, bearer tokens and cookies all come
//! through it. [`Passwords`] and [`tokens`] make and check hashes, `throttle` counts failures. What an account may do
//! is not decided here.

mod authenticator;
pub mod network;
mod passwords;
mod setup_code;
mod throttle;
pub mod tokens;

pub use authenticator::{Authenticated, Authenticator, Credentials, Secret, may_have_services};
pub use passwords::{Passwords, is_unset};
pub use setup_code::SetupCode;
