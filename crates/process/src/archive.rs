//! Archive files: messages as gzip JSONL under `/var/sessions/<username>/<pid>/`, read back without loss.
//!
//! An archive is whole and durable before anything that it holds is removed from the store.

mod gzip;
pub(crate) mod line;
mod pending;
#[cfg(test)]
mod tests;

use base::limits;
use protocol::ids::ConversationId;
use protocol::proc::ArchiveEntry;
use sha2::{Digest, Sha256};
use store::conversations::ConversationRow;
use store::messages::{MessageRow, Page};
use store::processes::ProcessRow;
use vfs::{Code, FileKind, Follow, VPath};

use crate::directories::{DirectoryKind, ProcessDirectory};
use crate::world::World;
use gzip::ArchiveWriter;

pub(crate) use gzip::{ArchivePage, ArchiveSlice};
pub(crate) use pending::{PendingArchive, sweep};

/// What was archived of a whole process.
#[derive(Clone, Debug, Default)]
pub(crate) struct ArchivedProcess {
    pub(crate) messages: u64,
    /// The directory, with a slash at its end; `None` when there was nothing.
    pub(crate) directory: Option<String>,
    /// One per conversation that was not empty, by id.
    pub(crate) entries: Vec<ArchiveEntry>,
}

/// Messages of one conversation, by their ids, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) from_id: i64,
    pub(crate) to_id: i64,
}

/// All there are.
const EVERYTHING: Span = Span { from_id: i64::MIN, to_id: i64::MAX };

/// Archives every conversation of a process that is not empty.
pub(crate) async fn archive_all(world: &World, process: &ProcessRow) -> Result<ArchivedProcess, String> {
    let conversations = world.store.conversations().of(&process.pid).await.map_err(unreadable)?;
    let mut conversations: Vec<ConversationRow> =
        conversations.into_iter().filter(|conversation| conversation.message_count > 0).collect();
    if conversations.is_empty() {
        return Ok(ArchivedProcess::default());
    }
    conversations.sort_by(|a, b| a.id.cmp(&b.id));
    let place = ready(world, process).await?;
    let directory = place.make(&[&world.random.uuid()]).await?;
    match archive_each(world, process, &place, &directory, &conversations).await {
        // What goes with the messages goes with them into the archive.
        Ok(kept) => move_media(world, process, &directory).await.map(|()| kept),
        Err(why) => {
            if let Err(fault) = place.view.remove(&directory, true).await {
                tracing::warn!(%fault, "an unfinished archive could not be removed");
            }
            Err(why)
        }
    }
}

async fn archive_each(
    world: &World,
    process: &ProcessRow,
    place: &ProcessDirectory,
    directory: &VPath,
    conversations: &[ConversationRow],
) -> Result<ArchivedProcess, String> {
    let mut kept =
        ArchivedProcess { directory: Some(format!("{}/", directory.as_str())), ..ArchivedProcess::default() };
    for ConversationRow { id, generation, .. } in conversations {
        let path = directory.join(&format!("{}.gen-{generation}.jsonl.gz", file_name(id)));
        let messages = write(world, process, place, &path, id, EVERYTHING).await?;
        kept.messages += messages;
        kept.entries.push(ArchiveEntry {
            conversation_id: id.clone(),
            generation: *generation,
            messages,
            path: path.as_str().to_string(),
        });
    }
    Ok(kept)
}

/// The directory of an archive that has what came with the archived messages.
const MEDIA: &str = "media";

/// Moves all media of a process into an archive.
async fn move_media(world: &World, process: &ProcessRow, directory: &VPath) -> Result<(), String> {
    let media = ProcessDirectory::of(world, process, DirectoryKind::Media).await?;
    match media.view.rename(&media.directory, &directory.join(MEDIA)).await {
        Err(fault) if fault.code != Code::NotFound => {
            Err(format!("the media could not be archived: {fault}"))
        }
        _ => Ok(()),
    }
}

/// Where a medium is that went into an archive, by the name of its file.
pub(crate) async fn medium(world: &World, process: &ProcessRow, name: &str) -> Option<VPath> {
    let place = ProcessDirectory::of(world, process, DirectoryKind::Sessions).await.ok()?;
    for archive in place.view.list(&place.directory).await.ok()? {
        let path = place.directory.join(&archive.name).join(MEDIA).join(name);
        if place.view.stat(&path, Follow::No).await.is_ok_and(|stat| stat.kind == FileKind::File) {
            return Some(path);
        }
    }
    None
}

/// Archives one conversation; `None` when it has no messages.
pub(crate) async fn archive_conversation(
    world: &World,
    process: &ProcessRow,
    conversation: &ConversationRow,
) -> Result<Option<PendingArchive>, String> {
    if conversation.message_count == 0 {
        return Ok(None);
    }
    PendingArchive::keep(world, process, &conversation.id, world.random.uuid(), EVERYTHING).await.map(Some)
}

/// Reads an archive that is to be restored.
pub(crate) async fn read(world: &World, process: &ProcessRow, path: &str) -> Result<Vec<MessageRow>, String> {
    let everything =
        ArchiveSlice { offset: 0, limit: u64::MAX, bytes_max: limits::process::RESTORE_MAX_BYTES };
    let page = read_page(world, process, path, everything).await?;
    if (page.messages.len() as u64) < page.count {
        return Err("the archive is too large to be restored".to_string());
    }
    Ok(page.messages)
}

/// Reads some of an archive, and counts all of it.
pub(crate) async fn read_page(
    world: &World,
    process: &ProcessRow,
    path: &str,
    cut: ArchiveSlice,
) -> Result<ArchivePage, String> {
    let place = ProcessDirectory::of(world, process, DirectoryKind::Sessions).await?;
    gzip::read(&place.view, path, cut).await
}

async fn ready(world: &World, process: &ProcessRow) -> Result<ProcessDirectory, String> {
    let place = ProcessDirectory::of(world, process, DirectoryKind::Sessions).await?;
    place.ready(world, process).await?;
    Ok(place)
}

/// Writes one archive, a page of messages at a time.
async fn write(
    world: &World,
    process: &ProcessRow,
    place: &ProcessDirectory,
    path: &VPath,
    conversation: &ConversationId,
    span: Span,
) -> Result<u64, String> {
    let mut writer = ArchiveWriter::open(place, path).await?;
    let mut page = if span.from_id == i64::MIN { Page::Offset(0) } else { Page::After(span.from_id - 1) };
    loop {
        let rows = world
            .store
            .messages()
            .page(&process.pid, conversation, page, limits::process::ARCHIVE_PAGE)
            .await;
        let mut rows = match rows {
            Ok(rows) => rows,
            Err(error) => {
                writer.give_up();
                return Err(unreadable(error));
            }
        };
        let full = rows.len() as u64 == limits::process::ARCHIVE_PAGE;
        rows.retain(|row| row.id <= span.to_id);
        let Some(last) = rows.last() else { break };
        page = Page::After(last.id);
        let more = full && last.id < span.to_id;
        writer = writer.write(rows).await?;
        if !more {
            break;
        }
    }
    writer.finish().await
}

fn unreadable(error: store::Error) -> String {
    format!("the messages could not be read: {error}")
}

/// A conversation's id as a file's name: encoded as in an address, and never one that means something else.
fn file_name(id: &ConversationId) -> String {
    const LENGTH_MAX: usize = 180;
    let mut name = String::with_capacity(id.as_str().len());
    for (index, byte) in id.as_str().bytes().enumerate() {
        let plain = byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte);
        // A dot at the front would make `..`, or a name that the file tree keeps for itself.
        if plain && !(index == 0 && byte == b'.') {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("%{byte:02X}"));
        }
    }
    if name.len() <= LENGTH_MAX && !name.is_empty() {
        return name;
    }
    let digest: String = Sha256::digest(id.as_str()).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256-{digest}")
}
