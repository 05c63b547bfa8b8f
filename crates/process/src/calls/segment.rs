//! Archived segments of conversations: listing them, and paging through one.

use base::limits;
use protocol::error::Error;
use protocol::ids::Pid;
use protocol::outcome::Outcome;
use protocol::proc::segment::{SegmentList, SegmentMessages, SegmentRead, Segments};

use super::history::{Form, message};
use crate::archive::{self, ArchiveSlice};
use crate::conversation;
use crate::host::Host;

/// Messages of a page when nobody says how many.
const PAGE: u64 = 200;

impl Host {
    /// Lists a conversation's segments, oldest first.
    pub async fn segments(&self, pid: &Pid, args: &Segments) -> Result<Outcome<SegmentList>, Error> {
        self.known(pid).await?;
        let id = conversation::named("proc.conversation.segments", args.conversation_id.as_ref())?;
        let segments = self.world.store.segments().of(pid, &id).await?;
        Ok(Outcome::Done(SegmentList { pid: pid.clone(), conversation_id: id, segments }))
    }

    /// Reads messages of a segment from its archive.
    pub async fn segment_read(
        &self,
        pid: &Pid,
        args: &SegmentRead,
    ) -> Result<Outcome<SegmentMessages>, Error> {
        const CALL: &str = "proc.conversation.segment.read";
        let process = self.known(pid).await?;
        let id = conversation::named(CALL, args.conversation_id.as_ref())?;
        let wanted = args.segment_id.trim();
        if wanted.is_empty() {
            return Ok(Outcome::Failed(format!("{CALL} requires segmentId")));
        }
        if args.limit == Some(0) {
            return Ok(Outcome::Failed(format!("{CALL} limit must be a positive integer")));
        }
        let segment = self.world.store.segments().by_id(pid, &id, wanted).await?;
        let Some(segment) = segment else {
            return Ok(Outcome::Failed(format!("Conversation segment not found: {wanted}")));
        };
        let limit = args.limit.unwrap_or(PAGE).min(limits::process::SEGMENT_READ_MAX);
        let offset = args.offset.unwrap_or(0);
        let cut = ArchiveSlice { offset, limit, bytes_max: limits::process::HISTORY_MAX_BYTES };
        let read = archive::read_page(&self.world, &process, &segment.archive_path, cut).await;
        let page = match read {
            Ok(page) => page,
            Err(why) => return Ok(Outcome::Failed(format!("Failed to read segment archive: {why}"))),
        };
        let count = page.messages.len() as u64;
        let messages = page.messages.into_iter().map(|row| message(row, Form::Full)).collect();
        Ok(Outcome::Done(SegmentMessages {
            pid: pid.clone(),
            conversation_id: id,
            segment,
            messages,
            message_count: page.count,
            truncated: (offset.saturating_add(count) < page.count).then_some(true),
        }))
    }
}
