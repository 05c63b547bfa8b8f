//! Widenings in the real sandbox: what a person approved is open, what is beside it is not, and what cannot be opened
//! alone is sent back to be asked about.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::clock::Clock;
use device::files::Files;
use device::machine::{Cx, Machine, answer, router};
use device::{Agents, Enforced};
use sandbox::Sandbox;
use serde_json::{Value, json};

/// A home with secrets, a workspace in it, and a driver's machine.
struct Stage {
    home: PathBuf,
    machine: Arc<Machine>,
    _temp: tempfile::TempDir,
}

impl Stage {
    fn new() -> Stage {
        let temp = tempfile::Builder::new().prefix("home-").tempdir().unwrap();
        let home = temp.path().canonicalize().unwrap().join("home");
        for (path, text) in [
            ("notes.txt", "old"),
            ("other.txt", "other"),
            (".ssh/config", "Host example"),
            (".ssh/id_ed25519", "THE-KEY"),
            ("work/keep.txt", "keep"),
            ("work/.git/config", "[core]\n"),
            ("work/.git/HEAD", "ref: refs/heads/main\n"),
        ] {
            let path = home.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let files = Files::whole(&home.join("work")).unwrap().at_home(home.clone());
        let enforced = Enforced {
            sandbox: Sandbox::with_helper(env!("CARGO_BIN_EXE_gsv").into()),
            words: ["fs", "secrets", "network", "processes"].map(str::to_string).to_vec(),
            state: temp.path().canonicalize().unwrap().join("state"),
            clock: Clock::system(),
        };
        let agents = Agents::new(Default::default(), &files, "/bin/bash".into(), Some(enforced));
        let machine = Machine::new(files, agents, Clock::system(), |_| {});
        Stage { home, machine, _temp: temp }
    }

    fn path(&self, name: &str) -> String {
        self.home.join(name).to_str().unwrap().to_string()
    }

    /// Runs a command as an agent's, inside the sandbox with that opened; the frame that answers it.
    async fn run(&self, command: &str, opened: Value) -> Value {
        let mut confine = json!({ "pid": "init:1000", "run": "r", "way": "confined" });
        confine.as_object_mut().unwrap().extend(opened.as_object().cloned().unwrap());
        let args = json!({ "input": command, "yieldMs": 30_000, "closeStdin": true, "confine": confine });
        let cx = Cx::new(self.machine.clone(), "1", None);
        serde_json::from_str(&answer(&router(), cx, "shell.exec", &args.to_string()).await.text).unwrap()
    }
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_read_and_its_neighbours_are_not() {
    let stage = Stage::new();
    let both = "cat ~/.ssh/config; cat ~/.ssh/id_ed25519; true";
    let closed = stage.run(both, json!({})).await;
    assert!(!closed.to_string().contains("Host example"), "{closed}");
    let opened = stage.run(both, json!({ "read": [stage.path(".ssh/config")] })).await.to_string();
    assert!(opened.contains("Host example") && !opened.contains("THE-KEY"), "{opened}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_is_written_and_its_neighbours_are_not() {
    let stage = Stage::new();
    let both = "echo new > ~/notes.txt; echo new > ~/other.txt; echo '[x]' >> .git/config; true";
    stage.run(both, json!({ "write": [stage.path("notes.txt")] })).await;
    assert_eq!(text(&stage.home.join("notes.txt")), "new\n");
    assert_eq!(text(&stage.home.join("other.txt")), "other");
    assert_eq!(text(&stage.home.join("work/.git/config")), "[core]\n");
    stage.run(both, json!({ "write": [stage.path("work/.git/config")] })).await;
    assert_eq!(text(&stage.home.join("work/.git/config")), "[core]\n[x]\n");
    assert_eq!(text(&stage.home.join("other.txt")), "other");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_opened_alone_is_sent_back() {
    let stage = Stage::new();
    std::os::unix::fs::symlink(stage.home.join("other.txt"), stage.home.join("link")).unwrap();
    for name in ["missing.txt", "link"] {
        let answer = stage.run("echo x > ~/link", json!({ "write": [stage.path(name)] })).await;
        assert_eq!(answer["error"]["details"]["reason"], "approval_required", "{answer}");
    }
    assert_eq!(text(&stage.home.join("other.txt")), "other");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_host_is_told_as_it_could_be_allowed() {
    let stage = Stage::new();
    let answer = stage.run("getent hosts refused.example; true", json!({})).await;
    assert_eq!(answer["data"]["refusedHosts"], json!(["refused.example"]), "{answer}");
    assert!(
        answer["data"]["output"].as_str().unwrap().contains("tried to reach refused.example"),
        "{answer}"
    );
    let answer = stage.run("true", json!({})).await;
    assert!(answer["data"]["refusedHosts"].is_null(), "{answer}");
}
