//! Area: MCP servers that users have connected. `sys.mcp.*` over a small client of our own.
//!
//! A server is a row in the store and, while somebody needs it, a `connection::Connection` in memory: its state, what it
//! offers, and the `session::Session` that requests go over. Sessions speak both generations of streamable HTTP and the
//! older HTTP+SSE, all through `outgoing`. Signing in is discovered here and done by the area of accounts. What a model
//! gets to see of the tools, and how it calls them, is `protocol::mcp_functions`.

mod area;
mod calls;
mod checks;
mod connect;
mod connection;
mod discover;
mod failure;
mod held;
mod link;
mod listen;
mod message;
mod mirror;
mod open;
mod session;
mod sign_in;
mod sse;
mod sse_session;
mod subsystem;
mod tokens;

pub use area::Mcp;
