//! What the grammar reads, and what it refuses.

use super::*;

/// Pipelines as text: words between bars, commands between `|`.
fn show(script: &str) -> Option<String> {
    let pipelines = parse(script).ok()?;
    let command = |words: &Vec<Word>| words.iter().map(|word| format!("<{}>", word.text)).collect::<String>();
    let pipeline = |pipeline: &Pipeline| {
        let commands: Vec<String> = pipeline.commands.iter().map(command).collect();
        format!("{:?} {}", pipeline.join, commands.join("|"))
    };
    Some(pipelines.iter().map(pipeline).collect::<Vec<_>>().join(" "))
}

#[test]
fn what_all_shells_read_alike_is_read() {
    for (script, expected) in [
        ("", ""),
        ("\n\n", ""),
        ("ls", "Then <ls>"),
        ("ls -la  src", "Then <ls><-la><src>"),
        ("a 'b  c' \"d 'e'\" f'g'\"h\"i", "Then <a><b  c><d 'e'><fghi>"),
        ("a | b && c || d; e\nf;\n", "Then <a>|<b> And <c> Or <d> Then <e> Then <f>"),
        ("a 2>/dev/null | b > /dev/null 2>&1", "Then <a>|<b>"),
        ("a >&2 </dev/null >>/dev/null", "Then <a>"),
        ("a ~ ~/x b=c '' [ ] =", "Then <a><~><~/x><b=c><><[><]><=>"),
        ("git show HEAD~2 HEAD^ HEAD~1:x", "Then <git><show><HEAD~2><HEAD^><HEAD~1:x>"),
        ("ls ./*.rs '*'", "Then <ls><./*.rs><*>"),
    ] {
        assert_eq!(show(script).as_deref(), Some(expected), "{script:?}");
    }
}

#[test]
fn everything_else_is_refused() {
    for script in [
        "a &",
        "a & b",
        "a |& b",
        "a &> /dev/null",
        "a > f",
        "a >f",
        "a > /dev/null.x",
        "a >/dev/nullx",
        "a < f",
        "a <<E\nE",
        "a 2>&1x",
        "a 3>&9",
        "a >| /dev/null",
        "a2>/dev/null",
        ">/dev/null a",
        "$a",
        "a $b",
        "a \"$b\"",
        "a `b`",
        "a \"`b`\"",
        "a $(b)",
        "(a)",
        "{ a; }",
        "a {b,c}",
        "a \\b",
        "a \"\\b\"",
        "! a",
        "a !b",
        "a \"b!\"",
        "a # b",
        "a#b",
        "a 'b",
        "a \"b",
        "a 'b''c'",
        "a =b",
        "a ==",
        "~bob/x",
        "a ~bob",
        "a b=~/c",
        "a b:~/c",
        "^a^b",
        "a [b]",
        "a[1]",
        "a [b",
        "a\tb",
        "a\rb",
        "a\r\n",
        "a\u{a0}b",
        "a 'é'",
        "a \u{1b}",
        "a 'b\nc'",
        "a;;b",
        "; a",
        "| a",
        "a |",
        "a &&",
        "a && ; b",
        "a || | b",
        "&& a",
        "a | | b",
        "a \\\n b",
        "a *'b'",
        "a <(b)",
        "a >(b)",
        "a\0b",
    ] {
        assert_eq!(show(script), None, "{script:?}");
    }
}

#[test]
fn tildes_and_patterns_are_marked() {
    let word = |script: &str| parse(script).unwrap()[0].commands[0][1].clone();
    assert!(word("a ~/x").has_tilde && !word("a '~/x'").has_tilde && !word("a x~1").has_tilde);
    assert!(word("a x*").is_glob && !word("a 'x*'").is_glob);
    assert!(word("a 'x'").is_quoted && !word("a x").is_quoted);
}
