//! Both corpora of agents' commands, against the real policy, the real sandbox and a real shell: what is judged to run
//! unasked is run, in a home with canaries, and nothing outside the workspace, no secret and nobody outside is touched.

use std::collections::BTreeMap;
use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base::clock::Clock;
use device::files::Files;
use device::machine::{Cx, Machine, answer, router};
use device::{Agents, Enforced};
use policy::{Call, Known, Policy, Target, Way};
use protocol::confine::Confinement;
use protocol::identity::ProcessIdentity;
use protocol::ids::{Gid, Uid};
use sandbox::Sandbox;
use serde_json::{Map, Value, json};

const EVERYDAY: &str = include_str!("../../../policy/corpus/everyday.txt");
const HOSTILE: &str = include_str!("../../../policy/corpus/hostile.txt");
const WORDS: &[&str] = &["fs", "secrets", "network", "processes", "limits"];
const SECRET: &str = "THE-SECRET-THAT-MUST-STAY";
/// How many homes commands run in at once.
const STAGES: usize = 4;

fn commands(corpus: &str) -> impl Iterator<Item = String> {
    let lines =
        corpus.lines().filter(|line| !line.is_empty() && !line.starts_with('#') && !line.starts_with("== "));
    lines.map(|line| line.replace("\\n", "\n").replace("\\t", "\t").replace("\\r", "\r"))
}

fn way(home: &Path, command: &str) -> Way {
    let home = home.to_str().unwrap();
    let told = Confinement {
        confine: Some(WORDS.iter().map(|word| word.to_string()).collect()),
        workspace: Some(format!("{home}/work")),
        home: Some(home.to_string()),
        shell: Some("/bin/bash".to_string()),
        agents: None,
    };
    let who = ProcessIdentity {
        uid: Uid(1000),
        gid: Gid(1000),
        gids: Vec::new(),
        username: "ann".to_string(),
        home: "/home/ann".to_string(),
        cwd: "/home/ann".to_string(),
        workspace_id: None,
    };
    let args: Map<String, Value> =
        json!({ "input": command, "target": "desk" }).as_object().cloned().unwrap();
    let call = Call {
        profile: "task",
        syscall: "shell.exec",
        args: &args,
        who: &who,
        target: &Target::from(told),
        session: None,
        known: &|_, _| Known::Unknown,
    };
    Policy::parse("").judge(call, []).way
}

#[test]
fn at_most_one_everyday_command_in_twenty_asks() {
    let all: Vec<String> = commands(EVERYDAY).collect();
    let asked: Vec<&String> =
        all.iter().filter(|command| way(Path::new("/home/ann"), command) == Way::Asked).collect();
    assert!(all.len() >= 400, "only {} commands", all.len());
    assert!(asked.len() * 20 <= all.len(), "{} of {} ask: {asked:#?}", asked.len(), all.len());
    println!("{} of {} everyday commands ask", asked.len(), all.len());
}

/// A home with canaries, a workspace in it, and a driver's machine.
struct Stage {
    home: PathBuf,
    machine: Arc<Machine>,
    before: BTreeMap<PathBuf, String>,
    _temp: tempfile::TempDir,
}

impl Stage {
    fn new() -> Stage {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path().canonicalize().unwrap().join("home");
        for (path, text) in [
            ("precious.txt", "precious"),
            ("other/file", "other"),
            (".bashrc", "# start-up"),
            (".ssh/id_ed25519", SECRET),
            (".aws/credentials", SECRET),
            (".netrc", SECRET),
            (".config/gsv/config.toml", SECRET),
            (".git-credentials", SECRET),
            (".gnupg/secring.gpg", SECRET),
            (".npmrc", SECRET),
            ("work/keep.txt", "keep"),
            ("work/.git/config", "[core]\n"),
            ("work/.git/HEAD", "ref: refs/heads/main\n"),
            ("work/.git/hooks/pre-commit.sample", "#!/bin/sh\n"),
            ("work/evil.sh", "rm -rf ~/precious.txt ~/other; cat ~/.ssh/id_ed25519\n"),
        ] {
            let path = home.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let files = Files::whole(&home.join("work")).unwrap().at_home(home.clone());
        let enforced = Enforced {
            sandbox: Sandbox::with_helper(env!("CARGO_BIN_EXE_gsv").into()),
            words: WORDS.iter().map(|word| word.to_string()).collect(),
            state: temp.path().canonicalize().unwrap().join("state"),
            clock: Clock::system(),
        };
        let agents = Agents::new(Default::default(), &files, "/bin/bash".into(), Some(enforced));
        let machine = Machine::new(files, agents, Clock::system(), |_| {});
        let before = outside(&home);
        Stage { home, machine, before, _temp: temp }
    }

    /// Runs a command as an agent's, confined; everything it said.
    async fn run(&self, command: &str) -> String {
        let confine = json!({ "pid": "init:1000", "run": "r", "way": "confined" });
        let args = json!({ "input": command, "timeout": 2_000, "yieldMs": 10_000, "closeStdin": true, "confine": confine });
        let cx = Cx::new(self.machine.clone(), "1", None);
        answer(&router(), cx, "shell.exec", &args.to_string()).await.text
    }
}

/// What is in the home outside the workspace, with contents and modes.
fn outside(home: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![home.to_path_buf()];
    while let Some(directory) = waiting.pop() {
        for child in std::fs::read_dir(&directory).unwrap().map(Result::unwrap) {
            let path = child.path();
            let metadata = path.symlink_metadata().unwrap();
            if path == home.join("work") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            found.insert(path.clone(), format!("{:?} {text}", metadata.permissions()));
            if metadata.is_dir() {
                waiting.push(path);
            }
        }
    }
    found
}

/// Counts who comes from the sandbox to a port of this machine.
fn listen() -> (Arc<AtomicUsize>, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Arc::new(AtomicUsize::new(0));
    let count = heard.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            count.fetch_add(1, Ordering::SeqCst);
            drop(stream.read(&mut [0; 16]));
        }
    });
    (heard, port)
}

#[tokio::test(flavor = "multi_thread")]
async fn no_hostile_command_has_an_effect_without_a_question() {
    let (heard, port) = listen();
    let all: Vec<String> =
        commands(HOSTILE).map(|command| command.replace("4999", &port.to_string())).collect();
    assert!(all.len() >= 400, "only {} commands", all.len());
    let unasked: Vec<String> =
        all.iter().filter(|command| way(Path::new("/home/ann"), command) != Way::Asked).cloned().collect();
    println!("{} of {} hostile commands run unasked, confined", unasked.len(), all.len());
    assert!(!unasked.is_empty(), "nothing is left to be run in the sandbox");
    let parts: Vec<Vec<String>> =
        (0..STAGES).map(|part| unasked.iter().skip(part).step_by(STAGES).cloned().collect()).collect();
    let running: Vec<_> = parts
        .into_iter()
        .map(|part| {
            tokio::spawn(async move {
                let stage = Stage::new();
                let mut wrong = Vec::new();
                for command in part {
                    let said = stage.run(&command).await;
                    if said.contains(SECRET) {
                        wrong.push(format!("tells a secret: {command}"));
                    }
                    if said.contains("could not be set up") || said.contains("Failed to prepare") {
                        wrong.push(format!("did not run: {command}: {said}"));
                    }
                    if outside(&stage.home) != stage.before {
                        wrong.push(format!("changes something outside the workspace: {command}"));
                        break;
                    }
                }
                wrong
            })
        })
        .collect();
    let mut wrong = Vec::new();
    for part in running {
        wrong.extend(part.await.unwrap());
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(heard.load(Ordering::SeqCst), 0, "somebody outside was reached");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_is_built_and_committed_in_the_sandbox_and_its_checkpoint_brings_it_back() {
    let stage = Stage::new();
    let work = stage.home.join("work");
    std::fs::remove_dir_all(work.join(".git")).unwrap();
    std::fs::write(work.join("Makefile"), "all:\n\techo built > out.txt\n").unwrap();
    let said = stage.run("git init -q . && make && git add -A && git -c user.name=a -c user.email=a@b commit -qm x && git log --oneline | wc -l").await;
    assert!(said.contains("\"exitCode\":0"), "{said}");
    let said = stage.run("echo one > /tmp/kept && echo hello > made.txt").await;
    assert!(said.contains("\"exitCode\":0"), "{said}");
    let said = stage.run("cat /tmp/kept made.txt; echo $HOME; cat ~/.ssh/id_ed25519").await;
    assert!(said.contains("one\\nhello"), "what one command leaves in /tmp the next finds: {said}");
    assert!(!said.contains(SECRET), "{said}");
    std::fs::remove_file(work.join("keep.txt")).unwrap();
    let kept = checkpoint::Checkpoints::open(&stage._temp.path().join("state/checkpoints"), &work).unwrap();
    let first = kept.list().unwrap()[0].clone();
    let how = checkpoint::Restore { force: true, ..Default::default() };
    let now_ms = Clock::system().now_ms();
    kept.restore(first.id, &how, now_ms, &checkpoint::Budget::default()).unwrap();
    assert_eq!(std::fs::read_to_string(work.join("keep.txt")).unwrap(), "keep");
    assert!(!work.join("made.txt").exists(), "what the run made is gone");
}
