//! Ground for tests of this crate: a real store, a real file tree, a user, and an outside that writes signals down.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base::clock::Clock;
use protocol::calls::{Calling, Calls};
use protocol::error::Error;
use protocol::identity::ProcessIdentity;
use protocol::ids::{ConversationId, Gid, Pid, Uid};
use protocol::proc::history::MessageRole;
use serde_json::{Value, json};
use store::accounts::NewAccount;
use store::change::Change;
use store::messages::{MessageRow, Page};
use store::processes::{ProcessRow, State};
use store::{Options, Store};
use tempfile::TempDir;
use vfs::tree::{Facts, RouteFact, SessionFact};
use vfs::view::Work;
use vfs::{Tree, VPath, View};

use crate::host::Host;
use crate::outside::{Later, Note, NoteBody, Outside, Recalled};

/// When tests begin, in milliseconds.
pub(crate) const NOW_MS: i64 = 1_700_000_000_000;

/// A gateway's surroundings, with one user, `ada`, and her process.
pub(crate) struct Ground {
    pub(crate) host: Host,
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) process: ProcessRow,
    tree: Arc<Tree>,
    notes: Arc<Mutex<Vec<(String, Value)>>>,
    data: TempDir,
}

impl Ground {
    pub(crate) async fn new() -> Ground {
        let data = tempfile::tempdir().unwrap();
        let store = Store::open(&Options { data: data.path().to_path_buf(), url: None }).await.unwrap();
        store.provision(NOW_MS).await.unwrap();
        let ada = NewAccount {
            username: "ada".to_string(),
            hash: "!".to_string(),
            groups: vec![Gid::USERS],
            now_ms: NOW_MS,
        };
        let ada = store.account_create(ada).await.unwrap();
        let clock = Clock::manual(NOW_MS);
        let tree = Arc::new(Tree::open(&data.path().join("files"), store.clone(), clock.clone()).unwrap());
        let notes = Arc::default();
        let outside = Arc::new(Around { tree: tree.clone(), notes: Arc::clone(&notes) });
        let host = host(&store, &clock, outside);
        let process = process(&format!("init:{}", ada.uid), ada.uid);
        assert!(store.process_create(&process).await.unwrap());
        Ground { host, store, clock, process, tree, notes, data }
    }

    /// The next life of the gateway.
    pub(crate) fn restarted(&self) -> Host {
        let outside = Arc::new(Around { tree: self.tree.clone(), notes: Arc::clone(&self.notes) });
        host(&self.store, &self.clock, outside)
    }

    /// Where a file of the tree is on disk.
    pub(crate) fn on_disk(&self, path: &str) -> PathBuf {
        self.data.path().join("files").join(path.trim_start_matches('/'))
    }

    pub(crate) fn pid(&self) -> &Pid {
        &self.process.pid
    }

    /// The file tree as somebody sees it.
    pub(crate) fn view(&self, uid: Uid) -> View {
        view(&self.tree, Arc::new(identity(uid)))
    }

    /// The signals so far, by name and payload; they are taken away.
    pub(crate) fn notes(&self) -> Vec<(String, Value)> {
        std::mem::take(&mut self.notes.lock().unwrap())
    }

    /// Adds messages; each gets the next id, its time one later than the one before.
    pub(crate) async fn say(&self, conversation: &str, messages: Vec<MessageRow>) -> Vec<MessageRow> {
        let id = ConversationId::from(conversation);
        let row = self.store.conversation(self.pid(), &id).await.unwrap();
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
        self.store.messages(self.pid(), &id, Page::Offset(0), u64::MAX).await.unwrap()
    }
}

fn host(store: &Store, clock: &Clock, outside: Arc<Around>) -> Host {
    let client = model::Client::new(clock.clone(), model::PrivateHosts::Allow);
    Host::start(store.clone(), clock.clone(), outside, client)
}

pub(crate) fn process(pid: &str, uid: Uid) -> ProcessRow {
    ProcessRow {
        pid: pid.into(),
        uid,
        profile: "init".to_string(),
        parent_pid: None,
        label: None,
        state: State::Idle,
        active_run_id: None,
        active_conversation_id: None,
        cwd: "/home/ada".to_string(),
        workspace_id: None,
        context_files: "[]".to_string(),
        next_message_id: 1,
        created_at: NOW_MS,
        last_active_at: NOW_MS,
        exited_at: None,
    }
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

fn identity(uid: Uid) -> ProcessIdentity {
    ProcessIdentity {
        uid,
        gid: Gid(uid.0),
        gids: vec![Gid(uid.0)],
        username: "somebody".to_string(),
        home: "/tmp".to_string(),
        cwd: "/tmp".to_string(),
        workspace_id: None,
    }
}

fn view(tree: &Arc<Tree>, who: Arc<ProcessIdentity>) -> View {
    let calls = Calls::new(|_, _| Box::pin(async { Err(Error::forbidden("no calls here")) }));
    View::new(tree.clone(), who, calls, Arc::new(NoFacts), Work::Aside)
}

struct Around {
    tree: Arc<Tree>,
    notes: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Outside for Around {
    fn emit(&self, note: Note) {
        if let NoteBody::Text(text) = note.body {
            let payload = serde_json::from_str(&text).unwrap();
            self.notes.lock().unwrap().push((note.name.to_string(), payload));
        }
    }

    fn call(&self, _: &ProcessRow, _: &str, _: &str, _: &str) -> Calling {
        Box::pin(async { Err(Error::forbidden("no calls here")) })
    }

    fn recall(&self, _: &ProcessRow, _: &str, _: Duration) -> Later<Recalled> {
        Box::pin(async { Recalled::Unknown })
    }

    fn identity(&self, process: &ProcessRow) -> Later<Result<ProcessIdentity, Error>> {
        let uid = process.uid;
        Box::pin(async move { Ok(identity(uid)) })
    }

    fn generation(&self) -> [u64; 2] {
        [0, 0]
    }

    fn view(&self, _: &ProcessRow, identity: Arc<ProcessIdentity>) -> View {
        view(&self.tree, identity)
    }
}

struct NoFacts;

impl Facts for NoFacts {
    fn version(&self) -> String {
        "test".to_string()
    }

    fn uptime_ms(&self) -> i64 {
        0
    }

    fn routes(&self) -> Vec<RouteFact> {
        Vec::new()
    }

    fn shell_sessions(&self) -> Vec<SessionFact> {
        Vec::new()
    }
}
