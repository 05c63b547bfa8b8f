//! Tests of calls, events and closing.

use std::time::Duration;

use bytes::Bytes;
use client::{Connection, Error, Event};
use futures_util::{SinkExt, StreamExt};
use protocol::fs::Read;
use protocol::outcome::Outcome;
use tokio_tungstenite::tungstenite::Message;

use crate::gateway::pair;

const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn answers_find_their_calls_in_any_order() {
    let (connection, _events, mut peer) = pair().await;
    let serve = async {
        let (first, _, a) = peer.request().await;
        let (second, _, b) = peer.request().await;
        assert_ne!(first, second);
        peer.answer("nobody", "{}").await;
        peer.answer(&second, &b.to_string()).await;
        peer.answer(&first, &a.to_string()).await;
    };
    let (one, two, ()) = tokio::join!(
        connection.call_raw("a.b", r#"{"n":1}"#, LONG),
        connection.call_raw("a.b", r#"{"n":2}"#, LONG),
        serve
    );
    assert_eq!((one.unwrap().as_str(), two.unwrap().as_str()), (r#"{"n":1}"#, r#"{"n":2}"#));
}

#[tokio::test]
async fn a_typed_call_carries_its_target() {
    let (connection, _events, mut peer) = pair().await;
    let args = Read { path: "x".into(), offset: None, limit: None };
    let serve = async {
        let (id, call, args) = peer.request().await;
        assert_eq!(
            (call.as_str(), args["target"].as_str(), args["path"].as_str()),
            ("fs.read", Some("mac"), Some("x"))
        );
        peer.answer(&id, r#"{"ok":false,"error":"no"}"#).await;
        let (id, _, args) = peer.request().await;
        assert!(args.get("target").is_none());
        peer.answer(&id, r#"{"ok":7}"#).await;
    };
    let ask = async {
        let answer = connection.call_on(Some("mac"), &args, LONG).await.unwrap();
        assert_eq!(answer, Outcome::Failed("no".into()));
        let error = connection.call_on(Some("gsv"), &args, LONG).await.unwrap_err();
        assert!(matches!(error, Error::Decode { .. }), "{error}");
    };
    tokio::join!(serve, ask);
}

#[tokio::test]
async fn refusals_are_the_gateways_words() {
    let (connection, _events, mut peer) = pair().await;
    let serve = async {
        let (id, _, _) = peer.request().await;
        peer.say(&protocol::frame::failure(&id, &protocol::error::Error::setup_required())).await;
        peer.request().await;
        peer.say(&protocol::frame::failure("?", &protocol::error::Error::too_large(5))).await;
    };
    let ask = async {
        for code in [425, 413] {
            match connection.call_raw("sys.connect", "{}", LONG).await {
                Err(Error::Gateway(error)) => assert_eq!(error.code, code),
                other => panic!("{other:?}"),
            }
        }
    };
    tokio::join!(serve, ask);
}

#[tokio::test(start_paused = true)]
async fn a_call_without_an_answer_times_out() {
    let (connection, _events, _peer) = pair().await;
    let error = connection.call_raw("a.b", "{}", Duration::from_secs(7)).await.unwrap_err();
    assert_eq!(error.to_string(), "no answer to a.b within 7 seconds");
}

#[tokio::test]
async fn a_lost_connection_fails_every_call_now_and_later() {
    let (connection, mut events, mut peer) = pair().await;
    let serve = async {
        peer.request().await;
        peer.request().await;
        drop(peer);
    };
    let (one, two, ()) =
        tokio::join!(connection.call_raw("a.b", "{}", LONG), connection.call_raw("a.b", "{}", LONG), serve);
    assert!(matches!(one, Err(Error::Closed(_))) && matches!(two, Err(Error::Closed(_))));
    assert!(matches!(connection.call_raw("a.b", "{}", LONG).await, Err(Error::Closed(_))));
    assert!(matches!(events.queue.recv().await, Some(Event::Closed(_))));
    assert!(events.queue.recv().await.is_none() && connection.is_closed());
    assert!(connection.transfer(1).recv().await.is_none());
}

#[tokio::test]
async fn what_comes_unasked_comes_in_order() {
    let (connection, mut events, mut peer) = pair().await;
    peer.say("nonsense").await;
    peer.say(r#"{"type":"req","id":"g1","call":"fs.read","args":{"path":"p"}}"#).await;
    peer.say(r#"{"type":"sig","signal":"device.status","payload":{"x":1}}"#).await;
    peer.socket.send(Message::binary(&b"abc"[..])).await.unwrap();
    assert!(matches!(events.queue.recv().await, Some(Event::Request { id, call, args, .. })
        if id == "g1" && call == "fs.read" && args == r#"{"path":"p"}"#));
    assert!(matches!(events.queue.recv().await, Some(Event::Signal(signal))
        if signal.name == "device.status" && signal.payload == r#"{"x":1}"# && signal.seq.is_none()));
    assert!(matches!(events.queue.recv().await, Some(Event::Binary(bytes)) if bytes == b"abc"[..]));
    connection.ping(Bytes::from_static(b"gsv-keepalive")).await.unwrap();
    assert!(matches!(peer.socket.next().await.unwrap().unwrap(), Message::Ping(_)));
    peer.socket.flush().await.unwrap();
    assert!(matches!(events.queue.recv().await, Some(Event::Pong(bytes)) if bytes == b"gsv-keepalive"[..]));
}

/// The peer reads nothing of the large message before its own large message was taken in.
#[tokio::test]
async fn a_large_outgoing_message_does_not_stop_the_reading() {
    let (connection, mut events, mut peer) = pair().await;
    let large = "x".repeat(20 * 1024 * 1024);
    let sending = tokio::spawn({
        let (connection, text) = (connection.clone(), large.clone());
        async move { connection.send_text(text).await }
    });
    let payload = format!(r#"{{"type":"sig","signal":"s","payload":"{}"}}"#, "y".repeat(8 * 1024 * 1024));
    peer.say(&payload).await;
    assert!(matches!(events.queue.recv().await, Some(Event::Signal(_))));
    assert_eq!(peer.next().await.into_text().unwrap().as_str(), large);
    sending.await.unwrap().unwrap();
}

#[tokio::test]
async fn too_large_a_request_is_not_even_sent() {
    let (connection, _events, _peer) = pair().await;
    let args = format!(r#"{{"x":"{}"}}"#, "x".repeat(base::limits::frame::MAX_BYTES));
    match connection.call_raw("a.b", &args, LONG).await {
        Err(Error::Gateway(error)) => assert_eq!(error.code, 413),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn closing_sends_a_close_frame() {
    for explicit in [true, false] {
        let (connection, events, mut peer) = pair().await;
        let see_the_end = async {
            assert!(matches!(peer.socket.next().await, Some(Ok(Message::Close(_)))));
            while peer.socket.next().await.is_some() {}
        };
        let close = async {
            if explicit {
                connection.close().await;
                assert!(connection.is_closed());
            }
            drop((connection, events));
        };
        tokio::join!(see_the_end, close);
    }
}

#[tokio::test]
async fn nobody_there_is_said_clearly() {
    let port = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let error = Connection::open(&format!("ws://127.0.0.1:{port}/ws")).await.err().unwrap();
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
    let error = Connection::open(&format!("wss://127.0.0.1:{port}/ws")).await.err().unwrap();
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
    let error = Connection::open("ftp://127.0.0.1/ws").await.err().unwrap();
    assert!(error.to_string().contains("use a ws:// or wss:// URL"), "{error}");
}
