//! Scripts that would never end, or want too much: each ends clearly, and others are not held up.

use protocol::shell::{Exec, ExecResult, Status};

use crate::place::{ANN, BOB, Place};

/// Scripts, and a word of what is said about each.
const ENDLESS: &[(&str, &str)] = &[
    ("while :; do :; done", "commands"),
    ("f() { f; }; f", "nested deeper than 16"),
    ("x=a; while :; do x=$x$x; done", "memory"),
    ("a=(); while :; do a+=(xxxxxxxxxxxxxxxxxxxxxxxxxx); done", ""),
    ("for ((;;)); do for ((;;)); do :; done; done", ""),
    ("x=$(yes)", ""),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_limit_ends_a_script_clearly() {
    let place = Place::new().await;
    for (script, word) in ENDLESS {
        let result = to_the_end(&place, script, 300_000).await;
        assert_eq!(result.status, Status::Failed, "{script}\n{:?}", result.error);
        let error = result.error.unwrap();
        assert!(error.contains(word), "{script}: {error}");
        assert!(matches!(result.exit_code, Some(1 | 137)), "{script}: {:?}", result.exit_code);
        assert!(!result.stderr.unwrap().is_empty(), "{script}");
    }
    assert_eq!(place.run("echo still here").await.output, "still here\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_only_makes_jobs_ends_with_its_time() {
    let place = Place::new().await;
    let result = to_the_end(&place, ":() { :|:& }; :", 1_000).await;
    assert_eq!((result.status, result.exit_code), (Status::Failed, Some(124)), "{:?}", result.error);
}

/// Runs a script and asks until it has ended.
async fn to_the_end(place: &Place, script: &str, timeout_ms: u64) -> ExecResult {
    let args =
        Exec { input: script.into(), timeout: Some(timeout_ms), close_stdin: Some(true), ..Exec::default() };
    let mut result = place.shells.start(place.order(ANN), &args).await.unwrap();
    while result.status == Status::Running {
        let id = result.session_id.clone().unwrap();
        result = place.go_on(&id, Exec::default()).await.unwrap();
    }
    result
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_that_does_not_come_back_is_replaced() {
    let place = Place::new().await;
    let mut waiting = Vec::new();
    for script in ["awk 'BEGIN { while (1); }'", "jq -n 'def f: f; f'", "jq -n '[range(1e9)]'"] {
        let args = Exec { timeout: Some(500), close_stdin: Some(true), ..Exec::default() };
        let args = Exec { input: script.into(), ..args };
        waiting.push(async {
            let args = args;
            (args.input.clone(), place.shells.start(place.order(ANN), &args).await.unwrap())
        });
    }
    let others = async {
        for _ in 0..50 {
            assert_eq!(place.run_as(BOB, "echo $((1 + 1))").await.output, "2\n");
        }
    };
    let (ended, ()) = tokio::join!(futures_util::future::join_all(waiting), others);
    for (script, result) in ended {
        assert_eq!(result.status, Status::Failed, "{script}\n{result:?}");
        assert!(result.exit_code.is_some_and(|code| code != 0), "{script}\n{result:?}");
    }
}
