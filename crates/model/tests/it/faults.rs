//! Tests of failures: each is reported once, clearly, and without the key.

use std::time::Duration;

use base::clock::Clock;
use futures_util::StreamExt;
use model::fake::{Chunk, Reply, Server, Turn, anthropic_reply, chat_reply};
use model::{Cancel, Cause, Client, Endpoint, Limits, PrivateHosts, ProviderKind, Request, Secret};
use serde_json::{Value, json};

use crate::hearing::{KEY, ask, ask_within, client, hear, limits, provider, request};

fn chat() -> Request {
    request(ProviderKind::OpenaiChat, "m")
}

fn error(status: u16, message: &str) -> Reply {
    Reply::json(status, json!({"error": {"message": message, "type": "x"}}))
}

#[tokio::test]
async fn a_refused_key_is_said_at_once_and_not_shown() {
    let echo = format!("Incorrect API key provided: {KEY}.");
    for kind in [
        ProviderKind::Anthropic,
        ProviderKind::Openai,
        ProviderKind::OpenaiChat,
        ProviderKind::Gemini,
        ProviderKind::Openrouter,
        ProviderKind::Ollama,
    ] {
        let heard = ask(request(kind, "m"), vec![error(401, &echo)]).await;
        assert_eq!(heard.error(), "401 Incorrect API key provided: [key].", "{kind}");
        assert_eq!((heard.cause, heard.received.len()), (Some(Cause::Key), 1));
        assert_eq!(heard.types(), ["error"]);
        assert!(!heard.full.iter().any(|event| event.to_string().contains(KEY)));
    }
    // With the way to another key, where somebody knows it.
    let server = Server::replying(vec![error(401, &echo)]).await.expect("a free port");
    let endpoint = Endpoint {
        base_url: Some(server.base_url()),
        key: Some(Secret::new(KEY)),
        key_hint: Some("Set another.".to_owned()),
        ..Endpoint::new(ProviderKind::OpenaiChat)
    };
    let heard = hear(client(limits()).provider(endpoint).as_ref(), chat()).await;
    assert_eq!(heard.error(), "401 Incorrect API key provided: [key]. Set another.");
    // Nor when it comes inside a stream.
    let inside = Reply::events(&format!("data: {}\n\n", json!({"error": {"code": 401, "message": echo}})), 9);
    let heard = ask(chat(), vec![inside]).await;
    assert_eq!(heard.error(), "401: Incorrect API key provided: [key].");
}

#[tokio::test]
async fn no_key_is_said_without_asking() {
    for kind in [
        ProviderKind::Anthropic,
        ProviderKind::Openai,
        ProviderKind::Gemini,
        ProviderKind::Openrouter,
        ProviderKind::OpenaiChat,
    ] {
        let mut endpoint = Endpoint::new(kind);
        endpoint.key = Some(Secret::new("  "));
        let provider = client(limits()).provider(endpoint);
        let heard = hear(provider.as_ref(), request(kind, "m")).await;
        assert_eq!(heard.error(), format!("No API key for provider: {kind}"));
        assert_eq!(heard.types(), ["error"]);
    }
}

#[tokio::test]
async fn passing_trouble_is_tried_again() {
    for status in [429, 500, 502, 503, 529] {
        let heard =
            ask(chat(), vec![error(status, "later"), error(status, "later"), chat_reply(&Turn::text("ok"))])
                .await;
        assert_eq!((heard.received.len(), heard.cause), (3, None), "{status}");
        assert_eq!(heard.message()["content"][0]["text"], "ok");
        let bodies: Vec<Value> = heard.received.iter().map(|received| received.json()).collect();
        assert_eq!(bodies[0], bodies[2]);
    }
    let heard = ask(chat(), vec![error(500, "always")]).await;
    assert_eq!((heard.received.len(), heard.error()), (3, "500 always"));
    let heard = ask(chat(), vec![error(400, "never")]).await;
    assert_eq!((heard.received.len(), heard.cause), (1, Some(Cause::Request)));
}

#[tokio::test]
async fn a_wait_that_is_asked_for_is_kept_up_to_a_limit() {
    let soon = error(429, "slow down").header("retry-after", "0");
    let heard = ask(chat(), vec![soon, chat_reply(&Turn::text("ok"))]).await;
    assert_eq!(heard.received.len(), 2);
    let late = error(429, "come back tomorrow").header("retry-after", "86400");
    let heard = ask(chat(), vec![late]).await;
    assert_eq!((heard.received.len(), heard.error()), (1, "429 come back tomorrow"));
    assert_eq!(heard.cause, Some(Cause::RateLimit));
}

#[tokio::test]
async fn a_connection_that_breaks_before_the_answer_is_tried_again() {
    let gone = Reply { status: 0, headers: vec![], chunks: vec![Chunk::Close] };
    let heard = ask(chat(), vec![gone, chat_reply(&Turn::text("ok"))]).await;
    assert_eq!((heard.received.len(), heard.cause), (2, None));
    let endpoint =
        Endpoint { base_url: Some("http://127.0.0.1:1/v1".into()), ..Endpoint::new(ProviderKind::Ollama) };
    let heard = hear(client(limits()).provider(endpoint).as_ref(), request(ProviderKind::Ollama, "m")).await;
    assert_eq!(heard.cause, Some(Cause::Network));
    assert!(heard.error().starts_with("127.0.0.1 could not be reached: "), "{}", heard.error());
}

#[tokio::test]
async fn half_a_stream_is_an_error_with_what_there_was() {
    let half = |kind| match kind {
        ProviderKind::Anthropic => anthropic_reply(&Turn::text("Half of it")),
        _ => chat_reply(&Turn::text("Half of it")),
    };
    for kind in [ProviderKind::Anthropic, ProviderKind::OpenaiChat] {
        for abrupt in [false, true] {
            let mut reply = half(kind);
            reply.chunks.truncate(3);
            if abrupt {
                reply.chunks.push(Chunk::Close);
            }
            let heard = ask(request(kind, "m"), vec![reply]).await;
            assert_eq!(heard.error(), "The provider closed the stream before the answer was complete");
            assert_eq!((heard.cause, heard.received.len()), (Some(Cause::Network), 1));
            let said = heard.message()["content"][0]["text"].as_str().expect("some text");
            assert!("Half of it".starts_with(said) && !said.is_empty(), "{said}");
        }
    }
}

#[tokio::test]
async fn nothing_at_all_is_an_error() {
    for kind in [
        ProviderKind::Anthropic,
        ProviderKind::Openai,
        ProviderKind::OpenaiChat,
        ProviderKind::Gemini,
        ProviderKind::Openrouter,
        ProviderKind::Ollama,
    ] {
        let heard = ask(request(kind, "m"), vec![Reply::events("", 1)]).await;
        assert_eq!(heard.error(), "The provider closed the stream before the answer was complete", "{kind}");
        assert_eq!(heard.types(), ["error"]);
    }
}

#[tokio::test]
async fn garbage_is_an_error() {
    for kind in [
        ProviderKind::Anthropic,
        ProviderKind::Openai,
        ProviderKind::OpenaiChat,
        ProviderKind::Gemini,
        ProviderKind::Openrouter,
        ProviderKind::Ollama,
    ] {
        let heard = ask(request(kind, "m"), vec![Reply::events("data: {\"half\": \n\n<html>\n\n", 3)]).await;
        assert_eq!(heard.cause, Some(Cause::Provider), "{kind}");
        assert!(heard.error().starts_with("The provider sent something unreadable: "), "{}", heard.error());
        // JSON that is no event of this provider leaves nothing either.
        let odd = "data: {\"choices\": 7, \"candidates\": {}, \"message\": []}\n\ndata: [1]\n\n";
        let heard = ask(request(kind, "m"), vec![Reply::events(odd, 3)]).await;
        assert!(heard.cause.is_some(), "{kind}");
    }
    let page = Reply::cut("text/html", &"<p>Bad gateway</p>".repeat(20_000), 1_000);
    let heard = ask(chat(), vec![Reply { status: 400, ..page }]).await;
    assert!(heard.error().starts_with("400 <p>Bad") && heard.error().len() < 1_100);
}

#[tokio::test]
async fn an_endless_answer_is_cut() {
    let small = Limits { response_bytes_max: 10_000, ..limits() };
    let line = format!("data: {}\n\n", json!({"choices": [{"delta": {"content": "more "}}]}));
    let endless = Reply::events("", 1).then(Chunk::Endless(line.into_bytes()));
    let heard = ask_within(chat(), vec![endless], small.clone()).await;
    assert_eq!(heard.error(), "The model's answer exceeds 10000 bytes");
    let comments = Reply::events("", 1).then(Chunk::Endless(b": nothing\n\n".to_vec()));
    let heard = ask_within(chat(), vec![comments], small).await;
    assert_eq!(heard.types(), ["error"]);
    let blocks: Vec<Value> = (0..2_000)
        .map(|index| json!({"choices": [{"delta": {"tool_calls": [{"index": index, "function": {"name": "x"}}]}}]}))
        .collect();
    let replies = vec![Reply::events(&crate::hearing::sse(&blocks), 5_000)];
    let server = Server::replying(replies).await.expect("a free port");
    let message =
        provider(ProviderKind::OpenaiChat, &server, limits()).stream(chat(), Cancel::new()).finish().await;
    assert_eq!(message.error_message.as_deref(), Some("The model's answer has more than 1024 blocks"));
    assert_eq!(message.content.len(), 1_024);
}

#[tokio::test]
async fn a_slow_answer_ends_in_time() {
    let slow = chat_reply(&Turn::text("one two").piece(model::fake::Piece::Hang));
    let asked = Request { timeout: Duration::from_millis(500), ..chat() };
    let server = Server::replying(vec![slow.clone()]).await.expect("a free port");
    let heard = hear(provider(ProviderKind::OpenaiChat, &server, limits()).as_ref(), asked).await;
    assert_eq!(
        (heard.error(), heard.cause),
        ("Model generation timed out after 500ms", Some(Cause::Timeout))
    );
    assert_eq!(heard.message()["content"][0]["text"], "one two");
    server.clients_left(1).await;
    let short = Limits { idle_timeout: Duration::from_millis(300), ..limits() };
    let heard = ask_within(chat(), vec![slow], short.clone()).await;
    assert_eq!((heard.error(), heard.cause), ("The provider was silent for 300ms", Some(Cause::Timeout)));
    // Retries count too.
    let asked = Request { timeout: Duration::from_millis(100), ..chat() };
    let patient = Limits { retry_pause_first: Duration::from_secs(20), ..limits() };
    let heard = ask_within(asked, vec![error(500, "x")], patient).await;
    assert_eq!((heard.error(), heard.received.len()), ("Model generation timed out after 100ms", 1));
}

#[tokio::test]
async fn cancelling_closes_the_connection() {
    let silent = Reply { status: 200, headers: vec![], chunks: vec![Chunk::Hang] };
    let speaking = chat_reply(&Turn::text("one two").piece(model::fake::Piece::Hang));
    for (reply, text, events) in [(silent, "", 0), (speaking, "one two", 4)] {
        let server = Server::replying(vec![reply]).await.expect("a free port");
        let cancel = Cancel::new();
        let mut stream = provider(ProviderKind::OpenaiChat, &server, limits()).stream(chat(), cancel.clone());
        let listen = async {
            let mut heard = Vec::new();
            while let Some(event) = stream.next().await {
                heard.push(event);
                if heard.len() == events {
                    cancel.cancel();
                }
            }
            heard.pop().expect("an end").to_value_with_partial()
        };
        let end = async {
            while server.received().is_empty() {
                tokio::task::yield_now().await;
            }
            if events == 0 {
                cancel.cancel();
            }
        };
        let (last, ()) = tokio::join!(listen, end);
        assert_eq!((&last["type"], &last["reason"]), (&json!("error"), &json!("aborted")));
        assert_eq!(last["error"]["stopReason"], "aborted");
        assert_eq!(last["error"]["errorMessage"], "Request was aborted");
        assert_eq!(last["error"]["content"][0]["text"].as_str().unwrap_or_default(), text);
        tokio::time::timeout(Duration::from_secs(10), server.clients_left(1))
            .await
            .expect("the server saw it");
    }
}

#[tokio::test]
async fn a_wish_made_before_is_kept() {
    let server = Server::replying(vec![chat_reply(&Turn::text("x"))]).await.expect("a free port");
    let cancel = Cancel::new();
    cancel.cancel();
    let message = provider(ProviderKind::OpenaiChat, &server, limits()).stream(chat(), cancel).finish().await;
    assert_eq!(message.stop_reason, model::StopReason::Aborted);
    assert!(server.received().is_empty());
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let speaking = chat_reply(&Turn::text("one two").piece(model::fake::Piece::Hang));
    let server = Server::replying(vec![speaking]).await.expect("a free port");
    let mut stream = provider(ProviderKind::OpenaiChat, &server, limits()).stream(chat(), Cancel::new());
    assert_eq!(stream.next().await.expect("an event").to_compact_value(), json!({"type": "start"}));
    drop(stream);
    tokio::time::timeout(Duration::from_secs(10), server.clients_left(1)).await.expect("the server saw it");
}

#[tokio::test]
async fn a_finished_answer_leaves_the_connection_for_the_next() {
    let server = Server::replying(vec![chat_reply(&Turn::text("x"))]).await.expect("a free port");
    let provider = provider(ProviderKind::OpenaiChat, &server, limits());
    // The connection is free once what follows the last event was read, which may be after the next request.
    let mut asked = 0;
    while server.connections() == asked && asked < 100 {
        assert_eq!(hear(provider.as_ref(), chat()).await.cause, None);
        asked += 1;
        tokio::task::yield_now().await;
    }
    assert_eq!(server.received().len(), asked);
    assert!(server.connections() < asked, "no connection was used twice");
}

#[tokio::test]
async fn private_addresses_can_be_forbidden() {
    let server = Server::replying(vec![chat_reply(&Turn::text("x"))]).await.expect("a free port");
    let client = Client::with_limits(Clock::system(), PrivateHosts::Deny, limits());
    let port = server.base_url();
    for url in [
        port.clone(),
        port.replace("127.0.0.1", "localhost"),
        port.replace("127.0.0.1", "[::ffff:127.0.0.1]"),
        port.replace("127.0.0.1", "2130706433"),
        "http://198.18.0.1/v1".to_owned(),
        "http://240.0.0.1/v1".to_owned(),
        "http://[64:ff9b::10.0.0.1]/v1".to_owned(),
    ] {
        let endpoint = Endpoint { base_url: Some(url), ..Endpoint::new(ProviderKind::OpenaiChat) };
        let heard = hear(client.provider(endpoint).as_ref(), chat()).await;
        assert_eq!(heard.error(), "Model providers at private addresses are not allowed here");
        assert_eq!(heard.types(), ["error"]);
    }
    assert!(server.received().is_empty());
}

#[tokio::test]
async fn a_base_url_that_is_none_is_named() {
    for url in ["ftp://x/v1", "not a url", "/v1"] {
        let endpoint = Endpoint { base_url: Some(url.into()), ..Endpoint::new(ProviderKind::OpenaiChat) };
        let heard = hear(client(limits()).provider(endpoint).as_ref(), chat()).await;
        assert!(heard.error().starts_with("The base URL of the model provider"), "{}", heard.error());
    }
}

#[tokio::test]
async fn https_is_spoken() {
    // The server is no TLS server: that the handshake fails, and how, shows that one was tried.
    let server = Server::replying(vec![chat_reply(&Turn::text("x"))]).await.expect("a free port");
    let url = server.base_url().replace("http://", "https://");
    let endpoint = Endpoint { base_url: Some(url), ..Endpoint::new(ProviderKind::OpenaiChat) };
    let once = Limits { attempts_max: 1, idle_timeout: Duration::from_millis(500), ..limits() };
    let heard = hear(client(once).provider(endpoint).as_ref(), chat()).await;
    assert!(heard.cause.is_some() && server.received().is_empty(), "{}", heard.error());
}
