//! `gsv chat` and `gsv proc`, as programs use them: words on stdout, the rest on stderr, lines of JSON.

use std::io::Read;
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::fake_model::{Received, Reply, Server, Turn, chat_reply};

use crate::world::{Running, World};

/// A gateway whose alice talks to this model.
pub async fn with_model(answers: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> (World, Server) {
    let model = Server::start(answers).await.unwrap();
    let world = tokio::task::block_in_place(World::with_device);
    let uid = world.json(&["call", "proc.list"])["processes"][0]["uid"].clone();
    for (key, value) in [
        ("provider", "openai-chat"),
        ("model", "fake"),
        ("base_url", &model.base_url()),
        ("api_key", "fake-api-key"),
    ] {
        world.ok(&["config", "set", &format!("users/{uid}/ai/{key}"), value]);
    }
    (world, model)
}

/// What a person or a tool said last in a request to the model.
pub fn last_words(request: &Received) -> String {
    let body = request.json();
    body["messages"].as_array().and_then(|messages| messages.last()).map(Value::to_string).unwrap_or_default()
}

fn lines_of(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

#[test]
fn a_newcomer_gets_an_answer() {
    let world = World::set_up();
    let said = world.run(&["chat", "hello"]);
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
    assert!(said.out.starts_with("This is the built-in demo") && said.out.ends_with('\n'), "{}", said.out);
    assert!(!said.out.contains('\u{1b}'));
    assert_eq!(world.ok(&["chat", "--no-stream", "hello"]), said.out);
    let refused = world.run(&["chat"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert_eq!(
        world.fails(1, &["chat", "--pid", "nobody", "hello"]).lines().next(),
        Some("error: Process not found: nobody")
    );
}

#[test]
fn with_json_every_signal_is_a_line_and_the_last_is_the_result() {
    let world = World::set_up();
    let lines = lines_of(&world.ok(&["--json", "chat", "hello"]));
    let names: Vec<&str> = lines.iter().filter_map(|line| line["signal"].as_str()).collect();
    assert_eq!(
        (names.first(), names.last()),
        (Some(&"proc.run.started"), Some(&"proc.run.finished")),
        "{names:?}"
    );
    assert!(names.contains(&"proc.run.stream"));
    let sequence: Vec<u64> = lines.iter().filter_map(|line| line["seq"].as_u64()).collect();
    assert!(sequence.len() == names.len() && sequence.is_sorted(), "{sequence:?}");
    let result = &lines.last().unwrap()["result"];
    assert_eq!(result["status"], "ok");
    assert!(result["text"].as_str().unwrap().starts_with("This is the built-in demo"));
}

#[test]
fn a_tool_runs_on_a_device() {
    let world = World::with_device();
    std::fs::write(world.workspace().join("note.txt"), "buy milk\u{1b}[2J\n").unwrap();
    let said = world.run(&["chat", "read note.txt on desk"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.err.contains("[tool] Read on desk: note.txt\n[tool result] Read: ok\n"), "{said:?}");
    assert!(said.out.contains("buy milk") && !said.out.contains('\u{1b}'), "{said:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn standard_input_goes_below_the_message() {
    let (world, _model) =
        with_model(|request| chat_reply(&Turn::text(&format!("got {}", last_words(request))))).await;
    let said = world.run_with(&["chat", "review this"], b"+ added\n- removed\n");
    assert!(said.code == 0 && said.out.contains(r"review this\n\n+ added\n- removed"), "{said:?}");
    let alone = world.run_with(&["chat"], b"only this");
    assert!(alone.code == 0 && alone.out.contains("only this"), "{alone:?}");
    let much = world.run_with(&["chat", "review"], &vec![b'x'; 5 * 1024 * 1024]);
    assert!(much.code == 1 && much.err.contains("longer than 4 MiB"), "{}", much.err);
    let bytes = world.run_with(&["chat", "review"], b"\xff\xfe");
    assert!(bytes.code == 1 && bytes.err.contains("UTF-8"), "{bytes:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pictures_reach_the_model() {
    let picture = [&b"\x89PNG\r\n\x1a\n"[..], &[0; 60]].concat();
    let (world, model) = with_model(|_| chat_reply(&Turn::text("I see."))).await;
    let uid = world.json(&["proc", "list"])["processes"][0]["uid"].clone();
    // A model that is known to take pictures.
    world.ok(&["config", "set", &format!("users/{uid}/ai/model"), "gpt-4o"]);
    std::fs::write(world.home.path().join("a picture.png"), &picture).unwrap();
    world.ok(&["chat", "what is this?", "--image", "a picture.png"]);
    let sent = last_words(&model.received().pop().unwrap());
    assert!(sent.contains("data:image/png;base64,iVBORw0KGgo"), "{sent}");
    world.ok(&["chat", "and in 'a picture.png'?"]);
    assert!(last_words(&model.received().pop().unwrap()).contains("data:image/png;base64,"));
    let missing = world.fails(1, &["chat", "what?", "--image", "none.png"]);
    assert!(missing.contains("none.png"), "{missing}");
    world.fails(2, &["chat", "what?", "--image", "note.txt"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_fails_is_a_failure() {
    let (world, _model) =
        with_model(|_| Reply::json(401, json!({ "error": { "message": "bad key" } }))).await;
    let said = world.run(&["chat", "hello"]);
    assert!(said.code == 1 && said.err.contains("error: ") && said.err.contains("bad key"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interrupting_aborts_the_run() {
    let hang = |_: &Received| {
        let mut reply = chat_reply(&Turn::text("One two three"));
        reply.chunks.truncate(reply.chunks.len() / 2);
        reply.then(testkit::fake_model::Chunk::Hang)
    };
    let (world, model) = with_model(hang).await;
    let mut chat = Running::start(world.command(&["chat", "--json", "hello"]).stderr(Stdio::null()));
    chat.wait_for(r#"{"payload":{"conversationId":"default","event":{"contentIndex":0,"delta""#);
    chat.signal(libc::SIGINT);
    assert_eq!(chat.wait(), 1);
    let last: Value = serde_json::from_str(chat.rest().last().unwrap()).unwrap();
    assert_eq!(last["result"]["status"], "aborted");
    model.clients_left(1).await;
    assert_eq!(world.json(&["proc", "list"])["processes"][0]["state"], "idle");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_gateway_is_waited_for_and_nothing_is_said_twice() {
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let answers = move |_: &Received| {
        let mut reply = chat_reply(&Turn::text("One two three four five six."));
        if asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0 {
            reply.chunks.truncate(reply.chunks.len() / 2);
            reply = reply.then(testkit::fake_model::Chunk::Hang);
        }
        reply
    };
    let (mut world, _model) = with_model(answers).await;
    let mut command = world.command(&["chat", "hello"]);
    let mut chat = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut output = chat.stdout.take().unwrap();
    let mut said = Vec::new();
    while !String::from_utf8_lossy(&said).contains("two") {
        let mut buffer = [0; 64];
        let count = output.read(&mut buffer).unwrap();
        assert!(count > 0, "the chat ended early");
        said.extend_from_slice(&buffer[..count]);
    }
    world.gateway.signal(libc::SIGKILL);
    world.gateway.wait();
    world.restart_gateway();
    output.read_to_end(&mut said).unwrap();
    assert_eq!(String::from_utf8(said).unwrap(), "One two three four five six.\n");
    assert!(chat.wait().unwrap().success());
}

#[test]
fn processes_are_managed_from_the_command_line() {
    let world = World::set_up();
    let pid = world.json(&["proc", "spawn", "--label", "helper", "--profile", "task"])["pid"]
        .as_str()
        .unwrap()
        .to_string();
    assert!(
        world.ok(&["proc", "list"]).lines().any(|line| line.starts_with(&pid) && line.contains("helper"))
    );
    world.ok(&["chat", "--pid", &pid, "hello"]);
    let sent = world.json(&["proc", "send", "--pid", &pid, "hello again"]);
    assert_eq!(sent["status"], "started");
    world.ok(&["chat", "--pid", &pid, "and once more"]);
    let history = world.ok(&["proc", "history", "--pid", &pid]);
    assert!(
        history.starts_with("#1 user")
            && history.contains("hello again")
            && history.contains("built-in demo"),
        "{history}"
    );
    let forked = world.json(&["proc", "fork", "--pid", &pid, "--through", "2", "--title", "copy"]);
    assert_eq!(forked["restoredMessages"], 2);
    let compacted =
        world.json(&["proc", "compact", "--pid", &pid, "--summary", "They said hello.", "--keep", "2"]);
    assert!(compacted["archivedMessages"].as_u64().unwrap() > 0, "{compacted}");
    assert!(world.ok(&["proc", "history", "--pid", &pid]).contains("They said hello."));
    assert!(world.ok(&["proc", "abort", "--pid", &pid]).contains("is not busy"));
    assert!(world.ok(&["proc", "reset", "--pid", &pid]).starts_with("reset "));
    assert_eq!(world.ok(&["proc", "history", "--pid", &pid]), "(no messages)\n");
    assert!(world.ok(&["proc", "kill", &pid]).starts_with("killed "));
    world.fails(1, &["proc", "kill", "nobody"]);
}

#[test]
fn conversations_are_kept_apart() {
    let world = World::set_up();
    world.ok(&["chat", "hello in the first"]);
    world.ok(&["chat", "--new", "hello in the second"]);
    let first = world.ok(&["proc", "history"]);
    assert!(first.contains("in the first") && !first.contains("in the second"), "{first}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn costs_are_added_up() {
    let (world, _model) = with_model(|_| chat_reply(&Turn::text("Hi.").tokens(1200, 34))).await;
    world.ok(&["chat", "hello"]);
    world.ok(&["chat", "hello"]);
    let costs = world.json(&["cost", "--since", "1h"]);
    assert_eq!(
        (&costs["runs"], &costs["total"]["input"], &costs["total"]["output"]),
        (&json!(2), &json!(2400), &json!(68))
    );
    let table = world.ok(&["cost"]);
    assert!(table.starts_with("2 runs, 2,468 tokens") && table.contains("openai-chat/fake"), "{table}");
    world.fails(2, &["cost", "--since", "yesterday"]);
}
