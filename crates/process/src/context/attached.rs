//! Conversion of a message's media for the model: pictures as pictures, everything else in words.

use model::Block;
use protocol::media::{MediaType, StoredMedia};
use store::processes::ProcessRow;

use crate::media;
use crate::world::World;

/// The blocks of a message's media, as its row keeps them.
pub(super) async fn blocks(world: &World, process: &ProcessRow, pictures: bool, kept: &str) -> Vec<Block> {
    let Ok(list) = serde_json::from_str::<Vec<StoredMedia>>(kept) else {
        tracing::warn!(pid = %process.pid, "the media of a message are unreadable and left out");
        return Vec::new();
    };
    let mut blocks = Vec::with_capacity(list.len());
    for medium in list {
        let is_sent = pictures && medium.media_type == MediaType::Image && medium.key.is_some();
        let picture = if is_sent { media::load(world, process, &medium).await } else { None };
        blocks.push(match picture {
            Some(data) => Block::image(&medium.mime_type, data),
            None if is_hidden(pictures, &medium) => Block::text(
                described(&medium)
                    + "\nIt could not be shown to you: this model is not known to take pictures.",
            ),
            None => Block::text(described(&medium)),
        });
    }
    blocks
}

/// How many of a message's media are pictures that the model is not shown.
pub(super) fn hidden_pictures(pictures: bool, kept: &str) -> u64 {
    let list = serde_json::from_str::<Vec<StoredMedia>>(kept).unwrap_or_default();
    list.iter().filter(|medium| is_hidden(pictures, medium)).count() as u64
}

fn is_hidden(pictures: bool, medium: &StoredMedia) -> bool {
    !pictures && medium.media_type == MediaType::Image
}

/// `Attached <type> "<filename>" [<mime>] <size> <duration>s`, and what is said in it or where it is.
fn described(medium: &StoredMedia) -> String {
    let kind = match medium.media_type {
        MediaType::Image => "image",
        MediaType::Audio => "audio",
        MediaType::Video => "video",
        MediaType::Document => "document",
    };
    let mut text = format!("Attached {kind}");
    if let Some(name) = &medium.filename {
        text += &format!(" \"{name}\"");
    }
    text += &format!(" [{}]", medium.mime_type);
    if let Some(size) = medium.size {
        text += &format!(" {}", size_text(size));
    }
    if let Some(seconds) = medium.duration {
        text += &format!(" {seconds}s");
    }
    if let Some(transcript) = &medium.transcription {
        text += &format!("\nTranscript: {transcript}");
    } else if medium.key.is_none() && medium.url.is_some() {
        text += "\nSource: remote URL";
    }
    text
}

fn size_text(bytes: u64) -> String {
    const KB: f64 = 1024.0;
    match bytes as f64 {
        size if size < KB => format!("{bytes} B"),
        size if size < KB * KB => format!("{:.1} KB", size / KB),
        size => format!("{:.1} MB", size / KB / KB),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn medium(media_type: MediaType) -> StoredMedia {
        StoredMedia {
            media_type,
            mime_type: "audio/ogg".to_string(),
            key: Some("var/media/1/p/x.ogg".to_string()),
            url: None,
            filename: Some("note.ogg".to_string()),
            size: Some(1536),
            duration: Some(2.5),
            transcription: Some("hello".to_string()),
        }
    }

    #[test]
    fn what_is_no_picture_is_described() {
        assert_eq!(
            described(&medium(MediaType::Audio)),
            "Attached audio \"note.ogg\" [audio/ogg] 1.5 KB 2.5s\nTranscript: hello"
        );
        let away = StoredMedia {
            key: None,
            url: Some("https://x/y".to_string()),
            filename: None,
            size: None,
            duration: None,
            transcription: None,
            ..medium(MediaType::Document)
        };
        assert_eq!(described(&away), "Attached document [audio/ogg]\nSource: remote URL");
        assert_eq!([size_text(0), size_text(1024 * 1024)], ["0 B", "1.0 MB"]);
    }
}
