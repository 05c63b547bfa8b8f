//! Abuse tests: scripts that would never end, or want too much; each ends clearly, and others are not held up.

use protocol::shell::{Exec, ExecResult, Status};

use crate::test_shell::{ANN, BOB, TestShell};

/// Scripts, and a word of what is said about each.
const ENDLESS: &[(&str, &str)] = &[
    ("while :; do :; done", "commands"),
    ("f() { f; }; f", "nested deeper than 16"),
    ("x=a; while :; do x=$x$x; done", "memory"),
    ("a=(); while :; do a+=(xxxxxxxxxxxxxxxxxxxxxxxxxx); done", ""),
    ("for ((;;)); do for ((;;)); do :; done; done", ""),
    ("x=$(yes)", ""),
    ("seq 1000000000 | sort | tail -1", "Command stopped"),
    ("yes | grep -n y > /dev/null", "Command stopped"),
    ("echo a | sed ':a;s/a/aa/g;ta'", "Command stopped"),
    ("yes | xargs -n 1 echo | wc -c", "Command stopped"),
    ("x='eval \"$x\"'; eval \"$x\"", "Command stopped"),
    ("echo ./s > s; chmod +x s; ./s", "Command stopped"),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_limit_ends_a_script_clearly() {
    let test_shell = TestShell::new().await;
    for (script, word) in ENDLESS {
        let result = to_the_end(&test_shell, script, 300_000).await;
        assert_eq!(result.status, Status::Failed, "{script}\n{:?}", result.error);
        let error = result.error.unwrap();
        assert!(error.contains(word), "{script}: {error}");
        assert!(matches!(result.exit_code, Some(1 | 137)), "{script}: {:?}", result.exit_code);
        assert!(!result.stderr.unwrap().is_empty(), "{script}");
    }
    assert_eq!(test_shell.run("echo still here").await.output, "still here\n");
}

/// Scripts whose arithmetic is nested so much that looking through it once took hours.
#[tokio::test(flavor = "multi_thread")]
async fn nested_arithmetic_does_not_outlive_its_time() {
    let test_shell = TestShell::new().await;
    let nested = format!("{}1{}", "$((".repeat(300_000), "))".repeat(300_000));
    let grow = "x='$((' y='))'; for i in {1..17}; do x=$x$x y=$y$y; done; s=\"echo ${x}1$y\"";
    for script in [
        format!("echo {nested}"),
        format!("a[{nested}]=1"),
        format!("echo \"$((1 + {nested}))\""),
        format!("{grow}; eval \"$s\""),
        format!("{grow}; bash -c \"$s\""),
        format!("{grow}; trap \"$s\" EXIT"),
        format!("{grow}; printf '%s' \"$s\" > s; . ./s"),
        format!("{grow}; printf '%s' \"$s\" > s; bash s"),
        format!("{grow}; printf '%s' \"$s\" > s; chmod +x s; ./s"),
        format!("{grow}; printf '%s' \"$s\" > s; bash < s"),
        format!("{grow}; printf '%s' \"$s\" | bash"),
        format!("{grow}; printf '%s' \"$s\" | sh -s"),
        format!("{grow}; printf '%s' \"$s\" | bash -s one"),
        format!("{grow}; bash <<< \"$s\""),
        format!("{grow}; bash <<X\n$s\nX"),
        format!("{grow}; . /dev/stdin <<< \"$s\""),
        format!("{grow}; bash <(printf '%s' \"$s\")"),
        format!("{grow}; . <(printf '%s' \"$s\")"),
    ] {
        let result = to_the_end(&test_shell, &script, 60_000).await;
        let (beginning, error) = (&script[..script.len().min(120)], result.error.unwrap_or_default());
        let said = result.stderr.unwrap_or_default();
        assert!(result.exit_code.is_some_and(|code| code != 124), "{beginning}: {error} {said}");
        assert!(!error.contains("CPU") && !error.contains("longer than"), "{beginning}: {error}");
        assert_eq!(test_shell.shells.lost_count(), 0, "{beginning}");
    }
    assert_eq!(test_shell.run("echo $(( $((1 + 1)) * $((2 + 3)) ))").await.output, "10\n");
    assert_eq!(test_shell.run("bash <(echo 'echo $1') one").await.output, "one\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_only_makes_jobs_ends_with_its_time() {
    let test_shell = TestShell::new().await;
    let result = to_the_end(&test_shell, ":() { :|:& }; :", 1_000).await;
    assert_eq!((result.status, result.exit_code), (Status::Failed, Some(124)), "{:?}", result.error);
}

/// Runs a script and asks until it has ended.
async fn to_the_end(test_shell: &TestShell, script: &str, timeout_ms: u64) -> ExecResult {
    let args =
        Exec { input: script.into(), timeout: Some(timeout_ms), close_stdin: Some(true), ..Exec::default() };
    let mut result = test_shell.shells.start(test_shell.order(ANN), &args).await.unwrap();
    while result.status == Status::Running {
        let id = result.session_id.clone().unwrap();
        result = test_shell.go_on(&id, Exec::default()).await.unwrap();
    }
    result
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_that_does_not_come_back_is_replaced() {
    let test_shell = TestShell::new().await;
    let mut waiting = Vec::new();
    for script in ["awk 'BEGIN { while (1); }'", "jq -n 'def f: f; f'", "jq -n '[range(1e9)]'"] {
        let args = Exec { timeout: Some(500), close_stdin: Some(true), ..Exec::default() };
        let args = Exec { input: script.into(), ..args };
        waiting.push(async {
            let args = args;
            (args.input.clone(), test_shell.shells.start(test_shell.order(ANN), &args).await.unwrap())
        });
    }
    let others = async {
        for _ in 0..50 {
            assert_eq!(test_shell.run_as(BOB, "echo $((1 + 1))").await.output, "2\n");
        }
    };
    let (ended, ()) = tokio::join!(futures_util::future::join_all(waiting), others);
    for (script, result) in ended {
        assert_eq!(result.status, Status::Failed, "{script}\n{result:?}");
        assert!(result.exit_code.is_some_and(|code| code != 0), "{script}\n{result:?}");
    }
}

/// Programs whose reader, value or input once ended the whole gateway, and how each ends now.
const DEEP: &[(&str, &str)] = &[
    ("jq -n \"$(r '(' 16000)\"", ""),
    ("jq -n \"$(r '[' 16000)\"", ""),
    ("jq -n \"$(r '(' 7000)1$(r ')' 7000)\"", ""),
    ("jq -n \"$(r '-' 16000)1\"", ""),
    ("jq -n \"1$(r '|.' 8000)\"", ""),
    ("jq -n \"$(r 'if ' 5000)\"", ""),
    ("r '(' 20000 | wc -c >&2; x=$(r '(' 20000); echo ${#x} >&2; false", "20000\n20000"),
    ("jq -n \"$(r '(' 20000)\"", "the filter is longer than"),
    ("yes '(' | head -20000 | tr -d '\\n' > f; jq -n -f f", "the filter is longer than"),
    ("/usr/bin/jq -n \"$(r '(' 20000)\"", "the filter is longer than"),
    ("find . $(yes '!' | head -2000) -name x", "nested-too-deeply"),
    ("find . $(yes '(' | head -2000)", "nested-too-deeply"),
    ("/usr/bin/find . $(yes '!' | head -5000) -name x", "nested-too-deeply"),
    ("find . $(yes '!' | head -900) -name x", ""),
    ("echo \"$(r '(' 100000)1\" | bc", ""),
];

#[tokio::test(flavor = "multi_thread")]
async fn what_is_nested_deeply_does_not_end_the_gateway() {
    let test_shell = TestShell::new().await;
    for (script, words) in DEEP {
        let script = format!(
            "r() {{ awk -v s=\"$1\" -v n=$2 'BEGIN {{ while (n-- > 0) printf \"%s\", s }}'; }}; {script}"
        );
        let result = to_the_end(&test_shell, &script, 60_000).await;
        let stderr = result.stderr.clone().unwrap_or_default();
        assert!(stderr.contains(words), "{script}\n{result:?}");
        assert!(result.exit_code.is_some(), "{script}\n{result:?}");
    }
    assert_eq!(test_shell.run("echo still here").await.output, "still here\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_nested_a_million_deep_does_not_end_the_gateway() {
    let test_shell = TestShell::new().await;
    for program in [
        "reduce range(1000000) as $i (0; [.]) | length",
        "reduce range(200000) as $i (0; [.]) | length",
        "reduce range(200000) as $i (0; [.])",
        "reduce range(200000) as $i (0; [.]) | tojson | length",
        "reduce range(2000000) as $i (0; [.] | .[0:1]) | length",
        "reduce range(100000) as $i (0; {a: .}) | tojson | length",
        "reduce range(100000) as $i (0; [.]) | (. == .), (flatten | length)",
    ] {
        let result = to_the_end(&test_shell, &format!("jq -n '{program}'"), 60_000).await;
        assert!(result.exit_code.is_some(), "{program}\n{:?}", result.error);
    }
    assert_eq!(test_shell.run("jq -n '[1] | length'").await.output, "1\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_held_in_memory_is_bounded() {
    let test_shell = TestShell::new().await;
    for script in [
        "yes '' | head -c 8000000 > f; sort f > /dev/null",
        "yes '' | head -c 8000000 | sort > /dev/null",
        "yes '' | head -c 8000000 > f; /usr/bin/sort f f > /dev/null",
        "yes '0,' | tr -d '\\n' | head -c 16000000 > f; jq -n . f",
    ] {
        let result = test_shell.run(script).await;
        assert!(matches!(result.exit_code, Some(2)), "{script}\n{result:?}");
    }
    assert_eq!(test_shell.run("seq 100000 | sort -rn | head -1").await.output, "100000\n");
    assert_eq!(test_shell.run("seq 50000 | jq -s 'add'").await.output, "1250025000\n");
}

/// Scripts that once took more than half a gigabyte, and a word of what is said about each.
const GREEDY: &[(&str, &str)] = &[
    ("head -c 60000000 /dev/zero > f; cat f f f f > /dev/null", "would hold too much"),
    (
        "head -c 60000000 /dev/zero > f; for i in 1 2 3 4; do ln -s f l$i; done; cat l* > /dev/null",
        "would hold too much",
    ),
    ("yes x | head -c 8000000 > f; sed s/x/yyyyyyyyyyyyyyyy/g f > /dev/null", "would hold too much"),
    ("yes x | head -c 8000000 | tac > /dev/null", "more than 128 MiB of memory"),
    ("yes x | head -c 8000000 | nl > /dev/null", "more than 128 MiB of memory"),
    ("yes x | head -c 8000000 > f; awk '{ a[NR] = $0 }' f", "would hold too much"),
    ("yes x | head -c 8000000 > f; mapfile -t a < f", "more than 128 MiB of memory"),
    (
        "head -c 30000000 /dev/zero | tr '\\0' x | sed s/x/yyyyyyyyyyyyyyyy/g > /dev/null",
        "more than 128 MiB of memory",
    ),
    (
        "seq 2000000 > a; seq 2000000 -1 1 > b; diff a b",
        "diff: a and b: they take more than 128 MiB of memory",
    ),
    ("seq 200000 > a; seq 200000 -1 1 > b; diff a b > d; echo $? >&2; false", "1\n"),
    ("truncate -s 100G f", "truncate: File too large"),
    ("truncate --size=+1T f", "truncate: File too large"),
    ("mkdir -p $(printf 'd/%.0s' {1..3000})", "File name too long"),
    ("yes 'x=1;' | head -c 5000000 > s; bash s", "4000000"),
    ("jq -n 'def f(x): f(x); f(1)'", "value size limit"),
    ("jq -n 'def f(g): f(g|g); f(.)'", "value size limit"),
    ("jq -n '\"\\(def f(g): def h(i): f(i); h(g); f(1))\"'", "value size limit"),
];

#[tokio::test(flavor = "multi_thread")]
async fn no_command_holds_more_than_it_may() {
    let test_shell = TestShell::new().await;
    for (script, words) in GREEDY {
        let result = to_the_end(&test_shell, script, 60_000).await;
        let stderr = result.stderr.clone().unwrap_or_default();
        assert!(stderr.contains(words), "{script}\n{result:?}");
        assert!(result.exit_code.is_some_and(|code| code != 0), "{script}\n{result:?}");
    }
    let fits = "seq 100000 > f; cat f f f | tac | sed 's/1/one/g' | awk 'END { print NR }'; mapfile -t a < f; echo ${#a[@]}";
    assert_eq!(test_shell.run(fits).await.output, "300000\n100000\n");
    let recursive =
        "jq -cn 'def up(f): if . > 50000 then . else (. + 1 | up(f)) end; 0 | [up(.), (\"\\(1)\" | .)]'";
    assert_eq!(test_shell.run(recursive).await.output, "[50001,\"1\"]\n");
    let again = "head -c 60000000 /dev/zero > f; cat f > g; cat < f > h; head -c 9 f | cmp - <(head -c 9 < g); wc -c < h";
    assert_eq!(test_shell.run(again).await.output, "60000000\n", "each of these holds one file");
}

/// What was told to end ends by itself soon, so that its user may go on.
#[tokio::test(flavor = "multi_thread")]
async fn a_jq_that_makes_no_value_does_not_go_on_for_ever() {
    let test_shell = TestShell::new().await;
    let id = test_shell.start("jq -n 'def f: f; f'").await.session_id.unwrap();
    let kill = Exec { signal: Some("KILL".to_string()), ..Exec::default() };
    test_shell.go_on(&id, kill).await.unwrap();
    for _ in 0..600 {
        if test_shell.shells.has_ended(&id) && test_shell.shells.lost_count() == 0 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("it still runs");
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_gets_more_time_than_root_has_set() {
    let test_shell = TestShell::new().await;
    let mut order = test_shell.order(ANN);
    order.settings.timeout_ms = 300;
    let args = Exec { input: "sleep 70".into(), timeout: Some(86_400_000), ..Exec::default() };
    let result = test_shell.shells.start(order, &args).await.unwrap();
    assert_eq!((result.exit_code, result.timed_out), (Some(124), Some(true)), "{result:?}");
}
