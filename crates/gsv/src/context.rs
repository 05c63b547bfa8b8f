//! Context object that every command gets: the global flags, a way to print, a clock.

use std::sync::atomic::AtomicBool;

use base::clock::Clock;
use terminal::output::Output;

use crate::cli::Globals;

/// Passed to every command.
pub struct Context {
    /// The flags that every client command has.
    pub globals: Globals,
    /// Prints results and failures.
    pub output: Output,
    /// The wall clock.
    pub clock: Clock,
    /// Whether a person has agreed to send a password that can be read on the way.
    pub may_be_read: AtomicBool,
}

impl Context {
    /// A context of the real world.
    pub fn new(globals: Globals) -> Context {
        let output = Output::new(globals.json);
        Context { globals, output, clock: Clock::system(), may_be_read: AtomicBool::new(false) }
    }

    /// The same world under other global flags.
    pub fn with_globals(&self, globals: Globals) -> Context {
        Context {
            output: Output::new(globals.json),
            globals,
            clock: self.clock.clone(),
            // What was agreed to for one gateway is not for another.
            may_be_read: AtomicBool::new(false),
        }
    }
}
