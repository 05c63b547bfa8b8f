//! Error translation: what a caller is told when the store fails. The details are for the log.

use protocol::error::Error as Told;

use crate::Error;

impl From<Error> for Told {
    fn from(error: Error) -> Told {
        match error {
            Error::Conflict(what) => Told::conflict(format!("Already exists: {what}")),
            Error::LeaseLost(_) => {
                tracing::warn!(%error, "a write came too late");
                Told::conflict("Another gateway has taken this over: try again")
            }
            Error::Failed(why) => {
                tracing::error!(why, "the store failed");
                let full = why.contains("full");
                Told::store_failed(if full { "the disk is full" } else { "see the gateway's log" })
            }
        }
    }
}
