//! Content sniffing: text, picture or neither, told by a file's first bytes and never by its name.

use base::limits;

use crate::Side;

/// Images that readers of content blocks understand. A drawing in SVG is text, and is read as text.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentKind {
    /// Text, as far as the first bytes tell.
    Text,
    /// A picture, with its mime type.
    Image(&'static str),
    /// Anything else, with its mime type where it is known.
    Binary(Option<&'static str>),
}

/// What a file is whose first bytes are these; at most `limits::device_files::READ_HEAD_BYTES` of them are looked at.
pub fn sniff(side: Side, beginning: &[u8]) -> ContentKind {
    let head = &beginning[..beginning.len().min(limits::device_files::READ_HEAD_BYTES)];
    if is_text(side, head) {
        return ContentKind::Text;
    }
    match infer::get(head).map(|kind| kind.mime_type()) {
        Some(mime) if IMAGES.contains(&mime) => ContentKind::Image(mime),
        mime => ContentKind::Binary(mime),
    }
}

/// Valid, but for a character that was cut at the end. A NUL is valid too, but no text has one; drivers have always
/// shown such files.
fn is_text(side: Side, head: &[u8]) -> bool {
    let is_valid = match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    };
    is_valid && (side == Side::Device || memchr::memchr(0, head).is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_decide() {
        let cut = "é".repeat(limits::device_files::READ_HEAD_BYTES);
        for text in ["", "plain", "<svg/>", "GIF89a is a format", &format!("x{cut}")] {
            assert_eq!(sniff(Side::Native, text.as_bytes()), ContentKind::Text, "{text}");
        }
        assert_eq!(
            sniff(Side::Native, b"GIF89a\x01\x00\x01\x00\x00\x00\x00;"),
            ContentKind::Image("image/gif")
        );
        assert_eq!(sniff(Side::Native, b"a\0b"), ContentKind::Binary(None));
        assert_eq!(sniff(Side::Device, b"a\0b"), ContentKind::Text);
        assert_eq!(sniff(Side::Device, b"\x1f\x8b\x08\xff"), ContentKind::Binary(Some("application/gzip")));
    }
}
