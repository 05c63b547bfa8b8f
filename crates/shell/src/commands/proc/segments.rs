//! `proc compact`, `proc fork` and `proc segments`: the older parts of a conversation.

use protocol::ids::{ConversationId, Pid};
use protocol::proc::segment::{Compact, Fork, Segments};

use super::super::options::Options;
use super::super::{Cx, Done, row};
use super::{conversation, done};

/// How many messages stay when nobody says.
const KEPT: u64 = 20;

pub(super) async fn compact(cx: &Cx<'_>, options: &Options, pid: Option<Pid>) -> Result<Done, Done> {
    let through = id(cx, options, "through")?;
    let keep_last = options.number("keep-last").map_err(|why| cx.misused(why))?;
    let summary = options.value("summary").map(str::to_string);
    let args = Compact {
        pid,
        conversation_id: conversation(options),
        generate_summary: summary.is_none().then_some(true),
        summary,
        keep_last: keep_last.or_else(|| through.is_none().then_some(KEPT)),
        through_message_id: through,
    };
    let compacted = done(cx, cx.call(&args).await?)?;
    Ok(Done::printed(format!(
        "segment_id={} archived={} archive={} summary_message_id={}\n",
        compacted.segment.id,
        compacted.archived_messages,
        compacted.archived_to,
        compacted.summary_message_id
    )))
}

pub(super) async fn fork(cx: &Cx<'_>, options: &Options, pid: Option<Pid>) -> Result<Done, Done> {
    let args = Fork {
        pid,
        conversation_id: conversation(options),
        segment_id: options.value("segment").map(str::to_string),
        through_message_id: id(cx, options, "message-id")?,
        target_conversation_id: options.value("target").map(ConversationId::from),
        title: options.value("title").map(str::to_string),
        include_live_suffix: options.has("segment-only").then_some(false),
    };
    let forked = done(cx, cx.call(&args).await?)?;
    let segment = forked.segment.map_or_else(|| "-".to_string(), |segment| segment.id);
    Ok(Done::printed(format!(
        "conversation_id={} restored={} segment_id={segment} included_live_suffix={}\n",
        forked.target_conversation.id, forked.restored_messages, forked.included_live_suffix
    )))
}

pub(super) async fn list(cx: &Cx<'_>, options: &Options, pid: Option<Pid>) -> Result<Done, Done> {
    let listed = done(cx, cx.call(&Segments { pid, conversation_id: conversation(options) }).await?)?;
    let mut printed = Done::printed(row(["ID", "GEN", "FROM", "TO", "SUMMARY", "ARCHIVE"]));
    for segment in &listed.segments {
        let summary = segment.summary_message_id.map_or_else(|| "-".to_string(), |id| id.to_string());
        let (from, to) = (segment.from_message_id.to_string(), segment.to_message_id.to_string());
        let generation = segment.generation.to_string();
        printed.print(row([&segment.id, &generation, &from, &to, &summary, &segment.archive_path]));
    }
    Ok(printed)
}

/// The number of a message.
fn id(cx: &Cx<'_>, options: &Options, name: &str) -> Result<Option<i64>, Done> {
    let number = options.number(name).map_err(|why| cx.misused(why))?;
    number.map(i64::try_from).transpose().map_err(|_| cx.misused(format!("--{name}: no such message")))
}
