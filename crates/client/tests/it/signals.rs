//! Tests of the resumable subscription over several connections.

use client::{Event, Signal, Signals};
use protocol::sys::{Connected, Resume, ResumeStatus, Resumed};

use crate::gateway::{Peer, pair};

async fn tell(peer: &mut Peer, name: &str, seq: u64) {
    peer.say(&format!(r#"{{"type":"sig","signal":"{name}","payload":{{"x":[1]}},"seq":{seq}}}"#)).await;
}

fn connected(resume: Option<Resumed>) -> Connected {
    let mut answer: Connected = serde_json::from_value(serde_json::json!({
        "protocol": 1,
        "server": { "version": "v", "connectionId": "c" },
        "identity": {
            "role": "user", "capabilities": [],
            "process": {
                "uid": 1, "gid": 1, "gids": [], "username": "u", "home": "/", "cwd": "/", "workspaceId": null,
            },
        },
        "syscalls": [], "signals": [],
    }))
    .unwrap();
    answer.resume = resume;
    answer
}

#[tokio::test]
async fn signals_leave_the_events_once_they_are_asked_for() {
    let (connection, mut events, mut peer) = pair().await;
    tell(&mut peer, "early", 4).await;
    assert!(matches!(events.queue.recv().await, Some(Event::Signal(signal)) if signal.seq == Some(4)));
    let mut signals = connection.signals();
    assert_eq!(signals.last_seq(), None);
    tell(&mut peer, "late", 5).await;
    let expected = Signal { name: "late".into(), payload: r#"{"x":[1]}"#.into(), seq: Some(5) };
    assert_eq!(signals.next().await, Some(expected));
    assert_eq!(signals.last_seq(), Some(5));
    peer.say(r#"{"type":"req","id":"g1","call":"fs.read","args":{}}"#).await;
    assert!(matches!(events.queue.recv().await, Some(Event::Request { .. })));
}

#[tokio::test]
async fn the_next_connection_goes_on_after_the_last_signal_that_was_read() {
    let (connection, _events, mut peer) = pair().await;
    let mut signals = Signals::new();
    assert_eq!(signals.resume(), Resume { seq: 0 });
    signals.attach(&connection);
    let first = Resumed { status: ResumeStatus::Refresh, from: 40, to: 40 };
    assert_eq!(signals.resumed(&connected(Some(first))), ResumeStatus::Refresh);
    assert_eq!(signals.resume(), Resume { seq: 40 });
    for seq in 41..=43 {
        tell(&mut peer, "s", seq).await;
    }
    assert_eq!(signals.next().await.and_then(|signal| signal.seq), Some(41));
    // What arrived before the end can still be read.
    peer.socket.close(None).await.unwrap();
    assert_eq!(signals.next().await.and_then(|signal| signal.seq), Some(42));
    assert_eq!(signals.resume(), Resume { seq: 42 });

    let (connection, _events, mut peer) = pair().await;
    signals.attach(&connection);
    let again = Resumed { status: ResumeStatus::Replayed, from: 42, to: 43 };
    assert_eq!(signals.resumed(&connected(Some(again))), ResumeStatus::Replayed);
    tell(&mut peer, "s", 43).await;
    assert_eq!(signals.next().await.and_then(|signal| signal.seq), Some(43));
    peer.socket.close(None).await.unwrap();
    assert_eq!(signals.next().await, None);
    assert_eq!(signals.last_seq(), Some(43));
}

#[tokio::test]
async fn an_ended_connection_gives_no_signals() {
    let (connection, mut events, mut peer) = pair().await;
    peer.socket.close(None).await.unwrap();
    assert!(matches!(events.queue.recv().await, Some(Event::Closed(_))));
    assert_eq!(connection.signals().next().await, None);
    // A gateway that does not count says nothing of what was missed.
    assert_eq!(Signals::new().resumed(&connected(None)), ResumeStatus::Refresh);
}
