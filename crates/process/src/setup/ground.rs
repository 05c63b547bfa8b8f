//! Ground for tests to stand on: a real store and a real file tree, with one user and one process.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base::clock::Clock;
use model::{Client, PrivateHosts};
use protocol::calls::{Calling, Calls};
use protocol::error::Error;
use protocol::identity::ProcessIdentity;
use protocol::ids::{Gid, Pid};
use serde_json::{Value, json};
use store::Store;
use store::accounts::NewAccount;
use store::processes::{ProcessRow, State};
use vfs::View;
use vfs::tree::{Facts, RouteFact, SessionFact};
use vfs::view::Work;

use super::finder::Finder;
use crate::host::Host;
use crate::outside::{Later, Note, Outside, Recalled};
use crate::world::World;

/// A world with one user, `ann`, and one process of hers. Nothing is in its environment.
pub(crate) struct Ground {
    pub(crate) world: World,
    pub(crate) process: ProcessRow,
    surroundings: Surroundings,
    data: tempfile::TempDir,
}

impl Ground {
    /// With a process of that profile, and `offered` as the answer of `ai.tools`.
    pub(crate) async fn new(profile: &str, offered: Value) -> Ground {
        let data = tempfile::tempdir().unwrap();
        let options = store::Options { data: data.path().to_path_buf(), url: None };
        let store = Store::open(&options).await.unwrap();
        store.provision(1).await.unwrap();
        let clock = Clock::manual(1_000_000);
        let tree = vfs::Tree::open(&data.path().join("files"), store.clone(), clock.clone()).unwrap();
        let new = NewAccount {
            username: "ann".to_string(),
            hash: "!".to_string(),
            groups: vec![Gid::USERS],
            now_ms: 1,
        };
        let account = store.account_create(new).await.unwrap();
        tree.add_home("ann", account.uid, account.gid);
        tree.lay_out_home(&account).unwrap();
        let identity = ProcessIdentity {
            uid: account.uid,
            gid: account.gid,
            gids: account.gids,
            username: account.username,
            cwd: account.home.clone(),
            home: account.home,
            workspace_id: None,
        };
        let process = process(&identity, profile);
        store.process_create(&process).await.unwrap();
        let surroundings = Surroundings { tree: Arc::new(tree), store: store.clone(), identity, offered };
        let client = Client::new(clock.clone(), PrivateHosts::Allow);
        let mut world = World::new(store, clock.clone(), Arc::new(surroundings.clone()), client.clone());
        world.finder = Arc::new(Finder::with_environment(clock, client, |_| None));
        Ground { world, process, surroundings, data }
    }

    /// A host on this ground.
    pub(crate) fn host(&self) -> Host {
        let (store, clock) = (self.world.store.clone(), self.world.clock.clone());
        let outside = Arc::new(self.surroundings.clone());
        let mut host = Host::start(store, clock, outside, self.world.client.clone());
        host.world.finder = self.world.finder.clone();
        host
    }

    /// Sets a config value.
    pub(crate) async fn set(&self, key: &str, value: &str) {
        let key = key.replace("<uid>", &self.process.uid.to_string());
        self.world.store.config_set(&key, value).await.unwrap();
    }

    /// Where a file below the home is on disk.
    pub(crate) fn home(&self, name: &str) -> PathBuf {
        let home = self.surroundings.identity.home.trim_start_matches('/');
        self.data.path().join("files").join(home).join(name)
    }

    /// Writes a file below the home, as an editor on this machine would.
    pub(crate) fn write(&self, name: &str, text: &str) {
        put(&self.home(name), text);
    }
}

fn put(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn process(who: &ProcessIdentity, profile: &str) -> ProcessRow {
    ProcessRow {
        pid: Pid("p1".to_string()),
        uid: who.uid,
        profile: profile.to_string(),
        parent_pid: None,
        label: None,
        state: State::Idle,
        active_run_id: None,
        active_conversation_id: None,
        cwd: who.home.clone(),
        workspace_id: None,
        context_files: "[]".to_string(),
        next_message_id: 1,
        created_at: 1,
        last_active_at: 1,
        exited_at: None,
    }
}

/// Where a kernel would be: it answers the two calls that a setup makes.
#[derive(Clone)]
struct Surroundings {
    tree: Arc<vfs::Tree>,
    store: Store,
    identity: ProcessIdentity,
    offered: Value,
}

impl Surroundings {
    fn answer(&self, name: &str, args: &str) -> Calling {
        let args: Value = serde_json::from_str(args).unwrap();
        let (offered, store, name) = (self.offered.clone(), self.store.clone(), name.to_string());
        Box::pin(async move {
            match name.as_str() {
                "ai.tools" => Ok(offered.to_string()),
                "sys.config.get" => {
                    let key = args["key"].as_str().unwrap().to_string();
                    let rows = match store.config_value(&key).await.unwrap() {
                        Some(value) => vec![(key, value)],
                        None => store.config_below(&key).await.unwrap(),
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

impl Outside for Surroundings {
    fn emit(&self, _: Note) {}

    fn call(&self, _: &ProcessRow, _: &str, name: &str, args: &str) -> Calling {
        self.answer(name, args)
    }

    fn recall(&self, _: &ProcessRow, _: &str, _: Duration) -> Later<Recalled> {
        Box::pin(async { Recalled::Unknown })
    }

    fn identity(&self, _: &ProcessRow) -> Later<Result<ProcessIdentity, Error>> {
        let identity = self.identity.clone();
        Box::pin(async move { Ok(identity) })
    }

    fn generation(&self) -> [u64; 2] {
        [0, 0]
    }

    fn view(&self, _: &ProcessRow, identity: Arc<ProcessIdentity>) -> View {
        let answers = self.clone();
        let calls = Calls::new(move |name, args| answers.answer(name, args));
        View::new(self.tree.clone(), identity, calls, Arc::new(Nothing), Work::Aside)
    }
}

/// A gateway with nothing going on.
struct Nothing;

impl Facts for Nothing {
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
