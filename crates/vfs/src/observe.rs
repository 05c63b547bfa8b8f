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

use crate::disk::Disk;
use crate::disk::walk::Entry;
use crate::tree::Tree;

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

impl fmt::Debug for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observed")
    }
}

impl Tree {
    /// From now on this is told of every change, and whoever was before no more.
    pub fn observe(&self, observer: Arc<dyn Observer>) {
        *write(&self.disk.observed.0) = Some(observer);
    }

    /// What somebody has changed so far is set apart from what they, or agents for them, change from now on. An agent
    /// that goes on with its own need not wait for that.
    pub fn settle(&self, who: &ProcessIdentity, but: Option<&Agent>) -> Settled {
        match read(&self.disk.observed.0).as_ref() {
            Some(observer) => observer.settle(who, but),
            None => Box::pin(async {}),
        }
    }
}

impl Disk {
    /// An entry has just been changed by somebody.
    pub(crate) fn changed(&self, entry: &Entry, who: &ProcessIdentity, agent: Option<&Agent>) {
        if let Some(observer) = read(&self.observed.0).as_ref() {
            observer.changed(Change { directory: entry.dir.path.as_str(), name: &entry.name, who, agent });
        }
    }
}
