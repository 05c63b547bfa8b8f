//! Tests of forks of conversations and of archived parts of them.

use protocol::proc::segment::Compact;

use super::*;
use crate::fixture::{Fixture, NOW_MS, answer, result, user};

async fn forked(fixture: &Fixture, args: Fork) -> Result<Forked, String> {
    fixture.host.fork(fixture.pid(), &args).await.unwrap().into_result()
}

fn at_message(id: i64) -> Fork {
    Fork { through_message_id: Some(id), ..Fork::default() }
}

fn at_segment(id: &str) -> Fork {
    Fork { segment_id: Some(id.to_string()), ..Fork::default() }
}

async fn compacted(fixture: &Fixture, keep_last: u64) -> Segment {
    let args = Compact { summary: Some("s".to_string()), keep_last: Some(keep_last), ..Compact::default() };
    fixture.host.compact(fixture.pid(), &args).await.unwrap().into_result().unwrap().segment
}

/// The messages without what a copy has of its own.
fn alike(rows: &[MessageRow]) -> Vec<MessageRow> {
    rows.iter().map(|row| MessageRow { id: 0, conversation_id: "x".into(), ..row.clone() }).collect()
}

#[tokio::test]
async fn a_conversation_is_copied_up_to_a_message() {
    let fixture = Fixture::new().await;
    let said =
        fixture.say("default", vec![user("1"), answer("2", &["c"]), result("c", "3"), user("4")]).await;
    fixture.say("other", vec![user("5")]).await;
    let fork = forked(&fixture, at_message(3)).await.unwrap();
    let target = &fork.target_conversation;
    assert_eq!(
        (fork.restored_messages, fork.included_live_suffix, fork.through_message_id),
        (3, false, Some(3))
    );
    assert_eq!((fork.source_conversation_id.as_str(), &fork.segment), ("default", &None));
    assert_eq!((target.title.as_deref(), target.message_count), (Some("Fork of default at message 3"), 3));
    let copies = fixture.messages(target.id.as_str()).await;
    assert_eq!(alike(&copies), alike(&said[..3]));
    assert!(copies[0].id > 5 && copies.windows(2).all(|pair| pair[0].id < pair[1].id), "their ids are new");
    assert_eq!(fixture.messages("default").await, said);
    let next = fixture.say("other", vec![user("6")]).await;
    assert!(next[0].id > copies[2].id, "ids are never given twice");

    let signals = fixture.signals();
    let [(name, signal)] = signals.as_slice() else { panic!("{signals:?}") };
    assert_eq!((name.as_str(), &signal["event"]), ("proc.changed", &"conversation.forked".into()));
    assert_eq!(signal["changes"], serde_json::json!(["lifecycle", "conversations", "messages"]));
    assert_eq!(signal["conversationId"], target.id.as_str());
    assert_eq!(
        (&signal["sourceConversationId"], &signal["restoredMessages"]),
        (&"default".into(), &3.into())
    );
}

#[tokio::test]
async fn a_target_is_named_reopened_and_must_be_empty() {
    let fixture = Fixture::new().await;
    fixture.say("default", vec![user("1")]).await;
    let to = |target: &str| Fork {
        target_conversation_id: Some(target.into()),
        title: Some(" Mine ".to_string()),
        ..at_message(1)
    };
    let id = ConversationId::from("target");
    let change = Change::new(fixture.pid()).conversation_open(&id, Some("Old"), NOW_MS);
    let change = change.conversation_reset(&id, NOW_MS).conversation_close(&id, NOW_MS);
    fixture.store.keep(change).await.unwrap();
    let fork = forked(&fixture, to(" target ")).await.unwrap();
    let target = fork.target_conversation;
    assert_eq!((target.id.as_str(), target.title.as_deref(), target.generation), ("target", Some("Mine"), 2));
    assert_eq!(target.status, protocol::proc::conversation::Status::Open);
    assert_eq!(fixture.messages("target").await[0].generation, 2);
    let taken = forked(&fixture, to("target")).await.unwrap_err();
    assert_eq!(taken, "Target conversation already has messages: target");
    let same = forked(&fixture, to("default")).await.unwrap_err();
    assert_eq!(same, "Target conversation already has messages: default");
}

#[tokio::test]
async fn an_archived_part_is_restored_with_what_followed_it_then() {
    let fixture = Fixture::new().await;
    let said =
        fixture.say("default", vec![user("1"), answer("2", &["c"]), result("c", "3"), user("4")]).await;
    let segment = compacted(&fixture, 1).await;
    fixture.clock.advance(5);
    fixture.say("default", vec![user("later")]).await;
    let fork = forked(&fixture, at_segment(&segment.id)).await.unwrap();
    assert_eq!((fork.restored_messages, fork.included_live_suffix), (4, true));
    assert_eq!((fork.segment.as_ref(), fork.through_message_id), (Some(&segment), None));
    let title = format!("Fork of default at {}", &segment.id[..8]);
    assert_eq!(fork.target_conversation.title, Some(title));
    let copies = fixture.messages(fork.target_conversation.id.as_str()).await;
    assert_eq!(alike(&copies), alike(&said), "whole answers, tool names and errors come back");
    let alone = Fork { include_live_suffix: Some(false), ..at_segment(&segment.id) };
    let fork = forked(&fixture, alone).await.unwrap();
    assert_eq!((fork.restored_messages, fork.included_live_suffix), (3, false));
}

#[tokio::test]
async fn what_cannot_be_forked_is_told() {
    let fixture = Fixture::new().await;
    fixture.say("default", vec![user("1")]).await;
    fixture.say("other", vec![user("2")]).await;
    let exactly = "proc.conversation.fork requires exactly one of segmentId or throughMessageId";
    let both = Fork { segment_id: Some("s".to_string()), ..at_message(1) };
    let cases = [
        (Fork::default(), exactly.to_string()),
        (both, exactly.to_string()),
        (at_segment(" "), exactly.to_string()),
        (at_message(0), "proc.conversation.fork throughMessageId must be a positive integer".to_string()),
        (at_message(2), "Message not found in conversation: 2".to_string()),
        (at_segment("x"), "Conversation segment not found: x".to_string()),
    ];
    for (args, why) in cases {
        assert_eq!(forked(&fixture, args).await.unwrap_err(), why);
    }
    let segment = compacted(&fixture, 0).await;
    fixture
        .view(fixture.process.uid)
        .remove(&crate::fixture::at(&segment.archive_path), false)
        .await
        .unwrap();
    let gone = forked(&fixture, at_segment(&segment.id)).await.unwrap_err();
    assert!(gone.starts_with("Failed to read segment archive: archive not found: "), "{gone}");
    assert_eq!(
        fixture.store.conversations().count(fixture.pid()).await.unwrap(),
        2,
        "no conversation was made"
    );
}
