//! Shared, lazily encoded `proc.run.stream` event: its frame is written once for each generation of the protocol among
//! its receivers, and merged with what follows for those who are slow.

use std::sync::Arc;

use bytes::Bytes;
use gateway::RunEvent;
use model::{EventKind, Mark, Partial};
use protocol::args::push_string;
use protocol::frame::to_json;
use protocol::ids::{ConversationId, Pid, RunId};
use protocol::signal::Signal;
use protocol::signal::run::Stream;
use protocol::sys::Streams;

use crate::codec::{Codec, Frames};

/// What an event costs in memory besides its text.
const OVERHEAD_BYTES: usize = 256;
/// Room for the frame of a delta.
const ROOM_BYTES: usize = 320;

/// One event, or several in one.
#[derive(Debug)]
pub(crate) struct StreamSignal {
    /// Its place in the user's sequence; of several the last.
    seq: u64,
    pid: Pid,
    run_id: RunId,
    conversation_id: ConversationId,
    run_seq: u64,
    timestamp: i64,
    kind: EventKind,
    /// Bytes of what is no delta.
    rest_bytes: usize,
    /// For `partial`: the answer, and how far it had come; without a mark it is shown as it is when it is sent.
    answer: Option<(Partial, Option<Mark>)>,
    /// The frame with `partial` and without, once somebody needed it.
    full: Frames,
    compact: Frames,
}

impl StreamSignal {
    pub(crate) fn new(seq: u64, run_event: RunEvent) -> StreamSignal {
        let partial = run_event.event.partial;
        let mark = partial.mark();
        StreamSignal {
            seq,
            pid: run_event.pid,
            run_id: run_event.run_id,
            conversation_id: run_event.conversation_id,
            run_seq: run_event.seq,
            timestamp: run_event.timestamp,
            rest_bytes: rest_bytes(&run_event.event.kind),
            kind: run_event.event.kind,
            answer: Some((partial, Some(mark))),
            full: Frames::default(),
            compact: Frames::default(),
        }
    }

    pub(crate) fn run_id(&self) -> &RunId {
        &self.run_id
    }

    /// True for the first event of an answer.
    pub(crate) fn is_first(&self) -> bool {
        matches!(self.kind, EventKind::Start)
    }

    /// True for the last event of an answer.
    pub(crate) fn is_last(&self) -> bool {
        matches!(self.kind, EventKind::Done { .. } | EventKind::Error { .. })
    }

    /// The answer it belongs to.
    pub(crate) fn partial(&self) -> Option<&Partial> {
        self.answer.as_ref().map(|(partial, _)| partial)
    }

    /// What is new, if it is a delta.
    pub(crate) fn delta(&self) -> Option<&str> {
        match &self.kind {
            EventKind::TextDelta { delta, .. }
            | EventKind::ThinkingDelta { delta, .. }
            | EventKind::ToolcallDelta { delta, .. } => Some(delta),
            _ => None,
        }
    }

    /// Whether both are deltas of the same block.
    pub(crate) fn is_continued_by(&self, next: &StreamSignal) -> bool {
        use EventKind::{TextDelta, ThinkingDelta, ToolcallDelta};
        let same_block = match (&self.kind, &next.kind) {
            (TextDelta { content_index, .. }, TextDelta { content_index: next, .. })
            | (ThinkingDelta { content_index, .. }, ThinkingDelta { content_index: next, .. })
            | (ToolcallDelta { content_index, .. }, ToolcallDelta { content_index: next, .. }) => {
                content_index == next
            }
            _ => false,
        };
        same_block && self.run_id == next.run_id
    }

    /// Takes in an event that continues it.
    pub(crate) fn absorb(this: &mut Arc<StreamSignal>, next: &StreamSignal) {
        // Others may be sending it as it is.
        if Arc::get_mut(this).is_none() {
            *this = Arc::new(this.fork());
        }
        let Some(own) = Arc::get_mut(this) else { return };
        if own.kind.merge(next.kind.clone()).is_err() {
            debug_assert!(false, "an event was merged with one that does not continue it");
            return;
        }
        (own.seq, own.run_seq, own.timestamp) = (next.seq, next.run_seq, next.timestamp);
        own.answer.clone_from(&next.answer);
        (own.full, own.compact) = (Frames::default(), Frames::default());
    }

    /// A copy without its text.
    pub(crate) fn fork(&self) -> StreamSignal {
        StreamSignal {
            seq: self.seq,
            pid: self.pid.clone(),
            run_id: self.run_id.clone(),
            conversation_id: self.conversation_id.clone(),
            run_seq: self.run_seq,
            timestamp: self.timestamp,
            kind: self.kind.clone(),
            rest_bytes: self.rest_bytes,
            answer: self.answer.clone(),
            full: Frames::default(),
            compact: Frames::default(),
        }
    }

    /// A copy to keep: without a hold on the answer, which would keep all of it in memory.
    pub(crate) fn to_keep(&self) -> StreamSignal {
        StreamSignal { answer: None, ..self.fork() }
    }

    /// Takes in an event that continues it, as [`StreamSignal::absorb`] does, without a hold on the answer.
    pub(crate) fn keep_more(this: &mut Arc<StreamSignal>, next: &StreamSignal) {
        StreamSignal::absorb(this, next);
        if let Some(own) = Arc::get_mut(this) {
            own.answer = None;
        }
    }

    /// A copy to send again: of a delta only what came after its first `skip` bytes, with the answer as it will be
    /// when it is sent, if that still goes on.
    pub(crate) fn to_replay(&self, skip: usize, answer: Option<Partial>) -> StreamSignal {
        let mut copy = StreamSignal { answer: answer.map(|partial| (partial, None)), ..self.fork() };
        if let EventKind::TextDelta { delta, .. }
        | EventKind::ThinkingDelta { delta, .. }
        | EventKind::ToolcallDelta { delta, .. } = &mut copy.kind
        {
            delta.drain(..skip);
        }
        copy
    }

    /// What it costs in memory.
    pub(crate) fn size(&self) -> usize {
        OVERHEAD_BYTES + self.delta().map_or(self.rest_bytes, str::len)
    }

    /// The whole frame.
    pub(crate) fn text(&self, codec: &dyn Codec, streams: Streams) -> Bytes {
        let frames = match streams {
            Streams::Full => &self.full,
            Streams::Compact => &self.compact,
        };
        frames.of(codec, || self.write(codec, streams))
    }

    fn write(&self, codec: &dyn Codec, streams: Streams) -> String {
        let mut out = codec.signal_head(Stream::SPEC.name, ROOM_BYTES + self.size());
        for (name, value) in [
            (r#"{"pid":"#, &self.pid.0),
            (r#","runId":"#, &self.run_id.0),
            (r#","conversationId":"#, &self.conversation_id.0),
        ] {
            out.push_str(name);
            push_string(&mut out, value);
        }
        out.push_str(r#","seq":"#);
        out.push_str(&self.run_seq.to_string());
        out.push_str(r#","event":"#);
        out.push_str(&to_json(&self.kind));
        if let (Streams::Full, Some((partial, mark)), false) = (streams, &self.answer, self.is_last()) {
            out.pop();
            out.push_str(r#","partial":"#);
            partial.write(mark.as_ref(), &mut out);
            out.push('}');
        }
        out.push_str(r#","timestamp":"#);
        out.push_str(&self.timestamp.to_string());
        out.push('}');
        codec.signal_tail(&mut out, Some(self.seq));
        out
    }
}

fn rest_bytes(kind: &EventKind) -> usize {
    match kind {
        EventKind::TextEnd { content, .. } | EventKind::ThinkingEnd { content, .. } => content.len(),
        EventKind::ToolcallEnd { tool_call, .. } => to_json(tool_call).len(),
        EventKind::Done { message, .. } | EventKind::Error { error: message, .. } => {
            to_json(message.as_ref()).len()
        }
        _ => 0,
    }
}
