//! Capabilities of the target of a call: what its driver announced of its sandbox, its workspace and its shell.

use protocol::confine::{AgentMode, Confinement};

/// What confined commands must be kept from for a sandbox to be whole.
const WHOLE: &[&str] = &["fs", "secrets", "network", "processes"];

/// What a target offers to agents, as its driver said when it connected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// What its sandbox does: `fs`, `secrets`, `network`, `processes`, `limits`, `rehearse`, or `fs-write` alone. `None` for
    /// a driver that does not know of sandboxes: it is sent nothing about them, and sets no environment for git.
    pub confine: Option<Vec<String>>,
    /// The directory in which agents work, resolved.
    pub workspace: Option<String>,
    /// The home of the user the driver runs as, resolved.
    pub home: Option<String>,
    /// The shell that reads commands, by name or path.
    pub shell: Option<String>,
    /// What the owner of the machine lets agents do on it.
    pub agents: Option<AgentMode>,
}

impl From<Confinement> for Target {
    fn from(told: Confinement) -> Target {
        let Confinement { confine, workspace, home, shell, agents } = told;
        Target { confine, workspace, home, shell, agents }
    }
}

impl Target {
    /// The gateway itself: its shell is bash, and it is a sandbox of its own.
    pub fn native() -> Target {
        Target { shell: Some("bash".to_string()), ..Target::default() }
    }

    /// Whether commands can be confined so that they reach nothing but the workspace.
    pub fn is_confining(&self) -> bool {
        let words = self.confine.as_deref().unwrap_or_default();
        WHOLE.iter().all(|word| words.iter().any(|known| known == word))
    }

    /// What agents may do there. Where nobody said, confined commands run, if they can be confined.
    pub fn mode(&self) -> AgentMode {
        self.agents.unwrap_or(AgentMode::Confined)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_sandbox_confines() {
        let with = |words: &[&str]| Target {
            confine: Some(words.iter().map(|word| word.to_string()).collect()),
            ..Target::default()
        };
        assert!(with(&["fs", "secrets", "network", "processes"]).is_confining());
        assert!(with(&["processes", "limits", "network", "secrets", "fs", "rehearse"]).is_confining());
        for part in [&[][..], &["fs-write"], &["fs", "network", "processes"], &["fs", "secrets", "network"]] {
            assert!(!with(part).is_confining(), "{part:?}");
        }
        assert!(!Target::default().is_confining());
    }

    #[test]
    fn where_nobody_said_confined_commands_run() {
        assert_eq!(Target::default().mode(), AgentMode::Confined);
    }
}
