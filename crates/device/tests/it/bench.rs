//! Test fixture: a machine on a temporary directory, called through its router.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use base::clock::Clock;
use device::Agents;
use device::files::Files;
use device::machine::{Cx, Machine, answer, router};
use protocol::router::Router;
use serde_json::{Value, json};

pub struct Bench {
    pub machine: Arc<Machine>,
    router: Router<Cx>,
    pub statuses: Arc<Mutex<Vec<Value>>>,
    temp: tempfile::TempDir,
}

impl Bench {
    /// The whole machine, with the workspace in a temporary directory.
    pub fn whole() -> Bench {
        let temp = tempfile::tempdir().unwrap();
        let workspace = temp.path().join("work");
        std::fs::create_dir(&workspace).unwrap();
        Bench::new(Files::whole(&workspace).unwrap(), temp)
    }

    /// Confined below the same workspace.
    pub fn confined() -> Bench {
        let temp = tempfile::tempdir().unwrap();
        let workspace = temp.path().join("work");
        std::fs::create_dir(&workspace).unwrap();
        Bench::new(Files::below(&workspace, &workspace).unwrap(), temp)
    }

    fn new(files: Files, temp: tempfile::TempDir) -> Bench {
        let statuses: Arc<Mutex<Vec<Value>>> = Arc::default();
        let heard = statuses.clone();
        let agents = Agents::new(Default::default(), &files, "/bin/sh".into(), None);
        let machine = Machine::new(files, agents, Clock::system(), move |text| {
            heard.lock().unwrap().push(serde_json::from_str(&text).unwrap());
        });
        Bench { machine, router: router(), statuses, temp }
    }

    /// The whole machine, with a driver that keeps what agents change.
    pub fn keeping() -> Bench {
        let temp = tempfile::tempdir().unwrap();
        let (workspace, state) = (temp.path().join("work"), temp.path().join("state"));
        std::fs::create_dir(&workspace).unwrap();
        Bench::keeping_at(temp, &workspace, &state)
    }

    fn keeping_at(temp: tempfile::TempDir, workspace: &Path, state: &Path) -> Bench {
        let files = Files::whole(workspace).unwrap();
        let agents = Agents::new(Default::default(), &files, "/bin/sh".into(), None);
        let agents = agents.keeping(Some(state), workspace, Clock::system());
        let machine = Machine::new(files, agents, Clock::system(), |_| {});
        Bench { machine, router: router(), statuses: Arc::default(), temp }
    }

    /// The same machine with a driver that was started anew.
    pub fn restarted(self) -> Bench {
        let (workspace, state) = (self.temp.path().join("work"), self.temp.path().join("state"));
        Bench::keeping_at(self.temp, &workspace, &state)
    }

    pub fn outside(&self) -> &Path {
        self.temp.path()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join("work").join(name)
    }

    pub fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// The answer's frame.
    pub async fn frame(&self, call: &str, args: Value) -> Value {
        let cx = Cx::new(self.machine.clone(), "gw-1", None);
        let reply = answer(&self.router, cx, call, &args.to_string()).await;
        serde_json::from_str(&reply.text).unwrap()
    }

    /// The data of an answer that is no refusal.
    pub async fn call(&self, call: &str, args: Value) -> Value {
        let frame = self.frame(call, args).await;
        assert_eq!(frame["ok"], json!(true), "{frame}");
        frame["data"].clone()
    }

    /// The text of an operation that failed inside a successful frame.
    pub async fn fails(&self, call: &str, args: Value) -> String {
        let data = self.call(call, args).await;
        assert_eq!(data["ok"], json!(false), "{data}");
        data["error"].as_str().unwrap().to_string()
    }

    /// Code and message of a refusal.
    pub async fn refused(&self, call: &str, args: Value) -> (i64, String) {
        let frame = self.frame(call, args).await;
        assert_eq!(frame["ok"], json!(false), "{frame}");
        (frame["error"]["code"].as_i64().unwrap(), frame["error"]["message"].as_str().unwrap().to_string())
    }

    pub async fn shell(&self, args: Value) -> Value {
        self.call("shell.exec", args).await
    }

    /// Polls until the command has ended; all output together.
    pub async fn follow(&self, session: &Value) -> (Value, String) {
        let mut output = String::new();
        loop {
            let data = self.shell(json!({ "sessionId": session, "input": "" })).await;
            output.push_str(data["output"].as_str().unwrap());
            if data["status"] != "running" {
                return (data, output);
            }
        }
    }
}
