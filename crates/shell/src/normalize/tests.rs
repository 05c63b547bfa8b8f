//! Tests of the source-to-source rewriting.

use proptest::prelude::*;

use super::normalized;

fn check(rows: &[(&str, &str)]) {
    for (script, expected) in rows {
        assert_eq!(normalized(script, 42), *expected, "{script}");
    }
}

#[test]
fn the_number_of_the_shell_stands_where_it_is_asked_for() {
    check(&[
        ("echo $$", "echo \"42\""),
        ("f=/tmp/x.$$; echo \"$f $$ ${x:-$$}\" > $$", "f=/tmp/x.\"42\"; echo \"$f 42 ${x:-42}\" > \"42\""),
        ("echo '$$' \\$$ # $$\necho $'a\\'$$' \"\\$$\"", "echo '$$' \\$$ # $$\necho $'a\\'$$' \"\\$$\""),
        (
            "trap 'rm -f /tmp/x.$$' EXIT; awk '{ print $$1 }'",
            "trap 'rm -f /tmp/x.42' EXIT; awk '{ print $$1 }'",
        ),
        ("x=$(echo $(($$ + 1)) \"$(echo $$)\")", "x=$(echo $((42 + 1)) \"$(echo \"42\")\")"),
        (
            "cat <<E; echo $$\n$$ \"$$\n'\nE\ncat <<'E'\n$$\nE\necho $$",
            "cat <<E; echo \"42\"\n42 \"42\n'\nE\ncat <<'E'\n$$\nE\necho \"42\"",
        ),
        (
            "case $x in a) echo $$;; (b) echo '$$';; esac; (echo $$)",
            "case $x in a) echo \"42\";; (b) echo '$$';; esac; (echo \"42\")",
        ),
        ("x=$(case y in y) echo '$$';; esac); echo '$$'", "x=$(case y in y) echo '$$';; esac); echo '$$'"),
        ("((x = $$)); for ((i=$$;;)); do :; done", "((x = 42)); for ((i=42;;)); do :; done"),
        ("[ $BASHPID = $$ ]", "[ $((BASHPID == 1 ? 42 : BASHPID)) = \"42\" ]"),
        ("echo `echo $$`", "echo `echo \"42\"`"),
    ]);
}

#[test]
fn tests_of_files_are_asked_of_test() {
    check(&[
        ("[[ -L $f ]] && echo", "[[ $(test -L \"$f\"; echo $?) == 0 ]] && echo"),
        (
            "if [[ ! -r \"$f\" || ( -x a/b && -e c ) ]]; then :; fi",
            "if [[ ! $(test -r \"$f\"; echo $?) == 0 || ( $(test -x \"a/b\"; echo $?) == 0 && -e c ) ]]; then :; fi",
        ),
        ("[[ $a -nt b ]]", "[[ $(test \"$a\" -nt \"b\"; echo $?) == 0 ]]"),
        ("[[ a -nt \"$d\"/b ]]", "[[ $(test \"a\" -nt \"$d\"\"/b\"; echo $?) == 0 ]]"),
        ("[[ $a -nt \"$d\"/b ]]", "[[ $(test \"$a\" -nt \"$d\"\"/b\"; echo $?) == 0 ]]"),
        ("while [[ -w ~/x ]]; do :; done", "while [[ $(test -w ~/x; echo $?) == 0 ]]; do :; done"),
        ("[[ -e f && -d g ]]", "[[ -e f && -d g ]]"),
        ("[[ $x == -L || $x =~ ^(-r|a b)$ && -n -r ]]", "[[ $x == -L || $x =~ ^(-r|a b)$ && -n -r ]]"),
        ("echo [[ -L f ]]", "echo [[ -L f ]]"),
        ("[[ -r 'it'\\''s' ]]", "[[ -r 'it'\\''s' ]]"),
        ("[[ -x \"$(command -v \"$x\")\" ]]", "[[ $(test -x \"$(command -v \"$x\")\"; echo $?) == 0 ]]"),
        ("[[ -r \"$d\"/$f ]]", "[[ $(test -r \"$d\"\"/$f\"; echo $?) == 0 ]]"),
        ("[[ -r \"\" ]]", "[[ $(test -r \"\"; echo $?) == 0 ]]"),
        ("[[ -x $(command -v jq) ]]", "[[ $(test -x \"$(command -v jq)\"; echo $?) == 0 ]]"),
    ]);
}

#[test]
fn long_ranges_are_counted_out() {
    check(&[
        ("for i in {1..20000}; do :; done", "for i in $(seq 1 1 20000); do :; done"),
        ("echo {50000..-1..2}", "echo $(seq 50000 -2 -1)"),
        (
            "echo {1..10000} {1..200000} {01..20000} '{1..20000}' a{1..20000}",
            "echo {1..10000} {1..200000} {01..20000} '{1..20000}' a{1..20000}",
        ),
    ]);
}

#[test]
fn what_is_piped_to_a_command_with_a_substitution_stays_with_it() {
    check(&[
        ("seq 3 | cat - <(seq 4 5)", "seq 3 | cat - <({ seq 4 5\n} | tail -c +1)"),
        ("seq 3 | cat - <(echo x); cat <(seq 3)", "seq 3 | cat - <(echo x); cat <(seq 3)"),
        ("a || cat <(seq 3)", "a || cat <(seq 3)"),
    ]);
}

#[test]
fn signs_and_arrays_are_put_so_that_they_are_read() {
    check(&[
        ("x=${v//%/\\x} ${v//#/n} ${v/%a/b} ${v//a/b}", "x=${v//[%]/\\x} ${v//[#]/n} ${v/%a/b} ${v//a/b}"),
        ("(a+=(x)); (b=(y)); c=(z)", "(a+=(x) ); (b=(y) ); c=(z)"),
    ]);
}

#[test]
fn what_is_not_understood_stays_as_it_is() {
    for script in [
        "echo $$ 'open",
        "echo $$ \"open",
        "echo $$ $(open",
        "x=$$; [[ -L f",
        "echo $$ )",
        "cat << ; echo $$",
    ] {
        assert_eq!(normalized(script, 42), script);
    }
}

/// What scripts are made of, whole and cut.
const PIECES: [&str; 40] = [
    "$$",
    "$BASHPID",
    "[[",
    "]]",
    "-L",
    "-nt",
    "a",
    "é",
    " ",
    "\n",
    "\t",
    "'",
    "\"",
    "\\",
    "$",
    "${",
    "}",
    "$(",
    ")",
    "((",
    "))",
    "(",
    "$((",
    "`",
    "<(",
    "<<E",
    "<<-'E'",
    "E\n",
    "|",
    "||",
    "&&",
    ";",
    "case x in",
    "esac",
    "{1..20000}",
    "#",
    "$'",
    "=~",
    "trap ",
    "seq 3",
];

proptest! {
    #[test]
    fn no_script_is_too_odd(pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..40)) {
        let script = pieces.concat();
        prop_assert!(!normalized(&script, 42).is_empty() || script.is_empty());
    }
}
