//! Test fixture: a shell over a real tree in a fresh directory, and the people who use it.

use std::sync::Arc;

use base::clock::Clock;
use gateway::Origin;
use protocol::calls::Calls;
use protocol::error::Error;
use protocol::identity::ProcessIdentity;
use protocol::ids::{Gid, Uid};
use protocol::shell::{Exec, ExecResult};
use shell::{Order, Settings, Shells};
use store::{Options, Store};
use tempfile::TempDir;
use vfs::tree::GatewayInfo;
use vfs::view::Work;
use vfs::{Tree, VPath, View};

/// Who acts: a name and a number.
pub type Who = (&'static str, u32);

pub const ANN: Who = ("ann", 1_000);
pub const BOB: Who = ("bob", 1_001);
pub const ROOT: Who = ("root", 0);

/// A shell over a tree.
pub struct TestShell {
    pub shells: Arc<Shells>,
    pub tree: Arc<Tree>,
    _data: TempDir,
}

impl TestShell {
    /// One with homes for ann and bob.
    pub async fn new() -> TestShell {
        let data = tempfile::tempdir().unwrap();
        let store = Store::open(&Options { data: data.path().to_path_buf(), url: None }).await.unwrap();
        let tree = Arc::new(Tree::open(&data.path().join("files"), store, Clock::system()).unwrap());
        let info =
            GatewayInfo { version: "test".to_string(), started_at: 0, routes: Box::new(|_| Vec::new()) };
        tree.show_gateway(info);
        let test_shell = TestShell { shells: Arc::new(Shells::new(Clock::system())), tree, _data: data };
        let root = test_shell.view(ROOT);
        for (name, uid) in [ANN, BOB] {
            let home = VPath::absolute(&format!("/home/{name}")).unwrap();
            root.mkdir(&home, true, 0o750).await.unwrap();
            root.chown(&home, Some(Uid(uid)), Some(Gid(uid))).await.unwrap();
        }
        test_shell
    }

    /// The tree as somebody sees it.
    pub fn view(&self, (name, uid): Who) -> View {
        let home = if uid == 0 { "/root".to_string() } else { format!("/home/{name}") };
        let identity = ProcessIdentity {
            uid: Uid(uid),
            gid: Gid(uid),
            gids: vec![Gid(uid)],
            username: name.into(),
            cwd: home.clone(),
            home,
            workspace_id: None,
        };
        View::new(self.tree.clone(), Arc::new(identity), no_calls(), Work::Aside)
    }

    /// What a command of somebody is run with.
    pub fn order(&self, who: Who) -> Order {
        Order { view: self.view(who), calls: no_calls(), settings: settings(), tell: Arc::new(|_| {}) }
    }

    /// Runs a script of ann's whose stdin is closed, to its end.
    pub async fn run(&self, script: &str) -> ExecResult {
        self.run_as(ANN, script).await
    }

    /// The same for somebody else.
    pub async fn run_as(&self, who: Who, script: &str) -> ExecResult {
        let args = Exec { input: script.into(), close_stdin: Some(true), ..Exec::default() };
        self.shells.start(self.order(who), &args).await.unwrap()
    }

    /// Starts a script of ann's whose stdin stays open.
    pub async fn start(&self, script: &str) -> ExecResult {
        let args = Exec { input: script.into(), yield_ms: Some(250), ..Exec::default() };
        self.shells.start(self.order(ANN), &args).await.unwrap()
    }

    /// Goes on with one of ann's.
    pub async fn go_on(&self, id: &str, args: Exec) -> Result<ExecResult, Error> {
        self.shells
            .go_on((Uid(ANN.1), &Origin::Inside), id, &args, || false)
            .await
            .expect("a session of ann's")
    }
}

fn no_calls() -> Calls {
    Calls::new(|_, _| Box::pin(async { Err(Error::forbidden("no calls here")) }))
}

/// As a gateway has them that nobody has changed, but for the wait: tests wait for the end.
pub fn settings() -> Settings {
    Settings {
        hostname: "gsv".into(),
        version: "test".into(),
        pid: None,
        wait_ms: 60_000,
        timeout_ms: 300_000,
        max_output_bytes: 524_288,
        network: false,
        network_private: false,
        timezone: "UTC".into(),
    }
}

/// What was printed, complained about, and the exit code.
pub fn seen(result: &ExecResult) -> (&str, &str, Option<i32>) {
    (result.stdout.as_deref().unwrap_or(""), result.stderr.as_deref().unwrap_or(""), result.exit_code)
}
