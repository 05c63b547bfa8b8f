//! Test fixture: a kernel, one of its users, that user's clients, and runs whose models speak when they are told to.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, RwLock};

use base::clock::Clock;
use futures_util::{FutureExt, StreamExt};
use gateway::{OutgoingSignal, RunEvent, SignalBody};
use model::fake::{Piece, Script, Turn};
use model::{Cancel, EventStream, Message, Model, Provider, ProviderKind, Request};
use protocol::identity::{ProcessIdentity, Role};
use protocol::ids::{ConversationId, Gid, Pid, RunId, Uid};
use protocol::sys::{Resume, ResumeStatus, Resumed, Streams};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::codec::Codec;
use crate::connections::{Connection, Login};
use crate::{Kernel, signals};

struct World {
    runtime: Runtime,
    kernel: Arc<Kernel>,
    _data: tempfile::TempDir,
}

/// One kernel for all tests here; each takes a user of its own.
fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| {
        let runtime = Runtime::new().unwrap();
        let data = tempfile::tempdir().unwrap();
        let kernel = runtime.block_on(async {
            let options = store::Options { data: data.path().to_path_buf(), url: None };
            let store = store::Store::open(&options).await.unwrap();
            Kernel::start(store, &data.path().join("files"), Clock::system(), "test").await.unwrap()
        });
        World { runtime, kernel, _data: data }
    })
}

pub(super) struct Stage {
    pub(super) kernel: &'static Kernel,
    pub(super) uid: Uid,
    username: String,
    runs: HashMap<String, Run>,
    /// Models need timers.
    _inside: tokio::runtime::EnterGuard<'static>,
}

/// A run, and what its model still has to say.
struct Run {
    answer: Option<EventStream>,
    events: u64,
}

/// A client, over all of its connections.
pub(super) struct Client {
    pub(super) id: String,
    streams: Streams,
    /// What writes its frames, unless it is the usual one.
    pub(super) codec: Option<&'static dyn Codec>,
    pub(super) connection: Arc<Connection>,
    /// The place of the last signal that arrived.
    pub(super) last_seq: u64,
    /// What arrived and was not looked at.
    pub(super) received: Vec<Value>,
}

impl Stage {
    pub(super) fn new() -> Stage {
        static NEXT: AtomicU32 = AtomicU32::new(20_000);
        let uid = Uid(NEXT.fetch_add(1, Ordering::Relaxed));
        Stage {
            kernel: &world().kernel,
            uid,
            username: format!("user-{uid}"),
            runs: HashMap::new(),
            _inside: world().runtime.enter(),
        }
    }

    /// The number now belongs to somebody of this name.
    pub(super) fn rename(&mut self, username: &str) {
        self.username = username.to_string();
    }

    /// A client that has just connected for the first time.
    pub(super) fn client(&self, id: &str, streams: Streams) -> Client {
        let mut client = Client {
            id: id.to_string(),
            streams,
            codec: None,
            connection: self.kernel.opened(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            last_seq: 0,
            received: Vec::new(),
        };
        let resumed = self.resume(&mut client);
        assert_eq!(resumed.status, ResumeStatus::Refresh);
        client.last_seq = resumed.to;
        client
    }

    /// Connects anew after the last signal that arrived.
    pub(super) fn resume(&self, client: &mut Client) -> Resumed {
        client.connection = self.kernel.opened(IpAddr::V4(Ipv4Addr::LOCALHOST));
        assert!(client.codec.is_none_or(|codec| client.connection.speak(codec)));
        assert!(self.kernel.connections.log_in(&client.connection, self.login(client)));
        let mut told = None;
        let resume = Resume { seq: client.last_seq };
        signals::attach(self.kernel, &client.connection, Some(&resume), |resumed| {
            client.connection.send("{\"answer\":true}".to_string());
            told = resumed;
        });
        assert_eq!(client.take().unwrap()["answer"], true, "the answer comes first");
        told.expect("it was asked for")
    }

    /// The same, and believes what it is told.
    pub(super) fn reconnect(&self, client: &mut Client) -> ResumeStatus {
        let resumed = self.resume(client);
        if resumed.status == ResumeStatus::Refresh {
            client.last_seq = resumed.to;
        }
        resumed.status
    }

    fn login(&self, client: &Client) -> Login {
        let identity = ProcessIdentity {
            uid: self.uid,
            gid: Gid(self.uid.0),
            gids: vec![Gid::USERS],
            username: self.username.clone(),
            home: "/home".into(),
            cwd: "/home".into(),
            workspace_id: None,
        };
        Login {
            role: Role::User,
            client_id: client.id.clone(),
            token: None,
            may_approve: true,
            driver: None,
            streams: client.streams,
            follows_sessions: true,
            account: RwLock::new(Arc::new(identity)),
            capabilities: Mutex::new((0, self.kernel.grants.of(&[Gid::USERS]))),
            sessions_ended: Default::default(),
            since: Clock::system().instant(),
            memory: Arc::default(),
        }
    }

    /// The socket breaks, and the newest `lost` frames with it.
    pub(super) fn disconnect(&self, client: &mut Client, lost: usize) {
        world().kernel.closed(&client.connection);
        let kept = client.received.len() - lost.min(client.received.len());
        client.received.truncate(kept);
        if let Some(last) = client.received.last() {
            client.last_seq = last["seq"].as_u64().unwrap();
        }
    }

    pub(super) fn route(&self, run: &str, client: &Client) {
        signals::route_run(self.kernel, &RunId::from(run), &client.connection);
    }

    pub(super) fn text(&self, name: &'static str, run: Option<&str>, payload: Value) {
        let run_id = run.map(RunId::from);
        let body = SignalBody::Text(payload.to_string());
        signals::send(self.kernel, OutgoingSignal { uid: self.uid, run_id, name, body });
    }

    /// The model of a run gets this to say.
    pub(super) fn say(&mut self, run: &str, deltas: Vec<String>) {
        let script = Script::new([Turn::new().piece(Piece::Text(deltas))]);
        let request = Request::new(Model::find(ProviderKind::Demo, "m"), vec![Message::user("hi")]);
        let answer = Some(script.stream(request, Cancel::new()));
        self.runs.entry(run.to_string()).or_insert(Run { answer: None, events: 0 }).answer = answer;
    }

    /// It says a little of it, as this event; nothing when it is done.
    pub(super) fn speak(&mut self, run: &str) -> Option<Value> {
        let found = self.runs.get_mut(run).unwrap();
        let answer = found.answer.as_mut()?;
        let Some(event) = answer.next().now_or_never().expect("a script does not wait") else {
            found.answer = None;
            return None;
        };
        let said = event.to_compact_value();
        found.events += 1;
        let run_id = RunId::from(run);
        let run_event = RunEvent {
            pid: Pid::from("p"),
            run_id: run_id.clone(),
            conversation_id: ConversationId::from("default"),
            seq: found.events,
            timestamp: 1_000 + found.events as i64,
            event,
        };
        let (uid, body) = (self.uid, SignalBody::Stream(run_event));
        signals::send(
            self.kernel,
            OutgoingSignal { uid, run_id: Some(run_id), name: "proc.run.stream", body },
        );
        Some(said)
    }

    /// It says all of it; how many events that were.
    pub(super) fn speak_all(&mut self, run: &str) -> usize {
        std::iter::from_fn(|| self.speak(run)).count()
    }
}

impl Client {
    /// Reads one frame, if one waits.
    pub(super) fn take(&mut self) -> Option<Value> {
        Some(serde_json::from_str(&self.connection.outbox.take_text()?).unwrap())
    }

    /// Reads up to so many frames.
    pub(super) fn read(&mut self, count: usize) {
        for _ in 0..count {
            let Some(frame) = self.take() else { return };
            let seq = frame["seq"].as_u64().expect("every signal has a place");
            let before = self.received.last().map_or(0, |last| last["seq"].as_u64().unwrap());
            assert!(seq > before.max(self.last_seq), "{seq} comes after {before} and {}", self.last_seq);
            self.received.push(frame);
        }
    }

    /// Everything that waits, which then has arrived.
    pub(super) fn receive_all(&mut self) -> Vec<Value> {
        self.read(usize::MAX);
        if let Some(last) = self.received.last() {
            self.last_seq = last["seq"].as_u64().unwrap();
        }
        std::mem::take(&mut self.received)
    }

    /// The numbers in the texts that wait.
    pub(super) fn numbers(&mut self) -> Vec<i64> {
        self.receive_all().iter().map(|frame| frame["payload"]["n"].as_i64().unwrap()).collect()
    }

    pub(super) fn waiting(&self) -> (usize, usize) {
        self.connection.outbox.waiting()
    }
}
