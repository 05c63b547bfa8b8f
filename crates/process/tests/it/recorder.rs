//! Test double of the kernel: records signals, answers calls, and can block or fail at any moment.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gateway::{Caller, Capabilities, Core, Later, OutgoingSignal, Recalled, SignalBody};
use protocol::calls::Calling;
use protocol::confine::{Confine, Confinement, Way};
use protocol::error::Error;
use protocol::identity::ProcessIdentity;
use protocol::identity::Role;
use protocol::ids::{Gid, Pid, Uid};
use serde_json::{Value, json};
use tokio::sync::{Notify, watch};

use crate::scene::Fixture;

const PATIENCE: Duration = Duration::from_secs(30);

/// A signal as it went out.
#[derive(Clone, Debug)]
pub struct Told {
    pub name: &'static str,
    pub body: Value,
}

/// What a tool does in a scene.
pub type Tool = dyn Fn(&str, &Value) -> Result<Value, Error> + std::marker::Send + Sync;

/// Where the kernel would be.
pub struct Recorder {
    fixture: Arc<Fixture>,
    tool: Box<Tool>,
    told: Mutex<Vec<Told>>,
    /// How commands were to run.
    confined: Mutex<Vec<Confine>>,
    changed: watch::Sender<usize>,
    /// Calls of these names do not end before they are let through.
    gates: Mutex<HashMap<String, Arc<Notify>>>,
    /// Signals and calls so far; the gateway stands still at one of them.
    moments: AtomicUsize,
    freeze_at: AtomicUsize,
    pub frozen: Notify,
    /// What the next call that is asked about came to.
    recalled: Mutex<Option<Recalled>>,
    /// The next signal of this name is a fault.
    panic_at: Mutex<Option<&'static str>>,
}

impl Recorder {
    pub fn new(fixture: Arc<Fixture>, tool: Box<Tool>) -> Recorder {
        Recorder {
            fixture,
            tool,
            told: Mutex::default(),
            confined: Mutex::default(),
            changed: watch::Sender::new(0),
            gates: Mutex::default(),
            moments: AtomicUsize::new(0),
            freeze_at: AtomicUsize::new(usize::MAX),
            frozen: Notify::new(),
            recalled: Mutex::default(),
            panic_at: Mutex::default(),
        }
    }

    pub fn told(&self) -> Vec<Told> {
        self.told.lock().unwrap().clone()
    }

    /// How the commands so far were to run on their devices.
    pub fn confined(&self) -> Vec<Confine> {
        self.confined.lock().unwrap().clone()
    }

    /// The bodies of the signals of that name.
    pub fn all(&self, name: &str) -> Vec<Value> {
        self.told().into_iter().filter(|told| told.name == name).map(|told| told.body).collect()
    }

    /// Waits for a signal.
    pub async fn until(&self, name: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let mut changed = self.changed.subscribe();
        let wait = async {
            loop {
                if let Some(found) = self.all(name).into_iter().find(&is_it) {
                    return found;
                }
                changed.changed().await.unwrap();
            }
        };
        match tokio::time::timeout(PATIENCE, wait).await {
            Ok(found) => found,
            Err(_) => panic!("no such {name} among {:#?}", self.told()),
        }
    }

    /// Holds calls of that name up.
    pub fn hold(&self, name: &str) -> Arc<Notify> {
        self.gates.lock().unwrap().entry(name.to_string()).or_default().clone()
    }

    /// Stands still for good at that signal or call, as a killed program would.
    pub fn freeze_at(&self, moment: usize) {
        self.freeze_at.store(moment, Ordering::SeqCst);
    }

    /// The next signal of that name is a fault of the program.
    pub fn panic_at(&self, name: &'static str) {
        *self.panic_at.lock().unwrap() = Some(name);
    }

    /// The next call that is asked about came to this.
    pub fn recall_as(&self, recalled: Recalled) {
        *self.recalled.lock().unwrap() = Some(recalled);
    }

    fn moment(&self) {
        if self.moments.fetch_add(1, Ordering::SeqCst) + 1 >= self.freeze_at.load(Ordering::SeqCst) {
            self.frozen.notify_one();
            while !self.fixture.over.load(Ordering::SeqCst) {
                std::thread::park_timeout(Duration::from_millis(20));
            }
            // Nothing of a killed program goes on; the test is over, and its files may go.
            std::panic::resume_unwind(Box::new("over"));
        }
    }

    /// What the signals were, in a few words each.
    pub fn names(&self) -> Vec<&'static str> {
        let told = self.told().into_iter();
        told.map(|told| told.name).filter(|name| *name != "proc.run.stream").collect()
    }

    fn answer(&self, name: &str, args: &str) -> Result<String, Error> {
        let args: Value = serde_json::from_str(args).unwrap();
        match name {
            "ai.tools" => Ok(offered().to_string()),
            "sys.config.get" => Ok(json!({ "entries": [] }).to_string()),
            _ => (self.tool)(name, &args).map(|answer| answer.to_string()),
        }
    }
}

fn offered() -> Value {
    let tool = |name: &str, needs: &[&str]| {
        let properties: serde_json::Map<String, Value> =
            needs.iter().map(|need| (need.to_string(), json!({ "type": "string" }))).collect();
        json!({ "name": name, "description": name, "inputSchema": { "type": "object", "properties": properties } })
    };
    json!({
        "tools": [
            tool("Read", &["path", "target"]),
            tool("Write", &["path", "content", "target"]),
            tool("Delete", &["path", "target"]),
            tool("Shell", &["input", "target"]),
        ],
        "devices": [{ "id": "mac", "implements": ["fs.*", "shell.exec"] }],
    })
}

/// What is behind the handle of the gateway.
pub struct Behind(pub Arc<Recorder>);

impl Core for Behind {
    fn emit(&self, signal: OutgoingSignal) {
        let body = match signal.body {
            SignalBody::Text(text) => serde_json::from_str(&text).unwrap(),
            SignalBody::Stream(event) => json!({
                "runId": event.run_id, "seq": event.seq, "event": event.event.to_compact_value(),
            }),
        };
        if signal.name != "proc.run.stream" {
            self.0.moment();
        }
        let faulty = self.0.panic_at.lock().unwrap().take_if(|name| *name == signal.name).is_some();
        assert!(!faulty, "a fault of the test");
        self.0.told.lock().unwrap().push(Told { name: signal.name, body });
        self.0.changed.send_modify(|count| *count += 1);
    }

    fn call(&self, caller: Caller, request_id: &str, name: &str, args: &str) -> Calling {
        if name.starts_with("fs.") || name.starts_with("shell.") {
            self.0.moment();
        }
        let mut answer = self.0.answer(name, args);
        if let Some(confine) = caller.confine().filter(|_| name == "shell.exec") {
            if confine.way != Way::Approved && self.0.fixture.wants_person.load(Ordering::SeqCst) {
                answer = Err(Error::approval_required("no checkpoint could be taken: too large"));
            }
            self.0.confined.lock().unwrap().push(confine);
        }
        if name == "sys.config.get" {
            // Live files look at the config; nothing comes of it.
            return Box::pin(async move { answer });
        }
        let mut effects = self.0.fixture.effects.lock().unwrap();
        let effect = effects.entry(request_id.to_string()).or_insert((0, answer.clone()));
        effect.0 += 1;
        let gate = self.0.gates.lock().unwrap().get(name).cloned();
        Box::pin(async move {
            if let Some(gate) = gate {
                gate.notified().await;
            }
            answer
        })
    }

    /// Every device has a whole sandbox, and all of it is the workspace.
    fn confinement(&self, _: &ProcessIdentity, _: &str) -> Option<Confinement> {
        if self.0.fixture.is_bare.load(Ordering::SeqCst) {
            return None;
        }
        let words = ["fs", "secrets", "network", "processes"];
        Some(Confinement {
            confine: Some(words.map(str::to_string).to_vec()),
            workspace: Some("/".to_string()),
            home: Some("/home/me".to_string()),
            shell: Some("/bin/bash".to_string()),
            agents: None,
        })
    }

    fn recall(&self, _: Uid, _: &Pid, request_id: &str, _: Duration) -> Later<Recalled> {
        if let Some(recalled) = self.0.recalled.lock().unwrap().take() {
            return Box::pin(async move { recalled });
        }
        let known = self.0.fixture.effects.lock().unwrap().get(request_id).cloned();
        Box::pin(async move { known.map_or(Recalled::NeverSent, |(_, answer)| Recalled::Answered(answer)) })
    }

    fn capabilities(&self, _: Role, _: &[Gid]) -> Arc<Capabilities> {
        Arc::new(Capabilities::new(["*".to_string()]))
    }
}
