//! Caller identity and its origin: who makes a call, and over what it came.
//!
//! What differs between origins is asked here by what is needed (`is_durable`, `carrier`, `describe`), never by
//! variant elsewhere, so that a new origin is one variant in this file.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use bytes::Bytes;
use protocol::calls::Calls;
use protocol::confine::{Confine, Way, Widening};
use protocol::identity::{ProcessIdentity, Role};
use protocol::ids::{Gid, Pid, RunId, Uid};
use serde_json::{Value, json};

use crate::capabilities::Capabilities;

/// Who makes a call.
#[derive(Clone)]
pub struct Caller {
    /// The account.
    pub identity: Arc<ProcessIdentity>,
    /// What kind of connection it came over; processes call as users.
    pub role: Role,
    /// What it may do.
    pub capabilities: Arc<Capabilities>,
    /// The generation of grants and accounts that all this was read from.
    pub as_of: u64,
    /// Whether it may answer approvals, and do what comes to the same: it logged in with a password, or with a token
    /// that says so. What is called in the course of a call keeps it; what acts on somebody's behalf has it never.
    pub may_approve: bool,
    /// What it came over.
    pub origin: Origin,
    /// How a call of a program runs on a device; nothing said means confined.
    pub permit: Option<Arc<Permit>>,
    /// What further calls go through that are made in the course of this one, where they do not simply go in as the
    /// caller's: those of an agent's block go to its process, which decides on each and journals it.
    pub door: Option<Calls>,
}

/// How calls of a program run on a device. It says nothing about what a person does.
#[derive(Clone, Debug, Default)]
pub struct Permit {
    /// Proved only to read, confined, or approved by a person.
    pub way: Way,
    /// The run that makes the calls.
    pub run: Option<RunId>,
    /// Hosts that confined commands may reach.
    pub hosts: Vec<String>,
    /// The rehearsal whose changes a person approved, in place of running the command.
    pub rehearsal: Option<String>,
    /// What a person allowed this one call beyond that, inside the sandbox.
    pub widening: Widening,
}

impl Permit {
    /// How a command that it lets start is remembered: one that a person was asked about stays asked about, even where
    /// it runs inside the sandbox.
    pub fn session_way(&self) -> Way {
        if self.widening.is_empty() { self.way } else { Way::Approved }
    }
}

impl Caller {
    /// What a driver that announced confinement is told of a call; nothing of a person's.
    pub fn confine(&self) -> Option<Confine> {
        let pid = self.origin.pid()?.clone();
        let Permit { way, run, mut hosts, rehearsal, widening } =
            self.permit.as_deref().cloned().unwrap_or_default();
        hosts.extend(widening.hosts);
        Some(Confine { pid, run, way, write: widening.write, read: widening.read, hosts, rehearsal })
    }

    /// Whose call it is.
    pub fn uid(&self) -> Uid {
        self.identity.uid
    }

    /// True for root.
    pub fn is_root(&self) -> bool {
        self.uid().is_root()
    }

    /// Whether it is in a group.
    pub fn is_in(&self, gid: Gid) -> bool {
        self.identity.gids.contains(&gid)
    }
}

/// What a call came over.
#[derive(Clone)]
pub enum Origin {
    /// A socket.
    Connection(Arc<dyn Peer>),
    /// A process; its calls to devices outlive the gateway.
    Process(Pid),
    /// The gateway itself on somebody's behalf: a live file, or a command of the native shell.
    Inside,
}

impl Origin {
    /// The process behind it.
    pub fn pid(&self) -> Option<&Pid> {
        match self {
            Origin::Process(pid) => Some(pid),
            Origin::Connection(_) | Origin::Inside => None,
        }
    }

    /// The socket behind it.
    pub fn connection(&self) -> Option<&Arc<dyn Peer>> {
        match self {
            Origin::Connection(peer) => Some(peer),
            Origin::Process(_) | Origin::Inside => None,
        }
    }

    /// The socket that can carry the bytes of a file transfer; without one there is none.
    pub fn carrier(&self) -> Option<&Arc<dyn Peer>> {
        self.connection()
    }

    /// Whether its calls to devices are written down before they leave, so that they outlive the gateway.
    pub fn is_durable(&self) -> bool {
        match self {
            Origin::Process(_) => true,
            Origin::Connection(_) | Origin::Inside => false,
        }
    }

    /// Whether it is a program that acts for its user and not the user: it may make the calls that are for programs,
    /// and none of those that are for people.
    pub fn is_program(&self) -> bool {
        match self {
            Origin::Process(_) => true,
            Origin::Connection(_) | Origin::Inside => false,
        }
    }

    /// Whether it may go on with what a process began, or a person where there is none: a program only with its own. The
    /// command that a person left running does what is typed into it, with that person's rights.
    pub fn may_continue(&self, begun_by: Option<&Pid>) -> bool {
        !self.is_program() || (begun_by.is_some() && self.pid() == begun_by)
    }

    /// Whether it comes back for the rest of a command that goes on after its call was answered.
    pub fn follows_sessions(&self) -> bool {
        match self {
            Origin::Connection(peer) => peer.follows_sessions(),
            Origin::Process(_) | Origin::Inside => true,
        }
    }

    /// Whether nobody is there any more to take the answer.
    pub fn is_gone(&self) -> bool {
        self.connection().is_some_and(|peer| peer.is_gone())
    }

    /// What the calls come over that are made in the course of one that came over this: a process stays itself.
    pub fn inward(&self) -> Origin {
        match self {
            Origin::Process(pid) => Origin::Process(pid.clone()),
            Origin::Connection(_) | Origin::Inside => Origin::Inside,
        }
    }

    /// Where a message came from, as it is kept with it.
    pub fn describe(&self, uid: Uid) -> Option<Value> {
        match self {
            Origin::Connection(peer) => Some(json!({
                "kind": "client", "connectionId": peer.id(), "clientId": peer.client_id(),
            })),
            Origin::Process(pid) => Some(json!({ "kind": "process", "sourcePid": pid, "uid": uid })),
            Origin::Inside => None,
        }
    }
}

/// A socket as areas see it.
pub trait Peer: Send + Sync {
    /// Counts up; older sockets have smaller numbers.
    fn number(&self) -> u64;

    /// The id clients see.
    fn id(&self) -> String;

    /// The client's own id, once it has logged in.
    fn client_id(&self) -> Option<&str>;

    /// Whether its client comes back for commands that go on after their call was answered.
    fn follows_sessions(&self) -> bool;

    /// Whether nothing sent to it arrives any more.
    fn is_gone(&self) -> bool;

    /// Whether it is to be closed.
    fn is_closing(&self) -> bool;

    /// Back-pressure: whether so much waits for it that whoever sends should wait.
    fn is_behind(&self) -> bool;

    /// Whether so much waits for it that nobody should add to it unasked.
    fn is_crowded(&self) -> bool;

    /// Sends a piece of a file transfer; `waiting` counts the bytes of that transfer until they have left.
    fn send_bytes(&self, message: Bytes, waiting: Arc<AtomicUsize>);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_goes_on_with_its_own_and_a_person_with_everything() {
        let (own, other) = (Pid::from("p1"), Pid::from("p2"));
        let process = Origin::Process(own.clone());
        assert!(process.may_continue(Some(&own)));
        assert!(!process.may_continue(Some(&other)) && !process.may_continue(None));
        for begun_by in [None, Some(&own), Some(&other)] {
            assert!(Origin::Inside.may_continue(begun_by));
        }
    }
}
