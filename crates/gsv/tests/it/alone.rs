//! Tests of what works, or fails well, without a gateway.

use crate::world::{Running, Said, finish, gsv};

fn run(args: &[&str]) -> Said {
    let home = tempfile::tempdir().unwrap();
    finish(gsv(home.path()).args(args), b"")
}

#[test]
fn versions_help_and_completions_need_nobody() {
    assert!(run(&["version"]).out.starts_with("gsv 0."));
    assert_eq!(run(&["--version"]).out.trim().split(' ').count(), 2);
    let version: serde_json::Value = serde_json::from_str(&run(&["version", "--json"]).out).unwrap();
    assert!(version["version"].is_string());
    for shell in ["bash", "zsh", "fish"] {
        let said = run(&["completions", shell]);
        assert!(said.code == 0 && said.out.contains("devices"), "{shell}");
    }
}

#[test]
fn wrong_usage_is_2_and_failure_is_1() {
    assert_eq!(run(&["frobnicate"]).code, 2);
    assert_eq!(run(&["run", "--target", "x"]).code, 2);
    assert_eq!(run(&["call", "fs.nothing"]).code, 2);
    assert_eq!(run(&["call", "fs.read", "--limit", "many"]).code, 2);
    assert_eq!(run(&["cp", "a", "b"]).code, 2);
    assert_eq!(run(&["auth", "setup", "--username", "root", "--new-password", "x"]).code, 2);
    let said = run(&["devices", "--url", "ws://127.0.0.1:1/ws"]);
    assert_eq!((said.code, said.out.as_str()), (1, ""));
    let lines: Vec<&str> = said.err.lines().collect();
    assert!(lines.len() == 2 && lines[0].starts_with("error: cannot reach"), "{said:?}");
    assert!(lines[1].starts_with("hint: "), "{said:?}");
}

#[test]
fn errors_are_json_on_request() {
    let said = run(&["devices", "--url", "ws://127.0.0.1:1/ws", "--json"]);
    let error: serde_json::Value = serde_json::from_str(&said.err).unwrap();
    assert!(error["error"]["message"].as_str().unwrap().contains("cannot reach"));
    assert!(error["error"].as_object().unwrap().contains_key("code"));
}

#[test]
fn every_call_is_listed_and_explains_itself() {
    let list = run(&["call", "--list"]).out;
    assert!(list.lines().count() > 20 && list.contains("sys.device.list"));
    let help = run(&["call", "fs.edit", "--help"]).out;
    assert!(help.contains("--old-string <TEXT>") && help.contains("(required)"), "{help}");
    assert!(help.contains("[--target DEVICE]"));
    let hint = run(&["call", "fs.raed"]).err;
    assert!(hint.contains("fs.read"), "{hint}");
}

#[test]
fn local_settings_are_kept_masked_and_checked() {
    let home = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| finish(gsv(home.path()).args(args), b"");
    assert_eq!(run(&["config", "--local", "set", "gateway.url", "ws://elsewhere/ws"]).code, 0);
    assert_eq!(run(&["config", "--local", "set", "node.token", "secret-token"]).code, 0);
    assert_eq!(run(&["config", "get", "gateway.url", "--local"]).out, "ws://elsewhere/ws\n");
    assert_eq!(run(&["config", "--local", "get", "node.token"]).out, "********\n");
    assert_eq!(run(&["config", "--local", "get", "node.token", "--reveal"]).out, "secret-token\n");
    assert_eq!(run(&["config", "--local", "set", "gateway.colour", "red"]).code, 2);
    let all = run(&["config", "--local", "get"]).out;
    assert!(all.contains("gateway.url = ws://elsewhere/ws\n") && !all.contains("secret-token"));
    assert_eq!(run(&["config", "--local", "unset", "node.token"]).code, 0);
    assert!(!run(&["config", "--local", "get"]).out.contains("node.token"));
    let file = home.path().join("config/gsv/config.toml");
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn an_address_that_is_taken_is_one_clear_line() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    let said = run(&["serve", "--listen", &listen, "--data", "data"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.lines().any(|line| line.starts_with("error: ") && line.contains(&listen)), "{said:?}");
}

#[test]
fn a_first_gateway_says_where_it_is_and_what_to_do_and_nothing_else() {
    let home = tempfile::tempdir().unwrap();
    let log = home.path().join("log");
    let mut command = gsv(home.path());
    command.args(["serve", "--listen", "127.0.0.1:0", "--data", "data"]);
    let mut gateway = Running::start(command.stderr(std::fs::File::create(&log).unwrap()));
    let listening = gateway.wait_for("");
    let address = listening.strip_prefix("listening on http://").unwrap();
    let hint = "this gateway is not set up yet; in another terminal: gsv auth setup";
    assert_eq!(gateway.wait_for(""), format!("{hint} --url ws://{address}/ws"));
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "", "nothing is worth a line in the log yet");
    gateway.signal(libc::SIGTERM);
    assert_eq!((gateway.wait(), gateway.rest()), (0, vec![]));
}
