//! HTTP client with an SSRF guard: the one way by which requests leave the gateway on somebody's behalf.
//!
//! A [`Request`] goes through a [`Client`] and comes back as a [`Response`] with a streaming [`Body`]. Names are
//! resolved once, by the guard, and the connection goes to an address it has checked; every redirect is a new hop with
//! a new lookup and a new check. Sizes and times are limited at each stage. What a request means (a model's answer, a
//! page for `curl`) is not known here. [`open_tcp`] is the same guard for connections that carry something else.

mod address;
mod body;
mod client;
mod connect;
mod error;
mod guard;
mod redirect;
mod request;
mod resolver;
mod settings;

pub use body::Body;
pub use client::{Client, Exchange, Response};
pub use connect::open_tcp;
pub use error::{Error, Stage};
pub use request::{Limits, Redirects, Request, parse_url};
pub use resolver::Resolver;
pub use settings::{Family, Peer, PrivateHosts, Settings};
