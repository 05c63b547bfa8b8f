//! Consent before a password leaves unencrypted: to another machine over plain `ws://` it can be read on the way.

use std::sync::atomic::Ordering;

use terminal::failure::{Failure, Result};

use crate::context::Context;
use crate::prompt;

/// What to do instead.
const HINT: &str = "use wss:// or an SSH tunnel (`ssh -L`); --insecure sends it all the same";

/// Whether a password may be sent to a gateway: over TLS and on this machine always, elsewhere if a person agrees or
/// `--insecure` was given. A person is asked once.
pub fn may_send_password(context: &Context, url: &str) -> Result<()> {
    if context.globals.insecure || !client::is_exposed(url) || context.may_be_read.load(Ordering::Relaxed) {
        return Ok(());
    }
    let refused = || {
        Failure::new(format!("{url} is not encrypted: a password sent there can be read on the way"))
            .with_hint(HINT)
    };
    if !prompt::is_possible(&context.output) {
        return Err(refused());
    }
    context.output.note(&format!(
        "warning: {url} is another machine and the connection is not encrypted: whoever is on the way can read your password"
    ));
    if !prompt::confirm("Send the password all the same?", false)? {
        return Err(refused());
    }
    context.may_be_read.store(true, Ordering::Relaxed);
    Ok(())
}
