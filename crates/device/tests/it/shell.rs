//! `shell.exec` with real shells.

use std::time::Duration;

use serde_json::{Value, json};

use crate::bench::Bench;

/// Waits for something that will come true, with a generous limit.
async fn until(mut is: impl FnMut() -> bool) {
    let waiting = async {
        while !is() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), waiting).await.expect("it never came true");
}

fn is_alive(pid: &str) -> bool {
    // A zombie that nobody has reaped yet counts as dead.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn a_short_command_is_answered_in_one_piece() {
    let bench = Bench::whole();
    let data = bench.shell(json!({ "input": "echo hi; echo err >&2; exit 3" })).await;
    assert_eq!((&data["status"], &data["exitCode"]), (&json!("failed"), &json!(3)));
    assert_eq!(data["error"], "Command exited with code 3");
    assert_eq!((&data["stdout"], &data["stderr"]), (&json!("hi\n"), &json!("err\n")));
    assert_eq!(
        (&data["ok"], &data["truncated"], &data["timedOut"]),
        (&json!(true), &json!(false), &json!(false))
    );
    let output = data["output"].as_str().unwrap();
    assert!(output.contains("hi\n") && output.contains("err\n") && data["tail"] == data["output"]);
    assert!(data["pid"].as_u64().unwrap() > 1 && data["endedAt"].as_i64() >= data["startedAt"].as_i64());
    assert_eq!(
        data["durationMs"].as_i64().unwrap(),
        data["endedAt"].as_i64().unwrap() - data["startedAt"].as_i64().unwrap()
    );
    let done = bench.shell(json!({ "input": "true" })).await;
    assert_eq!(
        (&done["status"], &done["exitCode"], done.get("error")),
        (&json!("completed"), &json!(0), None)
    );
    let session = done["sessionId"].clone();
    assert_eq!(bench.refused("shell.exec", json!({ "input": "", "sessionId": session })).await.0, 404);
    assert!(bench.statuses.lock().unwrap().is_empty(), "nothing is told of commands that ended at once");
}

#[tokio::test]
async fn commands_start_in_their_directory() {
    let bench = Bench::whole();
    bench.put("sub/x", "");
    let real = bench.path("sub").canonicalize().unwrap();
    let data = bench.shell(json!({ "input": "pwd -P", "cwd": "sub" })).await;
    assert_eq!(data["output"], json!(format!("{}\n", real.display())));
    let home = bench.shell(json!({ "input": "cd ~ && pwd", "cwd": "~" })).await;
    assert_eq!(home["output"].as_str().unwrap().trim(), std::env::home_dir().unwrap().to_str().unwrap());
    let (code, message) = bench.refused("shell.exec", json!({ "input": "pwd", "cwd": "none" })).await;
    assert!(code == 400 && message.contains("is not a directory"), "{message}");
}

#[tokio::test]
async fn a_long_command_is_polled_to_its_end() {
    let bench = Bench::whole();
    let first = bench.shell(json!({ "input": "echo first; read x; echo got:$x", "yieldMs": 250 })).await;
    assert_eq!(first["status"], "running");
    assert!(first.get("exitCode").is_none() && first.get("stdout").is_none());
    let session = &first["sessionId"];
    if first["output"] == json!("") {
        let second = bench.shell(json!({ "sessionId": session, "input": "", "yieldMs": 30_000 })).await;
        assert_eq!(second["output"], "first\n");
    }
    let idle = bench.shell(json!({ "sessionId": session, "input": "", "yieldMs": 250 })).await;
    assert_eq!((&idle["status"], &idle["output"]), (&json!("running"), &json!("")));
    bench.shell(json!({ "sessionId": session, "input": "yes\n", "background": true })).await;
    let (last, output) = bench.follow(session).await;
    assert_eq!(output, "got:yes\n");
    assert_eq!(
        (&last["status"], &last["exitCode"], &last["stdout"]),
        (&json!("completed"), &json!(0), &json!("first\ngot:yes\n"))
    );
    let again = bench.shell(json!({ "sessionId": session, "input": "" })).await;
    assert_eq!(
        (&again["status"], &again["output"], &again["exitCode"]),
        (&json!("completed"), &json!(""), &json!(0))
    );
    let statuses = bench.statuses.lock().unwrap().clone();
    let events: Vec<_> = statuses.iter().map(|frame| frame["payload"]["event"].clone()).collect();
    assert_eq!(events, ["started", "finished"]);
    assert_eq!(statuses[0]["signal"], "exec.status");
    assert_eq!(
        (&statuses[1]["payload"]["callId"], &statuses[1]["payload"]["sessionId"]),
        (&json!("gw-1"), session)
    );
}

#[tokio::test]
async fn output_streams_as_it_comes() {
    let bench = Bench::whole();
    let input = "while read line; do echo \"<$line>\"; done";
    let first = bench.shell(json!({ "input": input, "background": true })).await;
    let session = &first["sessionId"];
    for word in ["a", "b", "c"] {
        let data = bench
            .shell(json!({ "sessionId": session, "input": format!("{word}\n"), "yieldMs": 30_000 }))
            .await;
        assert_eq!((&data["status"], &data["output"]), (&json!("running"), &json!(format!("<{word}>\n"))));
    }
    let last = bench.shell(json!({ "sessionId": session, "input": "", "closeStdin": true })).await;
    assert_eq!(last["status"], "completed");
}

#[tokio::test]
async fn a_group_is_signalled_as_a_whole() {
    let bench = Bench::whole();
    for (signal, number) in [("INT", 2), ("SIGTERM", 15), ("kill", 9)] {
        let input = "sleep 1000 & echo $!; trap 'trap - INT; kill -INT $$' INT; wait";
        let first = bench.shell(json!({ "input": input, "background": true })).await;
        let session = &first["sessionId"];
        let data = bench.shell(json!({ "sessionId": session, "input": "" })).await;
        let sleeper = data["output"].as_str().unwrap().trim().to_string();
        assert!(is_alive(&sleeper));
        bench.shell(json!({ "sessionId": session, "input": "", "signal": signal, "background": true })).await;
        let (last, _) = bench.follow(session).await;
        assert_eq!(last["error"], json!(format!("Command failed: SIG{number}")), "{last}");
        assert_eq!((&last["status"], &last["signal"]), (&json!("failed"), &json!(format!("SIG{number}"))));
        // A job in the background ignores the interrupt key, as in any shell without job control.
        if signal != "INT" {
            until(|| !is_alive(&sleeper)).await;
        }
    }
    let (code, _) = bench.refused("shell.exec", json!({ "input": "x", "signal": "INT" })).await;
    assert_eq!(code, 400);
}

#[tokio::test]
async fn a_time_limit_ends_even_the_stubborn() {
    let bench = Bench::whole();
    let input = "trap '' TERM; sleep 1000 & echo $!; while true; do sleep 1; done";
    let mut data = Value::Null;
    // On a busy machine the time may be up before the shell has begun; then it gets more.
    for timeout in [3_000, 10_000, 30_000] {
        data = bench.shell(json!({ "input": input, "timeout": timeout, "yieldMs": 60_000 })).await;
        if data["output"] != "" {
            break;
        }
    }
    assert_eq!(
        (&data["status"], &data["error"], &data["timedOut"]),
        (&json!("failed"), &json!("Command timed out"), &json!(true))
    );
    let sleeper = data["output"].as_str().unwrap().trim().to_string();
    assert!(sleeper.parse::<u32>().is_ok(), "{data}");
    until(|| !is_alive(&sleeper)).await;
    let known = bench.shell(json!({ "input": "sleep 1000", "timeout": 400, "background": true })).await;
    bench.follow(&known["sessionId"]).await;
    let statuses = bench.statuses.lock().unwrap().clone();
    assert_eq!(statuses.last().unwrap()["payload"]["event"], "timed_out");
}

/// Whoever is left in the background holds the pipes open; the answer comes all the same, and the one in the
/// background goes on.
#[tokio::test]
async fn a_background_job_does_not_hold_the_answer() {
    let bench = Bench::whole();
    let input = "(while sleep 0.05; do echo noise; done; ) & echo $!";
    let data = bench.shell(json!({ "input": input, "yieldMs": 30_000 })).await;
    assert_eq!((&data["status"], &data["exitCode"]), (&json!("completed"), &json!(0)));
    let job = data["output"].as_str().unwrap().lines().next().unwrap().to_string();
    assert!(is_alive(&job));
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(is_alive(&job), "it may go on writing");
    bench.shell(json!({ "input": format!("kill {job}") })).await;
}

#[tokio::test]
async fn as_much_as_is_kept_is_answered_in_one_piece() {
    let bench = Bench::whole();
    let max = base::limits::shell::OUTPUT_MAX_BYTES;
    let input = format!("head -c {max} /dev/zero | tr '\\0' x");
    let data = bench.shell(json!({ "input": input, "yieldMs": 30_000 })).await;
    assert_eq!((&data["status"], &data["truncated"]), (&json!("completed"), &json!(false)));
    assert_eq!(data["output"].as_str().unwrap().len(), max);
}

/// Whoever asks in time gets every byte, however fast the command writes.
#[tokio::test]
async fn a_flood_is_polled_without_a_loss() {
    let bench = Bench::whole();
    let bytes: String = (0..700_000).map(|n| format!("{n}\n")).collect();
    assert!(bytes.len() > 4_000_000);
    bench.put("big", &bytes);
    let first = bench.shell(json!({ "input": "cat big; cat big >&2; exit 7", "yieldMs": 30_000 })).await;
    assert_eq!((&first["status"], &first["truncated"]), (&json!("running"), &json!(false)));
    let mut output = first["output"].as_str().unwrap().to_string();
    assert!(output.len() > 100_000, "answered when it is full, not before: {}", output.len());
    let (last, rest) = bench.follow(&first["sessionId"]).await;
    output.push_str(&rest);
    assert!(output == bytes.repeat(2));
    assert_eq!(last["exitCode"], json!(7));
    assert!(last["stdout"].as_str().unwrap().ends_with("\n699999\n"));
}

/// A command whose output nobody takes is not held for ever. The clock runs by itself while nothing happens.
#[tokio::test(start_paused = true)]
async fn the_tail_of_what_nobody_asked_for_is_kept() {
    let bench = Bench::whole();
    let input = "head -c 500000 /dev/zero | tr '\\0' x; echo; echo the end";
    let first =
        bench.shell(json!({ "input": input, "background": true, "timeout": 24 * 60 * 60 * 1000 })).await;
    while bench.statuses.lock().unwrap().len() < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let data = bench.shell(json!({ "sessionId": first["sessionId"], "input": "" })).await;
    let output = data["output"].as_str().unwrap();
    assert!(
        output.starts_with("[… 300009 bytes dropped …]\nxxx") && output.ends_with("x\nthe end\n"),
        "{}",
        &output[..60]
    );
    assert_eq!((&data["truncated"], data["tail"].as_str().unwrap().len()), (&json!(true), 4000));
    assert!(data["stdout"].as_str().unwrap().ends_with("the end\n"));
}

#[tokio::test]
async fn a_time_limit_ends_a_command_that_waits_for_a_reader() {
    let bench = Bench::whole();
    let mut first = Value::Null;
    // On a busy machine the time may be up before there is more than fits; then it gets more.
    for timeout in [500, 2_000, 8_000, 30_000] {
        first = bench.shell(json!({ "input": "yes", "timeout": timeout, "yieldMs": 60_000 })).await;
        if first["status"] == "running" {
            break;
        }
    }
    assert_eq!(first["status"], "running");
    let (last, rest) = bench.follow(&first["sessionId"]).await;
    assert_eq!((&last["status"], &last["timedOut"]), (&json!("failed"), &json!(true)));
    // What was in the first answer may be all there is.
    let output = first["output"].as_str().unwrap().to_string() + &rest;
    assert!(!output.is_empty() && output.lines().all(|line| line == "y" || line.is_empty()));
}

/// Whoever was left in the background does not keep a command going by writing on and on.
#[tokio::test]
async fn a_flood_from_the_background_has_an_end() {
    let bench = Bench::whole();
    let first = bench.shell(json!({ "input": "yes & echo $!", "background": true })).await;
    let (last, output) = bench.follow(&first["sessionId"]).await;
    assert_eq!(last["status"], "completed");
    let job = output.lines().find(|line| line.parse::<u32>().is_ok()).unwrap();
    bench.shell(json!({ "input": format!("kill {job}") })).await;
}

/// A byte that could begin a character, but does not, is handed over with the wait budget and spins nothing.
#[tokio::test]
async fn latin_letters_at_the_end_are_not_held_back() {
    let bench = Bench::whole();
    let first = bench.shell(json!({ "input": "printf 'caf\\351'; read x", "background": true })).await;
    let session = &first["sessionId"];
    let second = bench.shell(json!({ "sessionId": session, "input": "", "yieldMs": 30_000 })).await;
    assert_eq!(second["output"], "caf");
    let third = bench.shell(json!({ "sessionId": session, "input": "", "yieldMs": 250 })).await;
    assert_eq!((&third["status"], &third["output"]), (&json!("running"), &json!("\u{FFFD}")));
    bench.machine.stop().await;
}

#[tokio::test]
async fn odd_bytes_do_no_harm() {
    let bench = Bench::whole();
    let data = bench.shell(json!({ "input": "printf 'a\\377\\303\\251\\0b'" })).await;
    assert_eq!(data["output"], json!("a\u{FFFD}é\u{0}b"));
    assert_eq!(bench.refused("shell.exec", json!({ "input": "a\u{0}b" })).await.0, 400);
    assert_eq!(bench.refused("shell.exec", json!({ "input": "" })).await.0, 400);
    assert_eq!(
        bench.refused("shell.exec", json!({ "input": "", "sessionId": "nope" })).await,
        (404, "Unknown shell session: nope".into())
    );
}

#[tokio::test]
async fn a_closed_stdin_is_said_to_be_closed() {
    let bench = Bench::whole();
    let first = bench.shell(json!({ "input": "cat; sleep 1000", "background": true })).await;
    let session = &first["sessionId"];
    bench.shell(json!({ "sessionId": session, "input": "x", "closeStdin": true, "background": true })).await;
    let (code, message) = bench.refused("shell.exec", json!({ "sessionId": session, "input": "more" })).await;
    assert_eq!(
        (code, message),
        (409, format!("stdin is closed for shell session: {}", session.as_str().unwrap()))
    );
    bench.machine.stop().await;
}

/// A command that does not read is not waited for.
#[tokio::test]
async fn a_flood_of_stdin_has_an_end() {
    let bench = Bench::whole();
    let first = bench.shell(json!({ "input": "sleep 1000", "background": true })).await;
    let session = &first["sessionId"];
    let text = "x".repeat(1024 * 1024);
    let mut refused = None;
    for _ in 0..40 {
        let frame: Value = bench
            .frame("shell.exec", json!({ "sessionId": session, "input": text, "background": true }))
            .await;
        if frame["ok"] == json!(false) {
            refused = frame["error"]["code"].as_i64();
            break;
        }
    }
    assert_eq!(refused, Some(429));
    bench.machine.stop().await;
}

#[tokio::test]
async fn stopping_ends_every_command() {
    let bench = Bench::whole();
    let mut pids = Vec::new();
    for input in ["exec sleep 1000", "trap '' TERM; while true; do sleep 1; done"] {
        let data = bench.shell(json!({ "input": input, "background": true })).await;
        pids.push(data["pid"].to_string());
    }
    assert!(pids.iter().all(|pid| is_alive(pid)));
    bench.machine.stop().await;
    for pid in pids {
        until(|| !is_alive(&pid)).await;
    }
}

/// However the driver ends, the shells it started end with it.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_command_does_not_outlive_the_driver() {
    let bench = Bench::whole();
    let data = bench.shell(json!({ "input": "exec sleep 1000", "background": true })).await;
    let pid = data["pid"].to_string();
    assert!(is_alive(&pid));
    drop(bench);
    until(|| !is_alive(&pid)).await;
}
