//! Test fixture: a real store, a real file tree, a user, and a kernel that only writes signals down.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base::clock::Clock;
use base::random::Random;
use gateway::{Caller, Capabilities, Core, Gateway, Later, OutgoingSignal, Recalled, SignalBody};
use model::{Client, PrivateHosts};
use protocol::calls::Calling;
use protocol::error::Error;
use protocol::identity::{ProcessIdentity, Role};
use protocol::ids::{ConversationId, Gid, Pid, Uid};
use protocol::proc::history::MessageRole;
use serde_json::{Value, json};
use store::accounts::NewAccount;
use store::change::Change;
use store::messages::{MessageRow, Page};
use store::processes::ProcessRow;
use store::{Options, Store};
use tempfile::TempDir;
use vfs::{Tree, VPath, View};

use crate::discovery::ModelDiscovery;
use crate::host::Host;
use crate::subsystem::Processes;

/// When tests begin, in milliseconds.
pub(crate) const NOW_MS: i64 = 1_700_000_000_000;

/// What a gateway has around its processes, with one user, `ada`, and her process. Nothing is in its environment.
pub(crate) struct Fixture {
    pub(crate) host: Host,
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) process: ProcessRow,
    identity: ProcessIdentity,
    gateway: Gateway,
    around: Arc<Around>,
    data: TempDir,
}

impl Fixture {
    /// With the one `init` of the user, which is offered no tools.
    pub(crate) async fn new() -> Fixture {
        Fixture::with("init", json!({})).await
    }

    /// With a process of that profile, and `offered` as the answer of `ai.tools`.
    pub(crate) async fn with(profile: &str, offered: Value) -> Fixture {
        let data = tempfile::tempdir().unwrap();
        let store = Store::open(&Options { data: data.path().to_path_buf(), url: None }).await.unwrap();
        store.provision(NOW_MS).await.unwrap();
        let ada = NewAccount {
            username: "ada".to_string(),
            hash: "!".to_string(),
            groups: vec![Gid::USERS],
            now_ms: NOW_MS,
        };
        let ada = store.accounts().create(ada).await.unwrap();
        let clock = Clock::manual(NOW_MS);
        let tree = Tree::open(&data.path().join("files"), store.clone(), clock.clone()).unwrap();
        tree.add_home("ada", ada.uid, ada.gid);
        tree.lay_out_home(&ada).unwrap();
        let (tree, identity) = (Arc::new(tree), ada.identity());
        let answers = Answers { store: store.clone(), offered };
        let around = Arc::new(Around { answers, signals: Mutex::default() });
        let pid = match profile {
            "init" => format!("init:{}", ada.uid),
            _ => "p1".to_string(),
        };
        let process = ProcessRow::idle(pid.into(), ada.uid, profile, &ada.home, NOW_MS);
        assert!(store.processes().create(&process).await.unwrap());
        let gateway = gateway(&store, &clock, &tree, &around);
        let host = host(&gateway);
        Fixture { host, store, clock, process, identity, gateway, around, data }
    }

    /// The next life of the gateway.
    pub(crate) fn restarted(&self) -> Host {
        host(&gateway(&self.store, &self.clock, self.gateway.tree(), &self.around))
    }

    /// The subsystem over the same gateway.
    pub(crate) fn processes(&self) -> Arc<Processes> {
        Processes::new(self.gateway.clone())
    }

    /// Where a file of the tree is on disk.
    pub(crate) fn on_disk(&self, path: &str) -> PathBuf {
        self.data.path().join("files").join(path.trim_start_matches('/'))
    }

    /// Sets a config value.
    pub(crate) async fn set(&self, key: &str, value: &str) {
        let key = key.replace("<uid>", &self.process.uid.to_string());
        self.store.config().set(&key, value).await.unwrap();
    }

    /// Where a file below the home is on disk.
    pub(crate) fn home(&self, name: &str) -> PathBuf {
        self.on_disk(&self.identity.home).join(name)
    }

    /// Writes a file below the home, as an editor on this machine would.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.home(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn pid(&self) -> &Pid {
        &self.process.pid
    }

    /// The file tree as somebody sees it.
    pub(crate) fn view(&self, uid: Uid) -> View {
        let who = ProcessIdentity { uid, gid: Gid(uid.0), gids: vec![Gid(uid.0)], ..self.identity.clone() };
        let answers = self.around.answers.clone();
        self.gateway.view_calling(Arc::new(who), None, move |name, args| answers.answer(name, args))
    }

    /// The signals so far, by name and payload; they are taken away.
    pub(crate) fn signals(&self) -> Vec<(String, Value)> {
        std::mem::take(&mut self.around.signals.lock().unwrap())
    }

    /// Adds messages; each gets the next id, its time one later than the one before.
    pub(crate) async fn say(&self, conversation: &str, messages: Vec<MessageRow>) -> Vec<MessageRow> {
        let id = ConversationId::from(conversation);
        let row = self.store.conversations().by_id(self.pid(), &id).await.unwrap();
        let mut change = Change::new(self.pid()).conversation_ensure(&id, self.clock.now_ms());
        let first = self.host.reserve_ids(self.pid(), messages.len() as u64).await.unwrap();
        let mut said = Vec::new();
        for (next, mut message) in (first..).zip(messages) {
            self.clock.advance(1);
            message.id = next;
            message.conversation_id = id.clone();
            message.created_at = self.clock.now_ms();
            change = change.message(&message);
            said.push(message);
        }
        let condition = crate::conversation::condition(&id, row.as_ref(), false);
        self.host.apply(self.pid(), condition, change).await.unwrap().unwrap();
        said
    }

    /// All messages of a conversation.
    pub(crate) async fn messages(&self, conversation: &str) -> Vec<MessageRow> {
        let id = ConversationId::from(conversation);
        self.store.messages().page(self.pid(), &id, Page::Offset(0), u64::MAX).await.unwrap()
    }
}

fn gateway(store: &Store, clock: &Clock, tree: &Arc<Tree>, around: &Arc<Around>) -> Gateway {
    let around_handle = gateway::Around {
        guest_program: "/proc/self/exe".into(),
        store: store.clone(),
        tree: tree.clone(),
        repos: std::path::PathBuf::new(),
        clock: clock.clone(),
        random: Random::system(),
        version: "test".to_string(),
    };
    Gateway::new(around_handle, Behind(around.clone()))
}

fn host(gateway: &Gateway) -> Host {
    let clock = gateway.clock().clone();
    let client = Client::new(clock.clone(), PrivateHosts::Allow);
    let mut host = Host::start(gateway, client.clone());
    host.world.discovery = Arc::new(ModelDiscovery::with_environment(clock, client, |_| None));
    host
}

/// A message without an id.
pub(crate) fn message(role: MessageRole, content: &str) -> MessageRow {
    MessageRow {
        id: 0,
        conversation_id: "default".into(),
        generation: 1,
        role,
        content: content.to_string(),
        meta: None,
        tool_call_id: None,
        media: None,
        origin: None,
        run_id: None,
        created_at: 0,
    }
}

/// What a person says.
pub(crate) fn user(content: &str) -> MessageRow {
    message(MessageRole::User, content)
}

/// An answer that calls for tools, by their ids; without any it is only words.
pub(crate) fn answer(content: &str, calls: &[&str]) -> MessageRow {
    let mut blocks = vec![json!({ "type": "text", "text": content, "textSignature": "seal" })];
    if !calls.is_empty() {
        blocks.insert(0, json!({ "type": "thinking", "thinking": "hm", "thinkingSignature": "s" }));
    }
    for id in calls {
        blocks.push(json!({ "type": "toolCall", "id": id, "name": "Read", "arguments": { "path": "/x" } }));
    }
    let meta = json!({
        "role": "assistant", "content": blocks, "api": "demo", "provider": "demo", "model": "demo",
        "usage": { "input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 3,
            "cost": { "input": 0.0, "output": 0.0, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 0.0 } },
        "stopReason": if calls.is_empty() { "stop" } else { "toolUse" }, "timestamp": NOW_MS,
    });
    MessageRow { meta: Some(meta.to_string()), ..message(MessageRole::Assistant, content) }
}

/// What a tool said.
pub(crate) fn result(call: &str, content: &str) -> MessageRow {
    MessageRow {
        meta: Some(r#"{"toolName":"Read","isError":true}"#.to_string()),
        tool_call_id: Some(call.to_string()),
        ..message(MessageRole::ToolResult, content)
    }
}

/// A path of the tree.
pub(crate) fn at(path: &str) -> VPath {
    VPath::absolute(path).unwrap()
}

/// The two calls that a setup makes.
#[derive(Clone)]
struct Answers {
    store: Store,
    offered: Value,
}

impl Answers {
    fn answer(&self, name: &str, args: &str) -> Calling {
        let args: Value = serde_json::from_str(args).unwrap();
        let (offered, store, name) = (self.offered.clone(), self.store.clone(), name.to_string());
        Box::pin(async move {
            match name.as_str() {
                "ai.tools" => Ok(offered.to_string()),
                "sys.config.get" => {
                    let key = args["key"].as_str().unwrap().to_string();
                    let rows = match store.config().value(&key).await.unwrap() {
                        Some(value) => vec![(key, value)],
                        None => store.config().below(&key).await.unwrap(),
                    };
                    let entry = |(key, value): (String, String)| json!({ "key": key, "value": value });
                    let entries: Vec<Value> = rows.into_iter().map(entry).collect();
                    Ok(json!({ "entries": entries }).to_string())
                }
                other => Err(Error::unknown_syscall(other)),
            }
        })
    }
}

/// Where a kernel would be.
struct Around {
    answers: Answers,
    signals: Mutex<Vec<(String, Value)>>,
}

/// What is behind the handle of a gateway under test.
struct Behind(Arc<Around>);

impl Core for Behind {
    fn emit(&self, signal: OutgoingSignal) {
        if let SignalBody::Text(text) = signal.body {
            let payload = serde_json::from_str(&text).unwrap();
            self.0.signals.lock().unwrap().push((signal.name.to_string(), payload));
        }
    }

    fn call(&self, _: Caller, _: &str, name: &str, args: &str) -> Calling {
        self.0.answers.answer(name, args)
    }

    fn recall(&self, _: Uid, _: &Pid, _: &str, _: Duration) -> Later<Recalled> {
        Box::pin(async { Recalled::Unknown })
    }

    fn capabilities(&self, _: Role, gids: &[Gid]) -> Arc<Capabilities> {
        Arc::new(Capabilities::new(gids.contains(&Gid::USERS).then(|| "*".to_string())))
    }
}
