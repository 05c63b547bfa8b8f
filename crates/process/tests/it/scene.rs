//! Test fixture: one user, one process, a scripted model, and a recorder in the place of the kernel.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use base::clock::Clock;
use model::fake::{Received, Reply, Server, Turn, chat_reply};
use model::{Client, PrivateHosts};
use process::Host;
use protocol::error::Error;
use protocol::identity::ProcessIdentity;
use protocol::ids::{Gid, Pid, RunId};
use protocol::outcome::Outcome;
use protocol::proc::Send;
use protocol::proc::history::MessageRole;
use serde_json::{Value, json};
use store::Store;
use store::accounts::NewAccount;
use store::messages::{MessageRow, Page};
use store::processes::{ProcessRow, ProcessState};

use crate::recorder::{Behind, Recorder};

/// How often a call took effect, and what it answered.
type Effect = (usize, Result<String, Error>);

/// What outlives a gateway: its store, its files, its devices and its model.
pub struct Fixture {
    pub store: Store,
    pub clock: Clock,
    pub identity: ProcessIdentity,
    pub pid: Pid,
    pub server: Server,
    pub tree: Arc<vfs::Tree>,
    /// Whether devices have no sandbox.
    pub is_bare: AtomicBool,
    /// Whether devices refuse the commands that no person approved.
    pub wants_person: AtomicBool,
    /// By request id.
    pub effects: Mutex<HashMap<String, Effect>>,
    /// True when nobody looks any more.
    pub over: AtomicBool,
    _data: tempfile::TempDir,
}

/// One life of a gateway.
pub struct Scene {
    pub fixture: Arc<Fixture>,
    pub host: Host,
    pub recorder: Arc<Recorder>,
}

impl Fixture {
    pub async fn new(
        answers: impl Fn(&Received) -> Turn + std::marker::Send + Sync + 'static,
    ) -> Arc<Fixture> {
        Fixture::replying(move |request| chat_reply(&answers(request))).await
    }

    pub async fn replying(
        replies: impl Fn(&Received) -> Reply + std::marker::Send + Sync + 'static,
    ) -> Arc<Fixture> {
        let data = tempfile::tempdir().unwrap();
        let options = store::Options { data: data.path().to_path_buf(), url: None };
        let store = Store::open(&options).await.unwrap();
        store.provision(1).await.unwrap();
        let clock = Clock::system();
        let tree = vfs::Tree::open(&data.path().join("files"), store.clone(), clock.clone()).unwrap();
        let new = NewAccount {
            username: "ann".to_string(),
            hash: "!".to_string(),
            groups: vec![Gid::USERS],
            now_ms: 1,
        };
        let account = store.accounts().create(new).await.unwrap();
        tree.add_home("ann", account.uid, account.gid);
        tree.lay_out_home(&account).unwrap();
        let identity = account.identity();
        let server = Server::start(replies).await.unwrap();
        let uid = identity.uid;
        for (key, value) in
            [("provider", "openai-chat"), ("base_url", &server.base_url()[..]), ("model", "test-model")]
        {
            store.config().set(&format!("users/{uid}/ai/{key}"), value).await.unwrap();
        }
        let pid = Pid(format!("init:{uid}"));
        let fixture = Fixture {
            store,
            clock,
            identity,
            pid: pid.clone(),
            server,
            tree: Arc::new(tree),
            is_bare: AtomicBool::new(false),
            wants_person: AtomicBool::new(false),
            effects: Mutex::default(),
            over: AtomicBool::new(false),
            _data: data,
        };
        fixture.spawn(&pid, "init").await;
        Arc::new(fixture)
    }

    pub async fn spawn(&self, pid: &Pid, profile: &str) {
        let Fixture { identity, .. } = self;
        let row = ProcessRow::idle(pid.clone(), identity.uid, profile, &identity.home, 1);
        assert!(self.store.processes().create(&row).await.unwrap());
    }

    pub async fn set(&self, key: &str, value: &str) {
        self.store.config().set(key, value).await.unwrap();
    }

    pub async fn messages(&self, pid: &Pid) -> Vec<MessageRow> {
        self.store.messages().page(pid, &"default".into(), Page::Offset(0), 1_000).await.unwrap()
    }

    /// Role and text of each message of the default conversation of the first process.
    pub async fn said(&self) -> Vec<(MessageRole, String)> {
        let rows = self.messages(&self.pid).await.into_iter();
        rows.map(|row| (row.role, row.content)).collect()
    }

    pub async fn state(&self) -> ProcessState {
        self.store.processes().by_id(&self.pid).await.unwrap().unwrap().state
    }
}

/// Plays turns one after the other.
pub fn turns(turns: Vec<Turn>) -> impl Fn(&Received) -> Turn + std::marker::Send + Sync + 'static {
    let turns = Mutex::new(turns.into_iter());
    move |_| turns.lock().unwrap().next().unwrap_or_else(|| Turn::text("The script has ended"))
}

/// The messages a model was sent, without the system prompt.
pub fn asked(request: &Received) -> Vec<Value> {
    let messages = request.json()["messages"].as_array().cloned().unwrap_or_default();
    messages.into_iter().filter(|message| message["role"] != "system").collect()
}

impl Scene {
    pub async fn new(script: Vec<Turn>) -> Scene {
        Scene::on(Fixture::new(turns(script)).await, |_, _| Ok(json!({ "ok": true })))
    }

    pub async fn with_tools(
        script: Vec<Turn>,
        tool: impl Fn(&str, &Value) -> Result<Value, Error> + std::marker::Send + Sync + 'static,
    ) -> Scene {
        Scene::on(Fixture::new(turns(script)).await, tool)
    }

    pub fn on(
        fixture: Arc<Fixture>,
        tool: impl Fn(&str, &Value) -> Result<Value, Error> + std::marker::Send + Sync + 'static,
    ) -> Scene {
        let recorder = Arc::new(Recorder::new(fixture.clone(), Box::new(tool)));
        let client = Client::new(fixture.clock.clone(), PrivateHosts::Allow);
        let around = gateway::Around {
            guest_program: "/proc/self/exe".into(),
            store: fixture.store.clone(),
            tree: fixture.tree.clone(),
            repos: std::path::PathBuf::new(),
            clock: fixture.clock.clone(),
            random: base::random::Random::system(),
            version: "test".to_string(),
        };
        let host = Host::start(&gateway::Gateway::new(around, Behind(recorder.clone())), client);
        Scene { fixture, host, recorder }
    }

    pub fn pid(&self) -> &Pid {
        &self.fixture.pid
    }

    /// Sends a message and gives the id of its run.
    pub async fn send(&self, message: &str) -> RunId {
        self.send_to(self.pid(), message).await
    }

    pub async fn send_to(&self, pid: &Pid, message: &str) -> RunId {
        match self.host.send(pid, words(message), None, None).await.unwrap() {
            Outcome::Done(sent) => sent.run_id,
            Outcome::Failed(why) => panic!("not sent: {why}"),
        }
    }

    /// Waits for the end of a run.
    pub async fn finished(&self, run: &RunId) -> Value {
        self.recorder.until("proc.run.finished", |body| body["runId"] == run.as_str()).await
    }
}

/// A message of words alone.
pub fn words(message: &str) -> Send {
    Send { pid: None, conversation_id: None, message: message.to_string(), media: None }
}
