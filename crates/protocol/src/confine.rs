//! Confinement of agents on devices, as it is told on the wire: what a driver can enforce, and how one call of an agent
//! is to run there.
//!
//! A driver announces [`Confinement`] in `sys.connect`. A call that comes from a process carries a member `confine`
//! ([`Confine`]) to a driver that announced one, and to no other. A person's own calls carry none.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{Pid, RunId};

/// The member of a routed call's arguments that says how it is to run.
pub const MEMBER: &str = "confine";

/// What a driver says about agents on its machine. A driver that does not say has no sandbox.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DeviceConfinement")]
pub struct Confinement {
    /// What the sandbox of the machine enforces, found by trying: `fs`, `secrets`, `network`, `processes`, `limits`,
    /// `rehearse`, or `fs-write` alone. Empty where there is no sandbox; absent for drivers that know of none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confine: Option<Vec<String>>,
    /// Where relative paths and commands start, and what confined commands may write: a resolved, absolute path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The home directory of the user the driver runs as: a resolved, absolute path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<String>,
    /// The shell that reads commands, as an absolute path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// What agents may do there unasked, by the word of whoever started the driver; `confined` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<AgentMode>,
}

impl Confinement {
    /// Whether calls of agents carry to this driver how they are to run.
    pub fn is_announced(&self) -> bool {
        self.confine.is_some()
    }

    /// Whether the sandbox enforces that, such as `network`.
    pub fn enforces(&self, word: &str) -> bool {
        self.confine.iter().flatten().any(|known| known == word)
    }
}

/// What agents may do unasked on a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "DeviceAgents")]
pub enum AgentMode {
    /// What was proved only to read; everything else is asked.
    Proved,
    /// That, and what runs confined.
    #[default]
    Confined,
    /// Nothing: every call is asked.
    Ask,
    /// Nothing, and nobody is asked: agents cannot use the device.
    Off,
}

/// How a call of an agent is allowed to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "CallWay")]
pub enum Way {
    /// It was proved only to read.
    Proved,
    /// Inside the sandbox, whatever it does. What forgets to say is this.
    #[default]
    Confined,
    /// A person approved it, so that it runs outside of the sandbox.
    Approved,
}

/// What is opened in the sandbox for a call, and nothing else: a question shows it, and an approval is for just that.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CallWidening")]
pub struct Widening {
    /// Paths that can be written, absolute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<String>,
    /// Secret places that can be read, absolute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    /// Hosts that can be reached, as in `config/agents/network`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
}

impl Widening {
    /// Whether nothing is opened.
    pub fn is_empty(&self) -> bool {
        self.write.is_empty() && self.read.is_empty() && self.hosts.is_empty()
    }

    /// Whether hosts are all that is opened.
    pub fn is_of_hosts(&self) -> bool {
        self.write.is_empty() && self.read.is_empty() && !self.hosts.is_empty()
    }

    /// What the command may do then, for a person: "read /a, write /b and reach example.org".
    pub fn words(&self) -> String {
        let read = self.read.iter().map(|path| format!("read {}", quoted(path)));
        let write = self.write.iter().map(|path| format!("write {}", quoted(path)));
        let hosts = self.hosts.iter().map(|host| format!("reach {host}"));
        let mut all: Vec<String> = read.chain(write).chain(hosts).collect();
        let last = all.pop().unwrap_or_default();
        if all.is_empty() { last } else { format!("{} and {last}", all.join(", ")) }
    }
}

/// A path among other words: nothing in it can be taken for one of them.
fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_./~=:@%+-".contains(c);
    match path.chars().all(is_plain) {
        true => path.to_string(),
        false => format!("'{}'", path.replace('\\', "\\\\").replace('\'', "\\'")),
    }
}

/// How one call of an agent is to run on a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CallConfine")]
pub struct Confine {
    /// The process that makes the call.
    pub pid: Pid,
    /// The run it belongs to: calls of one run share a network and a directory for temporary files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// How.
    #[serde(default)]
    pub way: Way,
    /// Further directories that a person allowed to be written, absolute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<String>,
    /// Secret places that a person allowed to be read, absolute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    /// Hosts that may be reached, as in `config/agents/network`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// The rehearsal of this very call whose changes a person approved: they are put in place, and nothing runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rehearsal: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_forgets_to_say_is_confined() {
        let confine: Confine = serde_json::from_str(r#"{"pid":"p"}"#).expect("JSON");
        assert_eq!(confine.way, Way::Confined);
        assert!(serde_json::from_str::<Confine>(r#"{"pid":"p","way":"free"}"#).is_err());
        assert!(!Confinement::default().is_announced());
    }

    #[test]
    fn a_widening_is_said_in_words() {
        let list = |all: &[&str]| all.iter().map(|one| one.to_string()).collect::<Vec<_>>();
        let mut widening = Widening { hosts: list(&["a.example"]), ..Widening::default() };
        assert!(widening.is_of_hosts() && !widening.is_empty() && Widening::default().is_empty());
        assert_eq!(widening.words(), "reach a.example");
        (widening.write, widening.read) = (list(&["/b", "/c"]), list(&["/a"]));
        assert_eq!(widening.words(), "read /a, write /b, write /c and reach a.example");
        assert!(!widening.is_of_hosts());
        let odd = Widening { write: list(&["/x and reach b.example"]), ..Widening::default() };
        assert_eq!(odd.words(), "write '/x and reach b.example'");
    }
}
