//! Tests of compaction: what is selected, what replaces it, and which signals are sent.

use std::sync::Arc;
use std::time::Duration;

use model::fake::{Script, Turn};
use model::{Block, Message, ProviderKind, Reasoning};
use policy::Policy;
use proptest::prelude::*;
use protocol::ai::WindowSource;
use protocol::proc::segment::SegmentRead;
use serde_json::json;
use store::processes::{Activity, ProcessState};
use store::runs::RunStatus;

use super::*;
use crate::archive;
use crate::conversation::condition;
use crate::fixture::{Fixture, answer, result, user};
use crate::setup::RunLimits;

fn keep_last(keep: u64) -> Compact {
    Compact { summary: Some(" They met. ".to_string()), keep_last: Some(keep), ..Compact::default() }
}

fn through(id: i64) -> Compact {
    Compact { keep_last: None, through_message_id: Some(id), ..keep_last(0) }
}

async fn compacted(fixture: &Fixture, args: Compact) -> Result<Compacted, String> {
    fixture.host.compact(fixture.pid(), &args).await.unwrap().into_result()
}

async fn setup(fixture: &Fixture, script: &Script) -> Setup {
    Setup {
        provider: Arc::new(script.clone()),
        model: Model::find(ProviderKind::Anthropic, "claude-sonnet-4-5"),
        window_source: WindowSource::Model,
        max_tokens: 8_192,
        reasoning: Reasoning::High,
        timeout: Duration::from_secs(60),
        streaming: true,
        system: "A long prompt.".into(),
        tools: Arc::default(),
        prompt_chars: 0,
        devices: Vec::new(),
        policy: Policy::parse(""),
        hosts: Vec::new(),
        interactive: true,
        limits: RunLimits { turns: 1, run_ms: 1, tool_calls: 1 },
        good_until_ms: None,
        identity: Arc::new(fixture.host.world.gateway.identity(&fixture.process).await.unwrap()),
    }
}

#[tokio::test]
async fn the_older_part_gives_way_to_a_summary() {
    let fixture = Fixture::new().await;
    let said = fixture.say("default", ["1", "2", "3", "4"].map(user).to_vec()).await;
    fixture.say("other", vec![user("5")]).await;
    fixture.clock.advance(100);
    let now = fixture.clock.now_ms();
    let done = compacted(&fixture, keep_last(1)).await.unwrap();
    let path = &done.archived_to;
    assert!(path.starts_with("/var/sessions/ada/init:1000/conversations/default/"), "{path}");
    assert!(path.ends_with(&format!("/{}.jsonl.gz", done.segment.id)), "{path}");
    let expected = Segment {
        id: done.segment.id.clone(),
        conversation_id: "default".into(),
        generation: 1,
        kind: SegmentKind::Compaction,
        from_message_id: 1,
        to_message_id: 3,
        archive_path: path.clone(),
        summary_message_id: Some(1),
        created_at: now,
    };
    assert_eq!((&done.segment, done.archived_messages, done.summary_message_id), (&expected, 3, 1));
    let rows = fixture.messages("default").await;
    let text =
        format!("Conversation compacted.\n\nArchived messages: 3\nArchive: {path}\n\nSummary:\nThey met.");
    let marker = MessageRow { role: MessageRole::System, content: text, created_at: now, ..said[0].clone() };
    assert_eq!(rows, [marker, said[3].clone()]);
    assert_eq!(archive::read(&fixture.host.world, &fixture.process, path).await.unwrap(), said[..3]);
    let row = fixture.store.conversations().by_id(fixture.pid(), &"default".into()).await.unwrap().unwrap();
    assert_eq!((row.message_count, row.updated_at), (2, now));
    assert_eq!(fixture.store.segments().of(fixture.pid(), &row.id).await.unwrap(), [expected]);

    let expected = json!({
        "pid": "init:1000", "changes": ["lifecycle", "conversations", "messages"], "queuedCount": 0, "timestamp": now,
        "conversationId": "default", "event": "conversation.compacted", "generation": 1,
        "segment": to_value(&done.segment), "archivedMessages": 3, "archivedTo": path, "summaryMessageId": 1,
    });
    assert_eq!(fixture.signals(), [("proc.changed".to_string(), expected)]);
    let again = compacted(&fixture, keep_last(1)).await.unwrap();
    assert_eq!(
        (again.archived_messages, again.segment.from_message_id),
        (1, 1),
        "a summary is compacted like others"
    );
}

#[tokio::test]
async fn bad_arguments_are_told_in_order() {
    let fixture = Fixture::new().await;
    let call = "proc.conversation.compact";
    let blank = Compact { summary: Some(" ".to_string()), ..keep_last(1) };
    let both = Compact { generate_summary: Some(true), keep_last: None, ..keep_last(1) };
    let cases = [
        (Compact::default(), format!("{call} requires summary or generateSummary")),
        (blank, format!("{call} requires summary or generateSummary")),
        (both, format!("{call} accepts either summary or generateSummary, not both")),
        (through(0), format!("{call} throughMessageId must be a positive integer")),
        (
            Compact { keep_last: Some(1), ..through(0) },
            format!("{call} requires exactly one of keepLast or throughMessageId"),
        ),
        (
            Compact { keep_last: None, ..keep_last(1) },
            format!("{call} requires exactly one of keepLast or throughMessageId"),
        ),
        (keep_last(0), "No conversation messages selected for compaction".to_string()),
    ];
    for (args, why) in cases {
        assert_eq!(compacted(&fixture, args).await.unwrap_err(), why);
    }
    fixture.say("default", vec![user("1"), user("2")]).await;
    for args in [keep_last(2), keep_last(u64::MAX)] {
        let why = "No conversation messages selected for compaction";
        assert_eq!(compacted(&fixture, args).await.unwrap_err(), why);
    }
    let default = "default".into();
    let busy = Activity {
        state: ProcessState::Running,
        run: Some((&"r".into(), &default)),
        next_message_id: 3,
        now_ms: 0,
    };
    fixture.store.keep(Change::new(fixture.pid()).activity(busy)).await.unwrap();
    assert_eq!(compacted(&fixture, keep_last(0)).await.unwrap_err(), "Conversation is active: default");
    assert_eq!(fixture.messages("default").await.len(), 2);
    assert!(fixture.signals().is_empty());
}

#[tokio::test]
async fn through_a_message_takes_what_is_there_up_to_it() {
    let fixture = Fixture::new().await;
    fixture.say("default", vec![user("1")]).await;
    fixture.say("other", vec![user("2")]).await;
    fixture.say("default", vec![user("3"), user("4")]).await;
    let done = compacted(&fixture, through(2)).await.unwrap();
    assert_eq!((done.archived_messages, done.segment.to_message_id), (1, 1), "2 is of another conversation");
    let done = compacted(&fixture, through(i64::MAX)).await.unwrap();
    assert_eq!((done.archived_messages, done.segment.to_message_id), (3, 4));
    assert_eq!(fixture.messages("other").await.len(), 1);
}

#[tokio::test]
async fn calls_and_their_results_are_not_parted() {
    let turn = || vec![answer("Reading.", &["a", "b"]), result("a", "1"), result("b", "2")];
    let fixture = Fixture::new().await;
    fixture.say("default", [vec![user("first")], turn(), turn(), vec![answer("Done.", &[])]].concat()).await;
    // 1 user, 2 answer, 3 4 results, 5 answer, 6 7 results, 8 answer.
    for (keep, last) in [(1, 7), (2, 4), (3, 4), (4, 4), (5, 1), (6, 1), (7, 1), (0, 8)] {
        let selected =
            select::select(&fixture.host.world, &fixture.process, &"default".into(), &keep_last(keep)).await;
        let selected = selected.unwrap();
        assert_eq!((selected.span.to_id, selected.count), (last, last as u64), "{keep}");
    }
    let only = Fixture::new().await;
    only.say("default", [turn(), vec![answer("Done.", &[])]].concat()).await;
    for keep in [2, 3] {
        let selected =
            select::select(&only.host.world, &only.process, &"default".into(), &keep_last(keep)).await;
        assert_eq!(
            selected.unwrap().span.to_id,
            3,
            "there is nothing before the calls, so the results go too"
        );
    }
}

/// Turns of a conversation: what a person says, or an answer with so many calls.
fn turns() -> impl Strategy<Value = Vec<Option<usize>>> {
    prop::collection::vec(prop::option::of(0..40usize), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn no_selection_parts_calls_from_results(turns in turns(), keep in 0..60u64) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let fixture = Fixture::new().await;
            let mut rows = Vec::new();
            for (number, turn) in turns.iter().enumerate() {
                let ids: Vec<String> = (0..turn.unwrap_or(0)).map(|call| format!("{number}-{call}")).collect();
                match turn {
                    None => rows.push(user("?")),
                    Some(_) => rows.push(answer("!", &ids.iter().map(String::as_str).collect::<Vec<_>>())),
                }
                rows.extend(ids.iter().map(|id| result(id, "x")));
            }
            let rows = fixture.say("default", rows).await;
            let wanted = rows.len() as u64 > keep;
            let selected =
                select::select(&fixture.host.world, &fixture.process, &"default".into(), &keep_last(keep)).await;
            assert_eq!(selected.is_ok(), wanted);
            if let Ok(selected) = selected {
                let next = rows.iter().find(|row| row.id > selected.span.to_id);
                assert!(next.is_none_or(|next| next.role != MessageRole::ToolResult), "{selected:?}");
                assert_eq!(selected.count, rows.iter().filter(|row| row.id <= selected.span.to_id).count() as u64);
            }
        });
    }
}

#[tokio::test]
async fn the_model_writes_the_summary_and_it_is_charged() {
    let fixture = Fixture::new().await;
    fixture.say("default", vec![user("My name is Ada."), answer("Hello.", &[]), user("Bye.")]).await;
    let script = Script::new([Turn::text("Ada said hello.").tokens(100, 7)]);
    let setup = setup(&fixture, &script).await;
    let args = Compact { summary: None, generate_summary: Some(true), ..keep_last(1) };
    let world = &fixture.host.world;
    let Prepared { change, compacted, archive, .. } =
        prepare(world, &fixture.process, &"default".into(), &args, Some(&setup)).await.unwrap();
    assert!(fixture.store.apply(change.clone()).await.unwrap());
    archive.claim();
    let marker = &fixture.messages("default").await[0];
    assert!(marker.content.ends_with("\n\nSummary:\nAda said hello."), "{}", marker.content);
    assert_eq!(compacted.archived_messages, 2);
    assert!(!fixture.store.apply(change).await.unwrap(), "the same change is not kept twice");
    assert_eq!(fixture.store.loose_archives().left("").await.unwrap(), [], "a kept archive is not loose");

    let requests = script.requests();
    let [request] = requests.as_slice() else { panic!() };
    assert_eq!((request.max_tokens, request.reasoning), (768, Reasoning::Off));
    assert_eq!(request.affinity.as_deref(), Some("init:1000:compaction"));
    assert!(request.tools.is_empty() && request.system.contains("concise markdown"));
    let [Message::User { content }] = request.messages.as_slice() else { panic!() };
    let [Block::Text { text }] = content.as_slice() else { panic!() };
    assert!(text.contains("My name is Ada.") && !text.contains("Bye."));

    let used = fixture.store.runs().used_in(fixture.pid(), &"default".into()).await.unwrap();
    assert_eq!((used.input_tokens, used.output_tokens), (100, 7));
    let runs = fixture.store.runs().newest(fixture.process.uid, None, 0, 9).await.unwrap();
    assert_eq!(
        (runs.len(), runs[0].reason.as_str(), runs[0].status),
        (1, "compaction.summary", RunStatus::Ok)
    );
    assert_eq!(runs[0].model.as_deref(), Some("claude-sonnet-4-5"));
}

/// What a summarizer was asked, request by request.
fn asked(script: &Script) -> Vec<String> {
    let text = |request: &model::Request| match request.messages.as_slice() {
        [Message::User { content }] => match content.as_slice() {
            [Block::Text { text }] => text.clone(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    script.requests().iter().map(text).collect()
}

async fn summarized(
    fixture: &Fixture,
    script: &Script,
    window_tokens: Option<u64>,
) -> Result<Compacted, String> {
    let mut setup = setup(fixture, script).await;
    setup.model.context_window_tokens = window_tokens;
    let args = Compact { summary: None, generate_summary: Some(true), ..keep_last(0) };
    let prepared =
        prepare(&fixture.host.world, &fixture.process, &"default".into(), &args, Some(&setup)).await?;
    assert!(fixture.store.apply(prepared.change).await.unwrap());
    prepared.archive.claim();
    Ok(prepared.compacted)
}

#[tokio::test]
async fn the_summarizer_reads_every_message_once_and_nothing_else() {
    let fixture = Fixture::new().await;
    let exchanges =
        (0..40).flat_map(|n| [user(&format!("question {n}?")), answer(&format!("reply {n}."), &["c"])]);
    fixture.say("default", exchanges.collect()).await;
    let script = Script::new([Turn::text("Forty questions.")]);
    summarized(&fixture, &script, None).await.unwrap();
    let [text] = &asked(&script)[..] else { panic!("one pass is enough") };
    for n in 0..40 {
        for said in [format!("question {n}?"), format!("reply {n}.")] {
            assert_eq!(text.matches(&said).count(), 1, "{said}");
        }
    }
    for noise in
        ["usage", "totalTokens", "conversation_id", "textSignature", "thinkingSignature", "timestamp"]
    {
        assert!(!text.contains(noise), "{noise}");
    }
}

#[tokio::test]
async fn a_long_conversation_is_summarized_in_passes() {
    let fixture = Fixture::new().await;
    let long = (0..20).map(|n| user(&format!("<{n}> {}", "word ".repeat(200))));
    fixture.say("default", long.chain([user(&"x".repeat(7_000))]).collect()).await;
    let script = Script::new((1..=20).map(|n| Turn::text(&format!("summary {n}")).tokens(10, 1)));
    summarized(&fixture, &script, Some(4_096)).await.unwrap();
    let passes = asked(&script);
    assert!((8..20).contains(&passes.len()), "{} passes", passes.len());
    for (n, pass) in (1..).zip(&passes) {
        assert!(
            pass.len() < 4_096 && pass.contains(&format!("Part {n} of {}", passes.len())),
            "{}",
            pass.len()
        );
        assert_eq!(pass.contains(&format!("summary {}", n - 1)), n > 1, "each goes on from the one before");
    }
    let all = passes.concat();
    for n in 0..20 {
        assert_eq!(all.matches(&format!("<{n}> ")).count(), 1);
    }
    assert!(all.matches('x').count() >= 7_000, "a message longer than a pass is read whole");
    let marker = &fixture.messages("default").await[0].content;
    assert!(marker.ends_with(&format!("Summary:\nsummary {}", passes.len())), "{marker}");
    let costs = fixture.host.costs(fixture.process.uid, &Default::default()).await.unwrap();
    assert_eq!((costs.runs, costs.total.input), (passes.len() as u64, 10 * passes.len() as u64));
}

#[tokio::test]
async fn what_takes_too_many_passes_is_refused_before_any() {
    let fixture = Fixture::new().await;
    let piece = base::limits::process::SUMMARY_RANGE_CHARS.0;
    let much = "x".repeat(piece * (base::limits::process::SUMMARY_PASSES_MAX + 1));
    let said = fixture.say("default", vec![user(&much)]).await;
    let script = Script::new([Turn::text("no")]);
    let why = summarized(&fixture, &script, Some(1)).await.unwrap_err();
    assert!(why.contains("64 passes") && why.contains("throughMessageId"), "{why}");
    assert!(script.requests().is_empty());
    assert_eq!(fixture.messages("default").await, said);
}

#[tokio::test]
async fn a_summary_is_charged_whatever_becomes_of_its_compaction() {
    let fixture = Fixture::new().await;
    fixture.say("default", vec![user("1"), user("2"), user("3")]).await;
    let script = Script::new([
        Turn::text("Dropped.").tokens(100, 7),
        Turn::text("  ").tokens(10, 1),
        Turn::text("Too late.").tokens(1_000, 70),
    ]);
    let setup = setup(&fixture, &script).await;
    let args = Compact { summary: None, generate_summary: Some(true), ..keep_last(1) };
    let (world, id) = (&fixture.host.world, ConversationId::from("default"));
    let tokens = async || {
        let costs = fixture.host.costs(fixture.process.uid, &Default::default()).await.unwrap();
        (costs.total.input, costs.total.output, costs.runs)
    };
    let run = prepare(world, &fixture.process, &id, &args, Some(&setup));
    drop(run.await.unwrap());
    assert_eq!(tokens().await, (100, 7, 1));
    let empty = prepare(world, &fixture.process, &id, &args, Some(&setup)).await.err().unwrap();
    assert!(empty.ends_with("returned empty text"), "{empty}");
    assert_eq!(tokens().await, (110, 8, 2));
    let late = prepare(world, &fixture.process, &id, &args, Some(&setup)).await.unwrap();
    compacted(&fixture, keep_last(0)).await.unwrap();
    assert!(!fixture.store.apply(late.change).await.unwrap());
    assert_eq!(tokens().await, (1_110, 78, 3));
    let newest = fixture.host.costs(fixture.process.uid, &Default::default()).await.unwrap().newest;
    let mut ends: Vec<_> = newest.iter().map(|run| (run.status.as_str(), run.error.as_deref())).collect();
    ends.sort();
    let why = Some("summary generation returned empty text");
    assert_eq!(ends, [("error", why), ("ok", None), ("ok", None)]);
}

#[tokio::test]
async fn without_a_summary_nothing_changes() {
    let fixture = Fixture::new().await;
    let said = fixture.say("default", vec![user("1"), user("2")]).await;
    let args = Compact { summary: None, generate_summary: Some(true), ..keep_last(1) };
    let world = &fixture.host.world;
    let why = async |setup: Option<&Setup>| {
        prepare(world, &fixture.process, &"default".into(), &args, setup).await.err().unwrap()
    };
    let prefix = "Failed to generate compaction summary: ";
    assert_eq!(why(None).await, format!("{prefix}AI config unavailable"));
    let script = Script::new([Turn::text("  "), Turn::new().fail("overloaded")]);
    let setup = setup(&fixture, &script).await;
    assert_eq!(why(Some(&setup)).await, format!("{prefix}summary generation returned empty text"));
    assert_eq!(why(Some(&setup)).await, format!("{prefix}overloaded"));
    assert_eq!(fixture.messages("default").await, said);
    let archives = fixture.view(fixture.process.uid).list(&crate::fixture::at("/var/sessions")).await;
    assert!(archives.is_err(), "nothing was archived");
}

#[tokio::test]
async fn what_changed_meanwhile_is_left_alone() {
    let fixture = Fixture::new().await;
    fixture.say("default", vec![user("1"), user("2"), user("3")]).await;
    let (world, id) = (&fixture.host.world, ConversationId::from("default"));
    let first = prepare(world, &fixture.process, &id, &keep_last(1), None).await.unwrap();
    let second = prepare(world, &fixture.process, &id, &keep_last(0), None).await.unwrap();
    assert!(fixture.store.apply(first.change).await.unwrap());
    assert!(!fixture.store.apply(second.change).await.unwrap());
    assert_eq!(fixture.messages("default").await.len(), 2);
}

/// The archives of the conversation `default`, by name.
async fn archives(fixture: &Fixture) -> Vec<String> {
    let directory = crate::fixture::at("/var/sessions/ada/init:1000/conversations/default");
    let entries = fixture.view(fixture.process.uid).list(&directory).await.unwrap();
    entries.into_iter().map(|entry| entry.name).collect()
}

/// Waits until nothing is archived.
async fn no_archives(fixture: &Fixture) {
    let gone = async {
        while !archives(fixture).await.is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), gone).await.expect("an archive that nobody needs stays");
}

#[tokio::test]
async fn a_compaction_that_is_not_kept_leaves_no_archive() {
    let fixture = Fixture::new().await;
    fixture.say("default", vec![user("1"), user("2"), user("3")]).await;
    let (world, id) = (&fixture.host.world, ConversationId::from("default"));
    let row = fixture.store.conversations().by_id(fixture.pid(), &id).await.unwrap();

    let dropped = prepare(world, &fixture.process, &id, &keep_last(1), None).await.unwrap();
    assert_eq!(archives(&fixture).await.len(), 1);
    drop(dropped);
    no_archives(&fixture).await;

    let outdated = prepare(world, &fixture.process, &id, &keep_last(1), None).await.unwrap();
    let done = compacted(&fixture, keep_last(2)).await.unwrap();
    let same_life = condition(&id, row.as_ref(), true);
    let applied =
        fixture.host.apply_with(fixture.pid(), same_life, outdated.change, Some(outdated.archive)).await;
    assert_eq!(applied.unwrap().unwrap_err(), "Conversation changed meanwhile: default");
    assert_eq!(
        archives(&fixture).await,
        [format!("{}.jsonl.gz", done.segment.id)],
        "the one that was kept stays"
    );

    let late = prepare(world, &fixture.process, &id, &keep_last(1), None).await.unwrap();
    let reset = protocol::proc::conversation::Reset { archive: Some(false), ..Default::default() };
    fixture.host.reset_conversation(fixture.pid(), reset).await.unwrap().into_result().unwrap();
    let old_life = condition(&id, row.as_ref(), true);
    let applied = fixture.host.apply_with(fixture.pid(), old_life, late.change, Some(late.archive)).await;
    assert_eq!(applied.unwrap().unwrap_err(), "Conversation was reset: default");
    assert_eq!(archives(&fixture).await, [format!("{}.jsonl.gz", done.segment.id)]);
}

#[tokio::test]
async fn an_archive_is_removed_even_if_its_writer_is_stopped_in_the_middle() {
    let fixture = Fixture::new().await;
    fixture
        .say("default", (0..200).map(|number| user(&format!("{number} {}", "x".repeat(2_000)))).collect())
        .await;
    // Every stop comes after a different number of looks at what is being done.
    for looks in 0..40 {
        let (world, process) = (fixture.host.world.clone(), fixture.process.clone());
        let mut work = Box::pin(async move {
            prepare(&world, &process, &"default".into(), &keep_last(1), None).await.map(drop)
        });
        for _ in 0..looks {
            if futures_util::poll!(work.as_mut()).is_ready() {
                break;
            }
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
    }
    let prepared =
        prepare(&fixture.host.world, &fixture.process, &"default".into(), &keep_last(1), None).await.unwrap();
    drop(prepared);
    no_archives(&fixture).await;
}

#[tokio::test]
async fn segments_are_listed_and_read() {
    let fixture = Fixture::new().await;
    let said = fixture
        .say("default", vec![user("1"), answer("2", &["c"]), result("c", "3"), answer("4", &[]), user("5")])
        .await;
    let segment = compacted(&fixture, keep_last(1)).await.unwrap().segment;
    let args = protocol::proc::segment::Segments::default();
    let listed = fixture.host.segments(fixture.pid(), &args).await.unwrap().into_result().unwrap();
    assert_eq!(
        (listed.conversation_id.as_str(), listed.segments.as_slice()),
        ("default", [segment.clone()].as_slice())
    );
    let read = async |limit, offset, id: &str| {
        let args =
            SegmentRead { pid: None, conversation_id: None, segment_id: id.to_string(), limit, offset };
        fixture.host.segment_read(fixture.pid(), &args).await.unwrap().into_result()
    };
    let all = read(None, None, &segment.id).await.unwrap();
    assert_eq!((all.messages.len(), all.message_count, all.truncated, &all.segment), (4, 4, None, &segment));
    assert_eq!(
        all.messages[2].content,
        json!({ "toolName": "Read", "isError": true, "toolCallId": "c", "output": "3" })
    );
    assert_eq!(all.messages[3].content, json!({ "text": "4", "thinking": [], "toolCalls": [] }));
    assert_eq!((all.messages[1].id, all.messages[1].timestamp), (Some(2), Some(said[1].created_at)));
    let page = read(Some(2), Some(1), &segment.id).await.unwrap();
    assert_eq!((page.messages.len(), page.messages[0].id, page.truncated), (2, Some(2), Some(true)));
    let call = "proc.conversation.segment.read";
    assert_eq!(
        read(Some(0), None, &segment.id).await.unwrap_err(),
        format!("{call} limit must be a positive integer")
    );
    assert_eq!(read(None, None, "").await.unwrap_err(), format!("{call} requires segmentId"));
    assert_eq!(read(None, None, "x").await.unwrap_err(), "Conversation segment not found: x");
    fixture
        .view(fixture.process.uid)
        .remove(&crate::fixture::at(&segment.archive_path), false)
        .await
        .unwrap();
    let gone = read(None, None, &segment.id).await.unwrap_err();
    assert_eq!(gone, format!("Failed to read segment archive: archive not found: {}", segment.archive_path));
}
