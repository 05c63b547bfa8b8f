//! Test fixture: a real tree on a real disk with a real store, two users and root, and commands run over it. Only the
//! kernel is played: its answers are those a test gives.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use base::clock::Clock;
use protocol::calls::Calls;
use protocol::error::Error;
use protocol::identity::ProcessIdentity;
use serde_json::Value;
use store::Store;
use store::accounts::{Account, NewAccount};
use vfs::tree::{GatewayInfo, Tree};
use vfs::view::{Work, Writing};
use vfs::{Stat, VPath, View};

use super::{Cx, Done, find};
use crate::Settings;

/// 15 November 2026, 12:00 UTC.
pub(super) const NOW_MS: i64 = 1_794_744_000_000;

type Answers = Arc<Mutex<HashMap<String, Result<Value, Error>>>>;
type Asked = Arc<Mutex<Vec<(String, Value)>>>;

pub(super) struct Stage {
    _data: tempfile::TempDir,
    tree: Arc<Tree>,
    accounts: HashMap<String, Account>,
    clock: Clock,
    answers: Answers,
    asked: Asked,
    pub settings: Settings,
    pub stdin: Vec<u8>,
    pub variables: HashMap<String, String>,
}

impl Stage {
    /// `root`, `alice` and `bob`, the latter two in `users`.
    pub async fn new() -> Stage {
        let data = tempfile::tempdir().unwrap();
        let options = store::Options { data: data.path().to_path_buf(), url: None };
        let store = Store::open(&options).await.unwrap();
        store.provision(NOW_MS).await.unwrap();
        for username in ["alice", "bob"] {
            let new = NewAccount {
                username: username.to_string(),
                hash: "!".to_string(),
                groups: vec![protocol::ids::Gid::USERS],
                now_ms: NOW_MS,
            };
            store.accounts().create(new).await.unwrap();
        }
        let clock = Clock::manual(NOW_MS);
        let tree = Arc::new(Tree::open(&data.path().join("files"), store.clone(), clock.clone()).unwrap());
        let info =
            GatewayInfo { version: "1.2.3".to_string(), started_at: 0, routes: Box::new(|_| Vec::new()) };
        tree.show_gateway(info);
        tree.learn_homes().await.unwrap();
        let accounts = store.accounts().all().await.unwrap();
        for account in &accounts {
            tree.lay_out_home(account).unwrap();
        }
        Stage {
            _data: data,
            tree,
            accounts: accounts.into_iter().map(|account| (account.username.clone(), account)).collect(),
            clock,
            answers: Answers::default(),
            asked: Asked::default(),
            settings: settings(),
            stdin: Vec::new(),
            variables: HashMap::new(),
        }
    }

    /// What the kernel answers to a call from now on.
    pub fn answer(&self, call: &str, answer: Result<Value, Error>) {
        self.answers.lock().unwrap().insert(call.to_string(), answer);
    }

    /// The arguments of the last call of that name.
    pub fn last(&self, call: &str) -> Option<Value> {
        let asked = self.asked.lock().unwrap();
        asked.iter().rev().find(|(name, _)| name == call).map(|(_, args)| args.clone())
    }

    fn calls(&self) -> Calls {
        let (answers, asked) = (self.answers.clone(), self.asked.clone());
        Calls::new(move |name, args| {
            asked.lock().unwrap().push((name.to_string(), serde_json::from_str(args).unwrap()));
            let answer = answers.lock().unwrap().get(name).cloned();
            let answer = answer.unwrap_or_else(|| Err(Error::not_implemented(name)));
            Box::pin(async move { answer.map(|value| value.to_string()) })
        })
    }

    /// The tree as a user sees it, from the home.
    pub fn view(&self, username: &str) -> View {
        let account = &self.accounts[username];
        let who = ProcessIdentity {
            uid: account.uid,
            gid: account.gid,
            gids: account.gids.clone(),
            username: username.to_string(),
            home: account.home.clone(),
            cwd: account.home.clone(),
            workspace_id: None,
        };
        View::new(self.tree.clone(), Arc::new(who), self.calls(), Work::Here)
    }

    /// Writes a file as a user.
    pub async fn write(&self, username: &str, path: &str, text: &str, mode: u32) {
        let view = self.view(username);
        let path = view.path(path).unwrap();
        let how = Writing { parents: true, ..Writing::default() };
        view.write(&path, text.as_bytes().to_vec(), how).await.unwrap();
        view.chmod(&path, mode).await.unwrap();
        view.set_modified(&path, NOW_MS - 60_000).await.unwrap();
    }

    /// A file's text as root sees it.
    pub async fn text(&self, path: &str) -> String {
        String::from_utf8(self.view("root").read(&VPath::absolute(path).unwrap()).await.unwrap()).unwrap()
    }

    pub async fn stat(&self, path: &str) -> Stat {
        self.view("root").stat(&VPath::absolute(path).unwrap(), vfs::Follow::No).await.unwrap()
    }

    /// Runs a command as a user, in the home.
    pub async fn run(&self, username: &str, line: &[&str]) -> Done {
        let command = find(line[0]).unwrap();
        self.with(username, line, async |cx| (command.run)(cx).await).await
    }

    /// Does something with what a command would get.
    pub async fn with<T>(&self, username: &str, line: &[&str], act: impl AsyncFnOnce(&Cx<'_>) -> T) -> T {
        let (name, args) = line.split_first().unwrap();
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        let (env, pipes, view, calls) = (HashMap::new(), HashMap::new(), self.view(username), self.calls());
        act(&Cx {
            name,
            args: &args,
            env: &env,
            variables: &self.variables,
            stdin: &self.stdin,
            pipes: &pipes,
            view: &view,
            calls: &calls,
            settings: &self.settings,
            clock: &self.clock,
        })
        .await
    }

    /// Runs a command that must work as alice, and answers what it printed.
    pub async fn prints(&self, line: &[&str]) -> String {
        let done = self.run("alice", line).await;
        assert_eq!((done.code, text(&done.stderr)), (0, String::new()), "{line:?}");
        text(&done.stdout)
    }

    /// Runs a command that must fail as alice, and answers its exit code and complaint.
    pub async fn fails(&self, line: &[&str]) -> (i32, String) {
        let done = self.run("alice", line).await;
        assert_ne!(done.code, 0, "{line:?} printed {}", text(&done.stdout));
        (done.code, text(&done.stderr))
    }
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn settings() -> Settings {
    Settings {
        hostname: "tower".to_string(),
        version: "1.2.3".to_string(),
        pid: None,
        wait_ms: 5_000,
        timeout_ms: 300_000,
        max_output_bytes: 524_288,
        network: true,
        network_private: false,
        timezone: "UTC".to_string(),
    }
}
