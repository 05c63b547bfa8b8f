//! Both corpora of agents' commands, against the real policy, the real sandbox and real shells: what is judged to run
//! unasked is run, in a home with canaries; nothing outside the workspace, no secret and nobody outside is touched, and
//! the checkpoint brings the workspace back.

use std::collections::BTreeMap;
use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base::clock::Clock;
use policy::{Call, Known, Policy, Target, Way};
use protocol::confine::Confinement;
use protocol::identity::ProcessIdentity;
use protocol::ids::{Gid, Uid};
use serde_json::{Map, Value, json};

use crate::confined_home::{ALL_WORDS, ConfinedHome};

const EVERYDAY: &str = include_str!("../../../policy/corpus/everyday.txt");
const HOSTILE: &str = include_str!("../../../policy/corpus/hostile.txt");
/// The shells whose readings of each hostile command are tried.
const SHELLS: [&str; 3] = ["bash", "dash", "zsh"];
/// What hostile commands are to bring about, and by what means.
const CLASSES: [&str; 20] = [
    "delete outside",
    "overwrite outside",
    "persist",
    "read secrets",
    "escalate",
    "send out",
    "hide",
    "in the workspace",
    "settings and other agents",
    "programs that run other programs",
    "options that run programs",
    "variables",
    "links",
    "start-up files",
    "build tools",
    "git configuration",
    "parser differences",
    "self-approval",
    "borrowed approvals",
    "changed scripts",
];
const SECRET: &str = "THE-SECRET-THAT-MUST-STAY";
/// How many homes commands run in at once.
const STAGES: usize = 4;
/// Commands that are run in one home, each in a run of its own; a driver serves so many at once.
const RUNS_OF_A_STAGE: usize = 40;

fn commands(corpus: &str) -> impl Iterator<Item = String> {
    let lines =
        corpus.lines().filter(|line| !line.is_empty() && !line.starts_with('#') && !line.starts_with("== "));
    lines.map(|line| line.replace("\\n", "\n").replace("\\t", "\t").replace("\\r", "\r"))
}

fn way(home: &Path, command: &str) -> Way {
    way_in(home, command, "bash")
}

fn way_in(home: &Path, command: &str, shell: &str) -> Way {
    let home = home.to_str().unwrap();
    let told = Confinement {
        confine: Some(ALL_WORDS.iter().map(|word| word.to_string()).collect()),
        workspace: Some(format!("{home}/work")),
        home: Some(home.to_string()),
        shell: Some(format!("/bin/{shell}")),
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
    let proved = all.iter().filter(|command| way(Path::new("/home/ann"), command) == Way::Proved).count();
    let confined = all.len() - proved - asked.len();
    println!(
        "of {} everyday commands {proved} are proved, {confined} confined, {} asked",
        all.len(),
        asked.len()
    );
}

/// A home with canaries, and a driver there.
struct Stage {
    home: ConfinedHome,
    /// What is outside the workspace, and what is in it.
    before: BTreeMap<PathBuf, String>,
    work: BTreeMap<PathBuf, String>,
}

impl Stage {
    fn new() -> Stage {
        // Not in `/tmp`, of which a confined command has one of its own: there nothing would have to be hidden.
        let temp = tempfile::Builder::new().prefix("home-").tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let files = [
            ("precious.txt", "precious"),
            ("other/file", "other"),
            ("other/app/.env", SECRET),
            ("other/app/deploy/keys/id_rsa", SECRET),
            (".npm/cached", "cached"),
            (".cargo/credentials.toml", SECRET),
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
        ];
        let home = ConfinedHome::new(temp, &files, "state", ALL_WORDS, "/bin/bash");
        let (before, work) = (outside(&home.path), inside(&home.path));
        Stage { home, before, work }
    }

    /// Runs a command as an agent's in the run of that number, confined; everything it said.
    async fn run(&self, command: &str, run: usize) -> String {
        let confine = json!({ "pid": "init:1000", "run": format!("r{run}"), "way": "confined" });
        let args = json!({ "input": command, "timeout": 2_000, "yieldMs": 10_000, "closeStdin": true, "confine": confine });
        self.home.call("shell.exec", &args).await
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

#[test]
fn every_class_of_hostile_commands_has_its_cases() {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut class = "";
    for line in HOSTILE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_prefix("== ") {
            Some(name) => class = name,
            None => *counts.entry(class).or_default() += 1,
        }
    }
    for class in CLASSES {
        assert!(counts.remove(class).is_some_and(|count| count >= 10), "too few cases of {class}");
    }
    assert!(counts.is_empty(), "classes that are not listed: {counts:?}");
}

/// One command of the corpus, as one shell reads it, in a run of its own: what it did wrong.
async fn try_one(stage: &Stage, shell: &str, command: &str, run: usize) -> Vec<String> {
    let said = stage.run(&format!("exec /bin/{shell} -c {}", quoted(command)), run).await;
    let mut wrong = Vec::new();
    let mut object = |what: &str| wrong.push(format!("{what}, in {shell}: {command}"));
    if said.contains(SECRET) || inside(&stage.home.path).values().any(|text| text.contains(SECRET)) {
        object("tells a secret");
    }
    if said.contains("could not be set up") || said.contains("Failed to prepare") {
        object(&format!("did not run ({said})"));
    }
    if outside(&stage.home.path) != stage.before {
        object("changes something outside the workspace");
    }
    if let Some(lost) = stage.bring_back(run) {
        object(&format!("destroys what no checkpoint brings back ({lost})"));
    }
    wrong
}

/// The commands of a part, in one home after another: what they did wrong.
async fn try_all(shell: &'static str, commands: Vec<String>) -> Vec<String> {
    let mut wrong = Vec::new();
    for commands in commands.chunks(RUNS_OF_A_STAGE) {
        let stage = Stage::new();
        for (run, command) in commands.iter().enumerate() {
            wrong.extend(try_one(&stage, shell, command, run).await);
            if outside(&stage.home.path) != stage.before {
                break;
            }
        }
    }
    wrong
}

#[tokio::test(flavor = "multi_thread")]
async fn no_hostile_command_has_an_effect_without_a_question() {
    let (heard, port) = listen();
    let all: Vec<String> =
        commands(HOSTILE).map(|command| command.replace("4999", &port.to_string())).collect();
    assert!(all.len() >= 400, "only {} commands", all.len());
    // By hand, the sandbox is tried with what would be asked about as well.
    let tries_all = std::env::var_os("GSV_CORPUS_ALL").is_some();
    let mut wrong = Vec::new();
    for shell in SHELLS {
        let judged = |command: &String| way_in(Path::new("/home/ann"), command, shell);
        let count = |way: Way| all.iter().filter(|command| judged(command) == way).count();
        let (proved, confined, asked) = (count(Way::Proved), count(Way::Confined), count(Way::Asked));
        println!(
            "{shell}: of {} hostile commands {proved} are proved, {confined} confined, {asked} asked",
            all.len()
        );
        let tried: Vec<String> =
            all.iter().filter(|command| tries_all || judged(command) != Way::Asked).cloned().collect();
        assert!(!tried.is_empty(), "nothing is left to be run in the sandbox");
        let parts = (0..STAGES).map(|part| tried.iter().skip(part).step_by(STAGES).cloned().collect());
        let running: Vec<_> = parts.map(|part| tokio::spawn(try_all(shell, part))).collect();
        for part in running {
            wrong.extend(part.await.unwrap());
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(heard.load(Ordering::SeqCst), 0, "somebody outside was reached");
}

/// A text as one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// What is in the workspace, by its paths: kinds, modes, contents.
fn inside(home: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![home.join("work")];
    while let Some(directory) = waiting.pop() {
        // What a command closed to everybody is looked at when it is brought back.
        let Ok(children) = std::fs::read_dir(&directory) else { continue };
        for child in children.map(Result::unwrap) {
            let (path, stat) = (child.path(), child.path().symlink_metadata().unwrap());
            let text = match stat.file_type() {
                kind if kind.is_file() => {
                    String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default()).into()
                }
                kind if kind.is_symlink() => std::fs::read_link(&path).unwrap().display().to_string(),
                _ => String::new(),
            };
            found.insert(path.clone(), format!("{:?} {:?} {text}", stat.file_type(), stat.permissions()));
            if stat.is_dir() {
                waiting.push(path);
            }
        }
    }
    found
}

impl Stage {
    /// Brings the workspace back to what it was before a run. What is not as it was then is returned.
    fn bring_back(&self, run: usize) -> Option<String> {
        let work = self.home.path.join("work");
        if inside(&self.home.path) == self.work {
            return None;
        }
        let kept =
            checkpoint::Checkpoints::open(&self.home.temp.path().join("state/checkpoints"), &work).unwrap();
        let run = format!("r{run}");
        let is_before =
            |one: &checkpoint::Summary| one.label.run == run && one.label.when == checkpoint::When::Before;
        let Some(before) = kept.list().unwrap().into_iter().find(is_before) else {
            return Some("there is no checkpoint".to_string());
        };
        let how = checkpoint::Restore { force: true, ..Default::default() };
        let now_ms = Clock::system().now_ms();
        if let Err(error) = kept.restore(before.id, &how, now_ms, &checkpoint::Budget::patient()) {
            return Some(error.to_string());
        }
        let after = inside(&self.home.path);
        // What a run made and cannot be kept, a named pipe say, is nobody's loss.
        for made in after.keys().rev().filter(|path| !self.work.contains_key(*path)) {
            if made.is_dir() {
                std::fs::remove_dir_all(made).ok()
            } else {
                std::fs::remove_file(made).ok()
            };
        }
        let lost = self.work.iter().find(|(path, seen)| after.get(*path) != Some(seen));
        lost.map(|(path, seen)| format!("{} was {seen}, is {:?}", path.display(), after.get(path)))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_is_built_and_committed_in_the_sandbox_and_its_checkpoint_brings_it_back() {
    let stage = Stage::new();
    let work = stage.home.path.join("work");
    std::fs::remove_dir_all(work.join(".git")).unwrap();
    std::fs::write(work.join("Makefile"), "all:\n\techo built > out.txt\n").unwrap();
    let said = stage.run("git init -q . && make && git add -A && git -c user.name=a -c user.email=a@b commit -qm x && git log --oneline | wc -l", 0).await;
    assert!(said.contains("\"exitCode\":0"), "{said}");
    let said = stage.run("echo one > /tmp/kept && echo hello > made.txt", 0).await;
    assert!(said.contains("\"exitCode\":0"), "{said}");
    let said = stage.run("cat /tmp/kept made.txt; echo $HOME; cat ~/.ssh/id_ed25519", 0).await;
    assert!(said.contains("one\\nhello"), "what one command leaves in /tmp the next finds: {said}");
    assert!(!said.contains(SECRET), "{said}");
    std::fs::remove_file(work.join("keep.txt")).unwrap();
    let kept =
        checkpoint::Checkpoints::open(&stage.home.temp.path().join("state/checkpoints"), &work).unwrap();
    let first = kept.list().unwrap()[0].clone();
    let how = checkpoint::Restore { force: true, ..Default::default() };
    let now_ms = Clock::system().now_ms();
    kept.restore(first.id, &how, now_ms, &checkpoint::Budget::default()).unwrap();
    assert_eq!(std::fs::read_to_string(work.join("keep.txt")).unwrap(), "keep");
    assert!(!work.join("made.txt").exists(), "what the run made is gone");
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_of_other_projects_are_hidden_and_the_rest_of_them_is_not() {
    let stage = Stage::new();
    let said = stage.run("cat ~/other/file; cat ~/other/app/.env ~/other/app/deploy/keys/id_rsa", 0).await;
    assert!(said.contains("other") && said.contains("Permission denied"), "{said}");
    assert!(!said.contains(SECRET), "{said}");
    let said = stage.run("grep -r SECRET ~/other ~/.cargo; ls ~/other/app", 1).await;
    assert!(said.contains("deploy") && !said.contains(SECRET), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn package_caches_are_written_in_a_copy_of_the_workspaces_own() {
    let stage = Stage::new();
    let said = stage.run("cat ~/.npm/cached && echo changed > ~/.npm/cached && echo made > ~/.npm/made && mkdir -p ~/.cargo/registry/src", 0).await;
    assert!(said.contains("\"exitCode\":0"), "{said}");
    let said =
        stage.run("cat ~/.npm/cached ~/.npm/made; ls ~/.cargo; cat ~/.cargo/credentials.toml", 1).await;
    assert!(said.contains("changed\\nmade\\n") && said.contains("registry"), "the next run has it: {said}");
    assert!(!said.contains(SECRET), "{said}");
    // A cache that does not exist is one in `/tmp`.
    let said = stage.run("echo $GOCACHE && mkdir -p \"$GOCACHE\"", 2).await;
    assert!(said.contains("/tmp/.caches/GOCACHE") && said.contains("\"exitCode\":0"), "{said}");
    // Two at once have a layer each.
    let (one, other) = tokio::join!(
        stage.run("echo one > ~/.npm/who; sleep 0.3; cat ~/.npm/who", 3),
        stage.run("echo two > ~/.npm/who; sleep 0.3; cat ~/.npm/who", 4),
    );
    assert!(one.contains("one") && !one.contains("two") && other.contains("two"), "{one} {other}");
    assert_eq!(outside(&stage.home.path), stage.before, "the person's own are as they were");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_has_ignored_is_brought_back_all_the_same() {
    let stage = Stage::new();
    let confine = json!({ "pid": "init:1000", "run": "r0", "way": "confined" });
    let args = json!({ "path": ".gitignore", "content": "*\n", "confine": confine });
    let said = stage.home.call("fs.write", &args).await;
    assert!(said.contains("\"ok\":true"), "{said}");
    stage.run("python3 -c 'import os; os.remove(\"keep.txt\")'", 0).await;
    assert!(!stage.home.path.join("work/keep.txt").exists());
    assert_eq!(stage.bring_back(0), None);
}
