//! Tests of commands that go on after their call was answered: polled, fed, ended.

use std::sync::Arc;

use base::clock::Clock;
use gateway::Origin;
use protocol::ids::Uid;
use protocol::shell::{Exec, Status};
use shell::{Order, Settings};

use crate::test_shell::{ANN, BOB, TestShell, seen, settings};

fn input(text: &str) -> Exec {
    Exec { input: text.into(), yield_ms: Some(30_000), ..Exec::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_reads_waits_for_what_its_caller_writes() {
    let test_shell = TestShell::new().await;
    let started = test_shell.start("read x; echo got $x; pwd").await;
    assert_eq!(started.status, Status::Running);
    let id = started.session_id.unwrap();
    assert!(id.starts_with("sh_"));
    let done = test_shell.go_on(&id, input("hi\n")).await.unwrap();
    assert_eq!((done.status, done.output.as_str()), (Status::Completed, "got hi\n/home/ann\n"));
    assert_eq!(done.exit_code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_is_read_line_by_line_and_to_its_end() {
    let test_shell = TestShell::new().await;
    let started = test_shell.start("while read -r l; do echo \"<$l>\"; done; echo end; exit 4").await;
    let id = started.session_id.unwrap();
    let first = test_shell.go_on(&id, input("a b\n")).await.unwrap();
    assert_eq!((first.status, first.output.as_str()), (Status::Running, "<a b>\n"));
    let rest = Exec { close_stdin: Some(true), ..input("c\n") };
    let mut last = test_shell.go_on(&id, rest).await.unwrap();
    let mut output = last.output.clone();
    while last.status == Status::Running {
        last = test_shell.go_on(&id, input("")).await.unwrap();
        output += &last.output;
    }
    assert_eq!((output.as_str(), last.exit_code), ("<c>\nend\n", Some(4)));
    assert_eq!(last.error.as_deref(), Some("Command exited with code 4"));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_reader_gets_stdin_and_pipes_win_over_it() {
    let test_shell = TestShell::new().await;
    for (script, expected) in [
        ("cat", "one\ntwo\n"),
        ("cat | tr a-z A-Z", "ONE\nTWO\n"),
        ("wc -l", "2\n"),
        ("sort -r", "two\none\n"),
        ("x=$(cat); echo \"[$x]\"", "[one\ntwo]\n"),
        ("head -1", "one\n"),
        ("f() { grep two; }; f", "two\n"),
        ("echo piped | cat; cat <<< here; read x; echo $x", "piped\nhere\none\n"),
        ("read a; read b; echo $b$a", "twoone\n"),
        ("mapfile -t l; echo ${#l[@]}", "2\n"),
        ("awk '{ print NR $0 }'", "1one\n2two\n"),
        ("sed s/o/0/", "0ne\ntw0\n"),
        ("ls >/dev/null; date >/dev/null; cat", "one\ntwo\n"),
    ] {
        let started = test_shell.start(script).await;
        assert_eq!(started.status, Status::Running, "{script}: {started:?}");
        let id = started.session_id.unwrap();
        let mut done =
            test_shell.go_on(&id, Exec { close_stdin: Some(true), ..input("one\ntwo\n") }).await.unwrap();
        let mut output = started.output + &done.output;
        while done.status == Status::Running {
            done = test_shell.go_on(&id, input("")).await.unwrap();
            output += &done.output;
        }
        assert_eq!((output.as_str(), done.exit_code), (expected, Some(0)), "{script}: {done:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_reads_nothing_does_not_wait() {
    let test_shell = TestShell::new().await;
    for script in
        ["echo x | cat", "awk 'BEGIN { print 1 }'", "ls; grep x nothing; cat nothing", "cat < /dev/null"]
    {
        let done = test_shell.start(script).await;
        assert_ne!(done.status, Status::Running, "{script}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn signals_end_a_command_with_their_code() {
    let test_shell = TestShell::new().await;
    for (signal, code) in [("INT", 130), ("SIGTERM", 143), ("kill", 137)] {
        let id = test_shell.start("echo begun; sleep 1000").await.session_id.unwrap();
        let args = Exec { signal: Some(signal.into()), ..input("") };
        let mut done = test_shell.go_on(&id, args).await.unwrap();
        while done.status == Status::Running {
            done = test_shell.go_on(&id, input("")).await.unwrap();
        }
        assert_eq!((done.status, done.exit_code), (Status::Failed, Some(code)), "{signal}");
        assert_eq!(seen(&done).0, "begun\n");
        assert!(done.error.unwrap().starts_with("Command failed: SIG"));
    }
    let id = test_shell.start("sleep 1000").await.session_id.unwrap();
    let args = Exec { signal: Some("HUP".into()), ..input("") };
    assert_eq!(test_shell.go_on(&id, args).await.unwrap_err().code, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_its_owners() {
    let test_shell = TestShell::new().await;
    let id = test_shell.start("sleep 1000").await.session_id.unwrap();
    let (inside, process) = (Origin::Inside, Origin::Process("p1".into()));
    assert!(test_shell.shells.knows((Uid(ANN.1), &inside), &id));
    assert!(
        !test_shell.shells.knows((Uid(BOB.1), &inside), &id)
            && !test_shell.shells.knows((Uid(ANN.1), &process), &id)
    );
    assert!(test_shell.shells.go_on((Uid(BOB.1), &inside), &id, &input(""), || false).await.is_none());
    let facts = test_shell.shells.infos();
    assert_eq!((facts.len(), facts[0].input.as_str(), facts[0].uid), (1, "sleep 1000", Uid(ANN.1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn output_comes_as_it_is_written_and_none_is_lost() {
    let test_shell = TestShell::new().await;
    let script = "for i in 1 2 3; do echo out$i; echo err$i >&2; sleep 0.05; done";
    let args = Exec { background: Some(true), ..input(script) };
    let mut seen = test_shell.shells.start(test_shell.order(ANN), &args).await.unwrap();
    let id = seen.session_id.clone().unwrap();
    let mut output = seen.output.clone();
    while seen.status == Status::Running {
        seen = test_shell.go_on(&id, input("")).await.unwrap();
        output += &seen.output;
    }
    assert_eq!(output, "out1\nerr1\nout2\nerr2\nout3\nerr3\n");
    assert_eq!(seen.stdout.as_deref(), Some("out1\nout2\nout3\n"));
    assert_eq!(seen.stderr.as_deref(), Some("err1\nerr2\nerr3\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn output_beyond_the_cap_keeps_its_tail_and_says_so() {
    let test_shell = TestShell::new().await;
    let order =
        Order { settings: Settings { max_output_bytes: 1_024, ..settings() }, ..test_shell.order(ANN) };
    let args = Exec { close_stdin: Some(true), ..input("seq 1 2000; echo end") };
    let mut result = test_shell.shells.start(order, &args).await.unwrap();
    let mut output = result.output.clone();
    if let Some(id) = result.session_id.clone() {
        while result.status == Status::Running {
            result = test_shell.go_on(&id, input("")).await.unwrap();
            output += &result.output;
        }
    }
    let expected: String = (1..=2000).map(|n| format!("{n}\n")).collect::<String>() + "end\n";
    assert_eq!(output, expected, "a caller that asks on gets everything");
    let kept = result.stdout.unwrap();
    assert!(kept.ends_with("2000\nend\n") && kept.contains("bytes dropped"), "{kept}");
    assert_eq!(result.truncated, Some(true));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_file_comes_whole_to_a_caller_that_asks_on() {
    let test_shell = TestShell::new().await;
    test_shell.run_as(ANN, "seq 1 200000 > big").await;
    let args = Exec { close_stdin: Some(true), ..input("cat big; echo end >&2") };
    let mut result = test_shell.shells.start(test_shell.order(ANN), &args).await.unwrap();
    let mut output = result.output.clone();
    while result.status == Status::Running {
        let id = result.session_id.clone().unwrap();
        result = test_shell.go_on(&id, input("")).await.unwrap();
        output += &result.output;
    }
    let expected: String = (1..=200_000).map(|n| format!("{n}\n")).collect::<String>() + "end\n";
    assert!(output == expected, "{} of {} bytes", output.len(), expected.len());
    assert_eq!(result.exit_code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_ends_when_its_time_is_up() {
    let test_shell = TestShell::new().await;
    let args = Exec { timeout: Some(100), ..input("echo begun; sleep 1000") };
    let done = test_shell.shells.start(test_shell.order(ANN), &args).await.unwrap();
    assert_eq!((done.status, done.exit_code, done.timed_out), (Status::Failed, Some(124), Some(true)));
    assert_eq!(done.error.as_deref(), Some("Command timed out after 100ms"));
    assert_eq!(seen(&done).0, "begun\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_ends_every_command_and_refuses_new_ones() {
    let test_shell = TestShell::new().await;
    let id = test_shell.start("sleep 1000").await.session_id.unwrap();
    test_shell.shells.stop();
    let mut done = test_shell.go_on(&id, input("")).await.unwrap();
    while done.status == Status::Running {
        done = test_shell.go_on(&id, input("")).await.unwrap();
    }
    assert_eq!(done.exit_code, Some(143));
    let refused = test_shell.shells.start(test_shell.order(ANN), &input("true")).await.unwrap_err();
    assert_eq!(refused.code, 503);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_user_has_only_so_many_at_once() {
    let test_shell = Arc::new(TestShell::new().await);
    let args = Exec { background: Some(true), ..input("sleep 1000") };
    for _ in 0..base::limits::native_shell::PER_USER_MAX {
        test_shell.shells.start(test_shell.order(ANN), &args).await.unwrap();
    }
    assert_eq!(test_shell.shells.start(test_shell.order(ANN), &args).await.unwrap_err().code, 429);
    assert_eq!(test_shell.run_as(BOB, "echo mine").await.output, "mine\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_arguments_are_named() {
    let test_shell = TestShell::new().await;
    for (args, word) in [
        (input("  "), "input"),
        (input("a\0b"), "input"),
        (Exec { signal: Some("INT".into()), ..input("x") }, "sessionId"),
    ] {
        let error = test_shell.shells.start(test_shell.order(ANN), &args).await.unwrap_err();
        assert!(error.code == 400 && error.message.contains(word), "{error:?}");
    }
    for cwd in ["/home/bob", "/nowhere", "/home/ann/file"] {
        test_shell.run("echo > ~/file").await;
        let order = Order { view: test_shell.view(ANN).at(cwd), ..test_shell.order(ANN) };
        let error = test_shell.shells.start(order, &input("pwd")).await.unwrap_err();
        assert!(error.code == 400 && error.message.contains("cwd"), "{error:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_is_ended_says_goodbye() {
    let test_shell = TestShell::new().await;
    for (script, signal, output) in [
        ("trap 'echo term' TERM; trap 'echo bye; echo kept > k' EXIT; n=1; sleep 100", "TERM", "term\nbye\n"),
        ("x=7; trap 'echo int $x' INT; sleep 100", "INT", "int 7\n"),
        ("trap 'echo never' EXIT; sleep 100", "KILL", ""),
        ("trap 'echo first; sleep 100; echo never' TERM; sleep 100", "TERM", "first\n"),
    ] {
        let id = test_shell.start(script).await.session_id.unwrap();
        let args = Exec { signal: Some(signal.to_string()), yield_ms: Some(30_000), ..Exec::default() };
        let mut result = test_shell.go_on(&id, args).await.unwrap();
        let mut told = result.output.clone();
        while result.status == Status::Running {
            result = test_shell.go_on(&id, input("")).await.unwrap();
            told += &result.output;
        }
        assert_eq!(told, output, "{script}");
        let code = 128
            + match signal {
                "INT" => 2,
                "KILL" => 9,
                _ => 15,
            };
        assert_eq!(result.exit_code, Some(code), "{script}");
    }
    assert_eq!(test_shell.run("cat k").await.output, "kept\n");
    let args = Exec { timeout: Some(300), ..input("trap 'echo cleaned' EXIT; sleep 100") };
    let result = test_shell.shells.start(test_shell.order(ANN), &args).await.unwrap();
    assert_eq!((result.exit_code, result.stdout.as_deref()), (Some(124), Some("cleaned\n")), "{result:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_holds_nothing_once_it_has_ended() {
    let test_shell = TestShell::new().await;
    let before = Arc::strong_count(&test_shell.tree);
    test_shell.start("echo hi; find . | head -1").await;
    test_shell.start("umask 077; echo hi > masked; (umask 0; echo hi)").await;
    test_shell.start("trap 'echo bye' EXIT; false").await;
    let started = test_shell.start("umask 077; read x").await;
    test_shell
        .go_on(&started.session_id.unwrap(), Exec { signal: Some("KILL".into()), ..input("") })
        .await
        .unwrap();
    let until = Clock::system().instant() + std::time::Duration::from_secs(30);
    while Arc::strong_count(&test_shell.tree) > before {
        assert!(Clock::system().instant() < until, "{} more", Arc::strong_count(&test_shell.tree) - before);
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}
