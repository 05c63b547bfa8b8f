//! Fuzz test of the parser: whatever is typed, the shell answers.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use protocol::shell::{Exec, Status};

use crate::test_shell::{ANN, TestShell};

const TOKENS: &[&str] = &[
    "echo",
    "x",
    "$x",
    "${x",
    "${x:-",
    "}",
    "$(",
    ")",
    "`",
    "\"",
    "'",
    "|",
    "||",
    "&&",
    "&",
    ";",
    ";;",
    "\n",
    "<",
    ">",
    ">>",
    "<<E",
    "E\n",
    "<<<",
    "(",
    "((",
    "))",
    "[[",
    "]]",
    "[",
    "]",
    "{",
    "{1..3}",
    "if",
    "then",
    "else",
    "fi",
    "for",
    "in",
    "do",
    "done",
    "while",
    "case",
    "esac",
    "function",
    "f()",
    "!",
    "\\",
    "#",
    "*",
    "?",
    "~",
    "$((1+",
    "1",
    "=",
    "a=(",
    "a[0]=",
    "read",
    "cat",
    "eval",
    "trap",
    "set -e",
    "exit",
    "2>&1",
    "\u{e9}",
    "\u{1F600}",
    "\t",
    " ",
    "coproc",
    "time",
    "select",
    "@(a|b)",
    "$'\\x",
    "${!x}",
    "${#a[@]}",
    "<(",
    ">(",
];

fn soup() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::collection::vec(proptest::sample::select(TOKENS), 0..40).prop_map(|tokens| tokens.concat()),
        proptest::collection::vec(proptest::sample::select(TOKENS), 0..40)
            .prop_map(|tokens| tokens.join(" ")),
        proptest::collection::vec(any::<u8>(), 0..80)
            .prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
    ]
}

#[test]
fn no_text_makes_the_shell_fail_or_hang() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let test_shell = runtime.block_on(TestShell::new());
    let config = Config { cases: 400, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&soup(), |script| {
            let args = Exec {
                input: script.clone(),
                close_stdin: Some(true),
                timeout: Some(2_000),
                ..Exec::default()
            };
            match runtime.block_on(test_shell.shells.start(test_shell.order(ANN), &args)) {
                Err(error) => prop_assert_eq!(error.code, 400, "{:?}", script),
                Ok(result) => {
                    prop_assert_ne!(result.status, Status::Running, "{:?}", script);
                    let error = result.error.unwrap_or_default();
                    prop_assert!(!error.contains("interpreter failed"), "{:?}", script);
                }
            }
            Ok(())
        })
        .unwrap();
    assert_eq!(test_shell.shells.lost_count(), 0);
}
