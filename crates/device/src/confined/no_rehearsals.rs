//! Rehearsals where there are no overlays: every one is refused.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::clock::Clock;
use protocol::error::Error;
use protocol::shell::ExecResult;
use tokio::process::Command;

use super::Confiner;

/// None.
pub(super) struct Rehearsals;

impl Rehearsals {
    pub(super) fn new(_: PathBuf, _: PathBuf, _: PathBuf, _: Clock) -> Rehearsals {
        Rehearsals
    }
}

/// How much of the machine a rehearsal may change a copy of.
#[derive(Clone, Copy)]
pub(crate) enum Reach {
    Machine,
    Workspace,
}

/// A command that is ready to be rehearsed: there is none.
pub(crate) struct Stage {
    pub(crate) command: Option<Command>,
}

impl Stage {
    pub(crate) async fn too_much(&self) -> Option<String> {
        None
    }

    pub(crate) fn narrow(&mut self, _: &str) {}

    pub(crate) fn end(&mut self, _: String) {}

    pub(crate) fn started(&mut self) -> Result<(), String> {
        Err("this system has no overlays".to_string())
    }
}

impl Confiner {
    pub(crate) async fn stage(
        self: &Arc<Self>,
        _: &str,
        _: Vec<OsString>,
        _: &Path,
        _: Reach,
    ) -> Result<Stage, Error> {
        Err(none())
    }

    pub(crate) async fn conclude(self: &Arc<Self>, _: Stage, _: ExecResult) -> Result<ExecResult, Error> {
        Err(none())
    }

    pub(crate) async fn put_in_place(
        self: &Arc<Self>,
        _: &str,
        _: &str,
        _: &Path,
    ) -> Result<ExecResult, Error> {
        Err(none())
    }

    pub(crate) fn discard(&self, _: &str) -> Result<(), Error> {
        Err(none())
    }
}

fn none() -> Error {
    Error::bad("This device can not rehearse commands: its system has no overlays")
}
