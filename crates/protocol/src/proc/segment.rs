//! Wire types and table of archived parts of conversations: compacting, forking, reading them again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::conversation::Conversation;
use super::history::Message;
use crate::ids::{ConversationId, Pid};
use crate::outcome::Outcome;
use crate::spec::syscalls;

syscalls! {
    /// Archives the older part of a conversation and puts a summary in its place.
    /// Needs `summary` or `generateSummary`, and exactly one of `keepLast` and `throughMessageId`.
    "proc.conversation.compact" Compact => Outcome<Compacted>, Granted, Process, Destroys, Users.*;
    /// Copies a conversation up to a message, or restores a compacted segment, into another conversation.
    /// Needs exactly one of `segmentId` and `throughMessageId`.
    "proc.conversation.fork" Fork => Outcome<Forked>, Granted, Process, Writes, Users.*;
    /// Reads the messages of a compacted segment from its archive.
    "proc.conversation.segment.read" SegmentRead => Outcome<SegmentMessages>, Granted, Process, Reads, Users.*;
    /// Lists a conversation's compacted segments, oldest first.
    "proc.conversation.segments" Segments => Outcome<SegmentList>, Granted, Process, Reads, Users.*;
}

/// An archived part of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcConversationSegment")]
pub struct Segment {
    /// Its id, unique within the conversation.
    pub id: String,
    /// Id of the conversation, within its process; `default` always exists.
    pub conversation_id: ConversationId,
    /// Which life of it.
    pub generation: u64,
    /// How it came about.
    pub kind: SegmentKind,
    /// Its first message.
    pub from_message_id: i64,
    /// Its last message.
    pub to_message_id: i64,
    /// Where it is.
    pub archive_path: String,
    /// The message that stands in its place.
    pub summary_message_id: Option<i64>,
    /// When it was archived, in milliseconds.
    pub created_at: i64,
}

/// How a segment came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ProcSegmentKind")]
pub enum SegmentKind {
    /// By compacting.
    Compaction,
}

/// Arguments of `proc.conversation.compact`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcConversationCompactArgs")]
pub struct Compact {
    /// The process; the caller's init process when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<Pid>,
    /// The conversation; `default` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    /// What stands in the messages' place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Lets the model write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generate_summary: Option<bool>,
    /// Archives all but so many messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_last: Option<u64>,
    /// Archives up to and with this message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through_message_id: Option<i64>,
}

/// Result of `proc.conversation.compact`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcConversationCompactResult")]
pub struct Compacted {
    /// Pid of the process, such as `init:1000`.
    pub pid: Pid,
    /// Id of the conversation, within its process; `default` always exists.
    pub conversation_id: ConversationId,
    /// What was archived.
    pub segment: Segment,
    /// How many messages.
    pub archived_messages: u64,
    /// The archive.
    pub archived_to: String,
    /// The message that stands in their place.
    pub summary_message_id: i64,
}

/// Arguments of `proc.conversation.fork`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcConversationForkArgs")]
pub struct Fork {
    /// The process; the caller's init process when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<Pid>,
    /// The source; `default` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    /// The compacted segment to restore.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment_id: Option<String>,
    /// The last message to copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through_message_id: Option<i64>,
    /// Where to; a new id when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_conversation_id: Option<ConversationId>,
    /// The new conversation's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// For a segment, also what followed it then; true when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_live_suffix: Option<bool>,
}

/// Result of `proc.conversation.fork`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcConversationForkResult")]
pub struct Forked {
    /// Pid of the process, such as `init:1000`.
    pub pid: Pid,
    /// Where from.
    pub source_conversation_id: ConversationId,
    /// Where to.
    pub target_conversation: Conversation,
    /// What was restored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<Segment>,
    /// The last message that was copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through_message_id: Option<i64>,
    /// How many messages it got.
    pub restored_messages: u64,
    /// Whether what followed the segment is among them.
    pub included_live_suffix: bool,
}

/// Arguments of `proc.conversation.segment.read`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcConversationSegmentReadArgs")]
pub struct SegmentRead {
    /// The process; the caller's init process when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<Pid>,
    /// The conversation; `default` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    /// Id of the segment, as `proc.conversation.segments` gives it.
    pub segment_id: String,
    /// Messages to return; 200 when absent, at most 500.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Messages to skip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
}

/// Result of `proc.conversation.segment.read`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcConversationSegmentReadResult")]
pub struct SegmentMessages {
    /// Pid of the process, such as `init:1000`.
    pub pid: Pid,
    /// Id of the conversation, within its process; `default` always exists.
    pub conversation_id: ConversationId,
    /// The segment that the messages are in.
    pub segment: Segment,
    /// Oldest first.
    pub messages: Vec<Message>,
    /// How many there are in all.
    pub message_count: u64,
    /// True when there are more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
}

/// Arguments of `proc.conversation.segments`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcConversationSegmentsArgs")]
pub struct Segments {
    /// The process; the caller's init process when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<Pid>,
    /// The conversation; `default` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
}

/// Result of `proc.conversation.segments`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcConversationSegmentsResult")]
pub struct SegmentList {
    /// Pid of the process, such as `init:1000`.
    pub pid: Pid,
    /// Id of the conversation, within its process; `default` always exists.
    pub conversation_id: ConversationId,
    /// Oldest first.
    pub segments: Vec<Segment>,
}
