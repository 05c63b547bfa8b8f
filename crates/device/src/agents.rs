//! Admission of agents' calls: which of them this driver carries out, and how.
//!
//! The gateway says of each call of a process how it may run (`confine`, see `protocol::confine`). What this driver was
//! started with (`--agents`) can only make that stricter. A person's own calls carry no such word and are not touched.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::clock::Clock;
use protocol::args::Members;
use protocol::confine::{self, AgentMode, Confine, Confinement, Way};
use protocol::error::Error;
use protocol::shell::rehearsal;

use sandbox::Sandbox;

use crate::confined::Confiner;
use crate::files::{Files, Guard};
use crate::overwritten::{Keeper, Overwritten};

/// What agents may do on this machine.
pub struct Agents {
    mode: AgentMode,
    confinement: Confinement,
    guard: Arc<Guard>,
    /// Where there is a sandbox that is strong enough.
    confiner: Option<Arc<Confiner>>,
    /// What keeps files before agents change them, or why that can not be; nothing where that is never done.
    overwritten: Option<Result<Arc<Overwritten>, Arc<str>>>,
}

/// The sandbox of a machine, and what it was seen to enforce.
pub struct Enforced {
    /// What makes confined commands.
    pub sandbox: Sandbox,
    /// Such as `fs`, `network`.
    pub words: Vec<String>,
    /// Where checkpoints and temporary files of runs are kept, out of reach of confined commands.
    pub state: PathBuf,
    /// For what is kept for a while.
    pub clock: Clock,
}

/// Without these a command of an agent can do what nobody could undo.
const NEEDED: &[&str] = &["fs", "secrets", "network", "processes"];

/// What a path to a file with rules of what git ignores has in it.
const IGNORE_FILES: &[&str] = &[".gitignore", "info/exclude"];

impl Agents {
    /// By the mode the driver was started with, and what the machine's sandbox was seen to enforce.
    pub fn new(mode: AgentMode, files: &Files, shell: PathBuf, enforced: Option<Enforced>) -> Agents {
        let resolved = |path: PathBuf| path.canonicalize().unwrap_or(path);
        let workspace = resolved(files.workspace().to_path_buf());
        let home = resolved(files.home().map_or_else(|| PathBuf::from("/"), PathBuf::from));
        let text = |path: &PathBuf| path.to_str().map(str::to_string);
        let confinement = Confinement {
            confine: Some(enforced.as_ref().map(|enforced| enforced.words.clone()).unwrap_or_default()),
            workspace: text(&workspace),
            home: text(&home),
            shell: text(&shell),
            agents: Some(mode),
        };
        let is_whole =
            |enforced: &Enforced| NEEDED.iter().all(|word| enforced.words.iter().any(|known| known == word));
        let confiner = enforced.filter(is_whole).map(|Enforced { sandbox, state, clock, words }| {
            let confiner = Confiner::new(sandbox, workspace.clone(), home.clone(), state, clock.clone());
            let has_overlays = words.iter().any(|word| word == "rehearse");
            Arc::new(if has_overlays { confiner.with_caches(clock) } else { confiner })
        });
        let guard = Arc::new(Guard { workspace, home, state: None, is_approved: false });
        Agents { mode, confinement, guard, confiner, overwritten: None }
    }

    /// The same with a store for what agents overwrite and delete, below the driver's own directory. Where it can not be
    /// used, agents' changes are asked about.
    pub fn keeping(mut self, state: Option<&Path>, workspace: &Path, clock: Clock) -> Agents {
        let opened = match state {
            None => Err("this user has no directory for what the driver keeps".to_string()),
            Some(state) => Overwritten::open(state, workspace, clock).map_err(|error| error.to_string()),
        };
        if let Err(why) = &opened {
            tracing::warn!("what agents change can not be kept, so they have to ask: {why}");
        }
        let state = state.map(|state| state.canonicalize().unwrap_or_else(|_| state.to_path_buf()));
        self.guard = Arc::new(Guard { state, ..(*self.guard).clone() });
        self.overwritten = Some(opened.map(Arc::new).map_err(Arc::from));
        self
    }

    /// What keeps what a call of an agent is about to change.
    pub(crate) fn keeper(&self, confine: Option<&Confine>, call: &'static str, request: &str) -> Keeper {
        match (&self.overwritten, confine) {
            (Some(store), Some(confine)) => Keeper::of_agent(store.clone(), confine, call, request),
            _ => Keeper::Nobody,
        }
    }

    /// What was kept of files that agents changed, where it can be used.
    pub(crate) fn overwritten(&self) -> Option<&Arc<Overwritten>> {
        self.overwritten.as_ref()?.as_ref().ok()
    }

    /// What makes confined commands, where the machine can.
    pub(crate) fn confiner(&self) -> Option<&Arc<Confiner>> {
        self.confiner.as_ref()
    }

    /// Whether commands can be rehearsed here.
    pub(crate) fn rehearses(&self) -> bool {
        self.confinement.enforces(rehearsal::WORD)
    }

    /// What the gateway is told.
    pub(crate) fn confinement(&self) -> &Confinement {
        &self.confinement
    }

    /// What checks the files of a call of an agent.
    pub(crate) fn guard(&self, confine: &Confine) -> Arc<Guard> {
        match confine.way {
            Way::Approved => Arc::new(Guard { is_approved: true, ..(*self.guard).clone() }),
            _ => self.guard.clone(),
        }
    }

    /// Takes the checkpoint of a run before a call of it that writes what git is to ignore: a checkpoint taken under the
    /// new rules could hold less.
    pub(crate) async fn keep_before(&self, call: &str, args: &str, confine: &Confine) -> Result<(), Error> {
        let writes = matches!(call, "fs.write" | "fs.edit" | "fs.push") && confine.way != Way::Approved;
        let Some(confiner) = self.confiner.as_ref().filter(|_| writes) else { return Ok(()) };
        let members = Members::parse(args);
        let path = members.as_ref().and_then(|members| members.get("path")).unwrap_or_default();
        match IGNORE_FILES.iter().any(|name| path.contains(name)) {
            true => confiner.keep_before(confine).await,
            false => Ok(()),
        }
    }

    /// How a call of an agent is to run; `None` for a person's.
    pub(crate) fn admit(&self, args: &str) -> Result<Option<Confine>, Error> {
        // Most calls are no agent's, and are not read twice for it.
        if !args.contains(confine::MEMBER) {
            return Ok(None);
        }
        let members = Members::parse(args);
        let Some(told) = members.as_ref().and_then(|members| members.get(confine::MEMBER)) else {
            return Ok(None);
        };
        let confine: Confine = serde_json::from_str(told).map_err(|error| {
            Error::bad_argument("a call of an agent", confine::MEMBER, &error.to_string())
        })?;
        let may = match self.mode {
            AgentMode::Confined => true,
            AgentMode::Proved => matches!(confine.way, Way::Proved | Way::Approved),
            AgentMode::Ask => confine.way == Way::Approved,
            AgentMode::Off => false,
        };
        match may {
            true => Ok(Some(confine)),
            false if self.mode == AgentMode::Off => {
                Err(Error::forbidden("This device does not serve agents: its driver runs with --agents off"))
            }
            false => Err(Error::approval_required("the owner of this machine wants to be asked (--agents)")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agents(mode: AgentMode) -> Agents {
        let files = Files::whole(std::path::Path::new("/")).expect("a root directory");
        Agents::new(mode, &files, "/bin/sh".into(), None)
    }

    #[test]
    fn a_driver_can_only_be_stricter_than_the_gateway() {
        let ways = ["proved", "confined", "approved"];
        let admitted = |mode| {
            let agents = agents(mode);
            ways.map(|way| {
                let args = format!(r#"{{"path":"x","confine":{{"pid":"p","way":"{way}"}}}}"#);
                agents.admit(&args).is_ok_and(|confine| confine.is_some())
            })
        };
        assert_eq!(admitted(AgentMode::Confined), [true, true, true]);
        assert_eq!(admitted(AgentMode::Proved), [true, false, true]);
        assert_eq!(admitted(AgentMode::Ask), [false, false, true]);
        assert_eq!(admitted(AgentMode::Off), [false, false, false]);
    }

    #[test]
    fn a_persons_call_is_let_be_and_a_broken_word_is_refused() {
        let agents = agents(AgentMode::Off);
        assert!(matches!(agents.admit(r#"{"path":"confine"}"#), Ok(None)));
        for broken in [r#"{"confine":1}"#, r#"{"confine":{"pid":"p","way":"free"}}"#, r#"{"confine":{}}"#] {
            assert!(agents.admit(broken).is_err(), "{broken}");
        }
    }
}
