//! Test doubles of models, which say what a test tells them to: in process ([`Script`]), or as a server that speaks a
//! real wire format ([`Server`]). For tests and measurements; a gateway never makes one by itself.

mod replies;
mod script;
mod server;

pub use replies::{anthropic_reply, chat_reply};
pub use script::{Piece, Script, Turn};
pub use server::{Chunk, Received, Reply, Server};
