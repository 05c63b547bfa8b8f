//! Tests of messages and their pages.

use protocol::ids::ConversationId;
use protocol::proc::history::MessageRole;
use store::Store;
use store::change::Change;
use store::messages::{Copied, MessageRow, Page};

use crate::home::NOW_MS;
use crate::processes::{default, made};

crate::home::with_a_store_on_both_engines! {
    a_message_is_kept_as_it_is,
    pages_come_oldest_first,
    a_page_by_offset_is_the_same_from_both_ends,
    messages_are_copied_with_new_ids,
    an_empty_conversation_is_required,
    messages_that_changed_meanwhile_are_noticed,
}

pub fn message(id: i64, conversation: &str) -> MessageRow {
    MessageRow {
        id,
        conversation_id: conversation.into(),
        generation: 1,
        role: MessageRole::User,
        content: format!("message {id}"),
        meta: None,
        tool_call_id: None,
        media: None,
        origin: None,
        run_id: None,
        created_at: NOW_MS + id,
    }
}

async fn a_message_is_kept_as_it_is(store: &Store) {
    let pid = made(store, "p").await;
    let full = MessageRow {
        role: MessageRole::ToolResult,
        content: "naïve \u{1f600}\r\n\t\u{1}".to_string(),
        generation: 7,
        meta: Some(r#"{"toolName":"Read\u0000","isError":true}"#.to_string()),
        tool_call_id: Some("call_1".to_string()),
        media: Some("[]".to_string()),
        origin: Some(r#"{"kind":"client"}"#.to_string()),
        run_id: Some("r".into()),
        ..message(3, "default")
    };
    let rows = [
        MessageRow { role: MessageRole::System, ..message(1, "default") },
        MessageRow { role: MessageRole::Assistant, content: String::new(), ..message(2, "default") },
        full,
    ];
    for row in &rows {
        store.keep(Change::new(&pid).message(row)).await.unwrap();
        assert_eq!(store.messages().by_id(&pid, &default(), row.id).await.unwrap().as_ref(), Some(row));
    }
    assert_eq!(store.messages().page(&pid, &default(), Page::Tail, 9).await.unwrap(), rows);
    assert_eq!(store.messages().by_id(&pid, &"other".into(), 1).await.unwrap(), None);
    assert_eq!(store.messages().by_id(&"q".into(), &default(), 1).await.unwrap(), None);
    let nul = MessageRow { content: "a\0b".to_string(), ..message(4, "default") };
    store.keep(Change::new(&pid).message(&nul)).await.unwrap();
    let kept = store.messages().by_id(&pid, &default(), 4).await.unwrap().unwrap();
    assert_eq!(kept.content, "a\u{fffd}b", "a character that cannot be kept does not cost the message");
}

/// Messages 10, 20, … 10 × count of `default`, with others of another conversation between them.
async fn fill(store: &Store, pid: &str, count: i64) -> protocol::ids::Pid {
    let pid = made(store, pid).await;
    let mut change = Change::new(&pid).conversation_ensure(&"other".into(), NOW_MS);
    for number in 1..=count {
        change = change.message(&message(number * 10, "default")).message(&message(number * 10 + 1, "other"));
    }
    store.keep(change).await.unwrap();
    pid
}

async fn ids(store: &Store, pid: &protocol::ids::Pid, page: Page, limit: u64) -> Vec<i64> {
    let rows = store.messages().page(pid, &default(), page, limit).await.unwrap();
    assert!(rows.iter().all(|row| row.conversation_id == default()));
    rows.into_iter().map(|row| row.id / 10).collect()
}

async fn pages_come_oldest_first(store: &Store) {
    let pid = fill(store, "p", 6).await;
    let cases: &[(Page, u64, &[i64])] = &[
        (Page::Offset(0), 2, &[1, 2]),
        (Page::Offset(2), 2, &[3, 4]),
        (Page::Offset(5), 2, &[6]),
        (Page::Offset(6), 2, &[]),
        (Page::Offset(u64::MAX), u64::MAX, &[]),
        (Page::Offset(0), u64::MAX, &[1, 2, 3, 4, 5, 6]),
        (Page::Offset(4), u64::MAX, &[5, 6]),
        (Page::Offset(1), 0, &[]),
        (Page::Offset(5), 0, &[]),
        (Page::Tail, 2, &[5, 6]),
        (Page::Tail, 9, &[1, 2, 3, 4, 5, 6]),
        (Page::Tail, 0, &[]),
        (Page::Before(50), 2, &[3, 4]),
        (Page::Before(55), 2, &[4, 5]),
        (Page::Before(10), 2, &[]),
        (Page::Before(i64::MAX), 1, &[6]),
        (Page::After(50), 2, &[6]),
        (Page::After(0), 2, &[1, 2]),
        (Page::After(25), 2, &[3, 4]),
        (Page::After(60), 2, &[]),
        (Page::After(i64::MIN), 9, &[1, 2, 3, 4, 5, 6]),
    ];
    for (page, limit, expected) in cases {
        assert_eq!(ids(store, &pid, *page, *limit).await, *expected, "{page:?} {limit}");
    }
    assert_eq!(store.messages().newest_id(&pid, &default()).await.unwrap(), Some(60));
    assert_eq!(store.messages().newest_id(&pid, &"none".into()).await.unwrap(), None);
    for (newest, id) in [(0, Some(60)), (5, Some(10)), (6, None), (u64::MAX, None)] {
        assert_eq!(store.messages().id_before_newest(&pid, &default(), newest).await.unwrap(), id);
    }
    assert_eq!(store.messages().through(&pid, &default(), 35).await.unwrap(), (3, NOW_MS + 30));
    assert_eq!(store.messages().through(&pid, &default(), 5).await.unwrap(), (0, 0));
    for page in [Page::Offset(0), Page::Offset(3), Page::Tail, Page::Before(5), Page::After(5)] {
        assert!(store.messages().page(&pid, &"none".into(), page, 9).await.unwrap().is_empty());
    }
}

async fn a_page_by_offset_is_the_same_from_both_ends(store: &Store) {
    for count in [1, 2, 7] {
        let pid = fill(store, &format!("p{count}"), count).await;
        for offset in 0..=count as u64 + 1 {
            for limit in 0..=count as u64 + 1 {
                let expected: Vec<i64> = (1..=count).skip(offset as usize).take(limit as usize).collect();
                assert_eq!(
                    ids(store, &pid, Page::Offset(offset), limit).await,
                    expected,
                    "{count} {offset} {limit}"
                );
            }
        }
    }
}

async fn messages_are_copied_with_new_ids(store: &Store) {
    let pid = fill(store, "p", 4).await;
    let fork = ConversationId::from("fork");
    let change = Change::new(&pid).conversation_open(&fork, None, NOW_MS).if_empty(&fork, 1);
    let to = Copied { conversation: &fork, generation: 1, first_id: 100 };
    assert!(store.apply(change.messages_copy(&default(), 30, to)).await.unwrap());
    let copied = store.messages().page(&pid, &fork, Page::Tail, 9).await.unwrap();
    let expected: Vec<MessageRow> = (1..=3)
        .map(|number| MessageRow {
            id: 99 + number,
            conversation_id: fork.clone(),
            ..message(number * 10, "default")
        })
        .collect();
    assert_eq!(copied, expected);
    assert_eq!(store.conversations().by_id(&pid, &fork).await.unwrap().unwrap().message_count, 3);
    assert_eq!(ids(store, &pid, Page::Tail, 9).await, [1, 2, 3, 4]);
}

async fn an_empty_conversation_is_required(store: &Store) {
    let pid = fill(store, "p", 1).await;
    for (id, generation, kept) in
        [("default", 1, false), ("none", 1, false), ("new", 2, false), ("new", 1, true)]
    {
        let id = ConversationId::from(id);
        let ready = if id.as_str() == "new" {
            Change::new(&pid).conversation_open(&id, None, NOW_MS)
        } else {
            Change::new(&pid)
        };
        assert_eq!(store.apply(ready.if_empty(&id, generation)).await.unwrap(), kept, "{id} {generation}");
    }
}

async fn messages_that_changed_meanwhile_are_noticed(store: &Store) {
    let pid = fill(store, "p", 4).await;
    let check = async |ids, count, newest_at| {
        store.apply(Change::new(&pid).if_unchanged(&default(), ids, count, newest_at)).await.unwrap()
    };
    assert!(check((10, 30), 3, NOW_MS + 30).await);
    assert!(!check((10, 30), 2, NOW_MS + 30).await);
    assert!(!check((10, 30), 3, NOW_MS + 29).await);
    let marker = MessageRow { created_at: NOW_MS + 99, ..message(10, "default") };
    store.keep(Change::new(&pid).messages_remove(&default(), 10, 10).message(&marker)).await.unwrap();
    assert!(!check((10, 10), 1, NOW_MS + 10).await, "another message has its id now");
    assert!(!check((1_000, 2_000), 0, 0).await, "nothing is not unchanged");
}
