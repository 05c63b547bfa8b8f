//! Bounded set of what has changed and is not committed yet, and by whom: a few microseconds of every write in a
//! versioned directory, and nothing of any other.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base::clock::Clock;
use base::limits::versions as limits;
use base::sync::lock;
use gateway::Caller;
use protocol::identity::ProcessIdentity;
use tokio::sync::{Notify, oneshot};
use vfs::observe::{Agent, Change, Observer, Settled};

use super::roots::Root;

/// Who made a change.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum By {
    /// Nobody that the gateway knows of: an editor on its machine, or whoever it was before it was killed.
    Unseen,
    /// A user, or an agent of theirs.
    User { name: String, agent: Option<(String, Option<String>)> },
}

impl By {
    /// A user with the agent that works for them.
    pub(crate) fn user(name: &str, agent: Option<&Agent>) -> By {
        let agent = agent.map(|agent| (agent.pid.0.clone(), agent.run.as_ref().map(|run| run.0.clone())));
        By::User { name: name.to_string(), agent }
    }

    /// Whoever makes a call.
    pub(crate) fn of(caller: &Caller) -> By {
        let run = caller.permit.as_ref().and_then(|permit| permit.run.as_ref());
        let agent = caller.origin.pid().map(|pid| (pid.0.clone(), run.map(|run| run.0.clone())));
        By::User { name: caller.identity.username.clone(), agent }
    }

    fn is(&self, change: &Change<'_>) -> bool {
        let By::User { name, agent } = self else { return false };
        let is_agent = match (agent, change.agent) {
            (None, None) => true,
            (Some((pid, run)), Some(other)) => {
                *pid == other.pid.0 && run.as_deref() == other.run.as_ref().map(|run| run.0.as_str())
            }
            _ => false,
        };
        is_agent && *name == change.who.username
    }
}

/// What has changed below one root.
#[derive(Debug)]
pub(crate) struct Pending {
    first: Instant,
    last: Instant,
    /// Not to be tried before this.
    not_before: Option<Instant>,
    /// Whether somebody waits for it.
    is_urgent: bool,
    /// There was more than is kept: all of the root is to be looked at.
    pub(crate) is_overfull: bool,
    /// Paths within the root, each with who changed it last.
    pub(crate) paths: HashMap<String, Arc<By>>,
    waiting: Vec<oneshot::Sender<()>>,
}

impl Pending {
    fn new(now: Instant) -> Pending {
        Pending {
            first: now,
            last: now,
            not_before: None,
            is_urgent: false,
            is_overfull: false,
            paths: HashMap::new(),
            waiting: Vec::new(),
        }
    }

    /// Who changed a path: it was noted itself, or a directory that it is in.
    pub(crate) fn by(&self, path: &str) -> By {
        let mut at = path;
        loop {
            if let Some(by) = self.paths.get(at) {
                return By::clone(by);
            }
            match at.rsplit_once('/') {
                Some((parent, _)) => at = parent,
                None => return By::Unseen,
            }
        }
    }

    /// When it is to be committed.
    fn due(&self) -> Instant {
        let due = (self.last + limits::QUIET).min(self.first + limits::COMMIT_WITHIN);
        let due = if self.is_urgent { self.first } else { due };
        self.not_before.map_or(due, |not_before| due.max(not_before))
    }

    /// Tells those who wait for it that it was seen to.
    pub(crate) fn settled(self) {
        for waiting in self.waiting {
            // Whoever waited may have left.
            waiting.send(()).ok();
        }
    }
}

/// What has changed and is not committed yet.
pub(crate) struct Notes {
    clock: Clock,
    pending: Mutex<HashMap<Root, Pending>>,
    /// Told when there is something new.
    pub(crate) wake: Notify,
}

impl Notes {
    pub(crate) fn new(clock: Clock) -> Notes {
        Notes { clock, pending: Mutex::default(), wake: Notify::new() }
    }

    /// What has changed below a root so far; from now on it is whoever took it that must see to it.
    pub(crate) fn take(&self, root: &Root) -> Option<Pending> {
        lock(&self.pending).remove(root)
    }

    /// Gives back what could not be committed now. What was noted meanwhile is newer.
    pub(crate) fn give_back(&self, root: Root, mut older: Pending) {
        older.not_before = Some(self.clock.instant() + limits::RETRY_AFTER);
        older.is_urgent = false;
        // Nobody is kept waiting for what does not work now.
        for waiting in older.waiting.drain(..) {
            waiting.send(()).ok();
        }
        let mut pending = lock(&self.pending);
        match pending.get_mut(&root) {
            None => drop(pending.insert(root, older)),
            Some(newer) => {
                newer.first = older.first;
                newer.not_before = older.not_before;
                newer.is_overfull |= older.is_overfull;
                for (path, by) in older.paths {
                    newer.paths.entry(path).or_insert(by);
                }
            }
        }
    }

    /// Nothing noted: for a root that is to be looked at again.
    pub(crate) fn empty(&self) -> Pending {
        Pending { is_overfull: true, ..Pending::new(self.clock.instant()) }
    }

    /// All roots below which something has changed.
    pub(crate) fn roots(&self) -> Vec<Root> {
        lock(&self.pending).keys().cloned().collect()
    }

    /// The roots whose changes are to be committed now, and how long until there are further ones.
    pub(crate) fn due(&self) -> (Vec<Root>, Duration) {
        let now = self.clock.instant();
        let pending = lock(&self.pending);
        let due = pending.iter().filter(|(_, pending)| pending.due() <= now);
        let roots = due.map(|(root, _)| root.clone()).collect();
        let next = pending.values().map(Pending::due).filter(|due| *due > now).min();
        (roots, next.map_or(limits::SCAN_EVERY, |next| (next - now).min(limits::SCAN_EVERY)))
    }

    fn note(&self, root: Root, inner: &str, change: &Change<'_>) {
        let now = self.clock.instant();
        let mut all = lock(&self.pending);
        if all.len() >= limits::ROOTS_NOTED_MAX && !all.contains_key(&root) {
            // The next round over all of them finds it.
            return;
        }
        let pending = all.entry(root).or_insert_with(|| {
            self.wake.notify_one();
            Pending::new(now)
        });
        pending.last = now;
        if let Some(by) = pending.paths.get_mut(inner) {
            if !by.is(change) {
                *by = Arc::new(By::user(&change.who.username, change.agent));
            }
        } else if pending.paths.len() >= limits::PATHS_NOTED_MAX {
            pending.is_overfull = true;
        } else {
            let same = pending.paths.values().next().filter(|by| by.is(change)).cloned();
            let by = same.unwrap_or_else(|| Arc::new(By::user(&change.who.username, change.agent)));
            pending.paths.insert(inner.to_string(), by);
        }
    }
}

impl Observer for Notes {
    fn changed(&self, change: Change<'_>) {
        let directory = change.directory;
        let may_be = directory.starts_with("/home/")
            || directory.starts_with("/workspaces/")
            || directory == "/root"
            || directory.starts_with("/root/");
        if !may_be {
            return;
        }
        let path = format!("{directory}/{}", change.name);
        if let Some((root, inner)) = Root::of(&path) {
            self.note(root, inner, &change);
        }
    }

    fn settle(&self, who: &ProcessIdentity, but: Option<&Agent>) -> Settled {
        let mut waiting = Vec::new();
        let own = but.map(|agent| By::user(&who.username, Some(agent)));
        for (root, pending) in lock(&self.pending).iter_mut() {
            let is_theirs = |by: &Arc<By>| matches!(&**by, By::User { name, .. } if *name == who.username);
            let is_own = |by: &Arc<By>| own.as_ref() == Some(&**by);
            let concerns = root.path() == who.home || pending.paths.values().any(is_theirs);
            if concerns && !pending.paths.values().all(is_own) {
                let (told, seen_to) = oneshot::channel();
                pending.is_urgent = true;
                pending.waiting.push(told);
                waiting.push(seen_to);
            }
        }
        if waiting.is_empty() {
            return Box::pin(async {});
        }
        self.wake.notify_one();
        let clock = self.clock.clone();
        Box::pin(async move {
            let all = async {
                for seen_to in waiting {
                    // It was dropped: nobody sees to it any more.
                    seen_to.await.ok();
                }
            };
            if clock.timeout(limits::SETTLE_WAIT, all).await.is_err() {
                tracing::info!("changed files were not committed in time; they will be");
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use protocol::ids::{Gid, Pid, RunId, Uid};

    use super::*;

    fn sam() -> ProcessIdentity {
        ProcessIdentity {
            uid: Uid(1000),
            gid: Gid(1000),
            gids: vec![],
            username: "sam".into(),
            home: "/home/sam".into(),
            cwd: "/home/sam".into(),
            workspace_id: None,
        }
    }

    #[test]
    fn what_is_versioned_is_noted_with_who_changed_it_last() {
        let (clock, who) = (Clock::manual(0), sam());
        let notes = Notes::new(clock);
        let agent = Agent { pid: Pid::from("p1"), run: Some(RunId::from("r1")) };
        let change = |directory, name, agent| notes.changed(Change { directory, name, who: &who, agent });
        change("/home/sam", "notes.md", None);
        change("/tmp", "context.d", None);
        assert_eq!(notes.roots(), []);
        change("/home/sam/knowledge", "a", None);
        change("/home/sam/knowledge", "a", Some(&agent));
        change("/home/sam", "skills.d", None);
        let root = Root::Home("sam".into());
        let pending = notes.take(&root).expect("noted");
        let agent = By::User { name: "sam".into(), agent: Some(("p1".into(), Some("r1".into()))) };
        assert_eq!(pending.by("knowledge/a"), agent);
        assert_eq!(pending.by("skills.d/deep/x"), By::User { name: "sam".into(), agent: None });
        assert_eq!(pending.by("context.d/x"), By::Unseen);
        assert_eq!(notes.roots(), []);
    }

    #[test]
    fn a_burst_is_due_when_it_is_quiet_or_has_lasted() {
        let (clock, who) = (Clock::manual(0), sam());
        let notes = Notes::new(clock.clone());
        let change =
            |name| notes.changed(Change { directory: "/home/sam/knowledge", name, who: &who, agent: None });
        change("a");
        assert_eq!(notes.due().0, []);
        let mut passed = Duration::ZERO;
        while passed < limits::COMMIT_WITHIN {
            clock.advance(limits::QUIET.as_millis() as i64 / 2);
            passed += limits::QUIET / 2;
            change("b");
        }
        assert_eq!(notes.due().0.len(), 1, "it never became quiet, but it lasted");
        let pending = notes.take(&Root::Home("sam".into())).expect("noted");
        notes.give_back(Root::Home("sam".into()), pending);
        assert_eq!(notes.due().0, [], "what failed is tried again later");
        clock.advance(limits::RETRY_AFTER.as_millis() as i64);
        assert_eq!(notes.due().0.len(), 1);
    }

    #[test]
    fn more_than_is_kept_means_all_of_it() {
        let (clock, who) = (Clock::manual(0), sam());
        let notes = Notes::new(clock);
        for number in 0..=limits::PATHS_NOTED_MAX {
            let name = format!("f{number}");
            notes.changed(Change { directory: "/home/sam/knowledge", name: &name, who: &who, agent: None });
        }
        let pending = notes.take(&Root::Home("sam".into())).expect("noted");
        assert!(pending.is_overfull && pending.paths.len() == limits::PATHS_NOTED_MAX);
    }
}
