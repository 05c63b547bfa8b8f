//! OAuth 2 client subsystem: accounts at other services by authorization code with PKCE, and tokens that are renewed
//! before they end.
//!
//! `calls` are the calls of people, `callback` is where a service sends the person back to, `token` speaks with token
//! endpoints, `renewal` keeps access tokens alive. Tokens are in the store, sealed, and in no answer, signal or log.

mod area;
mod callback;
mod calls;
mod endpoints;
mod page;
mod renewal;
mod request;
mod subsystem;
mod token;

pub use area::OAuth;
