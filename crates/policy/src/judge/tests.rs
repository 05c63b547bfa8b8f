//! Tests of the policy as a whole.

mod commands;
mod shapes;

use protocol::identity::ProcessIdentity;
use protocol::ids::{Gid, Uid};
use serde_json::{Map, Value, json};

use super::*;

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

fn judge_by(
    policy: &str,
    profile: &str,
    syscall: &str,
    args: &Value,
    remembered: &[Remembered<'_>],
) -> Judgement {
    let args: Map<String, Value> = args.as_object().cloned().expect("an object");
    let (who, target) = (alice(), Target::default());
    let known = |_: &str, _: &str| Known::Unknown;
    let call =
        Call { profile, syscall, args: &args, who: &who, target: &target, session: None, known: &known };
    Policy::parse(policy).judge(call, remembered.iter().copied())
}

fn judge(syscall: &str, args: Value) -> Judgement {
    judge_by("", "task", syscall, &args, &[])
}

fn run(command: &str) -> Judgement {
    judge("shell.exec", json!({ "input": command }))
}

/// The tags as the letters of the table.
fn letters(tags: &[String]) -> String {
    let all = [
        ("destructive", 'D'),
        ("privileged", 'P'),
        ("network", 'N'),
        ("mutating", 'M'),
        ("opaque", 'O'),
        ("device", 'V'),
    ];
    all.iter().filter(|(name, _)| tags.iter().any(|tag| tag == name)).map(|(_, letter)| letter).collect()
}

fn sorted(text: &str) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    letters.sort_unstable();
    letters.into_iter().collect()
}

#[test]
fn commands_get_their_tags() {
    assert!(commands::TABLE.len() >= 150, "{}", commands::TABLE.len());
    let mut wrong = String::new();
    for (command, expected) in commands::TABLE {
        let found = letters(&run(command).tags);
        if sorted(&found) != sorted(expected) {
            wrong += &format!("{command:?}: {found:?}, not {expected:?}\n");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn what_asks_without_a_policy() {
    let action = |syscall: &str, args: Value| judge(syscall, args).action;
    assert_eq!(run("ls").action, Action::Auto);
    assert_eq!(run("touch x").action, Action::Auto);
    assert_eq!(run("curl https://x.org").action, Action::Auto);
    // Programs that the native shell does not have are not known, and secrets are secrets there too.
    for command in ["rm x", "sudo ls", "$x", "./x.sh", "echo 'open", "make test", "cat ~/.ssh/id", "cat .env"]
    {
        assert_eq!(run(command).action, Action::Ask, "{command}");
    }
    // A script may do anything, with rights that ask nobody.
    for command in [
        "codemode -e 'return 1'",
        "codemode run ./x.js",
        "gsv codemode list",
        "gsv call codemode.run --code x",
    ] {
        assert_eq!(run(command).action, Action::Ask, "{command}");
    }
    assert_eq!(action("codemode.exec", json!({ "code": "x" })), Action::Auto, "each call in it is judged");
    assert_eq!(action("shell.exec", json!({})), Action::Ask);
    assert_eq!(action("shell.exec", json!({ "input": 5 })), Action::Ask);
    assert_eq!(action("fs.read", json!({ "path": "/etc/passwd" })), Action::Auto);
    assert_eq!(action("fs.write", json!({ "path": "x" })), Action::Auto);
    assert_eq!(action("fs.delete", json!({ "path": "x" })), Action::Ask);
    assert_eq!(action("fs.delete", json!({ "path": "x", "target": "mac" })), Action::Ask);
    assert_eq!(action("sys.mcp.call", json!({})), Action::Ask);
    // Files that are the gateway's settings.
    let settings = json!({ "path": "/home/alice/../../sys/config/ai/tools/approval" });
    assert_eq!(action("fs.write", settings), Action::Ask);
    assert_eq!(action("fs.read", json!({ "path": "~/.ssh/id" })), Action::Ask);
    // On a device of which nothing is known everything asks but reading of files.
    assert_eq!(action("shell.exec", json!({ "input": "ls", "target": "mac" })), Action::Ask);
    assert_eq!(action("fs.write", json!({ "path": "x", "target": "mac" })), Action::Ask);
    assert_eq!(action("fs.read", json!({ "path": "x", "target": "mac" })), Action::Auto);
    // Calls that change the gateway itself, should one of them ever become a tool.
    assert_eq!(action("sys.config.set", json!({})), Action::Ask);
    // Nobody is there to be asked.
    let cron = |syscall: &str, args: Value| judge_by("", "cron", syscall, &args, &[]).action;
    assert_eq!(cron("fs.delete", json!({ "path": "x" })), Action::Deny);
    assert_eq!(cron("sys.mcp.call", json!({})), Action::Deny);
    assert_eq!(cron("shell.exec", json!({ "input": "ls" })), Action::Auto);
}

#[test]
fn broken_policies_are_the_built_in_one() {
    let built_in = Policy::parse("");
    for text in ["  \n", "null", "[]", "5", "\"ask\"", "{", "{\"rules\": 5}", "{}", "{\"default\":\"no\"}"] {
        assert_eq!(Policy::parse(text), built_in, "{text}");
    }
    assert_eq!(Policy::parse(r#"{"default":"deny"}"#).default, Action::Deny);
    assert_eq!(Policy::parse(r#"{"default":"deny"}"#).rules, built_in.rules);
    assert_eq!(Policy::parse(r#"{"rules":[]}"#), Policy { default: Action::Auto, rules: Vec::new() });
}

#[test]
fn rules_that_are_none_are_left_out() {
    let count = |rules: Value| Policy::parse(&json!({ "rules": rules }).to_string()).rules.len();
    let good = json!({ "match": "fs.read", "action": "ask" });
    assert_eq!(count(json!([good, 5, null, {}, { "match": "x" }, { "action": "ask" }])), 1);
    assert_eq!(count(json!([{ "match": "x", "action": "maybe" }, { "match": 5, "action": "ask" }])), 0);
    assert_eq!(count(json!([{ "match": "", "action": "ask" }, { "match": ".*", "action": "ask" }])), 0);
    // A condition nobody understands never lets anything through.
    for when in
        [json!({ "wind": "north" }), json!(5), json!({ "anyTag": "x" }), json!({ "anyTag": ["blue"] })]
    {
        assert_eq!(count(json!([{ "match": "x", "action": "auto", "when": when }])), 0, "{when}");
        assert_eq!(count(json!([{ "match": "x", "action": "deny", "when": when }])), 1, "{when}");
    }
    assert_eq!(count(json!([{ "match": "x", "action": "auto", "when": {} }])), 1);
}

#[test]
fn the_first_rule_that_holds_decides_and_exact_ones_go_first() {
    let action = |rules: Value, syscall: &str, args: Value| {
        judge_by(&json!({ "default": "ask", "rules": rules }).to_string(), "task", syscall, &args, &[]).action
    };
    let wide_first = json!([{ "match": "fs.*", "action": "deny" }, { "match": "fs.read", "action": "auto" }]);
    assert_eq!(action(wide_first.clone(), "fs.read", json!({})), Action::Auto);
    assert_eq!(action(wide_first.clone(), "fs.write", json!({})), Action::Deny);
    assert_eq!(action(wide_first, "fsx.read", json!({})), Action::Ask);
    let deep = json!([{ "match": "sys.mcp.*", "action": "auto" }]);
    assert_eq!(action(deep.clone(), "sys.mcp.call", json!({})), Action::Auto);
    assert_eq!(action(deep.clone(), "sys.mcp", json!({})), Action::Auto);
    assert_eq!(action(deep, "sys.mcpx", json!({})), Action::Ask);
    assert_eq!(action(json!([{ "match": "*", "action": "auto" }]), "fs.read", json!({})), Action::Ask);
    let two = json!([{ "match": "fs.read", "when": { "target": "device" }, "action": "deny" },
        { "match": "fs.read", "action": "auto" }]);
    assert_eq!(action(two.clone(), "fs.read", json!({})), Action::Auto);
    assert_eq!(action(two, "fs.read", json!({ "target": "mac" })), Action::Deny);
}

#[test]
fn all_conditions_must_hold() {
    let holds = |when: Value, args: Value| {
        let policy = json!({ "default": "deny", "rules": [{ "match": "shell.exec", "when": when, "action": "auto" }] });
        judge_by(&policy.to_string(), "task", "shell.exec", &args, &[]).action == Action::Auto
    };
    let rm = json!({ "input": "rm x", "target": "mac", "background": true, "timeout": 5 });
    for (when, expected) in [
        (json!({ "profile": "task" }), true),
        (json!({ "profile": "init" }), false),
        (json!({ "anyProfile": ["init", "task"] }), true),
        (json!({ "anyProfile": [] }), false),
        (json!({ "anyTag": ["network", "destructive"] }), true),
        (json!({ "anyTag": ["network"] }), false),
        (json!({ "allTags": ["destructive", "mutating", "device"] }), true),
        (json!({ "allTags": ["destructive", "remote"] }), true),
        (json!({ "allTags": ["destructive", "network"] }), false),
        (json!({ "argEquals": { "input": "rm x", "background": true, "timeout": 5 } }), true),
        (json!({ "argEquals": { "timeout": "5" } }), false),
        (json!({ "argEquals": { "cwd": "/" } }), false),
        (json!({ "argPrefix": { "input": "rm " } }), true),
        (json!({ "argPrefix": { "timeout": "5" } }), false),
        (json!({ "target": "device" }), true),
        (json!({ "target": "mac" }), true),
        (json!({ "target": "gsv" }), false),
        (json!({ "target": "device", "profile": "init" }), false),
    ] {
        assert_eq!(holds(when.clone(), rm.clone()), expected, "{when}");
    }
}

#[test]
fn targets_are_what_the_router_makes_of_them() {
    let found = |args: Value| {
        let judgement = judge("shell.exec", args);
        (judgement.target, letters(&judgement.tags))
    };
    let is = |target: &str, tags: &str| (target.to_string(), tags.to_string());
    assert_eq!(found(json!({ "input": "ls" })), is("gsv", ""));
    assert_eq!(found(json!({ "input": "ls", "target": null })), is("gsv", ""));
    assert_eq!(found(json!({ "input": "ls", "target": "" })), is("gsv", ""));
    assert_eq!(found(json!({ "input": "ls", "target": "gsv" })), is("gsv", ""));
    for other in ["gateway", "local", "GSV", " gsv", "mac"] {
        assert_eq!(found(json!({ "input": "ls", "target": other })), is(other, "V"));
    }
    assert_eq!(found(json!({ "input": "ls", "target": 5 })), is("device", "V"));
    // A session: text for a program that is not known.
    assert_eq!(found(json!({ "input": "y\n", "sessionId": "sh_1" })), is("device", "OV"));
    assert_eq!(found(json!({ "input": "", "sessionId": "sh_1" })), is("device", "V"));
    assert_eq!(found(json!({ "sessionId": "sh_1" })), is("device", "V"));
    assert_eq!(found(json!({ "input": "\n", "sessionId": "sh_1", "target": "mac" })), is("mac", "OV"));
    assert_eq!(found(json!({ "input": "ls", "sessionId": "sh_1", "target": "gsv" })), is("gsv", "O"));
    assert_eq!(found(json!({ "input": "rm x", "sessionId": " " })), is("gsv", "DM"));
    // Elsewhere `target` is an argument like any other.
    assert_eq!(judge("sched.add", json!({ "target": "mac" })).target, "gsv");
}

#[test]
fn paths_are_looked_at_as_they_are_meant() {
    let tags = |args: Value| judge("fs.read", args).tags.join(" ");
    for (path, expected) in [
        ("x", ""),
        ("./a/../b", ""),
        ("~/x", ""),
        ("/home/alice", ""),
        ("..", ""),
        ("../..", "outside-home"),
        ("~/..", "outside-home"),
        ("/home/alicex", "outside-home"),
        ("/etc/passwd", "outside-home"),
        ("~bob/x", ""),
        (".env", "hidden-path"),
        ("~/.ssh/id", "hidden-path"),
        ("/home/bob/.ssh/id", "hidden-path outside-home"),
        ("a/./b", ""),
        ("../project/.git/../x", ""),
    ] {
        assert_eq!(tags(json!({ "path": path })), expected, "{path}");
    }
    for (path, expected) in [
        ("x", "device"),
        ("~/x", "device"),
        ("~/.ssh/x", "device hidden-path"),
        ("../x", "device outside-home"),
        ("~bob/x", "device outside-home"),
        ("/home/alice/x", "device outside-home"),
    ] {
        assert_eq!(tags(json!({ "path": path, "target": "mac" })), expected, "{path}");
    }
    assert_eq!(tags(json!({ "path": 5 })), "opaque");
    assert_eq!(judge("fs.delete", json!({ "path": "x" })).tags.join(" "), "destructive mutating");
    assert_eq!(
        judge("fs.write", json!({ "path": "/sys/x" })).tags.join(" "),
        "mutating outside-home privileged"
    );
}
