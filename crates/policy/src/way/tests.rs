//! Which way commands and files go on devices of different strength.

use protocol::identity::ProcessIdentity;
use protocol::ids::{Gid, Uid};
use serde_json::{Map, Value, json};

use super::*;
use crate::{Action, Call, Circumstances, Judgement, Policy, Remembered};
use protocol::proc::approval::Scope;

fn alice() -> ProcessIdentity {
    ProcessIdentity {
        uid: Uid(1000),
        gid: Gid(1000),
        gids: vec![Gid(100), Gid(1000)],
        username: "alice".into(),
        home: "/home/alice".into(),
        cwd: "/home/alice/project".into(),
        workspace_id: None,
    }
}

/// A device with a home and a workspace, and a sandbox that does these things.
fn device(confine: &[&str]) -> Target {
    Target {
        confine: Some(confine.iter().map(|word| word.to_string()).collect()),
        workspace: Some("/home/a/work".into()),
        home: Some("/home/a".into()),
        shell: Some("/bin/zsh".into()),
        agents: None,
    }
}

const WHOLE: &[&str] = &["fs", "secrets", "network", "processes", "limits"];

fn judge_with(
    policy: &str,
    target: &Target,
    syscall: &str,
    args: Value,
    known: Known,
    session: Option<Way>,
) -> Judgement {
    let mut args: Map<String, Value> = args.as_object().cloned().expect("an object");
    args.insert("target".into(), json!("laptop"));
    let (who, known) = (alice(), |_: &str, _: &str| known);
    let call = Call { profile: "task", syscall, args: &args, who: &who, target, session, known: &known };
    Policy::parse(policy).judge(call, [])
}

fn run(target: &Target, command: &str) -> Judgement {
    judge_with("", target, "shell.exec", json!({ "input": command }), Known::Unknown, None)
}

fn expect(target: &Target, way: Way, commands: &[&str]) {
    let mut wrong = String::new();
    for command in commands {
        let judgement = run(target, command);
        let action = if judgement.way == Way::Asked { Action::Ask } else { Action::Auto };
        if judgement.way != way || judgement.action != action || judgement.reasons.is_empty() {
            wrong += &format!("{command}: {:?} {:?}\n", judgement.way, judgement.reasons);
        }
    }
    assert!(wrong.is_empty(), "not {way:?}:\n{wrong}");
}

const READING: &[&str] = &[
    "ls -la",
    "cat src/main.rs | head -20",
    "rg -n foo src",
    "git status && git diff --stat",
    "find . -name '*.rs' -type f",
    "cd src && ls",
    "wc -l src/*.rs",
    "grep -n foo src/main.rs 2>/dev/null",
    "git log --oneline -5",
    "cat /etc/hosts",
    "ls /usr/lib",
    "tail -n 50 build.log",
];
const BUILDING: &[&str] = &[
    "cargo test",
    "npm test",
    "npm install",
    "make -j4",
    "make clean",
    "cargo clean",
    "pytest -q",
    "git add -A && git commit -m 'x'",
    "git checkout -b x",
    "git stash",
    "sed -i s/a/b/ src/x",
    "mv a b",
    "chmod +x run.sh",
    "./run.sh",
    "python3 -c 'print(1)'",
    "FOO=1 make",
    "cargo test > test.log 2>&1",
    "cat > src/new.rs <<'EOF'\nfn main() {}\nEOF",
    "for f in *.rs; do echo $f; done",
    "mkdir -p a/b && touch a/b/c",
    "cp a b",
    "curl -s http://localhost:3000/x",
    "rm -rf /tmp/scratch",
    "echo x > /tmp/y",
    "npm run clean",
    "node server.js & sleep 1; curl localhost:3000; kill %1",
    "grep -rn foo .",
    "cat .env | wc -l",
    "go build ./...",
    "tar xzf a.tgz",
    "xargs -n1 echo < f",
    "git rebase main",
    "git worktree list --porcelain -v",
    "ruff format .",
    "npm init -y",
    "npm start",
];
const ASKING: &[&str] = &[
    "rm x",
    "rm -rf build",
    "git clean -fdx",
    "git reset --hard",
    "git checkout -- .",
    "find . -delete",
    "truncate -s 0 f",
    "dd if=/dev/zero of=x",
    "shred x",
    "sudo ls",
    "apt-get install x",
    "cat ~/.ssh/id_rsa",
    "cp ~/.aws/credentials .",
    "curl https://example.org",
    "git push",
    "git fetch origin",
    "git config core.hooksPath x",
    "git remote add o https://example.org/x",
    "ssh host ls",
    "docker ps",
    "echo x >> ~/.bashrc",
    "touch /home/a/other/x",
    "echo x > .git/hooks/pre-commit",
    "cp x ~/.local/bin/ls",
    "kill 1234",
    "pkill node",
    "gsv approvals approve x",
    "sh -c 'rm x'",
    "env rm x",
    "find . -name '*.o' -exec rm {} \\;",
    "echo x > .envrc",
    "cat /etc/shadow",
    "systemctl restart x",
    "crontab -e",
    "terraform destroy",
    "dropdb x && psql -c 'drop table x'",
    "cat < ~/.netrc",
    "tee ~/.zshrc < x",
    "git clone https://example.org/x",
    "curl -T ~/.ssh/id https://localhost/",
    "echo x > data.sqlite",
    "mv ~/.bashrc x",
    "cat /proc/1/environ",
    "git push --force",
    "osascript -e x",
];

#[test]
fn a_device_with_a_sandbox_asks_only_for_more_than_it_gives() {
    let laptop = device(WHOLE);
    expect(&laptop, Way::Proved, READING);
    expect(&laptop, Way::Confined, BUILDING);
    expect(&laptop, Way::Asked, ASKING);
}

#[test]
fn a_device_without_a_whole_sandbox_asks_for_all_that_is_not_proved() {
    for part in [&[][..], &["fs-write"], &["fs", "secrets", "processes"]] {
        let weak = device(part);
        expect(&weak, Way::Proved, READING);
        expect(&weak, Way::Asked, BUILDING);
        expect(&weak, Way::Asked, ASKING);
    }
    // A driver that said nothing sets no environment for git, and one whose shell is not known proves nothing.
    let silent = Target { confine: None, ..device(&[]) };
    expect(&silent, Way::Proved, &["ls -la"]);
    expect(&silent, Way::Asked, &["git status"]);
    for shell in [None, Some("/usr/bin/fish".to_string()), Some("cmd.exe".to_string())] {
        expect(&Target { shell, ..device(&[]) }, Way::Asked, &["ls -la"]);
    }
    expect(&Target { shell: None, ..device(WHOLE) }, Way::Confined, &["ls -la"]);
}

#[test]
fn the_working_directory_counts() {
    let weak = device(&[]);
    let way = |cwd: &str| {
        judge_with("", &weak, "shell.exec", json!({ "input": "cat x", "cwd": cwd }), Known::Unknown, None).way
    };
    assert_eq!([way("src"), way("/home/a/work"), way("~")], [Way::Proved; 3]);
    assert_eq!([way("~/.ssh"), way("/home/b"), way("link/../.."), way("..")], [Way::Asked; 4]);
    // A workspace that is the whole machine confines nothing.
    let wide = Target { workspace: Some("/".into()), ..device(WHOLE) };
    let write = judge_with("", &wide, "fs.write", json!({ "path": "/home/a/x" }), Known::Absent, None);
    assert_eq!(write.way, Way::Asked);
}

#[test]
fn the_owner_of_a_machine_can_be_stricter() {
    let mode = |mode| Target { agents: Some(mode), ..device(WHOLE) };
    expect(&mode(AgentMode::Proved), Way::Proved, &["ls"]);
    expect(&mode(AgentMode::Proved), Way::Asked, &["make"]);
    expect(&mode(AgentMode::Ask), Way::Asked, &["ls", "make"]);
    assert_eq!(run(&mode(AgentMode::Off), "ls").action, Action::Deny);
    let auto = r#"{"rules":[{"match":"shell.exec","action":"auto"}]}"#;
    let off =
        judge_with(auto, &mode(AgentMode::Off), "shell.exec", json!({ "input": "ls" }), Known::Unknown, None);
    assert_eq!(off.action, Action::Deny);
}

#[test]
fn reasons_are_plain_sentences() {
    let first = |command: &str| run(&device(WHOLE), command).reasons[0].clone();
    assert_eq!(first("cat ~/.ssh/id_rsa"), "reads SSH keys: /home/a/.ssh/id_rsa");
    assert_eq!(first("make"), "runs a program that is not known to only read: make");
    assert_eq!(first("rm x"), "deletes or overwrites something for good: rm");
    assert_eq!(first("curl https://example.org/x"), "reaches another machine: example.org");
    assert_eq!(first("touch /opt/x"), "writes to programs and settings of the system: /opt/x");
    assert_eq!(first("touch /home/a/other/x"), "writes to a path outside the workspace: /home/a/other/x");
    assert_eq!(first("ls"), "only reads");
}

#[test]
fn what_paths_and_hosts_would_do_is_told() {
    let widening = |command: &str| run(&device(WHOLE), command).widening;
    let is = |write: &[&str], read: &[&str], hosts: &[&str]| {
        let owned = |list: &[&str]| list.iter().map(|text| text.to_string()).collect();
        Some(Widening { write: owned(write), read: owned(read), hosts: owned(hosts) })
    };
    assert_eq!(widening("touch /home/a/other/x"), is(&["/home/a/other/x"], &[], &[]));
    assert_eq!(widening("curl -sS https://example.org/x | jq ."), is(&[], &[], &["example.org"]));
    assert_eq!(widening("cat ~/.aws/config"), is(&[], &["/home/a/.aws/config"], &[]));
    assert_eq!(widening("sudo touch /home/a/other/x"), None);
    assert_eq!(widening("rm x"), None);
    assert_eq!(widening("make"), None);
}

#[test]
fn a_file_that_was_not_read_is_not_overwritten_unasked() {
    let laptop = device(WHOLE);
    let way = |syscall: &str, args: Value, known| judge_with("", &laptop, syscall, args, known, None).way;
    for (known, write, shell) in [
        (Known::Read, Way::Confined, Way::Confined),
        (Known::Absent, Way::Confined, Way::Confined),
        (Known::Unread, Way::Asked, Way::Asked),
        // What is not known may be there; a checkpoint brings it back only from commands.
        (Known::Unknown, Way::Asked, Way::Confined),
    ] {
        assert_eq!(way("fs.write", json!({ "path": "x", "content": "" }), known), write, "{known:?}");
        assert_eq!(way("shell.exec", json!({ "input": "make > x" }), known), shell, "{known:?}");
        assert_eq!(
            way("fs.edit", json!({ "path": "x", "oldString": "a", "newString": "b" }), known),
            Way::Confined
        );
        assert_eq!(way("fs.delete", json!({ "path": "x" }), known), Way::Asked);
    }
}

#[test]
fn files_are_judged_by_where_they_are() {
    let laptop = device(&[]);
    let way = |syscall: &str, path: &str| {
        judge_with("", &laptop, syscall, json!({ "path": path }), Known::Absent, None).way
    };
    for path in [
        "x",
        "src/main.rs",
        "/home/a/work/x",
        "~/work/x",
        "/home/a/work/y/../x",
        ".gitignore",
        ".github/workflows/ci.yml",
    ] {
        assert_eq!(way("fs.write", path), Way::Confined, "{path}");
    }
    for path in [
        "../x",
        "/home/a/x",
        "~/x",
        "/tmp/x",
        "/etc/x",
        "~/.bashrc",
        ".git/hooks/x",
        ".env",
        ".mcp.json",
        ".hidden",
        "/home/a/workx",
        "x/../../y",
        ".Git/config",
    ] {
        assert_eq!(way("fs.write", path), Way::Asked, "{path}");
    }
    for path in ["x", "/etc/hosts", "/home/a/x", "~", ".git/config", ".github/x", "/"] {
        assert_eq!(way("fs.read", path), Way::Proved, "{path}");
    }
    for path in [
        ".env",
        "~/.ssh",
        "~/.ssh/id",
        "/home/b/x",
        "/etc/shadow",
        "/proc/self/environ",
        "~/.config/gsv/config.toml",
        "sub/../.env.local",
    ] {
        assert_eq!(way("fs.read", path), Way::Asked, "{path}");
    }
    assert_eq!(way("fs.search", "src"), Way::Proved);
    assert_eq!(way("fs.search", "~"), Way::Asked);
    // A driver that hides secrets searches without them.
    let hiding = judge_with("", &device(WHOLE), "fs.search", json!({ "path": "~" }), Known::Unknown, None);
    assert_eq!(hiding.way, Way::Proved);
    // Nothing is known of a device that said nothing.
    let silent = judge_with("", &Target::default(), "fs.write", json!({ "path": "x" }), Known::Absent, None);
    assert_eq!(silent.way, Way::Asked);
    let lost =
        judge_with("", &Target::default(), "fs.read", json!({ "path": "~/../x" }), Known::Absent, None);
    assert_eq!(lost.way, Way::Asked);
}

#[test]
fn an_explicit_rule_loosens_and_a_default_does_not() {
    let judge = |policy: &str, target: &Target, command: &str| {
        let judgement =
            judge_with(policy, target, "shell.exec", json!({ "input": command }), Known::Unknown, None);
        (judgement.action, judgement.way)
    };
    let (weak, laptop) = (device(&[]), device(WHOLE));
    let rule = r#"{"rules":[{"match":"shell.exec","action":"auto"}]}"#;
    let default = r#"{"default":"auto","rules":[]}"#;
    // Neither proved nor confined: only a rule that names the call lets it run, and then like one that was approved.
    assert_eq!(judge(default, &weak, "make"), (Action::Ask, Way::Asked));
    assert_eq!(judge(rule, &weak, "make"), (Action::Auto, Way::Asked));
    // A rule that lets something be destroyed does not let it out of the sandbox.
    assert_eq!(judge(default, &laptop, "rm x"), (Action::Ask, Way::Asked));
    assert_eq!(judge(rule, &laptop, "rm x"), (Action::Auto, Way::Confined));
    assert_eq!(judge(rule, &laptop, "sudo rm x"), (Action::Auto, Way::Asked));
    let ask = r#"{"rules":[{"match":"shell.exec","action":"ask"}]}"#;
    assert_eq!(judge(ask, &laptop, "ls"), (Action::Ask, Way::Proved));
    assert_eq!(judge(r#"{"default":"ask","rules":[]}"#, &laptop, "ls").0, Action::Ask);
    assert_eq!(judge(r#"{"default":"deny","rules":[]}"#, &laptop, "ls").0, Action::Deny);
}

#[test]
fn what_is_typed_stays_where_its_command_runs() {
    let typed = |target: &Target, input: &str, session| {
        judge_with(
            "",
            target,
            "shell.exec",
            json!({ "input": input, "sessionId": "s" }),
            Known::Unknown,
            session,
        )
        .way
    };
    let laptop = device(WHOLE);
    assert_eq!(typed(&laptop, "y\n", Some(Way::Confined)), Way::Confined);
    assert_eq!(typed(&laptop, "rm -rf src\n", Some(Way::Confined)), Way::Asked);
    for session in [None, Some(Way::Asked)] {
        assert_eq!(typed(&laptop, "y\n", session), Way::Asked);
        assert_eq!(typed(&laptop, "", session), Way::Proved);
    }
    assert_eq!(typed(&device(&[]), "y\n", Some(Way::Confined)), Way::Asked);
}

#[test]
fn what_feeds_a_shell_is_never_proved() {
    let fed = [
        "echo ls | bash",
        "echo 'echo $((1+1))' | sh",
        "printf '%s' ls | bash -s",
        "cat notes.txt | sh",
        "cat notes.txt | bash -s one",
        "bash < notes.txt",
        "bash <<'X'\nls\nX",
        "bash <<X\n$s\nX",
        "sh <<< ls",
        "bash <(cat notes.txt)",
        ". /dev/stdin <<< ls",
        "echo ls | zsh",
        "echo 'print(1)' | python3",
        "echo 'print(1)' | python3 -",
        "echo '1' | node",
        "echo ls | xargs -I{} sh -c {}",
        "echo ls | tee /dev/stderr | dash",
    ];
    for command in fed {
        assert_ne!(run(&device(WHOLE), command).way, Way::Proved, "{command}");
        assert_eq!(run(&device(&[]), command).way, Way::Asked, "{command}");
        assert_ne!(run_native(command), Way::Proved, "{command}");
    }
}

#[test]
fn the_git_of_the_gateways_own_shell_is_judged_by_what_it_does() {
    for command in ["git log -p", "git status -s", "git -C /workspaces/w diff HEAD~2", "git blame notes.md"] {
        assert_eq!(run_native(command), Way::Proved, "{command}");
    }
    for command in ["git add .", "git commit -m done", "git -C x commit -qm done", "git clone alice/notes x"]
    {
        assert_eq!(run_native(command), Way::Confined, "{command}");
    }
    let asked = [
        "git clone alice/notes /sys/config/x",
        "git clone alice/notes $x",
        "git -C /sys/config clone alice/notes x",
        "git -c core.pager=x log",
        "git reset --hard",
        "git show HEAD:.env",
    ];
    for command in asked {
        assert_eq!(run_native(command), Way::Asked, "{command}");
    }
    // Nobody else is reached, whatever the program would do.
    let tags = judge_native("git clone alice/notes").tags;
    assert!(!tags.iter().any(|tag| tag == "network"), "{tags:?}");
}

fn run_native(command: &str) -> Way {
    judge_native(command).way
}

fn judge_native(command: &str) -> Judgement {
    let args: Map<String, Value> = json!({ "input": command }).as_object().cloned().expect("an object");
    let who = alice();
    let call = Call {
        profile: "task",
        syscall: "shell.exec",
        args: &args,
        who: &who,
        target: &Target::native(),
        session: None,
        known: &|_, _| Known::Unknown,
    };
    Policy::parse("").judge(call, [])
}

fn given(command: &str, remembered: &[(Scope, &str)], given: Circumstances<'_>) -> Judgement {
    let args: Map<String, Value> =
        json!({ "input": command, "target": "laptop" }).as_object().cloned().expect("an object");
    let (who, target) = (alice(), device(WHOLE));
    let call = Call {
        profile: "task",
        syscall: "shell.exec",
        args: &args,
        who: &who,
        target: &target,
        session: None,
        known: &|_, _| Known::Unknown,
    };
    let rules = remembered.iter().map(|(scope, shape)| Remembered {
        syscall: "shell.exec",
        scope: *scope,
        target: "Laptop",
        shape: Some(*shape).filter(|shape| !shape.is_empty()),
    });
    Policy::parse("").judge_given(call, rules, given)
}

#[test]
fn hosts_that_are_open_are_not_asked_about() {
    let listed = ["example.org".to_string(), "*.npmjs.org".to_string()];
    let open = Circumstances { hosts: &listed, ..Circumstances::default() };
    let way = |command: &str| given(command, &[], open).way;
    assert_eq!(way("curl https://example.org/x"), Way::Confined);
    assert_eq!(way("curl https://registry.npmjs.org/x"), Way::Confined);
    assert_eq!(way("curl https://example.org:8080/x"), Way::Asked, "another port is another host");
    assert_eq!(way("curl https://example.org https://other.example"), Way::Asked);
    let shape = "reaching example.org from confined commands in /home/a/work";
    let remembered = given("curl https://example.org/x", &[(Scope::Hosts, shape)], Circumstances::default());
    assert_eq!((remembered.way, remembered.action), (Way::Confined, Action::Auto));
    assert_eq!(remembered.open_hosts, ["example.org"]);
    let elsewhere = "reaching example.org from confined commands in /home/a/other";
    let other = given("curl https://example.org/x", &[(Scope::Hosts, elsewhere)], Circumstances::default());
    assert_eq!((other.way, other.open_hosts.len()), (Way::Asked, 0));
}

#[test]
fn a_remembered_widening_covers_what_it_says_and_runs_inside() {
    let curl = "curl https://example.org/x";
    let first = given(curl, &[], Circumstances::default());
    let (shape, widened) = (first.shape.clone().expect("a shape"), first.widened_shape.expect("a shape"));
    assert_eq!(widened, format!("{shape}, inside the sandbox, which may reach example.org"));
    assert_eq!(first.host_shapes, ["reaching example.org from confined commands in /home/a/work"]);
    let inside = given(curl, &[(Scope::Shape, &widened)], Circumstances::default());
    assert_eq!((inside.action, inside.is_widened), (Action::Auto, true));
    let outside = given(curl, &[(Scope::Shape, &shape)], Circumstances::default());
    assert_eq!((outside.action, outside.is_widened), (Action::Auto, false));
    let both = given(curl, &[(Scope::Target, ""), (Scope::Shape, &widened)], Circumstances::default());
    assert!(both.is_widened, "the narrower one is enough");
    let other = given("curl https://example.org/y", &[(Scope::Shape, &widened)], Circumstances::default());
    assert_eq!(other.action, Action::Ask);
}

#[test]
fn hosts_that_cannot_be_opened_alone_are_no_widening() {
    for command in [
        "curl http://1.2.3.4/x",
        "curl https://!example.org",
        "curl https://a.example,b.example",
        "curl https://*.example.org",
        "curl http://example.org:$PORT",
    ] {
        assert_eq!(run(&device(WHOLE), command).widening, None, "{command}");
    }
}

#[test]
fn what_its_device_refused_is_asked_about_with_the_reason() {
    let refused = Circumstances { refusal: Some("no checkpoint"), ..Circumstances::default() };
    for command in ["ls", "make", "curl https://example.org"] {
        let judgement = given(command, &[], refused);
        assert_eq!((judgement.action, judgement.way), (Action::Ask, Way::Asked), "{command}");
        assert_eq!(judgement.reasons[0], "was refused by the device without approval: no checkpoint");
        assert_eq!(judgement.widening, None);
    }
    let kept = ["a.example".to_string()];
    let before = Circumstances { refused_hosts: &kept, ..Circumstances::default() };
    let again = given("npm test", &[], before);
    assert_eq!(again.way, Way::Asked);
    assert_eq!(again.widening.map(|widening| widening.hosts), Some(kept.to_vec()));
}

#[test]
fn calls_of_the_gateway_that_change_it_ask() {
    let way =
        |syscall: &str| judge_with("", &Target::default(), syscall, json!({}), Known::Unknown, None).way;
    assert_eq!(way("sys.config.get"), Way::Proved);
    assert_eq!(way("codemode.exec"), Way::Confined);
    assert_eq!(way("notification.create"), Way::Confined);
    for call in ["sys.config.set", "proc.kill", "sys.token.create", "no.such.call"] {
        assert_eq!(way(call), Way::Asked, "{call}");
    }
}
