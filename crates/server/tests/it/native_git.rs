//! Tests of `git` in the native shell against the git program: on random histories both print the same bytes.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use testkit::{Gateway, Peer};

/// The git program in a directory, with nobody's settings; its exit code and what it printed.
fn git_in(dir: &Path, args: &[&str], env: &[(&str, &str)]) -> (i32, String) {
    let output = Command::new("git")
        .args(["-c", "advice.statusHints=false", "-c", "core.abbrev=7", "-c", "user.name=x"])
        .args(["-c", "user.email=x@x", "-c", "protocol.file.allow=always"])
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_PAGER", "cat")
        .env("LC_ALL", "C.UTF-8")
        .env("TZ", "UTC")
        .envs(env.iter().copied())
        .output()
        .unwrap();
    (output.status.code().unwrap(), String::from_utf8_lossy(&output.stdout).into_owned())
}

fn git(dir: &Path, args: &[&str]) -> String {
    let (code, printed) = git_in(dir, args, &[]);
    assert_eq!(code, 0, "git {args:?}: {printed}");
    printed
}

async fn run(peer: &mut Peer, script: &str) -> Value {
    let args = json!({ "input": script, "closeStdin": true, "yieldMs": 30_000 });
    let done = peer.call("shell.exec", args).await.unwrap();
    assert_ne!(done["status"], "running", "{script}");
    done
}

async fn prints(peer: &mut Peer, script: &str) -> String {
    let done = run(peer, script).await;
    assert_eq!(done["exitCode"], 0, "{script}: {done}");
    done["stdout"].as_str().unwrap().to_string()
}

/// The exit code and the complaint.
async fn fails(peer: &mut Peer, script: &str) -> (i64, String) {
    let done = run(peer, script).await;
    (done["exitCode"].as_i64().unwrap(), done["stderr"].as_str().unwrap().to_string())
}

/// Numbers that look random and are the same every time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }
}

const NAMES: &[&str] = &["a.txt", "d/b.rs", "d/e/c c.md", "ä ö", "d/-x", "q\"q", "z/run", "d.x"];

/// A history of the git program's, pushed into a repository of the gateway.
struct History {
    work: PathBuf,
    chance: Chance,
    line: usize,
}

impl History {
    /// Changes some lines of a file, or makes it. Every line is another, so that there is one way to tell what changed.
    fn text(&mut self, old: &str) -> String {
        let mut lines: Vec<String> = old.lines().map(str::to_string).collect();
        for _ in 0..=self.chance.below(6) {
            let at = self.chance.below(lines.len() + 1);
            for _ in 0..self.chance.below(5) {
                self.line += 1;
                let head = if self.chance.below(3) == 0 { "fn " } else { "    let " };
                lines.insert(at, format!("{head}line{} = {};", self.line, self.chance.below(100)));
            }
            if !lines.is_empty() && self.chance.below(2) == 0 {
                lines.remove(self.chance.below(lines.len()));
            }
        }
        let end = if self.chance.below(4) == 0 || lines.is_empty() { "" } else { "\n" };
        lines.join("\n") + end
    }

    fn change(&mut self) {
        let name = NAMES[self.chance.below(NAMES.len())];
        let path = self.work.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        match self.chance.below(12) {
            0 => drop(std::fs::remove_file(&path)),
            1 => {
                drop(std::fs::remove_file(&path));
                std::os::unix::fs::symlink(format!("to/{}", self.chance.below(9)), &path).unwrap();
            }
            2 => {
                drop(std::fs::remove_file(&path));
                let size = self.chance.below(3_000);
                std::fs::write(&path, [&[0_u8, 159, 146][..], &vec![7; size]].concat()).unwrap();
            }
            3 if path.is_file() && !path.is_symlink() => {
                use std::os::unix::fs::PermissionsExt;
                let bits = if self.chance.below(2) == 0 { 0o755 } else { 0o644 };
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(bits)).unwrap();
            }
            _ => {
                if path.is_symlink() {
                    std::fs::remove_file(&path).unwrap();
                }
                let old = std::fs::read_to_string(&path).unwrap_or_default();
                let new = self.text(&old);
                std::fs::write(&path, new).unwrap();
            }
        }
    }

    fn commit(&mut self, number: usize) {
        for _ in 0..=self.chance.below(4) {
            self.change();
        }
        git(&self.work, &["add", "-A"]);
        let message = match self.chance.below(4) {
            0 => format!("change {number}\nin two lines\n\nbody\twith tab\n\n  and ä more \n"),
            1 => format!("change {number} 100%"),
            _ => format!("change {number}\n\nwhy"),
        };
        let who = ["Ann", "Bob the Builder", "Zoë"][self.chance.below(3)];
        let date = format!("{} +0000", 1_700_000_000 + number * 4_321 + self.chance.below(1_000));
        let env = [
            ("GIT_AUTHOR_NAME", who),
            ("GIT_AUTHOR_EMAIL", "w@x"),
            ("GIT_AUTHOR_DATE", &date),
            ("GIT_COMMITTER_DATE", &date),
        ];
        let (code, said) = git_in(&self.work, &["commit", "-q", "--allow-empty", "-m", &message], &env);
        assert_eq!(code, 0, "{said}");
    }
}

/// A repository `alice/NAME` with a random history, the clone of the git program, and the clone of ours at `~/NAME`.
async fn a_history(gateway: &Gateway, alice: &mut Peer, name: &str, seed: u64) -> PathBuf {
    let repo = format!("alice/{name}");
    alice.call("repo.create", json!({ "repo": repo })).await.unwrap();
    let bare = gateway.data().join(format!("repos/{repo}.git"));
    let work = gateway.data().join(format!("work-{name}"));
    git(gateway.data(), &["clone", "-q", bare.to_str().unwrap(), work.to_str().unwrap()]);
    let mut history = History { work: work.clone(), chance: Chance(seed), line: 0 };
    for number in 0..14 {
        history.commit(number);
        if number == 6 {
            git(&work, &["tag", "v1"]);
            git(&work, &["branch", "side"]);
        }
    }
    git(&work, &["push", "-q", "origin", "main", "side", "v1"]);
    git(&work, &["branch", "--unset-upstream"]);
    prints(alice, &format!("git clone -q {repo}")).await;
    work
}

/// What the two say differently to a command, which a shell reads for both.
async fn differs(alice: &mut Peer, name: &str, work: &Path, command: &str) -> Option<String> {
    let plain = "git() { command git -c advice.statusHints=false -c core.abbrev=7 \"$@\"; }";
    let theirs = Command::new("bash")
        .args(["-c", &format!("{plain}\n{command}")])
        .current_dir(work)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_PAGER", "cat")
        .env("LC_ALL", "C.UTF-8")
        .env("TZ", "UTC")
        .output()
        .unwrap();
    let ours = run(alice, &format!("cd ~/{name} && {command}")).await;
    let (printed, expected) = (ours["stdout"].as_str().unwrap(), String::from_utf8_lossy(&theirs.stdout));
    let codes = (ours["exitCode"].as_i64(), theirs.status.code().map(i64::from));
    if printed == expected && codes.0 == codes.1 {
        return None;
    }
    let at = printed.lines().zip(expected.lines()).position(|(a, b)| a != b);
    let around = |text: &str| {
        text.lines().skip(at.unwrap_or(0).saturating_sub(3)).take(8).collect::<Vec<_>>().join("\n")
    };
    Some(format!(
        "## {command} in {name}, {codes:?}, line {at:?}: {}\n--- ours\n{}\n--- theirs\n{}\n",
        ours["stderr"],
        around(printed),
        around(&expected)
    ))
}

const READING: &[&str] = &[
    "git log",
    "git log --oneline",
    "git log -n 3",
    "git log -2 --stat --no-renames",
    "git log -p --no-renames",
    "git log -U1 --no-renames -n4",
    "git log --oneline --stat --no-renames",
    "git log --name-only --no-renames",
    "git log --name-status --no-renames --format=%h",
    "git log --numstat --no-renames --oneline",
    "git log --shortstat --no-renames --oneline",
    "git log --format='%H %h %T %t %P %p|%an|%ae|%ad|%at|%ai|%aI|%aD|%as|%cn|%ce|%ct|%s|%b|%%|%x41'",
    "git log --pretty=format:%h",
    "git log --pretty=format:%s --stat --no-renames -n5",
    "git log --format=%s -p --no-renames -n5",
    "git log --date=iso -n 2",
    "git log --date=short --pretty=fuller -n 2",
    "git log --date=raw --pretty=full -n 2",
    "git log --pretty=short -n 2",
    "git log --pretty=oneline --abbrev-commit",
    "git log --reverse --oneline",
    "git log --skip 2 -n 2 --oneline",
    "git log --author=Bob --oneline",
    "git log --grep='change 1' --oneline",
    "git log --oneline -- d",
    "git log --oneline -- a.txt z",
    "git log -p --no-renames -- d/b.rs",
    "git log --oneline v1..HEAD",
    "git log --oneline HEAD~3..",
    "git log --oneline v1",
    "git show --no-renames",
    "git show HEAD~2 --no-renames",
    "git show v1^ --stat --no-renames",
    "git show -s v1",
    "git show HEAD: ",
    "git show HEAD:d",
    "git diff v1 HEAD --no-renames",
    "git diff v1..HEAD --stat --no-renames",
    "git diff HEAD~5 HEAD --name-status --no-renames",
    "git diff HEAD~5 HEAD --name-only --no-renames -- d",
    "git diff HEAD v1 -U0 --no-renames",
    "git diff --exit-code v1 HEAD --shortstat --no-renames",
    "git status",
    "git status -s",
    "git status --porcelain",
    "git branch",
    "git branch -v",
    "git branch --show-current",
    "git rev-parse HEAD",
    "git rev-parse HEAD~3",
    "git rev-parse --short v1",
    "git rev-parse --abbrev-ref HEAD",
    "git rev-parse --is-inside-work-tree",
    "git rev-parse $(git rev-parse --short HEAD~4)",
    "cd d && git rev-parse --show-prefix",
    "cd d && git log --oneline -- .",
];

/// The same changes on both sides.
const CHANGES: &str = "
    printf 'new first line\\n' > new.txt; mkdir -p fresh/deep; echo 1 > fresh/deep/one; echo 2 > 'fresh/two two'
    mkdir -p d; echo x > d/new; echo 3 > 'ö'; cp a.txt a2 2>/dev/null || echo > a2
    rm -rf z; ln -s nowhere link; rm -f d/b.rs; echo other > d/b.rs; chmod 755 d.x 2>/dev/null || true
";

const CHANGED: &[&str] = &[
    "git status",
    "git status -s",
    "git status --porcelain",
    "git status -sb",
    "git status -s -uall",
    "git status -s -uno",
    "git status -s d",
    "git status --porcelain -z | tr '\\0' '#'",
    "cd d && git status",
    "cd d && git status -s",
    "git diff --no-renames",
    "git diff HEAD --no-renames",
    "git diff v1 --no-renames --stat",
    "git diff --name-status --no-renames -- d",
    "git diff --quiet",
];

#[tokio::test(flavor = "multi_thread")]
async fn on_random_histories_git_says_the_same() {
    let gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    let mut wrong = String::new();
    for seed in 1..=6 {
        let name = format!("h{seed}");
        let work = a_history(&gateway, &mut alice, &name, seed).await;
        let mut commands: Vec<String> = READING.iter().map(ToString::to_string).collect();
        let listed = git(&work, &["ls-files", "-z"]);
        for file in listed.split('\0').filter(|file| !file.is_empty()) {
            commands.push(format!("git log --oneline -- '{file}'"));
            let path = work.join(file);
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            if path.is_symlink() || text.is_empty() || text.contains('\0') {
                continue;
            }
            commands.push(format!("git show HEAD:'{file}'"));
            commands.push(format!("git blame HEAD -- '{file}'"));
            if text.lines().count() > 3 {
                commands.push(format!("git blame -L 2,+2 -- '{file}'"));
            }
        }
        commands.push(CHANGES.to_string());
        commands.extend(CHANGED.iter().map(ToString::to_string));
        for command in commands {
            wrong += &differs(&mut alice, &name, &work, &command).await.unwrap_or_default();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clone_has_the_files_and_nothing_is_committed_from_it() {
    let gateway = Gateway::set_up().await;
    let (mut alice, mut bob) = (gateway.user().await, gateway.add_user("bob").await);
    let ops = json!([
        { "type": "put", "path": "bin/run", "content": "#!/bin/sh\n", "executable": true },
        { "type": "put", "path": "logo", "contentBase64": "AAEC/w==" },
        { "type": "symlink", "path": "now", "target": "bin/run" },
    ]);
    let args = json!({ "repo": "alice/notes", "message": "m", "ops": ops });
    alice.call("repo.apply", args).await.unwrap();
    let done = run(&mut alice, "git clone alice/notes.git copy").await;
    assert_eq!((&done["exitCode"], &done["stderr"]), (&json!(0), &json!("Cloning into 'copy'...\n")));
    let listed = prints(&mut alice, "cd copy; xxd -p logo; readlink now; test -x bin/run; cat bin/run").await;
    assert_eq!(listed, "000102ff\nbin/run\n#!/bin/sh\n");
    assert_eq!(
        prints(&mut alice, "cd copy/bin && git rev-parse --show-toplevel").await,
        "/home/alice/copy\n"
    );
    assert_eq!(prints(&mut alice, "git -C copy status -s").await, "");
    // A clone of a clone is one of the same.
    assert_eq!(
        prints(&mut alice, "git clone -q copy second && cd second && git status -s && ls").await,
        "bin\nlogo\nnow\n"
    );

    let (code, why) = fails(&mut alice, "git clone alice/notes copy").await;
    assert_eq!(
        (code, why.as_str()),
        (128, "fatal: destination path 'copy' already exists and is not an empty directory.\n")
    );
    let (code, why) = fails(&mut alice, "cd copy; echo x > y; git add y && git commit -m x").await;
    assert!(code == 128 && why.starts_with("fatal: this is a copy of alice/notes"), "{why}");
    let (code, why) = fails(&mut bob, "git clone alice/notes").await;
    assert_eq!((code, why.as_str()), (128, "fatal: Forbidden: cannot read repo alice/notes\n"));
    let (code, why) = fails(&mut alice, "git clone https://example.com/a.git").await;
    assert!(code == 128 && why.contains("only repositories of this gateway"), "{why}");
    assert_eq!(
        fails(&mut alice, "git clone /tmp").await,
        (128, "fatal: repository '/tmp' does not exist\n".to_string())
    );
    assert_eq!(fails(&mut alice, "git clone -b nope alice/notes n").await.0, 128);
    // A marker made by hand opens nothing that its reader may not see.
    let forged =
        format!("{{\"repo\":\"alice/notes\",\"branch\":\"main\",\"commit\":\"{}\"}}", "0".repeat(40));
    let (code, why) =
        fails(&mut bob, &format!("mkdir f; echo '{forged}' > f/.gsv-clone; cd f; git log")).await;
    assert_eq!((code, why.as_str()), (128, "fatal: Forbidden: cannot read repo alice/notes\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_committed_yet_is_committed_with_a_message() {
    let gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    // What is changed here is also committed by itself, sooner or later: whoever is faster has committed it.
    let mut committed = None;
    for attempt in 0..100 {
        let script = format!(
            "cd ~/knowledge; echo {attempt} > note.md; chmod 700 note.md; ln -sfn {attempt} link; git add . && git commit -m 'my note {attempt}'"
        );
        let done = run(&mut alice, &script).await;
        let printed = done["stdout"].as_str().unwrap();
        match done["exitCode"].as_i64().unwrap() {
            0 => {
                assert!(printed.contains(&format!("] my note {attempt}\n")), "{printed}");
                committed = Some(attempt);
                break;
            }
            1 => assert_eq!(printed, "On branch main\nnothing to commit, working tree clean\n", "{done}"),
            _ => panic!("{done}"),
        }
    }
    let attempt = committed.unwrap();
    let bare = gateway.data().join("repos/alice/home.git");
    let found = git(&bare, &["log", "--format=%s|%an", "main"]);
    assert!(found.contains(&format!("my note {attempt}|alice")), "{found}");
    assert_eq!(git(&bare, &["fsck", "--strict"]), "");
    let listed = git(&bare, &["ls-tree", "-r", "main", "--", "knowledge"]);
    assert!(listed.contains("100755") && listed.contains("120000"), "{listed}");
    assert_eq!(prints(&mut alice, "cd; git rev-parse --show-toplevel").await, "/home/alice\n");
    assert!(prints(&mut alice, "git log --oneline -- knowledge/note.md").await.contains("my note"));
    let again = run(&mut alice, "cd ~/knowledge; git commit -m again").await;
    assert_eq!(
        (&again["exitCode"], &again["stdout"]),
        (&json!(1), &json!("On branch main\nnothing to commit, working tree clean\n"))
    );
    let (code, why) = fails(&mut alice, "cd ~/knowledge; git commit -m x nothing.md").await;
    assert_eq!(
        (code, why.as_str()),
        (1, "error: pathspec 'nothing.md' did not match any file(s) known to git\n")
    );
    let (code, why) = fails(&mut alice, "cd ~/knowledge; git add nothing.md").await;
    assert_eq!((code, why.as_str()), (128, "fatal: pathspec 'nothing.md' did not match any files\n"));
    // What is not versioned is no repository, and another's home is nobody else's.
    assert_eq!(fails(&mut alice, "mkdir ~/other; cd ~/other; git log").await.0, 128);
    let mut bob = gateway.add_user("bob").await;
    assert_eq!(fails(&mut bob, "git -C /home/alice log").await.0, 128);
}

#[tokio::test(flavor = "multi_thread")]
async fn complaints_are_those_of_git() {
    let gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    let args = json!({ "repo": "alice/n", "message": "m", "ops": [{ "type": "put", "path": "a", "content": "a\n" }] });
    alice.call("repo.apply", args).await.unwrap();
    prints(&mut alice, "git clone -q alice/n").await;
    let bare = gateway.data().join("repos/alice/n.git");
    let copy = gateway.data().join("copy");
    git(gateway.data(), &["clone", "-q", bare.to_str().unwrap(), copy.to_str().unwrap()]);
    for command in [
        "log nothing",
        "log HEAD~7",
        "diff nothing",
        "show nothing",
        "show HEAD:nothing",
        "show nothing:a",
        "log nothing --",
        "blame nothing",
        "blame -L 9,12 a",
        "rev-parse --verify -q nothing",
        "log ..x",
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let theirs = Command::new("git").args(&words).current_dir(&copy).env("LC_ALL", "C").output().unwrap();
        let (code, why) = fails(&mut alice, &format!("cd n; git {command}")).await;
        let first = |text: &str| text.lines().next().unwrap_or_default().to_string();
        let expected = String::from_utf8_lossy(&theirs.stderr).into_owned();
        assert_eq!(
            (code, first(&why)),
            (i64::from(theirs.status.code().unwrap()), first(&expected)),
            "{command}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_examples_of_the_manual_work() {
    let gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    for number in 0..5 {
        let put = json!({ "type": "put", "path": "context.d/00-me.md", "content": format!("{number}\n") });
        let args = json!({ "repo": "alice/me", "message": format!("say {number}"), "ops": [put] });
        alice.call("repo.apply", args).await.unwrap();
    }
    prints(&mut alice, "git clone -q alice/me").await;
    let help = prints(&mut alice, "git help").await;
    let examples = help.split_once("Examples:\n").unwrap().1.lines();
    let examples: Vec<&str> = examples.take_while(|line| line.starts_with("    git ")).collect();
    assert!(examples.len() >= 3, "{help}");
    for example in examples {
        assert_ne!(prints(&mut alice, &format!("cd me; {example}")).await, "", "{example}");
    }
    // No command prints more than a shell passes on, and one that is told to end does.
    let cut = prints(&mut alice, "cd me; git log -p | head -n 1").await;
    assert!(cut.starts_with("commit "), "{cut}");
}
