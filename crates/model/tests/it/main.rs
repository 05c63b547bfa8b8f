//! Integration tests of providers against a local server that speaks their real wire formats.

// A helper of tests that cannot do its work has nothing better to do than to end the test.
#![allow(clippy::expect_used)]

mod anthropic;
mod chat;
mod demo;
mod faults;
mod gemini;
mod hearing;
mod ollama;
mod responses;
mod script;
mod shapes;
mod sound;
