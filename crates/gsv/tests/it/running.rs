//! Tests of `run`, `shell` and `call` on a real device.

use std::io::Read;
use std::process::Stdio;

use base::clock::Clock;

use crate::world::{PATIENCE, Running, World, finish, wait_until};

#[test]
fn exit_codes_output_and_words_come_through() {
    let world = World::with_device();
    assert_eq!(
        world.ok(&["run", "--target", "desk", "--", "echo one; sleep 0.2; echo two >&2"]),
        "one\ntwo\n"
    );
    assert_eq!(world.run(&["run", "--target", "desk", "--", "exit 7"]).code, 7);
    assert_eq!(world.run(&["run", "--target", "desk", "--", "kill -9 $$"]).code, 137);
    assert_eq!(
        world.ok(&["run", "--target", "desk", "--", "printf", "%s|", "a b", "$HOME", "it's"]),
        "a b|$HOME|it's|"
    );
    assert_eq!(world.ok(&["run", "--target", "desk", "--cwd", "/", "--", "pwd"]), "/\n");
    let json = world.json(&["run", "--target", "desk", "--", "echo x; exit 0"]);
    assert_eq!((json["output"].as_str(), json["exitCode"].as_i64()), (Some("x\n"), Some(0)));
    let unknown = world.fails(1, &["run", "--target", "nowhere", "--", "true"]);
    assert!(unknown.contains("Access denied to device: nowhere"), "{unknown}");
}

#[test]
fn a_long_command_is_followed_to_its_end() {
    let world = World::with_device();
    let said = world.ok(&["run", "--target", "desk", "--", "for i in 1 2 3; do echo $i; sleep 0.5; done"]);
    assert_eq!(said, "1\n2\n3\n");
    let big = world.ok(&["run", "--target", "desk", "--", "sleep 0.4; seq 1 20000"]);
    assert_eq!(big.lines().count(), 20_000);
}

#[test]
fn stdin_is_forwarded_and_closed() {
    let world = World::with_device();
    let said = world.run_with(&["run", "--target", "desk", "--", "tr a-z A-Z"], "hällo\n".as_bytes());
    assert_eq!((said.code, said.out.as_str()), (0, "HäLLO\n"), "{said:?}");
    let text = "line\n".repeat(500_000);
    let said = world.run_with(&["run", "--target", "desk", "--", "wc -c"], text.as_bytes());
    assert_eq!(said.out.trim(), text.len().to_string(), "{said:?}");
    let said = world.run_with(&["run", "--target", "desk", "--", "head -n 1"], text.as_bytes());
    assert_eq!((said.code, said.out.as_str()), (0, "line\n"), "{said:?}");
}

#[test]
fn input_that_is_no_text_is_a_failure() {
    let world = World::with_device();
    let command = ["run", "--target", "desk", "--", "cat; echo done > done"];
    let said = world.run_with(&command, b"text\n\xff\xfe");
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("not UTF-8 text") && said.err.contains("gsv cp"), "{said:?}");
    assert!(!world.workspace().join("done").exists(), "the command takes what it got for all");
}

#[test]
fn lost_output_is_told_and_fails() {
    let world = World::with_device();
    let said = world.run(&["run", "--target", "desk", "--", "sleep 0.3; seq 1 200000"]);
    let whole = said.out.lines().count() == 200_000;
    assert_eq!(said.code, i32::from(!whole), "{}", said.err);
    assert_eq!(said.err.matches("output was dropped").count(), usize::from(!whole), "{}", said.err);
}

#[test]
fn a_large_file_of_the_gateway_is_printed_whole() {
    let world = World::set_up();
    world.ok(&["run", "--", "seq 1 300000 > big"]);
    let expected: String = (1..=300_000).map(|n| format!("{n}\n")).collect();
    let said = world.run(&["run", "--", "cat big"]);
    assert!(said.out == expected, "{} of {} bytes: {}", said.out.len(), expected.len(), said.err);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
}

#[test]
fn a_run_that_is_told_to_end_ends_its_command() {
    let world = World::with_device();
    for (signal, code) in [(libc::SIGTERM, 143), (libc::SIGHUP, 129)] {
        // Whoever started the tests with hang-ups ignored (`nohup`) has asked for just that.
        if signal == libc::SIGHUP && ignores_hangups() {
            continue;
        }
        let mark = world.workspace().join(format!("ended-{signal}"));
        let command =
            format!("trap 'echo > {}; exit' TERM; echo ready; while :; do sleep 0.05; done", mark.display());
        let mut run = Running::start(&mut world.command(&["run", "--target", "desk", "--", &command]));
        run.wait_for("ready");
        run.signal(signal);
        assert_eq!(run.wait(), code);
        wait_until("the command goes on", || mark.exists());
    }
}

/// Whether this program, and so what it starts, ignores hang-ups.
pub fn ignores_hangups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (libc::SIGHUP - 1)) != 0)
}

#[test]
fn ctrl_c_stops_the_command_and_a_second_one_ends_it() {
    let world = World::with_device();
    let mut run =
        Running::start(&mut world.command(&["run", "--target", "desk", "--", "echo ready; exec sleep 600"]));
    run.wait_for("ready");
    run.signal(libc::SIGINT);
    assert_eq!(run.wait(), 130);
    let stubborn = "trap 'echo no' INT; echo ready; while :; do sleep 0.1; done";
    let mut run = Running::start(&mut world.command(&["run", "--target", "desk", "--", stubborn]));
    run.wait_for("ready");
    run.signal(libc::SIGINT);
    run.wait_for("no");
    run.signal(libc::SIGINT);
    assert_eq!(run.wait(), 137);
}

#[test]
fn a_detached_command_is_found_again() {
    let world = World::with_device();
    let id = world.ok(&["run", "--target", "desk", "--detach", "--", "sleep 0.5; echo done"]);
    let id = id.trim();
    assert!(id.starts_with("sh_"), "{id}");
    let mut output = String::new();
    loop {
        let result = world.json(&["call", "shell.exec", "--session-id", id, "--input", ""]);
        output.push_str(result["output"].as_str().unwrap());
        if result["status"] != "running" {
            break;
        }
    }
    assert_eq!(output, "done\n");
}

#[test]
fn a_script_of_lines_keeps_its_directory() {
    let world = World::with_device();
    std::fs::create_dir(world.workspace().join("sub")).unwrap();
    let script = "pwd\ncd sub && echo in\n\npwd\nfalse\ncd ..; exit 3\n";
    let said = world.run_with(&["shell", "--target", "desk"], script.as_bytes());
    let workspace = world.workspace().canonicalize().unwrap();
    let workspace = workspace.display();
    assert_eq!(said.out, format!("{workspace}\nin\n{workspace}/sub\n"), "{said:?}");
    assert_eq!(said.code, 3);
    let said = world.run_with(&["shell", "--target", "nowhere"], b"true\n");
    assert!(said.code == 1 && said.err.contains("no device nowhere"), "{said:?}");
    let said = world.run_with(&["shell", "--target", "desk"], b"echo a\n:quit\necho b\n");
    assert_eq!(said.out, "a\n");
}

#[test]
fn a_script_answers_in_json_line_by_line() {
    let world = World::with_device();
    let said = world.run_with(&["--json", "shell", "--target", "desk"], b"cd /\npwd\nexit 3\n");
    let lines: Vec<serde_json::Value> =
        said.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3, "{said:?}");
    assert_eq!((&lines[1]["output"], &lines[1]["exitCode"]), (&"/\n".into(), &0.into()));
    assert_eq!((&lines[2]["input"], &lines[2]["exitCode"], said.code), (&"exit 3".into(), &3.into(), 3));
}

#[test]
fn any_call_can_be_made() {
    let world = World::with_device();
    let file = world.workspace().join("note.txt");
    let written =
        world.json(&["call", "fs.write", "--target", "desk", "--path", "note.txt", "--content", "a\nb\n"]);
    assert_eq!(
        (written["ok"].as_bool(), std::fs::read_to_string(&file).unwrap().as_str()),
        (Some(true), "a\nb\n")
    );
    let args = r#"{"path":"note.txt","limit":9}"#;
    let read = world.json(&["call", "fs.read", "--target", "desk", "--args", args, "--limit", "1"]);
    assert_eq!(read["lines"], 1);
    let mut stdin = world.command(&["call", "fs.read", "--target=desk", "--args", "-"]);
    assert!(finish(&mut stdin, args.as_bytes()).out.contains(r#""lines":2"#));
    let missing = world.run(&["call", "fs.read", "--target", "desk", "--path", "missing"]);
    assert!(missing.code == 1 && missing.out.contains(r#""ok":false"#), "{missing:?}");
    let refused = world.fails(1, &["call", "sys.setup", "--username", "x", "--password", "long-enough-x"]);
    assert!(refused.contains("already"), "{refused}");
}

#[test]
fn output_that_nobody_reads_ends_the_command_quietly() {
    let world = World::with_device();
    let mark = world.workspace().join("ended");
    let count =
        format!("trap 'echo gone > {}; exit' TERM; while :; do echo on; sleep 0.05; done", mark.display());
    let mut run = world.command(&["run", "--target", "desk", "--", &count]);
    let mut run = run.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
    drop(run.stdout.take());
    let mut said = String::new();
    run.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((run.wait().unwrap().code(), said.as_str()), (Some(141), ""));
    let deadline = Clock::system().instant() + PATIENCE;
    while !mark.exists() {
        assert!(Clock::system().instant() < deadline, "the command goes on");
        std::thread::yield_now();
    }
}

#[test]
fn a_run_under_nohup_outlives_its_terminal() {
    let world = World::with_device();
    let go = world.workspace().join("go");
    let command = format!("echo ready; until [ -e {} ]; do sleep 0.05; done; echo over", go.display());
    let plain = world.command(&["run", "--target", "desk", "--", &command]);
    let mut deaf = std::process::Command::new("sh");
    deaf.args(["-c", r#"trap '' HUP; exec "$0" "$@""#]).arg(plain.get_program()).args(plain.get_args());
    deaf.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut run = Running::start(&mut deaf);
    run.wait_for("ready");
    run.signal(libc::SIGHUP);
    std::fs::write(go, "").unwrap();
    assert_eq!(run.wait(), 0);
    run.wait_for("over");
}
