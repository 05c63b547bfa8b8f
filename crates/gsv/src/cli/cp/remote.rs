//! File tree of a target, read with the ordinary file calls.

use base::limits;
use client::Session;
use protocol::error::Reason;
use protocol::fs::{Delete, Listing, Read, ReadResult, Write};
use protocol::outcome::Outcome;
use protocol::spec::Syscall;
use terminal::failure::{Failure, Result};

use super::location::Remote;

/// The file that makes an empty directory, for a moment.
const PLACEHOLDER: &str = ".gsv-directory";

/// A directory's names; `None` when the path is no directory.
pub async fn list(session: &Session, at: &Remote) -> Result<Option<Listing>> {
    // One line is enough to learn that something is a file.
    let read = Read { path: at.path.clone(), offset: None, limit: Some(1) };
    match call(session, at, &read).await {
        // A device may offer transfers without offering to look around.
        Err(failure) if failure.reason == Some(Reason::not_implemented_by_device) => Ok(None),
        Err(failure) => Err(failure),
        Ok(outcome) => Ok(directory(outcome)),
    }
}

fn directory(outcome: Outcome<ReadResult>) -> Option<Listing> {
    match outcome {
        Outcome::Done(ReadResult::Directory(listing)) => Some(listing),
        Outcome::Done(ReadResult::File(_)) | Outcome::Failed(_) => None,
    }
}

/// Makes a directory: a file written into it brings it about, and goes again.
pub async fn create_directory(session: &Session, at: &Remote) -> Result<()> {
    let path = at.join(PLACEHOLDER).path;
    let written = call(session, at, &Write { path: path.clone(), content: String::new() }).await?;
    written.into_result().map_err(|error| Failure::new(error).while_doing(at))?;
    let deleted = call(session, at, &Delete { path }).await?;
    deleted.into_result().map_err(|error| Failure::new(error).while_doing(at))?;
    Ok(())
}

/// A name from a listing, if it names something in that very directory and nothing else.
pub fn safe_name(name: &str) -> Result<&str> {
    let whole = !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0']);
    // Elsewhere a backslash is an ordinary character, on Windows it leads into another directory.
    if whole && !(cfg!(windows) && name.contains(['\\', ':'])) {
        return Ok(name);
    }
    Err(Failure::new(format!("the target lists a name that is not one: {name:?}")))
}

async fn call<S: Syscall>(session: &Session, at: &Remote, args: &S) -> Result<S::Result> {
    Ok(session.connection.call_on(Some(&at.target), args, limits::client::CALL_TIMEOUT).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_cannot_lead_elsewhere() {
        assert!(["a", "..a", "a b", "ü"].iter().all(|name| safe_name(name).is_ok()));
        assert!(["", ".", "..", "a/b", "../x", "/etc", "a\0b"].iter().all(|name| safe_name(name).is_err()));
    }
}
