//! The step before each change of an agent: what is there is kept first. A person's own changes pass.

use std::path::PathBuf;
use std::sync::Arc;

use protocol::confine::{Confine, Way};
use protocol::error::Error;

use super::capture::{captured, tree};
use super::{Author, Batch, Item, Overwritten, Record, State, Unkept};
use crate::files::{Entry, Failure, Files, LocalPath};

/// Keeps what one call is about to change.
#[derive(Clone)]
pub(crate) enum Keeper {
    /// The call is a person's, or nothing is ever kept here.
    Nobody,
    /// The call is an agent's.
    Agent {
        /// The store, or why there is none.
        store: Result<Arc<Overwritten>, Arc<str>>,
        author: Author,
        /// The call's name and id.
        call: &'static str,
        request: String,
        /// A person has approved the call.
        is_approved: bool,
    },
}

impl Author {
    pub(crate) fn of(confine: &Confine) -> Author {
        let run = confine.run.as_ref().map_or_else(String::new, |run| run.0.clone());
        Author { pid: confine.pid.0.clone(), run }
    }
}

impl Keeper {
    pub(crate) fn of_agent(
        store: Result<Arc<Overwritten>, Arc<str>>,
        confine: &Confine,
        call: &'static str,
        request: &str,
    ) -> Keeper {
        let is_approved = confine.way == Way::Approved;
        Keeper::Agent { store, author: Author::of(confine), call, request: request.to_string(), is_approved }
    }

    /// The directories that will be made for a file, where anybody wants to know.
    pub(crate) fn missing_directories(&self, files: &Files, place: &LocalPath) -> Vec<PathBuf> {
        match self {
            Keeper::Nobody => Vec::new(),
            Keeper::Agent { .. } => files.missing_directories(place),
        }
    }

    /// Before a file is written: what is there, what will be, and the directories that were made for it.
    pub(crate) fn before_write(
        &self,
        entry: &Entry,
        after: impl FnOnce() -> State,
        made: Vec<PathBuf>,
    ) -> Result<(), Failure> {
        let path = entry.real().to_path_buf();
        self.keep(&path.clone(), |batch| {
            let directory = |path| Item { path, before: State::Absent, after: State::Dir { mode: None } };
            let mut items: Vec<Item> = made.into_iter().map(directory).collect();
            items.push(Item { path, before: captured(entry, batch)?, after: after() });
            Ok(items)
        })
    }

    /// Before something is deleted with all that is in it.
    pub(crate) fn before_delete(&self, entry: &Entry) -> Result<(), Failure> {
        self.keep(entry.real(), |batch| {
            let mut items = Vec::new();
            tree(entry, batch, &mut items).map(|()| items)
        })
    }

    fn keep(
        &self,
        path: &std::path::Path,
        items: impl FnOnce(&mut Batch<'_>) -> Result<Vec<Item>, Unkept>,
    ) -> Result<(), Failure> {
        let Keeper::Agent { store, is_approved, .. } = self else { return Ok(()) };
        let kept = match store {
            Err(why) => Err(Unkept::no_store(why)),
            Ok(store) => {
                let mut batch = store.batch();
                items(&mut batch)
                    .and_then(|items| store.add(batch, self.record(store, items, None, None)))
                    .map(drop)
            }
        };
        let Err(why) = kept else {
            die_if_told();
            return Ok(());
        };
        let what = format!("what is at '{}' could not be kept, because {why}", path.display());
        if !is_approved {
            return Err(Failure::Refused(Error::approval_required(&format!(
                "{what}: this could not be undone"
            ))));
        }
        tracing::warn!("{what}; the call was approved by a person");
        self.note_lost(what);
        Ok(())
    }

    /// Remembers that a call changes what could not be kept, for whoever wants to undo it.
    fn note_lost(&self, what: String) {
        let Keeper::Agent { store: Ok(store), .. } = self else { return };
        if let Err(error) = store.add(store.batch(), self.record(store, Vec::new(), None, Some(what))) {
            tracing::warn!(%error, "that could not be noted either");
        }
    }

    /// Remembers a command that runs outside of the sandbox, which nothing here can take back.
    pub(crate) fn note_command(&self, text: &str) {
        let Keeper::Agent { store: Ok(store), .. } = self else { return };
        let record = self.record(store, Vec::new(), Some(text.to_string()), None);
        if let Err(error) = store.add(store.batch(), record) {
            tracing::warn!(%error, "a command outside the sandbox could not be noted");
        }
    }

    fn record(
        &self,
        store: &Overwritten,
        items: Vec<Item>,
        command: Option<String>,
        lost: Option<String>,
    ) -> Record {
        let (author, call, request) = match self {
            Keeper::Nobody => Default::default(),
            Keeper::Agent { author, call, request, .. } => (author.clone(), *call, request.clone()),
        };
        let Author { pid, run } = author;
        Record { id: 0, at_ms: store.now_ms(), pid, run, call: call.into(), request, items, command, lost }
    }
}

/// Tests kill the driver right here, between keeping and changing. Only builds with debug assertions listen.
fn die_if_told() {
    if cfg!(debug_assertions) && std::env::var_os("GSV_DIE_AFTER_KEEPING").is_some() {
        std::process::abort();
    }
}
