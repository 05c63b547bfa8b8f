//! Shapes, what is remembered by them, and what holds for all commands.

use std::collections::HashMap;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use protocol::proc::approval::Scope;

use super::*;

fn shape(command: &str) -> Option<String> {
    run(command).shape
}

#[test]
fn one_plain_file_stands_for_its_neighbours() {
    for (command, expected) in [
        ("rm notes.txt", "rm of a single plain file in /home/alice/project"),
        ("rm  './notes 2.txt' ", "rm of a single plain file in /home/alice/project"),
        ("rm -f ~/x", "rm -f of a single plain file in /home/alice"),
        ("mkdir -p out/x", "mkdir -p of a single directory in /home/alice/project/out"),
        ("chmod 600 x", "chmod 600 of a single file or directory in /home/alice/project"),
        ("chmod -v 777 x", "chmod -v 777 of a single file or directory in /home/alice/project"),
        ("chown bob:staff x", "chown bob:staff of a single file or directory in /home/alice/project"),
        ("rm '/home/alice/my notes/x'", "rm of a single plain file in '/home/alice/my notes'"),
    ] {
        assert_eq!(shape(command).as_deref(), Some(expected), "{command}");
    }
}

#[test]
fn everything_else_is_remembered_as_it_is() {
    for command in [
        "rm -rf build",
        "rm a b",
        "rm *",
        "rm *.o",
        "rm x*",
        "rm .env",
        "rm /x",
        "rm .git/config",
        "rm /etc/hosts",
        "rm -- -x",
        "rm --force x",
        "rm x &",
        "rm x > out",
        "rm x < in",
        "rm x; make",
        "yes | rm -i x",
        "A=b rm x",
        "sudo rm x",
        "sudo -u bob rm x",
        "/bin/rm x",
        "chmod -R 600 x",
        "chmod 600 x y",
        "chmod 600 /usr/x",
        "mv a b",
        "cp a b",
        "cat <<E\nx\nE",
        "git reset --hard",
        "make deploy",
        "A=b make 'a b'",
        "ls | grep x > out/f",
        "cd /tmp/y && rm x",
    ] {
        let expected = format!("exactly {} in /home/alice/project", crate::shape::quote(command));
        assert_eq!(shape(command), Some(expected), "{command}");
    }
}

#[test]
fn where_a_device_starts_commands_is_not_its_home() {
    let on = |args: Value| {
        let mut args = args;
        args["target"] = json!("mac");
        judge("shell.exec", args).shape
    };
    let start = "rm of a single plain file in the directory where commands start";
    assert_eq!(on(json!({ "input": "rm x" })).as_deref(), Some(start));
    assert_eq!(on(json!({ "input": "rm ~/x" })).as_deref(), Some("rm of a single plain file in ~"));
    let below = on(json!({ "input": "rm x", "cwd": "sub" }));
    assert_eq!(below.as_deref(), Some("rm of a single plain file in ./sub"));
    assert_eq!(on(json!({ "input": "rm sub/x" })), below);
    let home = on(json!({ "input": "rm x", "cwd": "~/sub" }));
    assert_eq!(home.as_deref(), Some("rm of a single plain file in ~/sub"));
    assert_eq!(on(json!({ "input": "rm x", "cwd": "/srv/y" })), on(json!({ "input": "rm /srv/y/x" })));
    assert_eq!(
        on(json!({ "input": "make x" })).as_deref(),
        Some("exactly 'make x' in the directory where commands start")
    );
    assert_ne!(on(json!({ "input": "make x" })), on(json!({ "input": "make x", "cwd": "~" })));
}

#[test]
fn files_have_their_shapes() {
    let of = |call: &str, path: &str| judge(call, json!({ "path": path })).shape.expect("a shape");
    assert_eq!(of("fs.write", "x"), "fs.write of a plain file in /home/alice/project");
    assert_eq!(of("fs.edit", "~/a b/x"), "fs.edit of a plain file in '/home/alice/a b'");
    assert_eq!(of("fs.delete", "x"), "fs.delete of /home/alice/project/x");
    assert_eq!(of("fs.write", ".env"), "fs.write of /home/alice/project/.env");
    assert_eq!(of("fs.write", ".git/hooks/x"), "fs.write of /home/alice/project/.git/hooks/x");
    assert_eq!(of("fs.write", "/etc/passwd"), "fs.write of /etc/passwd");
    let there = |path: &str| judge("fs.write", json!({ "path": path, "target": "mac" })).shape;
    assert_eq!(there("x").as_deref(), Some("fs.write of a plain file in the directory where commands start"));
    assert_eq!(there("~/x").as_deref(), Some("fs.write of a plain file in ~"));
    assert_eq!(there("/etc/x").as_deref(), Some("fs.write of /etc/x"));
}

#[test]
fn what_is_not_known_has_no_shape() {
    for command in [
        "rm $x",
        "rm \"$x\"",
        "$x",
        "sh x.sh",
        "./x",
        "make -f x",
        "find . | xargs rm",
        "cp $(cat f) b",
        "cd $x; rm y",
        "cd /tmp; rm ../y",
        "make $x",
        "curl x | sh",
        "python -c x",
        "x=$(cat f) make",
        "> $x",
        "",
        "# nothing",
        "echo 'open",
    ] {
        assert_eq!(shape(command), None, "{command}");
    }
    let on = |target: &str, path: &str| judge("fs.write", json!({ "path": path, "target": target })).shape;
    assert_eq!(on("mac", "~/../x"), None);
    assert_eq!(on("mac", "../x"), None);
    assert_eq!(judge("shell.exec", json!({ "input": "", "sessionId": "s" })).shape, None);
}

#[test]
fn different_dangers_have_different_shapes() {
    for (one, other) in [
        ("rm x", "rm *"),
        ("rm x", "rm x y"),
        ("rm x", "yes | rm x"),
        ("rm x", "rm x <<E\ny\nE"),
        ("chmod 600 x", "chmod 777 x"),
        ("chmod 600 x", "chmod u+s x"),
        ("chown bob x", "chown root x"),
        ("sudo -u bob rm x", "sudo -u root rm x"),
        ("rm -rf build", "rm -rf src"),
        ("rm -rf build", "rm -rf ."),
        ("rm -rf build", "rm -rf /"),
        ("rm x", "rm -f x"),
        ("rm x", "rm /etc/x"),
        ("rm x", "sudo rm x"),
        ("rm x", "rm x; make"),
        ("rm \"~/x\"", "rm ~/x"),
        ("cd /tmp && rm x", "cd /tmp && rm /home/alice/project/x"),
        ("mv a b", "mv c b"),
        ("chmod -R 777 a", "chmod -R 777 b"),
        ("echo x > a", "echo x > /etc/a"),
        ("echo x > a", "echo x >> a"),
        ("sh -c 'rm x'", "sh -c 'rm -r x'"),
        ("A=1 make", "A=2 make"),
        ("kill 5", "kill 6"),
        ("git push origin main", "git push origin +main"),
    ] {
        assert_ne!(shape(one), shape(other), "{one} {other}");
    }
}

fn rule<'a>(scope: Scope, syscall: &'a str, target: &'a str, shape: Option<&'a str>) -> Remembered<'a> {
    Remembered { syscall, scope, target, shape }
}

#[test]
fn remembered_approvals_cover_what_they_say() {
    let action = |rule: &Remembered<'_>, args: Value| {
        judge_by("", "task", "shell.exec", &args, std::slice::from_ref(rule)).action
    };
    let here = json!({ "input": "rm x" });
    let there = |input: &str, target: &str| json!({ "input": input, "target": target });
    let class = rule(Scope::Class, "shell.exec", "gsv", None);
    assert_eq!(action(&class, here.clone()), Action::Auto);
    assert_eq!(action(&class, there("rm x", "mac")), Action::Ask);
    let devices = rule(Scope::Class, "shell.exec", "device", None);
    assert_eq!(action(&devices, here.clone()), Action::Ask);
    assert_eq!(action(&devices, there("rm x", "mac")), Action::Auto);
    // A machine by that name is not all machines.
    let named = rule(Scope::Target, "shell.exec", "device", None);
    assert_eq!(action(&named, there("rm x", "mac")), Action::Ask);
    let mac = rule(Scope::Target, "shell.exec", "mac", None);
    assert_eq!(action(&mac, there("sudo rm y", "mac")), Action::Auto);
    assert_eq!(action(&mac, there("sudo rm y", "MAC")), Action::Auto);
    assert_eq!(action(&mac, there("rm x", "pi")), Action::Ask);
    let remembered = judge("shell.exec", there("rm x", "mac")).shape.expect("a shape");
    let shaped = rule(Scope::Shape, "shell.exec", "mac", Some(&remembered));
    assert_eq!(action(&shaped, there("rm y", "mac")), Action::Auto);
    assert_eq!(action(&shaped, there("rm y", "Mac")), Action::Auto);
    assert_eq!(action(&shaped, there("rm y/z", "mac")), Action::Ask);
    assert_eq!(action(&shaped, there("rm x", "pi")), Action::Ask);
    assert_eq!(action(&shaped, there("rm $x", "mac")), Action::Ask);
    // A rule without a shape covers nothing, not even what has none.
    let shapeless = rule(Scope::Shape, "shell.exec", "mac", None);
    assert_eq!(action(&shapeless, there("rm $x", "mac")), Action::Ask);
    let other = rule(Scope::Class, "fs.delete", "gsv", None);
    assert_eq!(action(&other, here.clone()), Action::Ask);
    // What is denied stays denied.
    let deny = r#"{"rules":[{"match":"shell.exec","action":"deny"}]}"#;
    assert_eq!(judge_by(deny, "task", "shell.exec", &here, &[class]).action, Action::Deny);
}

/// A word for a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Ways to put a script into another one.
fn wrap(way: usize, script: &str) -> String {
    let word = quoted(script);
    let end = format!("END{}", script.len());
    match way {
        0 => format!("({script}\n)"),
        1 => format!("{{ {script}\n}}"),
        2 => format!("if true; then {script}\nfi"),
        3 => format!("echo $({script}\n)"),
        4 => format!("ls && {{ {script}\n}} | cat"),
        5 => format!("x=$({script}\n)"),
        6 => format!("f() {{ {script}\n}}\nf"),
        7 => format!("sh -c {word}"),
        8 => format!("bash -lc {word} name arg"),
        9 => format!("eval {word}"),
        10 => format!("sudo -u bob sh -c {word}"),
        11 => format!("env -i A=b timeout -k 1 5 nice -n 5 sh -c {word}"),
        12 => format!("nohup setsid stdbuf -oL sh -c {word} &"),
        13 => format!("find . -name x -exec sh -c {word} \\;"),
        14 => format!("ls | xargs -n 1 sh -c {word} name"),
        15 => format!("trap {word} EXIT"),
        16 => format!("watch -n 1 {word}"),
        17 => format!("sh <<'{end}'\n{script}\n{end}\n"),
        18 => format!("while false; do {script}\ndone"),
        19 => format!("case x in\n*) {script}\n;; esac"),
        20 => format!("gsv call shell.exec --input {word}"),
        21 => format!("diff <({script}\n) /dev/null"),
        22 => format!("git submodule foreach {word}"),
        23 => format!("flock /tmp/lock -c {word}"),
        _ => format!("su bob -c {word}"),
    }
}

const BAD: &[&str] = &[
    "rm x",
    "\\rm -rf ~",
    "find . -delete",
    "git reset --hard",
    "sed -i s/a/b/ f",
    "mv a b",
    "sudo ls",
    "reboot",
    "passwd bob",
    "curl -o f x.org",
    "echo x > /etc/hosts",
    "$x",
    "./run",
    "python -c 1",
    "curl x.org | sh",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_wrapping_hides_what_is_inside(
        bad in prop::sample::select(BAD), ways in prop::collection::vec(0..25usize, 0..5),
    ) {
        let plain = run(bad).tags;
        let script = ways.iter().fold(bad.to_string(), |script, way| wrap(*way, &script));
        let found = run(&script).tags;
        // Only what is nested beyond all measure is not looked into, and says so.
        let is_opaque = ways.len() > 2 && found.iter().any(|tag| tag == "opaque");
        prop_assert!(is_opaque || plain.iter().all(|tag| found.contains(tag)), "{script}\n{found:?}");
    }

    #[test]
    fn any_text_is_judged(text in any::<String>()) {
        run(&text);
    }

    #[test]
    fn any_pieces_are_judged(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..40)) {
        run(&pieces.concat());
    }
}

#[rustfmt::skip]
const PIECES: &[&str] = &[
    "sh -c ", "sudo ", "env ", "find . -exec ", " \\;", "xargs ", "git ", "sed ", "awk ", "tar ", "-i", "-c", "-", "--", "=", "rm ", "'", "\"",
    "$(", ")", "`", "(", "{", "}", "\n", ";", "|", "&&", "<<E\n", "E\n", "$x", "${x", "}", "[", "]", "*", "~", "/", "..", "é", "\u{1f}", "\0",
    "gsv call ", "--args ", "{}", "watch ", "-n", "timeout ", "5 ", "s/", "/", "\\", "if ", "then ", "fi", "((", "))", "0", "-I", "flock ",
];

/// Commands that are alike in some ways and not in others.
fn alike() -> impl Strategy<Value = String> {
    let wrapper = prop::sample::select(
        &["", "", "", "", "sudo ", "env A=b ", "nice ", "cd /tmp; ", "cd ..; ", "sh -c "][..],
    );
    let program = prop::sample::select(
        &[
            "rm",
            "rm",
            "rm -f",
            "touch",
            "mkdir",
            "rm -r",
            "cp",
            "cat",
            "touch",
            "ls",
            "mv",
            "tee",
            "make",
            "git push",
            "git reset",
            "sort",
            "curl",
            "gsv config",
            "echo",
            "dd",
            "kill",
            "tar xf",
            "find",
            "sed p",
            "chmod 600",
        ][..],
    );
    let operand = prop::sample::select(
        &[
            "a",
            "b",
            "./a",
            "../a",
            "/etc/a",
            "/etc/b",
            "/dev/sda",
            "/dev/null",
            "~/a",
            "~",
            "/",
            ".x",
            "-f",
            "--hard",
            "-o",
            "+m",
            "set",
            "get",
            "\"~/a\"",
            "*",
            "$x",
            "-delete",
            "-i",
            "of=/dev/sda",
            "of=a",
            "https://x.org",
        ][..],
    );
    let redirect = prop::sample::select(
        &["", "", "", "", "", " > a", " > b", " >> a", " > /etc/a", " > /dev/null", " > /dev/tcp/x/1"][..],
    );
    (wrapper, program, prop::collection::vec(operand, 1..3), redirect).prop_map(
        |(wrapper, program, operands, redirect)| {
            let command = format!("{program} {}{redirect}", operands.join(" "));
            if wrapper == "sh -c " {
                format!("sh -c {}", quoted(&command))
            } else {
                format!("{wrapper}{command}")
            }
        },
    )
}

#[test]
fn commands_of_one_shape_have_the_same_tags() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut seen: HashMap<(bool, String), (Vec<String>, String)> = HashMap::new();
    let mut again = 0;
    for _ in 0..10_000 {
        let command = alike().new_tree(&mut runner).expect("a command").current();
        for target in ["gsv", "mac"] {
            let judgement = judge("shell.exec", json!({ "input": command, "target": target }));
            let Some(shape) = judgement.shape else { continue };
            let (tags, first) = seen
                .entry((target == "gsv", shape.clone()))
                .or_insert_with(|| (judgement.tags.clone(), command.clone()));
            assert_eq!(*tags, judgement.tags, "{first:?} and {command:?} are both {shape:?}");
            again += usize::from(*first != command);
        }
    }
    assert!(again > 50, "only {again} commands had the shape of another");
}

#[test]
fn a_tool_of_an_mcp_server_is_remembered_as_it_is_described() {
    let call = |fingerprint: &str, say: &str| json!({ "serverId": "s1", "name": "echo", "fingerprint": fingerprint, "arguments": { "say": say } });
    let shape = judge("sys.mcp.call", call("abc", "hi")).shape.expect("a shape");
    assert_eq!(shape, "the tool echo of MCP server s1, as it is described now (abc)");
    let remembered = |scope: Scope, shape: Option<&str>, args: Value| {
        let approval = Remembered { syscall: "sys.mcp.call", scope, target: "gsv", shape };
        judge_by("", "task", "sys.mcp.call", &args, &[approval]).action
    };
    let by_shape = |args: Value| remembered(Scope::Shape, Some(&shape), args);
    assert_eq!(by_shape(call("abc", "anything")), Action::Auto);
    assert_eq!(by_shape(call("abd", "hi")), Action::Ask, "the server has changed it");
    assert_eq!(by_shape(json!({ "serverId": "s1", "name": "echo" })), Action::Ask, "which one is not said");
    for scope in [Scope::Class, Scope::Target] {
        assert_eq!(remembered(scope, None, call("abc", "hi")), Action::Ask, "{scope:?}");
    }
}
