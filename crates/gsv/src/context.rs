//! Context object that every command gets: the global flags, a way to print, a clock.

use base::clock::Clock;
use terminal::output::Output;

use crate::exposure::Consent;
use crate::globals::Globals;

/// Passed to every command.
pub struct Context {
    /// The flags that every client command has.
    pub globals: Globals,
    /// Prints results and failures.
    pub output: Output,
    /// The wall clock.
    pub clock: Clock,
    /// Whether a password may be sent where it can be read on the way.
    consent: Consent,
}

impl Context {
    /// A context of the real world.
    pub fn new(globals: Globals) -> Context {
        let output = Output::new(globals.json);
        Context { consent: Consent::new(globals.insecure), globals, output, clock: Clock::system() }
    }

    /// The same world under other global flags.
    pub fn with_globals(&self, globals: Globals) -> Context {
        Context {
            output: Output::new(globals.json),
            // What was agreed to for one gateway is not for another.
            consent: Consent::new(globals.insecure),
            globals,
            clock: self.clock.clone(),
        }
    }

    /// Whether a password may be sent to a gateway; a person may be asked.
    pub fn may_send_password(&self, url: &str) -> terminal::failure::Result<()> {
        self.consent.for_password(&self.output, url)
    }
}
