//! Tests of signals without sockets: who is told what, what is merged, and what a connection that comes back gets.

mod exact;
mod stage;

use protocol::ids::Uid;
use protocol::sys::{ResumeStatus, Streams};
use serde_json::json;

use stage::Stage;

#[test]
fn a_run_is_told_to_the_connection_that_started_it_and_changes_to_all() {
    let stage = Stage::new();
    let (mut one, mut two) = (stage.client("one", Streams::Full), stage.client("two", Streams::Full));
    stage.text("proc.run.started", Some("r"), json!({ "n": 1 }));
    stage.route("r", &one);
    stage.text("proc.run.tool.started", Some("r"), json!({ "n": 2 }));
    stage.text("proc.changed", Some("r"), json!({ "n": 3 }));
    stage.text("proc.run.started", Some("other"), json!({ "n": 4 }));
    assert_eq!(one.numbers(), [1, 2, 3, 4]);
    assert_eq!(two.numbers(), [1, 3, 4]);
    // Its socket is gone: everybody is told.
    stage.disconnect(&mut one, 0);
    stage.text("proc.run.tool.finished", Some("r"), json!({ "n": 5 }));
    stage.text("process.exit", None, json!({ "n": 6 }));
    assert_eq!(two.numbers(), [5, 6]);
    // The one who started the run missed only what came after.
    assert_eq!(stage.reconnect(&mut one), ResumeStatus::Replayed);
    assert_eq!(one.numbers(), [5, 6]);
}

#[test]
fn what_went_to_the_starter_alone_is_replayed_to_whoever_comes_back() {
    let stage = Stage::new();
    let (mut one, mut two) = (stage.client("one", Streams::Full), stage.client("two", Streams::Full));
    stage.text("proc.changed", None, json!({ "n": 1 }));
    assert_eq!((one.numbers(), two.numbers()), (vec![1], vec![1]));
    stage.route("alone", &one);
    stage.text("proc.run.output", Some("alone"), json!({ "n": 2 }));
    stage.disconnect(&mut one, 0);
    stage.disconnect(&mut two, 0);
    for client in [&mut one, &mut two] {
        assert_eq!(stage.reconnect(client), ResumeStatus::Replayed);
    }
    assert_eq!((one.numbers(), two.numbers()), (vec![2], vec![2]));
}

#[test]
fn a_client_that_comes_back_under_another_id_gets_what_went_to_its_old_socket() {
    let stage = Stage::new();
    let mut client = stage.client("one", Streams::Full);
    stage.route("under-another-id", &client);
    for n in 1..=3 {
        stage.text("proc.run.output", Some("under-another-id"), json!({ "n": n }));
    }
    client.read(1);
    stage.disconnect(&mut client, 0);
    client.id = "one-restarted".to_string();
    assert_eq!(stage.reconnect(&mut client), ResumeStatus::Replayed);
    client.received.clear();
    assert_eq!(client.numbers(), [2, 3]);
}

#[test]
fn a_client_of_the_first_generation_hears_the_names_it_knows_too() {
    let stage = Stage::new();
    let (mut old, mut new) = (stage.client("old", Streams::Full), stage.client("new", Streams::Full));
    stage.disconnect(&mut old, 0);
    old.codec = Some(&crate::codec::Aliased);
    assert_eq!(stage.reconnect(&mut old), ResumeStatus::Replayed);
    stage.text("proc.run.output", Some("aliased"), json!({ "text": "hi", "pid": "p", "runId": "aliased" }));
    stage.text("device.status", None, json!({ "n": 1 }));
    let names = |client: &mut stage::Client| {
        std::iter::from_fn(|| client.take()).map(|frame| frame["signal"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&mut old), ["proc.run.output", "chat.text", "device.status"]);
    assert_eq!(names(&mut new), ["proc.run.output", "device.status"]);
}

#[test]
fn the_route_of_a_run_ends_with_the_run() {
    let stage = Stage::new();
    let (mut one, mut two) = (stage.client("one", Streams::Full), stage.client("two", Streams::Full));
    stage.route("r", &one);
    stage.text("proc.run.finished", Some("r"), json!({ "n": 1 }));
    stage.text("proc.run.finished", Some("r"), json!({ "n": 2 }));
    assert_eq!(one.numbers(), [1, 2]);
    assert_eq!(two.numbers(), [2]);
}

#[test]
fn a_route_of_another_user_tells_nobody_once() {
    let (stage, other) = (Stage::new(), Stage::new());
    let (mut one, mut stranger) = (stage.client("one", Streams::Full), other.client("x", Streams::Full));
    other.route("foreign", &stranger);
    stage.text("proc.run.output", Some("foreign"), json!({ "n": 1 }));
    stage.text("proc.run.output", Some("foreign"), json!({ "n": 2 }));
    assert_eq!((one.numbers(), stranger.numbers()), (vec![2], vec![]));
}

#[test]
fn places_that_are_too_old_or_not_yet_given_out_mean_refresh() {
    let stage = Stage::new();
    let mut client = stage.client("one", Streams::Full);
    let beginning = client.last_seq;
    assert!(beginning >= 1_600_000_000_000_000, "the clock's milliseconds times a thousand");
    for n in 0..3 {
        stage.text("proc.changed", None, json!({ "n": n }));
    }
    for (seq, status) in [
        (beginning + 3, ResumeStatus::Replayed),
        (beginning, ResumeStatus::Replayed),
        (beginning + 4, ResumeStatus::Refresh),
        (beginning - 1, ResumeStatus::Refresh),
        (0, ResumeStatus::Refresh),
        (u64::MAX, ResumeStatus::Refresh),
    ] {
        stage.disconnect(&mut client, 0);
        client.last_seq = seq;
        let resumed = stage.resume(&mut client);
        let from = if status == ResumeStatus::Replayed { seq } else { beginning + 3 };
        assert_eq!((resumed.status, resumed.from, resumed.to), (status, from, beginning + 3), "{seq}");
    }
}

#[test]
fn the_ring_is_bounded_and_says_so() {
    let stage = Stage::new();
    let mut client = stage.client("one", Streams::Full);
    let beginning = client.last_seq;
    stage.disconnect(&mut client, 0);
    for n in 0..=base::limits::signal::KEPT {
        stage.text("proc.changed", None, json!({ "n": n }));
    }
    assert_eq!(stage.resume(&mut client).status, ResumeStatus::Refresh);
    stage.disconnect(&mut client, 0);
    client.last_seq = beginning + 1;
    assert_eq!(stage.resume(&mut client).status, ResumeStatus::Replayed);
    // More frames than usually may wait, and still room for a new one once some are read.
    client.read(2);
    stage.text("proc.changed", None, json!({ "n": -1 }));
    let mut expected: Vec<i64> = (1..=base::limits::signal::KEPT as i64).collect();
    expected.push(-1);
    assert_eq!(client.numbers(), expected);
}

#[test]
fn bytes_count_too() {
    let mut stage = Stage::new();
    let mut client = stage.client("one", Streams::Compact);
    stage.disconnect(&mut client, 0);
    let large = "x".repeat(base::limits::signal::KEPT_BYTES / 4);
    stage.say("large", vec![large; 8]);
    assert_eq!(stage.speak_all("large"), 8 + 4);
    assert_eq!(stage.resume(&mut client).status, ResumeStatus::Refresh);
}

#[test]
fn a_reader_that_stopped_gets_all_of_the_text_in_one() {
    let mut stage = Stage::new();
    let (mut full, mut compact) = (stage.client("f", Streams::Full), stage.client("c", Streams::Compact));
    let deltas: Vec<String> = (0..2_000).map(|n| format!("{n} \"quoted\"\n")).collect();
    let whole = deltas.concat();
    stage.say("stopped", deltas);
    assert_eq!(stage.speak_all("stopped"), 2_000 + 4);
    for (client, with_partial) in [(&mut full, true), (&mut compact, false)] {
        let (frames, bytes) = client.waiting();
        assert_eq!(frames, 5, "start, text_start, one delta, text_end, done");
        assert!(bytes < 4 * whole.len() + 4_096, "{bytes}");
        let received = client.receive_all();
        let events: Vec<_> = received.iter().map(|frame| frame["payload"]["event"].clone()).collect();
        assert_eq!(events[2]["delta"], whole.as_str());
        assert_eq!(received[2]["payload"]["seq"], 2_002);
        assert_eq!(events[3]["content"], whole.as_str());
        assert_eq!(events[4]["message"]["content"][0]["text"], whole.as_str());
        assert_eq!(events[..4].iter().all(|event| event["partial"].is_object()), with_partial);
        if with_partial {
            assert_eq!(events[1]["partial"]["content"][0]["text"], "", "as it was when the event came");
            assert_eq!(events[2]["partial"]["content"][0]["text"], whole.as_str());
        }
        assert_eq!(client.waiting(), (0, 0));
    }
}

#[test]
fn many_runs_at_once_do_not_fill_the_line_of_a_slow_reader() {
    let mut stage = Stage::new();
    let mut client = stage.client("c", Streams::Compact);
    let names: Vec<String> = (0..50).map(|n| format!("many{n}")).collect();
    for name in &names {
        stage.say(name, (0..300).map(|n| format!("{name}.{n} ")).collect());
    }
    while names.iter().filter(|name| stage.speak(name).is_some()).count() > 0 {}
    let (frames, _) = client.waiting();
    assert!(frames <= 5 * names.len() + base::limits::signal::WAITING_MANY, "{frames}");
    let received = client.receive_all();
    for name in &names {
        let of_run = received.iter().filter(|frame| frame["payload"]["runId"] == name.as_str());
        let text: String = of_run.filter_map(|frame| frame["payload"]["event"]["delta"].as_str()).collect();
        assert_eq!(text, (0..300).map(|n| format!("{name}.{n} ")).collect::<String>());
    }
}

#[test]
fn nobody_goes_on_from_where_something_older_was_still_waiting() {
    let mut stage = Stage::new();
    let mut client = stage.client("c", Streams::Compact);
    for n in 0..=base::limits::signal::WAITING_MANY {
        stage.text("proc.changed", None, json!({ "n": n }));
    }
    for run in ["left", "right"] {
        stage.say(run, vec!["a".into(), "b".into()]);
        (0..2).for_each(|_| assert!(stage.speak(run).is_some()));
    }
    // Four deltas in turns become two frames, of which the first is ahead of the second.
    (0..2).for_each(|_| ["left", "right"].iter().for_each(|run| assert!(stage.speak(run).is_some())));
    client.read(usize::MAX);
    let deltas: Vec<_> = client.received.iter().rev().take(2).collect();
    assert!(deltas.iter().all(|frame| frame["payload"]["event"]["delta"] == "ab"));
    stage.disconnect(&mut client, 1);
    let (at_first, newest) = (client.last_seq, deltas_newest(&client));
    assert_eq!(at_first, newest);
    assert_eq!(stage.reconnect(&mut client), ResumeStatus::Refresh);
}

fn deltas_newest(client: &stage::Client) -> u64 {
    client.received.last().unwrap()["seq"].as_u64().unwrap()
}

#[test]
fn an_open_answer_is_replayed_with_all_of_its_text_so_far() {
    let mut stage = Stage::new();
    let mut client = stage.client("one", Streams::Full);
    stage.say("open", ["a", "b", "c", "d", "e"].map(String::from).to_vec());
    (0..3).for_each(|_| assert!(stage.speak("open").is_some()));
    assert_eq!(client.receive_all().last().unwrap()["payload"]["event"]["delta"], "a");
    stage.disconnect(&mut client, 0);
    (0..2).for_each(|_| assert!(stage.speak("open").is_some()));
    assert_eq!(stage.reconnect(&mut client), ResumeStatus::Replayed);
    assert!(stage.speak("open").is_some());
    let received = client.receive_all();
    let text: String =
        received.iter().map(|frame| frame["payload"]["event"]["delta"].as_str().unwrap()).collect();
    assert_eq!(text, "bcd");
    assert_eq!(received[0]["payload"]["event"]["partial"]["content"][0]["text"], "abcd");
}

#[test]
fn a_number_that_changed_hands_shows_nothing_of_the_one_before() {
    let mut stage = Stage::new();
    let mut client = stage.client("one", Streams::Full);
    stage.text("proc.changed", None, json!({ "n": 1 }));
    stage.disconnect(&mut client, 0);
    stage.rename("somebody-else");
    assert_eq!(stage.reconnect(&mut client), ResumeStatus::Refresh);
    assert!(client.numbers().is_empty());
}

#[test]
fn every_user_has_a_sequence_of_their_own() {
    let (ann, bob) = (Stage::new(), Stage::new());
    let (mut anns, mut bobs) = (ann.client("one", Streams::Full), bob.client("one", Streams::Full));
    ann.text("proc.changed", None, json!({ "n": 1 }));
    assert_eq!((anns.numbers(), bobs.numbers()), (vec![1], vec![]));
    bob.disconnect(&mut bobs, 0);
    assert_eq!(bob.reconnect(&mut bobs), ResumeStatus::Replayed);
    assert!(bobs.numbers().is_empty());
    // Nobody of this number has ever been here.
    let body = gateway::SignalBody::Text("{}".into());
    super::send(
        ann.kernel,
        gateway::OutgoingSignal { uid: Uid(9), run_id: None, name: "proc.changed", body },
    );
    assert!(anns.numbers().is_empty());
}

#[test]
fn a_client_that_keeps_coming_back_while_others_speak_gets_everything_once() {
    const SIGNALS: i64 = 3_000;
    let stage = Stage::new();
    let mut client = stage.client("one", Streams::Compact);
    let mut got = Vec::new();
    std::thread::scope(|scope| {
        let speaker = scope.spawn(|| {
            let (kernel, uid) = (stage.kernel, stage.uid);
            for n in 0..SIGNALS {
                let body = gateway::SignalBody::Text(json!({ "n": n }).to_string());
                super::send(
                    kernel,
                    gateway::OutgoingSignal { uid, run_id: None, name: "proc.changed", body },
                );
            }
        });
        let mut is_over = false;
        while !is_over {
            // Looked at first: what came before it is in the ring.
            is_over = speaker.is_finished();
            client.read(7);
            stage.disconnect(&mut client, 2);
            got.extend(client.received.drain(..).map(|frame| frame["payload"]["n"].as_i64().unwrap()));
            assert_eq!(stage.reconnect(&mut client), ResumeStatus::Replayed);
        }
    });
    got.extend(client.numbers());
    assert_eq!(got, (0..SIGNALS).collect::<Vec<_>>());
}
