//! Widenings in the real sandbox: what a person approved is open, what is beside it is not, and what cannot be opened
//! alone is sent back to be asked about.

use std::path::Path;

use serde_json::{Value, json};

use crate::confined_home::ConfinedHome;

/// A home with secrets, and a driver there.
struct Stage {
    home: ConfinedHome,
}

impl Stage {
    fn new() -> Stage {
        let temp = tempfile::Builder::new().prefix("home-").tempdir().unwrap();
        let files = [
            ("notes.txt", "old"),
            ("other.txt", "other"),
            (".ssh/config", "Host example"),
            (".ssh/id_ed25519", "THE-KEY"),
            ("work/keep.txt", "keep"),
            ("work/.git/config", "[core]\n"),
            ("work/.git/HEAD", "ref: refs/heads/main\n"),
        ];
        let words = ["fs", "secrets", "network", "processes"];
        Stage { home: ConfinedHome::new(temp, &files, "state", &words, "/bin/bash") }
    }

    fn path(&self, name: &str) -> String {
        self.home.path.join(name).to_str().unwrap().to_string()
    }

    /// Runs a command as an agent's, inside the sandbox with that opened; the frame that answers it.
    async fn run(&self, command: &str, opened: Value) -> Value {
        let mut confine = json!({ "pid": "init:1000", "run": "r", "way": "confined" });
        confine.as_object_mut().unwrap().extend(opened.as_object().cloned().unwrap());
        let args = json!({ "input": command, "yieldMs": 30_000, "closeStdin": true, "confine": confine });
        serde_json::from_str(&self.home.call("shell.exec", &args).await).unwrap()
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
    assert_eq!(text(&stage.home.path.join("notes.txt")), "new\n");
    assert_eq!(text(&stage.home.path.join("other.txt")), "other");
    assert_eq!(text(&stage.home.path.join("work/.git/config")), "[core]\n");
    stage.run(both, json!({ "write": [stage.path("work/.git/config")] })).await;
    assert_eq!(text(&stage.home.path.join("work/.git/config")), "[core]\n[x]\n");
    assert_eq!(text(&stage.home.path.join("other.txt")), "other");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_opened_alone_is_sent_back() {
    let stage = Stage::new();
    std::os::unix::fs::symlink(stage.home.path.join("other.txt"), stage.home.path.join("link")).unwrap();
    for name in ["missing.txt", "link"] {
        let answer = stage.run("echo x > ~/link", json!({ "write": [stage.path(name)] })).await;
        assert_eq!(answer["error"]["details"]["reason"], "approval_required", "{answer}");
    }
    assert_eq!(text(&stage.home.path.join("other.txt")), "other");
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
