//! Message composition: typed words, standard input, and pictures by their path.

use std::io::Read;
use std::path::{Path, PathBuf};

use base::limits;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use protocol::media::{MediaInput, MediaType};
use terminal::failure::{Failure, Result};

/// Endings of the names of pictures that models take.
const PICTURES: [(&str, &str); 5] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
];

/// A message and what goes with it.
#[derive(Debug, Default)]
pub struct Input {
    /// The text.
    pub message: String,
    /// Pictures.
    pub media: Vec<MediaInput>,
}

/// The message of a command line: the words, standard input below them if it is a pipe or a file, and the pictures
/// that were named.
pub fn gather(words: Option<String>, pictures: &[PathBuf]) -> Result<Input> {
    let below = if has_content() { read_text(std::io::stdin().lock())? } else { String::new() };
    let mut input = compose(words.as_deref().unwrap_or_default())?;
    if !below.trim().is_empty() {
        let gap = if input.message.is_empty() { "" } else { "\n\n" };
        input.message = format!("{}{gap}{}", input.message, below.trim_end_matches('\n'));
    }
    for path in pictures {
        let picture = picture(path).ok_or_else(|| {
            Failure::usage(format!("{}: not a picture that models take", path.display()))
                .with_hint("png, jpeg, gif and webp are")
        })?;
        input.media.push(attach(path, picture)?);
    }
    if input.message.len() > limits::process::MESSAGE_MAX_BYTES {
        return Err(too_long());
    }
    check_size(&input)?;
    Ok(input)
}

/// A typed message; paths of pictures in it are attached.
pub fn compose(words: &str) -> Result<Input> {
    let mut media = Vec::new();
    for path in paths(words) {
        if let Some(picture) = picture(&path)
            && path.is_file()
        {
            media.push(attach(&path, picture)?);
        }
    }
    let input = Input { message: words.to_string(), media };
    check_size(&input)?;
    Ok(input)
}

/// Whether standard input is a pipe or a file: an inherited terminal or nothing at all is not read.
fn has_content() -> bool {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        use std::os::unix::fs::FileTypeExt;
        let own = std::io::stdin().as_fd().try_clone_to_owned().map(std::fs::File::from);
        let kind = own.and_then(|file| file.metadata()).map(|metadata| metadata.file_type());
        kind.is_ok_and(|kind| kind.is_fifo() || kind.is_file())
    }
    #[cfg(not(unix))]
    {
        !std::io::IsTerminal::is_terminal(&std::io::stdin())
    }
}

fn read_text(reader: impl Read) -> Result<String> {
    let limit = limits::process::MESSAGE_MAX_BYTES as u64;
    let mut bytes = Vec::new();
    reader.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(too_long());
    }
    String::from_utf8(bytes).map_err(|_| {
        Failure::new("standard input is not UTF-8 text").with_hint("pictures are given with --image PATH")
    })
}

fn too_long() -> Failure {
    let limit = limits::process::MESSAGE_MAX_BYTES / (1024 * 1024);
    Failure::new(format!("the message with standard input is longer than {limit} MiB"))
        .with_hint("put it into a file with `gsv cp` and name the file in the message")
}

fn check_size(input: &Input) -> Result<()> {
    if input.media.len() > limits::process::MEDIA_MAX {
        return Err(Failure::new(format!(
            "more than {} pictures in one message",
            limits::process::MEDIA_MAX
        )));
    }
    let bytes: usize = input.media.iter().filter_map(|medium| medium.data.as_ref()).map(String::len).sum();
    // Some room for the frame around them.
    if bytes + input.message.len() + 64 * 1024 > limits::frame::MAX_BYTES {
        return Err(Failure::new("the pictures are too large for one message")
            .with_hint("send fewer of them, or smaller ones"));
    }
    Ok(())
}

/// The type of a picture by its name.
fn picture(path: &Path) -> Option<&'static str> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    PICTURES.iter().find(|(known, _)| *known == ending).map(|(_, mime)| *mime)
}

fn attach(path: &Path, mime: &str) -> Result<MediaInput> {
    let reading = |error: std::io::Error| Failure::from(error).while_doing(path.display());
    let size = std::fs::metadata(path).map_err(reading)?.len();
    if size > limits::process::MEDIA_MAX_BYTES as u64 {
        let limit = limits::process::MEDIA_MAX_BYTES / (1024 * 1024);
        return Err(Failure::new(format!("{}: larger than {limit} MiB", path.display())));
    }
    let bytes = std::fs::read(path).map_err(reading)?;
    Ok(MediaInput {
        media_type: MediaType::Image,
        mime_type: mime.to_string(),
        data: Some(STANDARD.encode(&bytes)),
        url: None,
        filename: path.file_name().map(|name| name.to_string_lossy().into_owned()),
        size: Some(bytes.len() as u64),
        duration: None,
        transcription: None,
    })
}

/// What may be paths in a text: its words, with quotes and escaped spaces as terminals insert them.
fn paths(text: &str) -> Vec<PathBuf> {
    let mut words = Vec::new();
    let (mut word, mut quote, mut escaped) = (String::new(), None, false);
    for c in text.chars() {
        match c {
            c if std::mem::take(&mut escaped) => word.push(c),
            '\\' if cfg!(unix) => escaped = true,
            '\'' | '"' if quote == Some(c) => quote = None,
            '\'' | '"' if quote.is_none() && word.is_empty() => quote = Some(c),
            c if c.is_whitespace() && quote.is_none() => words.push(std::mem::take(&mut word)),
            c => word.push(c),
        }
    }
    words.push(word);
    let words =
        words.into_iter().map(|word| word.trim_end_matches([',', ';', ':', '?', '!', ')']).to_string());
    words
        .filter(|word| !word.is_empty())
        .map(|word| match (word.strip_prefix("~/"), dirs::home_dir()) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(word),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_between_words() {
        let found = paths(r#"look at '/a b/c.png', /d\ e.jpg and "f g.gif"; it's done"#);
        for path in ["/a b/c.png", "/d e.jpg", "f g.gif"] {
            assert!(found.contains(&PathBuf::from(path)), "{path}: {found:?}");
        }
    }

    #[test]
    fn pictures_that_exist_are_attached() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a b.PNG");
        std::fs::write(&path, b"\x89PNG").unwrap();
        let input = compose(&format!("what is in '{}'? And in /no/such.png?", path.display())).unwrap();
        assert_eq!(input.media.len(), 1);
        let picture = &input.media[0];
        assert_eq!((picture.mime_type.as_str(), picture.data.as_deref()), ("image/png", Some("iVBORw==")));
        assert_eq!(picture.filename.as_deref(), Some("a b.PNG"));
    }

    #[test]
    fn too_much_standard_input_is_refused() {
        let much = vec![b'x'; limits::process::MESSAGE_MAX_BYTES + 1];
        assert!(read_text(&much[..]).unwrap_err().message.contains("longer than"));
        assert!(read_text(&b"\xff"[..]).unwrap_err().message.contains("UTF-8"));
        assert_eq!(read_text(&b"text"[..]).unwrap(), "text");
    }
}
