//! Integration tests of the file system through its views, on a real disk and a real store.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod basics;
mod concurrent;
mod crash;
mod escapes;
mod fast;
mod fingerprint;
mod hidden;
mod killed;
mod matrix;
mod model;
mod observed;
mod outside;
mod paths;
mod plain_disk;
mod quota;
mod removal;
mod replaced;
mod sweeping;
mod text_cache;
mod texts;
mod uploads;
mod world;
