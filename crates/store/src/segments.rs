//! Archive index: parts of conversations that were archived.

use protocol::ids::{ConversationId, Pid};
use protocol::proc::segment::{Segment, SegmentKind};

use crate::change::Change;
use crate::sql::{Row, Statement};
use crate::{Result, Store};

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, conversation_id, generation, from_message_id, to_message_id, archive_path, \
             summary_message_id, created_at FROM segments WHERE pid = $1 AND conversation_id = $2 ",
            $rest
        )
    };
}

/// Archived parts of conversations. See [`Store::segments`].
#[derive(Clone, Copy)]
pub struct Segments<'a>(pub(crate) &'a Store);

impl Store {
    /// Archived parts of conversations.
    pub fn segments(&self) -> Segments<'_> {
        Segments(self)
    }
}

impl Segments<'_> {
    /// Those of a conversation, oldest first.
    pub async fn of(self, pid: &Pid, conversation: &ConversationId) -> Result<Vec<Segment>> {
        let statement = Statement::new(select!("ORDER BY created_at, id")).bind(pid).bind(conversation);
        self.0.read(statement).await?.into_iter().map(segment_from).collect()
    }

    /// A segment by its id, within its conversation.
    pub async fn by_id(self, pid: &Pid, conversation: &ConversationId, id: &str) -> Result<Option<Segment>> {
        let statement = Statement::new(select!("AND id = $3")).bind(pid).bind(conversation).bind(id);
        self.0.read(statement).await?.pop().map(segment_from).transpose()
    }
}

impl Change {
    /// Keeps a segment.
    pub fn segment(self, segment: &Segment) -> Change {
        let statement = Statement::new(
            "INSERT INTO segments (id, pid, conversation_id, generation, from_message_id, to_message_id, \
             archive_path, summary_message_id, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        )
        .bind(segment.id.as_str())
        .bind(&self.pid)
        .bind(&segment.conversation_id)
        .bind(segment.generation as i64)
        .bind(segment.from_message_id)
        .bind(segment.to_message_id)
        .bind(segment.archive_path.as_str())
        .bind(segment.summary_message_id)
        .bind(segment.created_at);
        self.step(statement)
    }
}

fn segment_from(mut row: Row) -> Result<Segment> {
    Ok(Segment {
        id: row.text()?,
        conversation_id: ConversationId(row.text()?),
        generation: row.int()?.max(0) as u64,
        kind: SegmentKind::Compaction,
        from_message_id: row.int()?,
        to_message_id: row.int()?,
        archive_path: row.text()?,
        summary_message_id: row.int_or_null()?,
        created_at: row.int()?,
    })
}
