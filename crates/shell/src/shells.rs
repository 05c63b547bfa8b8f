//! The commands that run in this gateway: started, polled, ended.

use base::clock::Clock;
use protocol::calls::Calls;
use protocol::error::Error;
use protocol::ids::Uid;
use protocol::shell::{Exec, ExecResult};
use vfs::View;

/// What a command is run with, besides its text.
pub struct Order {
    /// The tree as its user sees it; the user's cwd is where the command starts.
    pub view: View,
    /// Its right to make calls.
    pub calls: Calls,
    /// What root and the user have set.
    pub settings: Settings,
}

/// What root and the user have set, read when the command starts.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `config/server/name`
    pub hostname: String,
    /// The gateway's version.
    pub version: String,
    /// The calling process, if it is one.
    pub pid: Option<String>,
    /// `config/shell/wait_ms`
    pub wait_ms: u64,
    /// `config/shell/timeout_ms`
    pub timeout_ms: u64,
    /// `config/shell/max_output_bytes`
    pub max_output_bytes: usize,
    /// `config/shell/network_enabled`
    pub network: bool,
    /// `config/shell/network_private`
    pub network_private: bool,
    /// `config/server/timezone`
    pub timezone: String,
}

/// The commands that run in this gateway.
pub struct Shells {}

impl Shells {
    /// None yet.
    pub fn new(_clock: Clock) -> Shells {
        Shells {}
    }

    /// Starts a command and waits for it as long as the settings say.
    pub async fn start(&self, _order: Order, _args: &Exec) -> Result<ExecResult, Error> {
        Err(Error::not_implemented("shell.exec"))
    }

    /// Goes on with one: polls it, writes its stdin, ends it. `None` when there is no such session of that user.
    pub async fn go_on(&self, _uid: Uid, _id: &str, _args: &Exec) -> Option<Result<ExecResult, Error>> {
        None
    }
}
