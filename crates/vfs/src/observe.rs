//! Change observer: the one place that every change of a file on disk passes, after it has happened.
//!
//! Whoever observes is told on the thread that made the change, so it must not wait for anything. Changes that are made
//! on the host behind the tree's back are not seen here; `versioned` finds them.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, RwLock};

use base::sync::{read, write};
use protocol::identity::ProcessIdentity;
use protocol::ids::{Pid, RunId};

/// The agent that works for somebody.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Agent {
    /// Its process.
    pub pid: Pid,
    /// The run that it is in.
    pub run: Option<RunId>,
}

/// Something was written, moved, removed or made executable.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The directory it is in: absolute and free of links.
    pub directory: &'a str,
    /// Its name there. It may name a directory: then everything below it changed.
    pub name: &'a str,
    /// Whose rights it was done with.
    pub who: &'a ProcessIdentity,
    /// The agent that did it; a person where there is none.
    pub agent: Option<&'a Agent>,
}

/// Whoever is told of changes.
pub trait Observer: Send + Sync {
    /// Something has changed. Must not wait.
    fn changed(&self, change: Change<'_>);

    /// Sees to what somebody has changed, so that what comes later is apart from it; but for changes of this agent.
    fn settle(&self, _who: &ProcessIdentity, _but: Option<&Agent>) -> Settled {
        Box::pin(async {})
    }
}

/// Done once what was changed before is seen to, or after a while.
pub type Settled = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Who observes, if anybody does.
#[derive(Default)]
pub(crate) struct Observed(RwLock<Option<Arc<dyn Observer>>>);

impl Observed {
    pub(crate) fn set(&self, observer: Arc<dyn Observer>) {
        *write(&self.0) = Some(observer);
    }

    pub(crate) fn get(&self) -> Option<Arc<dyn Observer>> {
        read(&self.0).clone()
    }

    pub(crate) fn tell(&self, change: Change<'_>) {
        if let Some(observer) = read(&self.0).as_ref() {
            observer.changed(change);
        }
    }
}

impl fmt::Debug for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observed")
    }
}
