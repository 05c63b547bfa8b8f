//! Round-trip tests of archives, and the errors of those that cannot be read.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use protocol::ids::Uid;
use protocol::proc::history::MessageRole;
use serde_json::{Value, json};
use store::change::Change;
use vfs::{Code, Follow};

use super::gzip::read_now;
use super::*;
use crate::fixture::{Fixture, answer, at, result, user};

const ALL: ArchiveSlice = ArchiveSlice { offset: 0, limit: u64::MAX, bytes_max: usize::MAX };

/// A JSON text as rows have them: on one line, whatever is in it.
fn json_text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        any::<String>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    let tree = leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(any::<String>(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    tree.prop_map(|value| value.to_string())
}

fn messages() -> impl Strategy<Value = MessageRow> {
    let role = prop_oneof![
        Just(MessageRole::User),
        Just(MessageRole::Assistant),
        Just(MessageRole::System),
        Just(MessageRole::ToolResult)
    ];
    let json = || prop::option::of(json_text());
    let texts = (any::<String>(), any::<String>(), prop::option::of(any::<String>()));
    let rest = (prop::option::of(any::<String>()), any::<i64>(), any::<i64>(), any::<u32>());
    (role, texts, json(), json(), json(), rest).prop_map(
        |(
            role,
            (content, conversation, tool_call_id),
            meta,
            media,
            origin,
            (run_id, id, created_at, generation),
        )| {
            MessageRow {
                id,
                conversation_id: conversation.into(),
                generation: generation.into(),
                role,
                content,
                meta,
                tool_call_id,
                media,
                origin,
                run_id: run_id.map(Into::into),
                created_at,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_written_is_read_back(rows in prop::collection::vec(messages(), 0..12)) {
        let lines: Vec<String> = rows.iter().map(line::text).collect();
        prop_assert!(lines.iter().all(|line| !line.contains(['\n', '\r'])));
        let page = read_now(packed(&lines.join("\n")).as_slice(), ALL).unwrap();
        prop_assert_eq!(&page.messages, &rows);
        prop_assert_eq!(page.count, rows.len() as u64);
    }
}

fn packed(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

async fn unpacked(fixture: &Fixture, path: &str) -> String {
    let bytes = fixture.view(fixture.process.uid).read(&at(path)).await.unwrap();
    let mut text = String::new();
    GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
    text
}

#[test]
fn lines_have_the_fields_that_others_read() {
    let call = answer("Let me look.", &["c1"]);
    let line: Value = serde_json::from_str(&line::text(&MessageRow { id: 7, ..call.clone() })).unwrap();
    let calls = json!([{ "type": "toolCall", "id": "c1", "name": "Read", "arguments": { "path": "/x" } }]);
    let thinking = json!([{ "type": "thinking", "thinking": "hm", "thinkingSignature": "s" }]);
    let answer: Value = serde_json::from_str(call.meta.as_deref().unwrap()).unwrap();
    let expected = json!({
        "id": 7, "conversation_id": "default", "generation": 1, "role": "assistant", "content": "Let me look.",
        "tool_calls": calls, "thinking": thinking, "answer": answer, "ts": 0,
    });
    assert_eq!(line, expected);
    let line: Value = serde_json::from_str(&line::text(&result("c1", "text"))).unwrap();
    let expected = json!({
        "id": 0, "conversation_id": "default", "generation": 1, "role": "toolResult", "content": "text",
        "tool_calls": { "toolName": "Read", "isError": true }, "tool_call_id": "c1", "ts": 0,
    });
    assert_eq!(line, expected);
    assert_eq!(
        line::text(&user("hi")),
        r#"{"id":0,"conversation_id":"default","generation":1,"role":"user","content":"hi","ts":0}"#
    );
}

#[test]
fn json_over_several_lines_and_what_is_none_still_make_one_line() {
    let odd = MessageRow { meta: Some("{\n \"a\": 1\n}".to_string()), ..result("c", "x") };
    assert_eq!(line::row(&line::text(&odd)).unwrap().meta.as_deref(), Some(r#"{"a":1}"#));
    let broken = MessageRow { media: Some("{broken\n".to_string()), ..user("x") };
    let line = line::text(&broken);
    assert!(!line.contains('\n'), "{line}");
    assert_eq!(line::row(&line).unwrap().content, "x");
}

#[test]
fn damaged_archives_are_errors() {
    let line = line::text(&user("hi"));
    let read = |bytes: &[u8]| read_now(bytes, ALL);
    let role = read(&packed(&line.replace("\"user\"", "\"judge\""))).unwrap_err();
    assert_eq!(role, "invalid archived message role: judge");
    assert!(read(&packed("{}")).unwrap_err().starts_with("invalid archived message: "));
    assert!(read(b"plain text").unwrap_err().starts_with("the archive is damaged: "));
    let whole = packed(&[line.as_str(); 100].join("\n"));
    assert!(read(&whole[..whole.len() - 9]).unwrap_err().starts_with("the archive is damaged: "));
    assert_eq!(read(&packed("")).unwrap().count, 0);
    let two = [packed(&format!("{line}\n")), packed(&line)].concat();
    assert_eq!(read(&two).unwrap().count, 2, "two archives one after the other are one");
}

#[test]
fn a_page_ends_early_rather_than_take_too_much_room() {
    let line = line::text(&user("hi"));
    let archive = packed(&[line.as_str(); 5].join("\n"));
    let page =
        |offset, bytes_max| read_now(archive.as_slice(), ArchiveSlice { offset, bytes_max, ..ALL }).unwrap();
    let count = |page: ArchivePage| (page.messages.len(), page.count);
    assert_eq!(count(page(0, line.len() * 3)), (2, 5));
    assert_eq!(count(page(1, 0)), (1, 5), "one comes, however large");
    assert_eq!(count(page(9, usize::MAX)), (0, 5));
}

#[test]
fn names_are_encoded_and_mean_nothing_else() {
    for (id, name) in [
        ("default", "default"),
        ("a b/c", "a%20b%2Fc"),
        ("ü-_.!~*'()", "%C3%BC-_.!~*'()"),
        ("..", "%2E."),
        (".gsv-tmp-1", "%2Egsv-tmp-1"),
        ("a:b?#%", "a%3Ab%3F%23%25"),
    ] {
        assert_eq!(file_name(&id.into()), name);
    }
    let long = file_name(&"ü".repeat(100).into());
    assert!(long.starts_with("sha256-") && long.len() == 71);
    assert_ne!(long, file_name(&"ä".repeat(100).into()));
}

#[tokio::test]
async fn a_conversation_is_archived_privately_and_read_back() {
    let fixture = Fixture::new().await;
    let mut said = fixture.say("default", vec![user("hi"), answer("Hm.", &["c1"]), result("c1", "x")]).await;
    let many = (0..limits::process::ARCHIVE_PAGE * 2).map(|number| user(&number.to_string())).collect();
    said.extend(fixture.say("default", many).await);
    let row = fixture.store.conversations().by_id(fixture.pid(), &"default".into()).await.unwrap().unwrap();
    let world = &fixture.host.world;
    let loose = archive_conversation(world, &fixture.process, &row).await.unwrap().unwrap();
    let path = loose.path.clone();
    let directory = "/var/sessions/ada/init:1000/conversations/default";
    let name = path.strip_prefix(&format!("{directory}/")).unwrap();
    assert!(name.len() == 36 + ".jsonl.gz".len() && name.ends_with(".jsonl.gz"), "{name}");
    assert_eq!(read(world, &fixture.process, &path).await.unwrap(), said);
    let text = unpacked(&fixture, &path).await;
    assert!(text.lines().count() == said.len() && !text.ends_with('\n'));
    let page =
        read_page(world, &fixture.process, &path, ArchiveSlice { offset: 1, limit: 2, ..ALL }).await.unwrap();
    assert_eq!((page.messages.as_slice(), page.count), (&said[1..3], said.len() as u64));

    let own = fixture.view(fixture.process.uid);
    let mode = async |path: &str| {
        let stat = own.stat(&at(path), Follow::No).await.unwrap();
        (stat.uid, stat.mode & 0o777)
    };
    let ada = fixture.process.uid;
    assert_eq!(mode(&path).await, (ada, 0o600));
    for directory in [directory, "/var/sessions/ada/init:1000", "/var/sessions/ada"] {
        assert_eq!(mode(directory).await, (ada, 0o700), "{directory}");
    }
    assert_eq!(mode("/var/sessions").await, (Uid::ROOT, 0o755));
    let denied = fixture.view(Uid(4711)).read(&at(&path)).await.unwrap_err();
    assert_eq!(denied.code, Code::Denied);
    assert!(fixture.store.loose_archives().has(&path).await.unwrap());
    loose.discard().await;
    assert!(!fixture.store.loose_archives().has(&path).await.unwrap());
    let gone = read(world, &fixture.process, &path).await.unwrap_err();
    assert_eq!(gone, format!("archive not found: {path}"));
}

#[tokio::test]
async fn a_whole_process_is_archived_by_conversation() {
    let fixture = Fixture::new().await;
    let world = &fixture.host.world;
    let nothing = archive_all(world, &fixture.process).await.unwrap();
    assert_eq!((nothing.messages, nothing.directory, nothing.entries.len()), (0, None, 0));
    let z = fixture.say("z/1", vec![user("one"), user("two")]).await;
    fixture.say("closed", vec![user("three")]).await;
    let empty = Change::new(fixture.pid()).conversation_open(&"empty".into(), None, 1);
    fixture.store.keep(empty.conversation_close(&"closed".into(), 2)).await.unwrap();
    let kept = archive_all(world, &fixture.process).await.unwrap();
    let directory = kept.directory.unwrap();
    assert!(directory.starts_with("/var/sessions/ada/init:1000/") && directory.ends_with('/'));
    let entry = |id: &str, messages, name: &str| ArchiveEntry {
        conversation_id: id.into(),
        generation: 1,
        messages,
        path: format!("{directory}{name}"),
    };
    let expected = [entry("closed", 1, "closed.gen-1.jsonl.gz"), entry("z/1", 2, "z%2F1.gen-1.jsonl.gz")];
    assert_eq!((kept.entries.as_slice(), kept.messages), (expected.as_slice(), 3));
    assert_eq!(read(world, &fixture.process, &expected[1].path).await.unwrap(), z);
}

#[tokio::test]
async fn an_archive_that_cannot_be_written_leaves_nothing() {
    let fixture = Fixture::new().await;
    fixture.say("default", vec![user(&"x".repeat(100_000))]).await;
    let noise: String = (0..4_000).map(|_| base::random::uuid()).collect();
    fixture.say("default", vec![user(&noise)]).await;
    fixture
        .store
        .config()
        .set(&format!("users/{}/files/quota_bytes", fixture.process.uid), "1000")
        .await
        .unwrap();
    let why = archive_all(&fixture.host.world, &fixture.process).await.unwrap_err();
    assert!(why.starts_with("the archive could not be written: EDQUOT"), "{why}");
    let left = fixture.view(Uid::ROOT).list(&at("/var/sessions/ada/init:1000")).await.unwrap();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(fixture.messages("default").await.len(), 2);
}

/// Every file of the archives as it is on disk, those that nobody is shown too.
fn files_of_archives(fixture: &Fixture) -> Vec<String> {
    let mut files = Vec::new();
    let mut directories = vec![fixture.on_disk("/var/sessions")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => directories.push(path),
                false => files.push(path.file_name().unwrap().to_str().unwrap().to_string()),
            }
        }
    }
    files.sort();
    files
}

#[tokio::test]
async fn what_a_killed_gateway_was_archiving_is_removed_and_nothing_else() {
    let fixture = Fixture::new().await;
    let (world, id) = (&fixture.host.world, ConversationId::from("default"));
    fixture.say("default", vec![user("1"), user("2"), user("3")]).await;
    let reset = protocol::proc::conversation::Reset::default();
    let reset = fixture.host.reset_conversation(fixture.pid(), reset).await.unwrap().into_result().unwrap();
    fixture.say("default", vec![user("4"), user("5"), user("6")]).await;
    let compact = protocol::proc::segment::Compact {
        summary: Some("They met.".to_string()),
        keep_last: Some(1),
        ..Default::default()
    };
    let compacted = fixture.host.compact(fixture.pid(), &compact).await.unwrap().into_result().unwrap();
    let file = |path: &str| path.rsplit('/').next().unwrap().to_string();
    let mut kept = vec![file(&reset.archived_to.unwrap()), file(&compacted.archived_to)];
    kept.sort();
    assert_eq!(files_of_archives(&fixture), kept);

    // Nothing of a killed program runs any more, not even what it does when something is dropped.
    let whole =
        PendingArchive::keep(world, &fixture.process, &id, "whole".to_string(), EVERYTHING).await.unwrap();
    std::mem::forget(whole);
    let place = ready(world, &fixture.process).await.unwrap();
    let directory = place.make(&["conversations", "default"]).await.unwrap();
    for name in ["begun", "unbegun"] {
        let path = directory.join(&format!("{name}.jsonl.gz"));
        fixture.store.loose_archives().begin(fixture.pid(), path.as_str(), &world.life).await.unwrap();
        if name == "begun" {
            // What is written of it stays; its lock is gone with its writer.
            drop(ArchiveWriter::open(&place, &path).await.unwrap().write(vec![user("7")]).await.unwrap());
        }
    }
    fixture.store.loose_archives().begin(&"gone".into(), "/var/sessions/x", &world.life).await.unwrap();
    assert_eq!(files_of_archives(&fixture).len(), kept.len() + 2);

    fixture.host.recover().await;
    assert_eq!(files_of_archives(&fixture).len(), kept.len() + 2, "what this life writes is left alone");
    let next = fixture.restarted();
    next.recover().await;
    assert_eq!(files_of_archives(&fixture), kept);
    assert_eq!(fixture.store.loose_archives().left("").await.unwrap(), []);
}
