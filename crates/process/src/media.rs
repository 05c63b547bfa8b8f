//! Media store: what goes with messages, as plain files under `/var/media/<uid>/<pid>/` of the file tree.

mod input;
mod kinds;
#[cfg(test)]
mod tests;

use base::limits;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use protocol::media::{MediaInput, MediaType, StoredMedia};
use protocol::proc::history::{Media, MediaRead};
use store::processes::ProcessRow;
use vfs::view::Writing;
use vfs::{Code, FileKind, Follow, VPath};

use crate::directories::{DirectoryKind, ProcessDirectory};
use crate::world::World;
use crate::{archive, speech};
use input::Checked;

/// Keeps the bytes of what came with a message, and transcribes sound where a transcriber is configured.
/// The error names what is wrong with the input. Either all of them are kept or none.
pub(crate) async fn keep(
    world: &World,
    process: &ProcessRow,
    media: Vec<MediaInput>,
) -> Result<Vec<StoredMedia>, String> {
    let checked = input::check_all(media)?;
    let mut place = None;
    let mut kept = Vec::with_capacity(checked.len());
    for medium in checked {
        match keep_one(world, process, &mut place, medium).await {
            Ok(medium) => kept.push(medium),
            Err(why) => {
                if let Some(place) = &place {
                    remove_all(place, &kept).await;
                }
                return Err(why);
            }
        }
    }
    Ok(kept)
}

async fn keep_one(
    world: &World,
    process: &ProcessRow,
    place: &mut Option<ProcessDirectory>,
    medium: Checked,
) -> Result<StoredMedia, String> {
    let Checked { mut stored, bytes, extension } = medium;
    let Some(bytes) = bytes else { return Ok(stored) };
    if place.is_none() {
        let new = ProcessDirectory::of(world, process, DirectoryKind::Media).await?;
        new.ready(world, process).await?;
        *place = Some(new);
    }
    let Some(place) = place else { return Err("there is no place for media".to_string()) };
    let path = place.directory.join(&format!("{}{extension}", world.random.uuid()));
    stored.key = Some(path.as_str().trim_start_matches('/').to_string());
    stored.size = Some(bytes.len() as u64);
    if stored.media_type == MediaType::Audio && stored.transcription.is_none() {
        let (mime, name) = (stored.mime_type.as_str(), stored.filename.as_deref());
        stored.transcription = speech::transcribe_quietly(world, process.uid, &bytes, mime, name).await;
    }
    let how = Writing { mode: 0o600, parents: false, exclusive: true };
    let written = place.view.write(&path, bytes, how).await;
    written.map_err(|fault| format!("a medium could not be kept: {fault}"))?;
    Ok(stored)
}

async fn remove_all(place: &ProcessDirectory, media: &[StoredMedia]) {
    for key in media.iter().filter_map(|medium| medium.key.as_deref()) {
        let Ok(path) = VPath::absolute(&format!("/{key}")) else { continue };
        if let Err(fault) = place.view.remove(&path, false).await {
            tracing::warn!(%fault, "a medium of a refused message could not be removed");
        }
    }
}

/// The bytes of a kept medium, in base 64; `None` when they are gone.
pub(crate) async fn load(world: &World, process: &ProcessRow, medium: &StoredMedia) -> Option<String> {
    let key = medium.key.as_deref()?;
    let place = ProcessDirectory::of(world, process, DirectoryKind::Media).await.ok()?;
    let path = path_of(&place, key)?;
    if let Some(picture) = world.pictures.find(key) {
        return Some(picture.to_string());
    }
    let bytes = match bytes(world, process, &place, path).await {
        Ok(bytes) => bytes,
        Err(why) => {
            tracing::debug!(pid = %process.pid, key, why, "a medium is left out");
            return None;
        }
    };
    let data = STANDARD.encode(bytes);
    world.pictures.keep(key, &data);
    Some(data)
}

/// The bytes of a medium, also of one that went into an archive.
async fn bytes(
    world: &World,
    process: &ProcessRow,
    place: &ProcessDirectory,
    path: VPath,
) -> Result<Vec<u8>, String> {
    const GONE: &str = "media not found";
    let (path, stat) = match place.view.stat(&path, Follow::Yes).await {
        Ok(stat) => (path, stat),
        Err(fault) if fault.code == Code::NotFound => {
            let path = archive::medium(world, process, path.name()).await.ok_or(GONE)?;
            let stat = place.view.stat(&path, Follow::Yes).await.map_err(|fault| fault.to_string())?;
            (path, stat)
        }
        Err(fault) => return Err(fault.to_string()),
    };
    if stat.kind != FileKind::File {
        return Err(GONE.to_string());
    }
    if stat.size > limits::process::MEDIA_MAX_BYTES as u64 {
        return Err("media is too large to read inline".to_string());
    }
    place.view.read(&path).await.map_err(|fault| match fault.code {
        Code::NotFound => GONE.to_string(),
        _ => fault.to_string(),
    })
}

/// Removes all media of a process that are not in an archive.
pub(crate) async fn clear(world: &World, process: &ProcessRow) {
    let cleared = async {
        let place = ProcessDirectory::of(world, process, DirectoryKind::Media).await?;
        world.pictures.forget(place.directory.as_str().trim_start_matches('/'));
        match place.view.remove(&place.directory, true).await {
            Err(fault) if fault.code != Code::NotFound => Err(fault.to_string()),
            _ => Ok(()),
        }
    };
    if let Err(why) = cleared.await {
        tracing::warn!(pid = %process.pid, why, "the media of a process could not be removed");
    }
}

/// Where the bytes of a key are, if it is one of this process's.
fn path_of(place: &ProcessDirectory, key: &str) -> Option<VPath> {
    let name = key.strip_prefix(place.directory.as_str().trim_start_matches('/'))?.strip_prefix('/')?;
    let odd = name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']);
    (!odd).then(|| place.directory.join(name))
}

/// The bytes of a medium as `proc.media.read` answers them.
pub(crate) async fn read(world: &World, process: &ProcessRow, args: &MediaRead) -> Result<Media, String> {
    let key = args.key.trim();
    if key.is_empty() {
        return Err("proc.media.read requires key".to_string());
    }
    let place = ProcessDirectory::of(world, process, DirectoryKind::Media).await?;
    let path = path_of(&place, key).ok_or("media key is outside this process")?;
    let stored = kinds::mime_of(path.name());
    let bytes = bytes(world, process, &place, path).await?;
    let asked = args.mime_type.as_deref().map(str::trim).filter(|mime| !mime.is_empty());
    let mime_type = asked.unwrap_or(stored).to_string();
    let data_url = format!("data:{mime_type};base64,{}", STANDARD.encode(&bytes));
    Ok(Media { key: key.to_string(), mime_type, size: bytes.len() as u64, data_url })
}
