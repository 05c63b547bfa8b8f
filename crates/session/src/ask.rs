//! Control requests to a running command: stdin, and signals that end it.

use protocol::error::Error;
use protocol::shell::Exec;

use crate::command::{Session, StdinRefused};

impl Session {
    /// Leaves the stdin that a call brings, and closes it if the call says so.
    pub fn feed(&self, args: &Exec) -> Result<(), Error> {
        if !args.input.is_empty() {
            self.write(&args.input).map_err(|refused| match refused {
                StdinRefused::Closed => {
                    Error::conflict(format!("stdin is closed for shell session: {}", self.id))
                }
                StdinRefused::Full => Error::too_busy(&format!(
                    "the command does not read its stdin, shell session: {}",
                    self.id
                )),
            })?;
        }
        if args.close_stdin == Some(true) {
            self.close_stdin();
        }
        Ok(())
    }
}

/// The number of a signal that callers may send; the same on every Unix.
pub fn signal_number(name: &str) -> Result<i32, Error> {
    let upper = name.to_ascii_uppercase();
    match upper.strip_prefix("SIG").unwrap_or(&upper) {
        "INT" => Ok(2),
        "TERM" => Ok(15),
        "KILL" => Ok(9),
        _ => Err(Error::bad_argument("shell.exec", "signal", "must be INT, TERM or KILL")),
    }
}
