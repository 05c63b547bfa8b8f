//! Sliding-window file transfer, both ends of `fs.pull` and `fs.push`: window, acknowledgements, digest, resuming.
//!
//! After `fs.pull` or `fs.push` was answered, either end has a [`Link`] with the transfer's id over whatever
//! carries its messages ([`Wire`]). The file's side calls [`send`], the other side [`receive`], then
//! [`Link::stored`] or [`Link::fail`]. A machine that offers files does the same by [`give`] and [`take_in`].

mod link;
mod receive;
mod send;
mod take_in;
mod uploads;

pub use link::{Closed, Error, Link, Wire};
pub use receive::{hash_before_receiving, receive};
pub use send::{give, hash, send};
pub use sha2::Sha256;
pub use take_in::{Destination, Intake, take_in};
pub use uploads::{PARTIAL, Running, Uploads, is_partial, partial_tag};

use sha2::Digest;

/// A digest in hex.
pub fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a text can be a digest in hex.
pub fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
