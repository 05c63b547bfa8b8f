//! What a person sees before they decide.

use protocol::proc::approval::HilRequest;
use serde_json::json;

use super::*;

const PLAIN: Look = Look { colour: false, columns: None };

fn request(syscall: &str, args: Value) -> HilRequest {
    serde_json::from_value(json!({
        "requestId": "a1", "runId": "r", "callId": "c", "toolName": "Shell", "syscall": syscall, "args": args,
        "createdAt": 1, "target": "desk", "tags": ["destructive"], "shape": "rm of a single plain file in /srv/x",
        "shapeText": "rm of a single plain file in /srv/x on desk",
        "reasons": ["`rm x` may destroy something for good."],
    }))
    .unwrap()
}

fn command(input: &str) -> HilRequest {
    request("shell.exec", json!({ "input": input, "target": "desk" }))
}

#[test]
fn the_question_shows_everything_and_what_each_answer_covers() {
    let text = render(&command("rm x\u{1b}[8m"), PLAIN, Fold::Folded);
    assert_eq!(
        text,
        "? Shell on desk asks for approval (destructive)\n  `rm x` may destroy something for good.\n  \
         │ rm x⟨U+001B⟩[8m\n  note: ⟨U+…⟩ stands for a character that cannot be seen\n  \
         [y] approve once   [n] deny\n  [s] always: rm of a single plain file in /srv/x on desk\n  \
         [t] always: every shell.exec on desk\n"
    );
}

#[test]
fn a_widening_is_said_and_offered_first() {
    let mut request = command("curl https://example.org");
    request.shape_text = Some("exactly 'curl https://example.org' in /w, inside on desk".to_string());
    request.widening = serde_json::from_value(json!({ "hosts": ["example.org"] })).unwrap();
    request.widening_text = Some("reach example.org".to_string());
    request.hosts_text = Some("reaching example.org from confined commands in /w on desk".to_string());
    let text = render(&request, PLAIN, Fold::Folded);
    assert!(
        text.ends_with(
            "  It would run inside the sandbox, and may there reach example.org.\n  \
             │ curl https://example.org\n  [y] approve once, with exactly that   [n] deny\n  \
             [s] always: exactly 'curl https://example.org' in /w, inside on desk\n  \
             [h] always: reaching example.org from confined commands in /w on desk\n  \
             [u] approve once, outside the sandbox\n  \
             [t] always, outside the sandbox: every shell.exec on desk\n"
        ),
        "{text}"
    );
}

#[test]
fn long_commands_are_folded_and_can_be_unfolded() {
    let long: String = (1..=40).map(|number| format!("echo {number}\n")).collect();
    let request = command(&long);
    let text = render(&request, PLAIN, Fold::Folded);
    assert!(is_folded(&request) && text.contains("  │ … 29 more lines of 40\n"), "{text}");
    assert!(
        text.contains("  │ echo 8\n") && text.contains("  │ echo 40\n") && !text.contains("echo 9\n"),
        "{text}"
    );
    assert!(text.ends_with("  [f] show all 40 lines\n"), "{text}");
    let text = render(&request, PLAIN, Fold::Whole);
    assert!((1..=40).all(|number| text.contains(&format!("  │ echo {number}\n"))), "{text}");
    let wide = command(&format!("echo {}", "x".repeat(1_000)));
    let text = render(&wide, PLAIN, Fold::Folded);
    assert!(text.contains("… 605 more characters") && text.contains("[f] show the whole line"), "{text}");
    assert!(!is_folded(&command("rm x")));
}

#[test]
fn nothing_in_a_command_looks_like_the_question() {
    let look = Look { colour: false, columns: Some(40) };
    let spaces = " ".repeat(36);
    let text = render(&command(&format!("rm x{spaces}  [n] deny\n? Shell")), look, Fold::Whole);
    let theirs = text.lines().filter(|line| line.contains("[n] deny") || line.contains("? Shell"));
    let theirs: Vec<&str> =
        theirs.filter(|line| !line.starts_with("  │") && !line.starts_with("  ┆")).collect();
    assert_eq!(theirs.len(), 2, "{text}");
    assert!(
        text.lines().filter(|line| line.starts_with("  │")).all(|line| layout::width(line) <= 40),
        "{text}"
    );
}

#[test]
fn an_edit_is_shown_whole() {
    let old: String = (0..60).map(|number| format!("line {number}\n")).collect();
    let new = old.replace("line 30", &"y".repeat(300));
    let edit =
        request("fs.edit", json!({ "path": "a\tb", "oldString": old, "newString": new, "target": "desk" }));
    let text = subject(&edit, Look { colour: false, columns: None }, Fold::Whole);
    assert!(text.contains("  │ a⇥b\n") && text.contains(&format!("  │ + {}\n", "y".repeat(300))), "{text}");
    assert!(text.contains("  │ - line 30\n") && text.contains("  │   line 59\n"), "{text}");
    let write = request("fs.write", json!({ "path": "x", "content": "a\r\nb", "target": "desk", "mode": 5 }));
    let text = subject(&write, PLAIN, Fold::Whole);
    assert!(text.contains("  │ + a⟨U+000D⟩\n  │ + b\n  │ mode: 5\n"), "{text}");
}

#[test]
fn nothing_is_left_out() {
    let command =
        request("shell.exec", json!({ "input": "echo 1\nrm -rf /", "cwd": "/x", "target": "desk" }));
    assert!(subject(&command, PLAIN, Fold::Whole).contains("  │ echo 1\n  │ rm -rf /\n  │ cwd: /x\n"));
    let half = request("fs.edit", json!({ "path": "a\u{202e}b", "oldString": "x\ny", "target": "desk" }));
    let text = subject(&half, PLAIN, Fold::Whole);
    assert!(text.contains("  │ a⟨U+202E⟩b\n  │ oldString: x\n  │   y\n"), "{text}");
}

#[test]
fn script_files_say_what_is_covered() {
    let mut request = command("sh a.sh; ./b; $c");
    request.files = serde_json::from_value(json!([
        { "path": "a.sh", "state": "read", "digest": "0", "size": 12 },
        { "path": "./b", "state": "unread", "digest": "0", "why": "no such file" },
        { "path": "$c", "state": "unknown", "why": "its name is known only when the command runs" },
    ]))
    .unwrap();
    let text = subject(&request, PLAIN, Fold::Folded);
    assert!(text.contains("runs a.sh (12 bytes): the approval holds only while it stays as it is"), "{text}");
    assert!(text.contains("runs ./b, which was not read: no such file"), "{text}");
    assert!(text.contains("the approval is for the text above alone"), "{text}");
}

#[test]
fn a_target_that_is_not_the_one_in_the_title_is_shown() {
    let text =
        subject(&request("shell.exec", json!({ "input": "ls", "target": " desk" })), PLAIN, Fold::Whole);
    assert!(text.contains("  │ target:  desk\n"), "{text}");
}

#[test]
fn letters_that_look_like_others_are_told() {
    let text = subject(&command("curl https://p\u{430}ypal.com"), PLAIN, Fold::Folded);
    assert!(text.contains("has letters that look like others"), "{text}");
    let text = subject(&command("rm \u{5d0}\u{5d1}"), PLAIN, Fold::Folded);
    assert!(text.contains("right to left"), "{text}");
}
