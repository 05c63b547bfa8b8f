//! Checkpoints of real trees on the real file system, with the git program as an oracle where it is installed.

#![allow(clippy::expect_used)]

mod bounds;
mod kit;
mod odd;
mod oracle;
mod property;
mod protected;
mod prune;
mod repositories;
mod restore;
mod take;
