//! Permission matrix of the virtual files: every user tries every operation on every one, and the answers are compared
//! with one rule for each part of the tree.

use std::sync::Arc;

use base::random;
use protocol::shell::Exec;
use protocol::sys::ConfigSet;
use protocol::sys::account::{GroupCreate, UserCreate, UserUpdate};
use protocol::sys::device::SetAccess;
use serde_json::json;
use vfs::view::Writing;
use vfs::{Code, Fault, VPath, View};

use super::{Caller, Connection, Kernel, Origin, Pid, ProcessRow, Role, kernel, next, with_driver};

/// Who tries: ann owns what there is to own, cat shares ann's team, bob is anybody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Owner,
    Group,
    Other,
    Root,
}

const PEOPLE: [Who; 4] = [Who::Owner, Who::Group, Who::Other, Who::Root];

impl Who {
    fn name(self) -> &'static str {
        match self {
            Who::Owner => "ann",
            Who::Group => "cat",
            Who::Other => "bob",
            Who::Root => "root",
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Read,
    Write,
    Create,
    Rename,
    Delete,
    List,
    Chmod,
}

const OPS: [Op; 7] = [Op::Read, Op::Write, Op::Create, Op::Rename, Op::Delete, Op::List, Op::Chmod];

/// To whom something is granted.
#[derive(Clone, Copy, Debug)]
enum To {
    Nobody,
    Root,
    OwnerAndRoot,
    TeamAndRoot,
    Everybody,
}

impl To {
    fn has(self, who: Who) -> bool {
        match self {
            To::Nobody => false,
            To::Root => who == Who::Root,
            To::OwnerAndRoot => matches!(who, Who::Owner | Who::Root),
            To::TeamAndRoot => who != Who::Other,
            To::Everybody => true,
        }
    }
}

/// The rule of one part of the tree. Nothing live can be renamed, and its mode is the kernel's: that is no field.
struct Rule {
    directory: &'static str,
    file: &'static str,
    /// A file that is not there.
    other: &'static str,
    /// Who may list the directory, and what the rest is told.
    list: (To, Code),
    /// Who may read the file, and what the rest is told.
    read: (To, Code),
    /// Who may write it, and what those are told who may read but not write.
    write: (To, Code),
    /// Who may make another file beside it, and what the rest is told.
    create: (To, Code),
    /// Who may delete it. Where nobody may, that is all anybody is told.
    delete: To,
    /// Whether those who may not read are told so by chmod and delete too, and not that nobody may.
    is_hidden: bool,
    /// What those who may not read are told when they write or make something, if not the same as the others.
    strangers: Option<Code>,
    /// What root is told of a file beside it that stands for nothing.
    root_misses: Option<Code>,
}

const DENIED: Code = Code::Denied;
const NEVER: Code = Code::NotPermitted;
const MISSING: Code = Code::NotFound;

/// Everybody reads, nobody changes anything.
const SHOWN: Rule = Rule {
    directory: "",
    file: "",
    other: "",
    list: (To::Everybody, NEVER),
    read: (To::Everybody, NEVER),
    write: (To::Nobody, NEVER),
    create: (To::Nobody, NEVER),
    delete: To::Nobody,
    is_hidden: false,
    strangers: None,
    root_misses: None,
};

/// One row for each live part. `{pid}`, `{route}`, `{session}` and `{team}` are filled in.
const RULES: &[Rule] = &[
    Rule {
        directory: "/sys/config/server",
        file: "/sys/config/server/name",
        other: "/sys/config/server/other",
        write: (To::Root, NEVER),
        create: (To::Root, NEVER),
        delete: To::Root,
        root_misses: Some(Code::Invalid),
        ..SHOWN
    },
    Rule {
        directory: "/sys/config/ai",
        file: "/sys/config/ai/api_key",
        other: "/sys/config/ai/speech/api_key",
        read: (To::Root, DENIED),
        write: (To::Root, NEVER),
        create: (To::Root, NEVER),
        delete: To::Root,
        is_hidden: true,
        ..SHOWN
    },
    Rule {
        directory: "/sys/users/1000/ai",
        file: "/sys/users/1000/ai/model",
        other: "/sys/users/1000/ai/base_url",
        list: (To::OwnerAndRoot, DENIED),
        read: (To::OwnerAndRoot, DENIED),
        write: (To::OwnerAndRoot, DENIED),
        create: (To::OwnerAndRoot, DENIED),
        delete: To::OwnerAndRoot,
        is_hidden: true,
        ..SHOWN
    },
    Rule {
        directory: "/sys/devices/desk",
        file: "/sys/devices/desk/description",
        other: "/sys/devices/desk/other",
        list: (To::TeamAndRoot, MISSING),
        read: (To::TeamAndRoot, MISSING),
        write: (To::OwnerAndRoot, NEVER),
        is_hidden: true,
        strangers: Some(MISSING),
        ..SHOWN
    },
    Rule {
        directory: "/sys/devices/desk",
        file: "/sys/devices/desk/status",
        other: "/sys/devices/desk/more",
        list: (To::TeamAndRoot, MISSING),
        read: (To::TeamAndRoot, MISSING),
        is_hidden: true,
        strangers: Some(MISSING),
        ..SHOWN
    },
    Rule {
        directory: "/sys/capabilities",
        file: "/sys/capabilities/{team}",
        other: "/sys/capabilities/4000",
        read: (To::TeamAndRoot, MISSING),
        write: (To::Root, DENIED),
        create: (To::Nobody, DENIED),
        is_hidden: true,
        root_misses: Some(MISSING),
        ..SHOWN
    },
    Rule {
        directory: "/sys/routes",
        file: "/sys/routes/{route}",
        other: "/sys/routes/other",
        read: (To::OwnerAndRoot, MISSING),
        is_hidden: true,
        ..SHOWN
    },
    Rule {
        directory: "/sys/sessions",
        file: "/sys/sessions/{session}",
        other: "/sys/sessions/other",
        read: (To::OwnerAndRoot, MISSING),
        is_hidden: true,
        ..SHOWN
    },
    Rule { directory: "/proc", file: "/proc/version", other: "/proc/other", ..SHOWN },
    Rule {
        directory: "/proc/{pid}",
        file: "/proc/{pid}/status",
        other: "/proc/{pid}/other",
        list: (To::OwnerAndRoot, MISSING),
        read: (To::OwnerAndRoot, MISSING),
        is_hidden: true,
        ..SHOWN
    },
    Rule {
        directory: "/proc/{pid}/context.d",
        file: "/proc/{pid}/context.d/brief.md",
        other: "/proc/{pid}/context.d/other",
        list: (To::OwnerAndRoot, MISSING),
        read: (To::OwnerAndRoot, MISSING),
        is_hidden: true,
        ..SHOWN
    },
    Rule {
        directory: "/dev",
        file: "/dev/null",
        other: "/dev/other",
        write: (To::Everybody, NEVER),
        ..SHOWN
    },
    Rule { directory: "/dev", file: "/dev/zero", other: "/dev/other", ..SHOWN },
    Rule {
        directory: "/usr/share/man/man2",
        file: "/usr/share/man/man2/fs.read",
        other: "/usr/share/man/man2/other",
        ..SHOWN
    },
    Rule {
        directory: "/usr/share/man",
        file: "/usr/share/man/man7/shell",
        other: "/usr/share/other",
        ..SHOWN
    },
    Rule { file: "/etc/passwd", write: (To::Root, DENIED), ..ACCOUNTS },
    Rule { file: "/etc/group", write: (To::Root, DENIED), ..ACCOUNTS },
    Rule { file: "/etc/shadow", read: (To::Root, DENIED), write: (To::Root, DENIED), ..ACCOUNTS },
];

/// The account files are live among plain files, where root may make others.
const ACCOUNTS: Rule = Rule { directory: "/etc", other: "/etc/other", create: (To::Root, DENIED), ..SHOWN };

impl Rule {
    fn expected(&self, who: Who, op: Op) -> Option<Code> {
        let granted = |(to, code): (To, Code)| if to.has(who) { None } else { Some(code) };
        let reads = self.read.0.has(who);
        let changed = |grant| if reads { granted(grant) } else { self.strangers.or(granted(grant)) };
        let hidden = Some(self.read.1).filter(|_| self.is_hidden && !reads);
        match op {
            Op::Read => granted(self.read),
            Op::List => granted(self.list),
            Op::Write => changed(self.write),
            Op::Create if who == Who::Root => self.root_misses.or(granted(self.create)),
            Op::Create => changed(self.create),
            // Whoever moves a live file is told before anything is looked at that it cannot leave its place.
            Op::Rename => Some(Code::CrossDevice),
            Op::Chmod => hidden.or(Some(NEVER)),
            Op::Delete => match self.delete {
                To::Nobody => Some(NEVER),
                to => hidden.or(granted((to, NEVER))),
            },
        }
    }
}

/// A kernel with something of ann's behind every row.
struct World {
    kernel: Arc<Kernel>,
    /// What `{...}` in the rows stands for.
    names: Vec<(&'static str, String)>,
    driver: Arc<Connection>,
    _data: tempfile::TempDir,
}

impl World {
    async fn new() -> World {
        let data = tempfile::tempdir().unwrap();
        let kernel = kernel(&data).await;
        let driver = with_driver(&kernel).await;
        let root = kernel.gateway.calls(&caller(&kernel, Who::Root).await);
        let team = root.call(&GroupCreate { name: "team".to_string() }).await.unwrap().group.gid;
        for who in [Who::Other, Who::Group] {
            let (username, password) = (who.name().to_string(), random::tagged(""));
            root.call(&UserCreate { username, password, groups: None, adopt_files: None }).await.unwrap();
        }
        for who in [Who::Owner, Who::Group] {
            let groups = Some(vec!["users".to_string(), "team".to_string()]);
            let username = who.name().to_string();
            root.call(&UserUpdate { username, password: None, locked: None, groups, keep_sessions: None })
                .await
                .unwrap();
        }
        root.call(&SetAccess { device_id: "desk".to_string(), gid: team, allow: true }).await.unwrap();
        let mut world = World { kernel, names: Vec::new(), driver, _data: data };
        world.names = vec![
            ("{team}", team.to_string()),
            ("{pid}", world.process().await),
            ("{session}", world.session().await),
            ("{route}", world.route().await),
        ];
        world
    }

    async fn process(&self) -> String {
        let ann = self.kernel.store.accounts().by_name("ann").await.unwrap().unwrap();
        let who = ann.identity();
        let context_files = r#"[{"name":"brief.md","text":"The brief."}]"#.to_string();
        let row = ProcessRow::idle(Pid::from("p1"), who.uid, "task", &who.home, 1);
        let row = ProcessRow { context_files, ..row };
        assert!(self.kernel.store.processes().create(&row).await.unwrap());
        row.pid.0
    }

    /// A command of ann's that goes on.
    async fn session(&self) -> String {
        let calls = self.kernel.gateway.calls(&caller(&self.kernel, Who::Owner).await);
        let input = "sleep 250".to_string();
        let started = calls.call(&Exec { input, background: Some(true), ..Exec::default() }).await.unwrap();
        started.session_id.unwrap()
    }

    /// A call of ann's that the device does not answer.
    async fn route(&self) -> String {
        let calls = self.kernel.gateway.calls(&caller(&self.kernel, Who::Owner).await);
        let args = json!({ "target": "desk", "path": "/x" }).to_string();
        tokio::spawn(async move { calls.raw("fs.read", &args).await });
        next(&self.driver).await["id"].as_str().unwrap().to_string()
    }

    fn path(&self, text: &str) -> VPath {
        let filled =
            self.names.iter().fold(text.to_string(), |text, (name, value)| text.replace(name, value));
        VPath::absolute(&filled).unwrap()
    }

    async fn view(&self, who: Who) -> View {
        self.kernel.gateway.view(&caller(&self.kernel, who).await)
    }

    /// Puts back what an earlier attempt may have changed.
    async fn restore(&self) {
        let root = self.kernel.gateway.calls(&caller(&self.kernel, Who::Root).await);
        for key in ["config/server/name", "config/ai/api_key", "users/1000/ai/model"] {
            root.call(&ConfigSet { key: key.to_string(), value: "value".into() }).await.unwrap();
        }
        let view = self.view(Who::Root).await;
        for rule in RULES {
            if let Err(fault) = view.remove(&self.path(rule.other), false).await {
                assert!(matches!(fault.code, NEVER | MISSING), "{fault}");
            }
        }
    }

    async fn attempt(&self, who: Who, rule: &Rule, op: Op) -> Option<Code> {
        let (file, other) = (self.path(rule.file), self.path(rule.other));
        let view = self.view(who).await;
        // What is written is what stands there, so that everything else stays as it is.
        let text = self.view(Who::Root).await.read(&file).await.unwrap();
        match op {
            Op::Read => code(view.read(&file).await),
            Op::List => code(view.list(&self.path(rule.directory)).await),
            Op::Write => code(view.write(&file, text, Writing::default()).await),
            Op::Create => code(view.write(&other, b"new\n".to_vec(), Writing::default()).await),
            Op::Rename => code(view.rename(&file, &other).await),
            Op::Delete => code(view.remove(&file, false).await),
            Op::Chmod => code(view.chmod(&file, 0o600).await),
        }
    }
}

async fn caller(kernel: &Kernel, who: Who) -> Caller {
    let account = kernel.store.accounts().by_name(who.name()).await.unwrap().unwrap();
    Caller {
        identity: Arc::new(account.identity()),
        role: Role::User,
        capabilities: kernel.grants.of(&account.gids),
        as_of: kernel.gateway.standing_generation(),
        may_approve: true,
        origin: Origin::Inside,
        permit: None,
        door: None,
    }
}

fn code<T>(result: Result<T, Fault>) -> Option<Code> {
    result.err().map(|fault| fault.code)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_live_part_keeps_its_rule() {
    let world = World::new().await;
    let mut tried = 0;
    let mut wrong = Vec::new();
    for rule in RULES {
        for (who, op) in PEOPLE.into_iter().flat_map(|who| OPS.map(|op| (who, op))) {
            world.restore().await;
            let (told, expected) = (world.attempt(who, rule, op).await, rule.expected(who, op));
            if told != expected {
                wrong.push(format!("{who:?} {op:?} {}: {told:?}, not {expected:?}", rule.file));
            }
            tried += 1;
        }
    }
    assert_eq!(tried, RULES.len() * PEOPLE.len() * OPS.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_live_part_has_a_rule() {
    let world = World::new().await;
    let root = world.view(Who::Root).await;
    let mut parts = vec!["/dev".to_string(), "/proc".to_string(), "/usr/share/man".to_string()];
    for named in root.list(&world.path("/sys")).await.unwrap() {
        parts.push(format!("/sys/{}", named.name));
    }
    parts.extend(["passwd", "group", "shadow"].map(|name| format!("/etc/{name}")));
    for part in parts {
        assert!(RULES.iter().any(|rule| rule.file.starts_with(&part)), "{part} has no row");
    }
}
