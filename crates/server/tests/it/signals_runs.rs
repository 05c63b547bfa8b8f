//! Tests of the signals of runs over real sockets: a reader that is slow, one that comes back in the middle of an
//! answer, and who is told of whose run.

use std::sync::Arc;

use serde_json::{Value, json};
use testkit::fake_model::{Piece, Turn};
use testkit::gateway::{PASSWORD, USER};
use testkit::{Gateway, Peer};
use tokio::sync::Notify;

use crate::agents;

async fn connect(gateway: &Gateway, client: &str, more: Value) -> (Peer, Value) {
    let mut peer = gateway.peer().await;
    let mut args = json!({ "auth": { "username": USER, "password": PASSWORD } });
    for (key, value) in more.as_object().cloned().unwrap_or_default() {
        args[key] = value;
    }
    let connected = peer.connect("user", client, args).await.unwrap();
    (peer, connected)
}

async fn send(peer: &mut Peer, message: &str) -> String {
    let sent = peer.call("proc.send", json!({ "message": message })).await.unwrap();
    sent["runId"].as_str().unwrap().to_string()
}

/// Reads the signals of a run up to one that fits, and that one too.
async fn signals_until(peer: &mut Peer, run_id: &str, last: impl Fn(&Value) -> bool) -> Vec<Value> {
    let mut frames = Vec::new();
    loop {
        let of_run = |frame: &Value| frame["type"] == "sig" && frame["payload"]["runId"] == run_id;
        let frame = peer.next_where(of_run).await;
        let is_last = last(&frame);
        frames.push(frame);
        if is_last {
            return frames;
        }
    }
}

fn text(frames: &[Value]) -> String {
    let deltas = frames.iter().filter(|frame| frame["payload"]["event"]["type"] == "text_delta");
    deltas.map(|frame| frame["payload"]["event"]["delta"].as_str().unwrap()).collect()
}

/// The gateway's line about sockets of users.
async fn users(gateway: &Gateway) -> String {
    let metrics = testkit::http_get(gateway.address, "/metrics").await;
    metrics.lines().find(|line| line.starts_with(r#"gsv_connections{role="user"}"#)).unwrap().to_string()
}

fn is_finished(frame: &Value) -> bool {
    frame["signal"] == "proc.run.finished"
}

fn assert_in_order(frames: &[Value]) {
    let places: Vec<u64> = frames.iter().map(|frame| frame["seq"].as_u64().unwrap()).collect();
    assert!(places.is_sorted_by(|one, next| one < next), "{places:?}");
}

#[tokio::test]
async fn a_reader_that_stops_does_not_hold_the_run_up_and_gets_all_of_the_text() {
    // With the whole answer in every event this is far more than the buffers of a socket hold.
    let words: Vec<String> = (0..4_000).map(|n| format!("word{n} ")).collect();
    let whole = words.concat();
    let agents = agents::saying(vec![Turn::new().piece(Piece::Text(words))]).await;
    let (mut reader, _) = connect(&agents.gateway, "slow", json!({})).await;
    let run_id = send(&mut reader, "speak").await;
    // Nothing is read here until the run is over, as somebody else sees in the history.
    let mut other = agents.gateway.user().await;
    while !agents::said(&mut other, "init:1000").await.iter().any(|(role, _)| role == "assistant") {
        tokio::task::yield_now().await;
    }
    let frames = signals_until(&mut reader, &run_id, is_finished).await;
    assert_in_order(&frames);
    assert_eq!(text(&frames), whole);
    let last = frames.last().unwrap();
    assert_eq!(last["payload"]["text"].as_str().map(str::trim), Some(whole.trim()));
    let deltas = frames.iter().filter(|frame| frame["payload"]["event"]["type"] == "text_delta").count();
    assert!(deltas < 4_000, "{deltas}");
}

#[tokio::test]
async fn a_client_that_comes_back_in_the_middle_of_an_answer_has_all_of_it() {
    for streams in ["full", "compact"] {
        let gate = Arc::new(Notify::new());
        let turn = Turn::new()
            .piece(Piece::Text(["one ", "two "].map(String::from).to_vec()))
            .piece(Piece::Gate(gate.clone()))
            .piece(Piece::Text(["three ", "four"].map(String::from).to_vec()));
        let agents = agents::saying(vec![turn]).await;
        let (mut user, _) = connect(&agents.gateway, "c", json!({ "streams": streams })).await;
        let run_id = send(&mut user, "count").await;
        let mut frames =
            signals_until(&mut user, &run_id, |frame| frame["payload"]["event"]["delta"] == "one ").await;
        let last = frames.last().unwrap()["seq"].clone();
        user.close().await;
        gate.notify_one();
        let resume = json!({ "resume": { "seq": last }, "streams": streams });
        let (mut user, connected) = connect(&agents.gateway, "c", resume).await;
        assert_eq!(connected["resume"]["status"], "replayed");
        frames.append(&mut signals_until(&mut user, &run_id, is_finished).await);
        assert_in_order(&frames);
        assert_eq!(text(&frames), "one two three four");
        let partials = frames.iter().filter(|frame| frame["payload"]["event"]["partial"].is_object()).count();
        assert_eq!(partials > 0, streams == "full", "{streams}: {partials}");
        let finished = frames.iter().filter(|frame| is_finished(frame)).count();
        assert_eq!(finished, 1);
    }
}

#[tokio::test]
async fn a_run_is_told_to_who_started_it_and_to_everybody_once_they_are_gone() {
    let gate = Arc::new(Notify::new());
    let turn = Turn::new()
        .piece(Piece::Text(vec!["before ".into()]))
        .piece(Piece::Gate(gate.clone()))
        .piece(Piece::Text(vec!["after".into()]));
    let agents = agents::saying(vec![turn]).await;
    drop(agents.gateway.add_user("bob").await);
    let mut bob = agents.gateway.login("bob", PASSWORD).await;
    let (mut starter, _) = connect(&agents.gateway, "starter", json!({})).await;
    let (mut other, _) = connect(&agents.gateway, "other", json!({})).await;
    let run_id = send(&mut starter, "speak").await;
    signals_until(&mut starter, &run_id, |frame| frame["payload"]["event"]["delta"] == "before ").await;
    assert!(other.saw_no(|frame| frame["payload"]["event"]["delta"] == "before ").await);
    let before = users(&agents.gateway).await;
    starter.close().await;
    while users(&agents.gateway).await == before {
        tokio::task::yield_now().await;
    }
    gate.notify_one();
    let frames = signals_until(&mut other, &run_id, is_finished).await;
    assert_eq!(text(&frames), "after");
    assert!(bob.saw_no(|frame| frame["type"] == "sig").await);
}
