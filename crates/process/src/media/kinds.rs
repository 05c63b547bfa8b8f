//! Table of media types and file name extensions.

/// Endings by type; the first of a type is the one that new files get.
const KINDS: &[(&str, &str)] = &[
    ("image/jpeg", ".jpg"),
    ("image/jpeg", ".jpeg"),
    ("image/png", ".png"),
    ("image/webp", ".webp"),
    ("image/gif", ".gif"),
    ("audio/mpeg", ".mp3"),
    ("audio/ogg", ".ogg"),
    ("audio/wav", ".wav"),
    ("video/mp4", ".mp4"),
    ("application/pdf", ".pdf"),
    ("image/svg+xml", ".svg"),
    ("image/heic", ".heic"),
    ("image/avif", ".avif"),
    ("audio/mp4", ".m4a"),
    ("audio/flac", ".flac"),
    ("audio/webm", ".weba"),
    ("video/webm", ".webm"),
    ("video/quicktime", ".mov"),
    ("text/plain", ".txt"),
    ("text/markdown", ".md"),
    ("text/csv", ".csv"),
    ("text/html", ".html"),
    ("application/json", ".json"),
    ("application/zip", ".zip"),
];

/// The ending of a medium's file: that of its name, else the one of its type, else none.
pub(super) fn extension(filename: Option<&str>, mime_type: &str) -> String {
    const LENGTH_MAX: usize = 16;
    let own = filename.and_then(|name| name.rsplit_once('.')).map(|(_, ending)| ending.to_ascii_lowercase());
    let own = own.filter(|ending| {
        (1..=LENGTH_MAX).contains(&ending.len()) && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    if let Some(own) = own {
        return format!(".{own}");
    }
    let mime = mime_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let known = KINDS.iter().find(|(known, _)| *known == mime);
    known.map_or(String::new(), |(_, ending)| (*ending).to_string())
}

/// The type of a kept medium, by the name of its file.
pub(super) fn mime_of(name: &str) -> &'static str {
    let ending = name.rfind('.').map_or("", |dot| &name[dot..]);
    let known = KINDS.iter().find(|(_, known)| *known == ending);
    known.map_or("application/octet-stream", |(mime, _)| mime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_is_the_names_own_or_follows_from_the_type() {
        for (name, mime, expected) in [
            (Some("Photo.PNG"), "image/jpeg", ".png"),
            (Some("archive.tar.gz"), "", ".gz"),
            (Some("no ending"), "image/jpeg", ".jpg"),
            (Some("../../etc/pass.wd/x"), "audio/mpeg", ".mp3"),
            (Some("x."), "audio/ogg; codecs=opus", ".ogg"),
            (Some("x.ünï"), "application/pdf", ".pdf"),
            (None, "APPLICATION/PDF", ".pdf"),
            (None, "application/x-odd", ""),
        ] {
            assert_eq!(extension(name, mime), expected, "{name:?} {mime}");
        }
    }

    #[test]
    fn a_type_follows_from_the_ending() {
        assert_eq!(mime_of("a.jpg"), "image/jpeg");
        assert_eq!(mime_of("a.jpeg"), "image/jpeg");
        assert_eq!(mime_of("a"), "application/octet-stream");
        assert_eq!(mime_of("a.odd"), "application/octet-stream");
    }
}
