//! Consent before a password leaves unencrypted: to another machine over plain `ws://` it can be read on the way.

use std::sync::atomic::{AtomicBool, Ordering};

use terminal::failure::{Failure, Result};
use terminal::output::Output;

use crate::prompt;

/// What to do instead.
const HINT: &str = "use wss:// or an SSH tunnel (`ssh -L`); --insecure sends it all the same";

/// Whether a password may be sent where it can be read: `--insecure`, or a person has agreed.
pub struct Consent(AtomicBool);

impl Consent {
    /// Given beforehand, or not yet.
    pub fn new(is_given: bool) -> Consent {
        Consent(AtomicBool::new(is_given))
    }

    /// Whether a password may be sent to a gateway: over TLS and on this machine always, elsewhere with consent. A person
    /// is asked once.
    pub fn for_password(&self, output: &Output, url: &str) -> Result<()> {
        if !client::is_exposed(url) || self.0.load(Ordering::Relaxed) {
            return Ok(());
        }
        let refused = || {
            Failure::new(format!("{url} is not encrypted: a password sent there can be read on the way"))
                .with_hint(HINT)
        };
        if !prompt::is_possible(output) {
            return Err(refused());
        }
        output.note(&format!(
            "warning: {url} is another machine and the connection is not encrypted: whoever is on the way can read your password"
        ));
        if !prompt::confirm("Send the password all the same?", false)? {
            return Err(refused());
        }
        self.0.store(true, Ordering::Relaxed);
        Ok(())
    }
}
