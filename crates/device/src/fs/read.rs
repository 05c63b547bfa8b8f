//! `fs.read`: numbered lines, images, listings.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _, Seek};

use base::limits;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use protocol::fs::{Block, Content, FileContent, Listing, Read, ReadResult};

use crate::files::{Entry, Failure, Files, Place};
use crate::fs::size_text;

/// Images that readers of content blocks understand.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

pub(super) fn read(files: &Files, args: &Read) -> Result<ReadResult, Failure> {
    let place = files.place(&args.path)?;
    let failed = |error: io::Error| Failure::of("read", &place, &error);
    let entry = files.entry(&place).map_err(failed)?;
    if entry.metadata_itself().map_err(failed)?.is_dir() {
        return list(&entry, &place);
    }
    let mut file = entry.open().map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let whole = args.offset.is_none() && args.limit.is_none();
    if whole && size > limits::READ_TEXT_BYTES_MAX {
        let head = head(&mut file).map_err(failed)?;
        return Err(if is_text(&head) { too_large(size) } else { not_text(&head, size) }.into());
    }
    match numbered(&file, args.offset.unwrap_or(0), args.limit.unwrap_or(u64::MAX)).map_err(failed)? {
        Lines::Text { text, lines } => Ok(ReadResult::File(FileContent {
            content: Content::Text(text),
            path: place.text(),
            lines: Some(lines),
            size,
        })),
        Lines::TooLarge => Err(too_large(size).into()),
        Lines::NotText => image(&mut file, &place, size).map_err(failed)?.map_err(Failure::from),
    }
}

fn list(entry: &Entry, place: &Place) -> Result<ReadResult, Failure> {
    let failed = |error: io::Error| Failure::of("read", place, &error);
    let (mut files, mut directories) = (Vec::new(), Vec::new());
    for child in entry.list().map_err(failed)? {
        let child = child.map_err(failed)?;
        // A link counts as a file, wherever it leads.
        let is_dir = child.file_type().is_ok_and(|kind| kind.is_dir());
        let name = child.file_name().to_string_lossy().into_owned();
        if is_dir {
            directories.push(name)
        } else {
            files.push(name)
        }
        if files.len() + directories.len() > limits::READ_ENTRIES_MAX {
            let max = limits::READ_ENTRIES_MAX;
            return Err(format!("Directory '{}' has more than {max} entries", place.text()).into());
        }
    }
    files.sort();
    directories.sort();
    Ok(ReadResult::Directory(Listing { path: place.text(), files, directories }))
}

enum Lines {
    Text { text: String, lines: u64 },
    TooLarge,
    NotText,
}

/// Lines are read one by one, so that a window of a huge file costs no more than the window.
fn numbered(file: &File, offset: u64, limit: u64) -> io::Result<Lines> {
    let max = limits::READ_TEXT_BYTES_MAX;
    let mut reader = BufReader::with_capacity(64 * 1024, file);
    for _ in 0..offset {
        if reader.skip_until(b'\n')? == 0 {
            return Ok(Lines::Text { text: String::new(), lines: 0 });
        }
    }
    let (mut text, mut lines, mut line) = (String::new(), 0, Vec::new());
    while lines < limit {
        line.clear();
        let got = reader.by_ref().take(max + 1).read_until(b'\n', &mut line)?;
        if got == 0 {
            break;
        }
        let Ok(content) = std::str::from_utf8(&line) else {
            let cut = line.len() as u64 > max && is_text(&line);
            return Ok(if cut { Lines::TooLarge } else { Lines::NotText });
        };
        if (text.len() + content.len()) as u64 > max {
            return Ok(Lines::TooLarge);
        }
        if lines > 0 {
            text.push('\n');
        }
        let content =
            content.strip_suffix('\n').map_or(content, |line| line.strip_suffix('\r').unwrap_or(line));
        text.push_str(&format!("{:6}\t", offset + lines + 1));
        text.push_str(content);
        lines += 1;
    }
    Ok(Lines::Text { text, lines })
}

fn image(file: &mut File, place: &Place, size: u64) -> io::Result<Result<ReadResult, String>> {
    let head = head(file)?;
    let Some(mime) = image_mime(&head).filter(|_| size <= limits::READ_IMAGE_BYTES_MAX) else {
        return Ok(Err(not_text(&head, size)));
    };
    file.rewind()?;
    let mut bytes = Vec::new();
    file.take(limits::READ_IMAGE_BYTES_MAX).read_to_end(&mut bytes)?;
    let text = format!("Read image {} [{mime}, {}]", place.text(), size_text(size));
    let blocks =
        vec![Block::Text { text }, Block::Image { data: STANDARD.encode(&bytes), mime_type: mime.into() }];
    Ok(Ok(ReadResult::File(FileContent {
        content: Content::Blocks(blocks),
        path: place.text(),
        lines: None,
        size,
    })))
}

fn not_text(head: &[u8], size: u64) -> String {
    let size_shown = size_text(size);
    if image_mime(head).is_some() {
        let max = size_text(limits::READ_IMAGE_BYTES_MAX);
        return format!("Image file too large ({size_shown}, max {max})");
    }
    let mime = infer::get(head).map_or("unknown type", |kind| kind.mime_type());
    format!("Binary file ({mime}, {size_shown}) - not a text file")
}

fn too_large(size: u64) -> String {
    let size = size_text(size);
    format!("File too large ({size}): read it in parts with offset and limit, or copy it with gsv cp")
}

fn image_mime(head: &[u8]) -> Option<&'static str> {
    infer::get(head).map(|kind| kind.mime_type()).filter(|mime| IMAGES.contains(mime))
}

fn head(file: &mut File) -> io::Result<Vec<u8>> {
    file.rewind()?;
    let mut head = Vec::with_capacity(limits::READ_HEAD_BYTES);
    file.take(limits::READ_HEAD_BYTES as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// Whether a beginning of a file is text: valid, but for a character that was cut at its end.
fn is_text(head: &[u8]) -> bool {
    match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    }
}
