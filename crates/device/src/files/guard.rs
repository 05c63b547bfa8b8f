//! Reference monitor for file calls of agents: the resolved path of each call that nobody approved is checked here, on
//! the machine that can resolve it.
//!
//! The gateway judges a path by its text; only the machine knows where its links lead. What the gateway let through
//! unasked and leads to a secret, out of the workspace, or to a file that runs later, is refused with the path it leads
//! to, so that the agent can name it and a person can be asked.

use std::io;
use std::path::{Path, PathBuf};

use places::Roots;

/// What a call does to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// It tells what is in it.
    Read,
    /// It makes, changes or removes it.
    Write,
}

/// What agents may do to files unasked.
#[derive(Clone, Debug)]
pub struct Guard {
    /// What they may write: the workspace, resolved.
    pub(crate) workspace: PathBuf,
    /// Against which places are told, resolved.
    pub(crate) home: PathBuf,
    /// Where the driver keeps its own, resolved: no call of an agent reads or changes that, approved or not.
    pub(crate) state: Option<PathBuf>,
    /// A person has approved the call, so that it may do everything else.
    pub(crate) is_approved: bool,
}

/// Marks an error of a path that nobody can open to an agent.
#[derive(Debug, thiserror::Error)]
#[error("it leads to what the driver keeps for itself, which is closed to agents")]
pub(super) struct Closed;

/// Marks an error of a path that a person has to be asked about.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct NeedsApproval(String);

impl Guard {
    /// Whether a call may go on to that resolved path.
    pub(super) fn check(&self, real: &Path, access: Access) -> io::Result<()> {
        // Nor a directory that it is in, which could only be removed or moved.
        let is_closed =
            |state: &PathBuf| real.starts_with(state) || (access == Access::Write && state.starts_with(real));
        if self.state.as_ref().is_some_and(is_closed) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, Closed));
        }
        if self.is_approved {
            return Ok(());
        }
        match self.objection(real, access) {
            None => Ok(()),
            Some(why) => Err(io::Error::new(io::ErrorKind::PermissionDenied, NeedsApproval(why))),
        }
    }

    fn objection(&self, real: &Path, access: Access) -> Option<String> {
        let Some(text) = real.to_str() else {
            return Some("its name is not UTF-8".to_string());
        };
        let fold_case = cfg!(target_os = "macos");
        let roots = Roots { home: self.home.to_str(), workspace: self.workspace.to_str(), fold_case };
        let place = places::classify(text, &roots);
        match (access, place) {
            (Access::Read, Some(place)) if place.kind.is_secret() => {
                Some(format!("it leads to {}", place.words))
            }
            (Access::Read, _) => None,
            (Access::Write, Some(place)) => Some(format!("it leads to {}", place.words)),
            (Access::Write, None) if real.starts_with(&self.workspace) => None,
            (Access::Write, None) => {
                Some(format!("it leads out of the workspace {}", self.workspace.display()))
            }
        }
    }
}
