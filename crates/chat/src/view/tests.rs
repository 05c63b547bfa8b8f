//! Tests of the renderer with the signals of whole runs and of runs with gaps.

use proptest::prelude::*;
use protocol::proc::history::Message;
use serde_json::json;

use super::*;

const PLAIN: Look = Look { colour: false, columns: Some(80) };

fn view() -> View {
    View::new(PLAIN, Detail::Person, false)
}

fn event(view: &mut View, event: Value) {
    view.stream(&serde_json::from_value(event).unwrap());
}

fn delta(view: &mut View, text: &str) {
    event(view, json!({ "type": "text_delta", "contentIndex": 0, "delta": text }));
}

fn ids() -> Value {
    json!({ "pid": "p", "runId": "r", "conversationId": "default" })
}

fn with_ids(mut value: Value) -> Value {
    value.as_object_mut().unwrap().extend(ids().as_object().unwrap().clone());
    value
}

fn started(view: &mut View, id: &str, input: &str) {
    let args = json!({ "input": input, "target": "desk" });
    let payload = with_ids(json!({ "name": "Shell", "syscall": "shell.exec", "args": args, "callId": id }));
    view.tool_started(&serde_json::from_value(payload).unwrap());
}

fn finished(view: &mut View, id: &str, output: &str) {
    let payload =
        json!({ "name": "Shell", "syscall": "shell.exec", "callId": id, "ok": true, "output": output });
    view.tool_finished(&serde_json::from_value(with_ids(payload)).unwrap());
}

fn end(view: &mut View, text: &str) {
    let payload = json!({
        "status": "ok", "reason": "turn.complete", "text": text, "queuedCount": 0, "timestamp": 1,
    });
    view.finished(&serde_json::from_value(with_ids(payload)).unwrap());
}

fn printed(view: &mut View) -> String {
    let text = |piece: Piece| match piece {
        Piece::Answer(text) | Piece::Aside(text) => text,
    };
    view.take().into_iter().map(text).collect()
}

fn messages(values: Value) -> Vec<Message> {
    serde_json::from_value(values).unwrap()
}

#[test]
fn a_run_with_a_tool_is_told_in_order() {
    let mut view = view();
    event(&mut view, json!({ "type": "start" }));
    event(&mut view, json!({ "type": "thinking_delta", "contentIndex": 0, "delta": "Hm." }));
    event(&mut view, json!({ "type": "text_delta", "contentIndex": 1, "delta": "I look." }));
    view.output("I look.");
    started(&mut view, "1", "ls");
    finished(&mut view, "1", "a\nb");
    event(&mut view, json!({ "type": "start" }));
    delta(&mut view, "Two");
    delta(&mut view, " files.");
    view.output("Two files.");
    end(&mut view, "Two files.");
    assert_eq!(printed(&mut view), "Hm.\n\nI look.\n\n● Shell on desk  ls\n  a\n  b\n\nTwo files.\n");
}

#[test]
fn results_that_come_later_say_whose_they_are() {
    let mut view = view();
    started(&mut view, "1", "first");
    started(&mut view, "2", "second");
    finished(&mut view, "1", "one");
    finished(&mut view, "2", "two");
    let expected = "● Shell on desk  first\n● Shell on desk  second\n● Shell on desk  first\n  one\n● Shell on desk  second\n  two\n";
    assert_eq!(printed(&mut view), expected);
}

#[test]
fn a_pipe_gets_the_words_and_a_note_of_the_tools() {
    let mut view = View::new(Look { colour: false, columns: None }, Detail::Pipe, false);
    delta(&mut view, "I look.");
    started(&mut view, "1", "ls");
    finished(&mut view, "1", "a");
    view.output("I look.");
    view.output("**Done**\n");
    end(&mut view, "**Done**\n");
    let answer = |text: &str| Piece::Answer(text.into());
    let aside = Piece::Aside("[tool] Shell on desk: ls\n[tool result] Shell: ok\n".into());
    assert_eq!(view.take(), [answer("I look.\n"), aside, answer("**Done**\n")]);
}

#[test]
fn a_pipe_is_told_that_a_command_failed() {
    let mut view = View::new(Look { colour: false, columns: None }, Detail::Pipe, false);
    started(&mut view, "1", "false");
    let failed =
        json!({ "status": "failed", "exitCode": 1, "error": "Command exited with code 1", "output": "" });
    let payload =
        json!({ "name": "Shell", "syscall": "shell.exec", "callId": "1", "ok": true, "output": failed });
    view.tool_finished(&serde_json::from_value(with_ids(payload)).unwrap());
    assert_eq!(printed(&mut view), "[tool] Shell on desk: false\n[tool result] Shell: exit 1\n");
}

#[test]
fn without_streaming_only_the_last_answer_is_shown() {
    let mut view = View::new(PLAIN, Detail::Pipe, true);
    delta(&mut view, "I look.");
    view.output("I look.");
    started(&mut view, "1", "ls");
    finished(&mut view, "1", "a");
    end(&mut view, "Done");
    assert_eq!(view.take(), [Piece::Answer("Done\n".into())]);
}

#[test]
fn an_answer_that_did_not_stream_is_shown_at_the_end() {
    let mut view = view();
    end(&mut view, "queued answer");
    assert_eq!(printed(&mut view), "queued answer\n");
}

#[test]
fn after_a_gap_the_history_gives_what_is_missing_and_nothing_twice() {
    let mut view = view();
    event(&mut view, json!({ "type": "start" }));
    delta(&mut view, "I look");
    view.missed();
    delta(&mut view, "lost its start");
    let call = json!({ "type": "toolCall", "id": "1", "name": "Shell", "arguments": { "input": "ls", "target": "desk" } });
    let so_far = json!([
        { "role": "assistant", "content": { "text": "I look there.", "thinking": [], "toolCalls": [call] } },
        { "role": "toolResult", "content": { "toolName": "Shell", "isError": false, "toolCallId": "1", "output": "a" } },
    ]);
    view.catch_up(&messages(so_far.clone()));
    view.catch_up(&messages(so_far));
    finished(&mut view, "1", "a");
    event(&mut view, json!({ "type": "text_end", "contentIndex": 0, "content": "One file." }));
    event(&mut view, json!({ "type": "start" }));
    delta(&mut view, "One");
    end(&mut view, "One file.");
    let out = printed(&mut view);
    assert!(out.starts_with("I look there.\n\n● Shell on desk  ls\n  a\n"), "{out}");
    assert_eq!(out.matches("I look").count(), 1, "{out}");
    assert_eq!(out.matches("● Shell").count(), 1, "{out}");
}

#[test]
fn an_answer_that_begins_again_goes_on_where_it_was() {
    let mut view = view();
    event(&mut view, json!({ "type": "start" }));
    delta(&mut view, "One two");
    view.missed();
    view.catch_up(&[]);
    event(&mut view, json!({ "type": "start" }));
    delta(&mut view, "One ");
    delta(&mut view, "two three");
    view.output("One two three");
    end(&mut view, "One two three");
    assert_eq!(printed(&mut view), "One two three\n");
}

#[test]
fn an_answer_that_became_another_is_shown_whole() {
    let mut view = view();
    delta(&mut view, "One two");
    view.missed();
    event(&mut view, json!({ "type": "start" }));
    delta(&mut view, "Three");
    end(&mut view, "Three");
    assert_eq!(printed(&mut view), "One two\n(the answer was begun again)\n\nThree\n");
}

proptest! {
    #[test]
    fn nothing_that_comes_in_steers_the_terminal(text in any::<String>(), tool in any::<String>()) {
        let mut view = view();
        delta(&mut view, &text);
        started(&mut view, "1", &tool);
        finished(&mut view, "1", &tool);
        event(&mut view, json!({ "type": "thinking_delta", "contentIndex": 1, "delta": tool }));
        end(&mut view, &text);
        let out = printed(&mut view);
        prop_assert!(!out.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{:?}", out);
    }
}

#[test]
fn what_a_person_should_know_of_an_answer_follows_it() {
    let mut view = view();
    delta(&mut view, "Half of");
    let payload = json!({
        "status": "ok", "reason": "turn.complete", "text": "Half of", "queuedCount": 0, "timestamp": 1,
        "notices": ["The answer was cut.\u{1b}[2J"],
    });
    view.finished(&serde_json::from_value(with_ids(payload)).unwrap());
    let printed = printed(&mut view);
    assert!(
        printed.starts_with("Half of\n[note] The answer was cut.") && !printed.contains('\u{1b}'),
        "{printed:?}"
    );
}

#[test]
fn calls_of_a_block_are_shown_as_such_and_their_answers_are_not() {
    let mut view = view();
    let nested = |more: Value| {
        let mut payload = with_ids(json!({
            "name": "Read", "syscall": "fs.read", "callId": "codemode-1", "parentCallId": "t1",
        }));
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        payload
    };
    view.tool_started(&serde_json::from_value(nested(json!({ "args": { "path": "a.txt" } }))).unwrap());
    view.tool_finished(&serde_json::from_value(nested(json!({ "ok": true, "output": "secret" }))).unwrap());
    let text = printed(&mut view);
    assert!(text.contains("CodeMode > Read") && !text.contains("secret"), "{text}");
}
