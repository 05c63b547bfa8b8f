//! Rendering of a file for `fs.read`: numbered text, or blocks for a picture, or words about why neither.

use std::io::{self, BufRead, Read};

use base::limits;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use protocol::fs::{Block, Content, FileContent, JsonText};

use crate::Side;
use crate::lines::{Lines, Window, numbered};
use crate::side::size_text;
use crate::sniff::{ContentKind, sniff};

/// Files are read in blocks of this size: large enough to be fast, small enough to stay in the processor's cache.
pub const BLOCK_BYTES: usize = 64 * 1024;

/// Longest text in an answer, as JSON: escapes can make a text six times as large, and the rest needs room too.
const ANSWER_BYTES_MAX: usize = limits::frame::OUT_MAX_BYTES - 64 * 1024;

/// Reads a file from its beginning. The outer error is the disk's; the inner one says why the file is not shown.
pub fn content(
    side: Side,
    mut reader: impl BufRead,
    path: &str,
    size: u64,
    window: Window,
) -> io::Result<Result<FileContent, String>> {
    match sniff(side, reader.fill_buf()?) {
        ContentKind::Image(mime) => image(side, reader, path, mime, size),
        ContentKind::Binary(mime) => Ok(Err(side.binary(mime, size))),
        ContentKind::Text if window.is_whole() && size > limits::device_files::READ_TEXT_MAX_BYTES => {
            Ok(Err(too_large(size)))
        }
        ContentKind::Text => {
            Ok(match numbered(side, reader, window, size, limits::device_files::READ_TEXT_MAX_BYTES)? {
                Lines::Json(json, lines) if json.len() <= ANSWER_BYTES_MAX => {
                    let content = Content::Json(JsonText::new(json));
                    Ok(FileContent { content, path: path.to_string(), lines: Some(lines), size })
                }
                Lines::Json(..) | Lines::TooLarge => Err(too_large(size)),
                Lines::NotText => Err(side.binary(None, size)),
            })
        }
    }
}

fn image(
    side: Side,
    reader: impl Read,
    path: &str,
    mime: &str,
    size: u64,
) -> io::Result<Result<FileContent, String>> {
    let max = side.image_bytes_max();
    if size > max {
        return Ok(Err(side.image_too_large(size)));
    }
    let mut bytes = Vec::with_capacity(size as usize);
    reader.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Ok(Err(side.image_too_large(bytes.len() as u64)));
    }
    let text = format!("Read image {path} [{mime}, {}]", size_text(size));
    let blocks =
        vec![Block::Text { text }, Block::Image { data: STANDARD.encode(&bytes), mime_type: mime.into() }];
    Ok(Ok(FileContent { content: Content::Blocks(blocks), path: path.to_string(), lines: None, size }))
}

fn too_large(size: u64) -> String {
    let size = size_text(size);
    format!("File too large ({size}): read it in parts with offset and limit, or copy it with gsv cp")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(side: Side, bytes: &[u8], size: u64) -> Result<FileContent, String> {
        content(side, bytes, "/x", size, Window::default()).unwrap()
    }

    #[test]
    fn each_side_has_its_words() {
        assert_eq!(
            read(Side::Native, b"\xff", 1).unwrap_err(),
            "Binary file (application/octet-stream, 1 bytes) — not readable as text"
        );
        assert_eq!(
            read(Side::Device, b"\xff", 1536).unwrap_err(),
            "Binary file (unknown type, 1.5 KB) - not a text file"
        );
        let png = b"\x89PNG\r\n\x1a\n";
        let huge = limits::files::IMAGE_MAX_BYTES + 1;
        assert_eq!(read(Side::Native, png, huge).unwrap_err(), "Image too large (25.0 MB, max 25.0 MB)");
        assert_eq!(read(Side::Device, png, huge).unwrap_err(), "Image file too large (25.0 MB, max 10.0 MB)");
        let Content::Blocks(blocks) = read(Side::Native, png, 8).unwrap().content else { panic!() };
        assert_eq!(blocks[0], Block::Text { text: "Read image /x [image/png, 8 bytes]".into() });
    }

    #[test]
    fn a_text_that_grows_on_the_wire_is_refused() {
        let controls = vec![1; 12 * 1024 * 1024];
        assert!(read(Side::Native, &controls, 1).unwrap_err().starts_with("File too large"));
        let plain = vec![b'x'; 12 * 1024 * 1024];
        assert_eq!(read(Side::Native, &plain, 1).unwrap().lines, Some(1));
    }
}
