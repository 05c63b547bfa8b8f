//! Validation of media that come with a message, before anything is stored.

use base::limits;
use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use protocol::media::{MediaInput, StoredMedia};

use super::kinds;

/// Takes base 64 with or without its padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A medium that can be kept.
#[derive(Debug, PartialEq)]
pub(super) struct Checked {
    /// Its record, without a key.
    pub(super) stored: StoredMedia,
    /// Its bytes; without them it is only an address.
    pub(super) bytes: Option<Vec<u8>>,
    /// How its file's name ends.
    pub(super) extension: String,
}

/// Checks all; the error names the first that is wrong, as `media[0]: …`.
pub(super) fn check_all(media: Vec<MediaInput>) -> Result<Vec<Checked>, String> {
    let (count, most) = (media.len(), limits::process::MEDIA_MAX);
    if count > most {
        return Err(format!("a message takes at most {most} media, and this one has {count}"));
    }
    let one = |(index, medium)| check(medium).map_err(|why| format!("media[{index}]: {why}"));
    media.into_iter().enumerate().map(one).collect()
}

fn check(medium: MediaInput) -> Result<Checked, String> {
    let MediaInput { media_type, mime_type, data, url, filename, size, duration, transcription } = medium;
    let blank = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    let (data, url) = (blank(data), blank(url));
    let mut mime_type = mime_type.trim().to_string();
    let bytes = match &data {
        None if url.is_none() => return Err("it has neither data nor url".to_string()),
        None => None,
        Some(data) => {
            let (named, encoded) = data_url(data)?;
            if mime_type.is_empty() {
                mime_type = named.unwrap_or_default().to_string();
            }
            Some(decode(encoded)?)
        }
    };
    if mime_type.is_empty() || mime_type.chars().any(char::is_control) {
        return Err("mimeType is required, such as image/png".to_string());
    }
    let extension = kinds::extension(filename.as_deref(), &mime_type);
    let (filename, transcription) = (blank(filename), blank(transcription));
    let stored =
        StoredMedia { media_type, mime_type, key: None, url, filename, size, duration, transcription };
    Ok(Checked { stored, bytes, extension })
}

/// The type and the base 64 of a data URL; a plain text is base 64 already.
fn data_url(data: &str) -> Result<(Option<&str>, &str), String> {
    let data = data.trim();
    if !data.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:")) {
        return Ok((None, data));
    }
    let (head, encoded) = data[5..].split_once(',').ok_or("data is a data URL without a comma")?;
    let mut parts = head.split(';');
    let named = parts.next().filter(|mime| !mime.is_empty());
    if !parts.any(|part| part.trim().eq_ignore_ascii_case("base64")) {
        return Err("data is a data URL that is not in base64".to_string());
    }
    Ok((named, encoded))
}

fn decode(encoded: &str) -> Result<Vec<u8>, String> {
    let most = limits::process::MEDIA_MAX_BYTES;
    let bytes = if encoded.bytes().any(|byte| byte.is_ascii_whitespace()) {
        BASE64.decode(encoded.split_ascii_whitespace().collect::<String>())
    } else {
        BASE64.decode(encoded)
    };
    let bytes = bytes.map_err(|_| "data is not base64")?;
    match bytes.len() {
        0 => Err("data is empty".to_string()),
        size if size > most => {
            Err(format!("it has {size} bytes, and at most {most} are taken: send a url instead"))
        }
        _ => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use protocol::media::MediaType;

    use super::*;

    fn input(data: Option<&str>, url: Option<&str>) -> MediaInput {
        MediaInput {
            media_type: MediaType::Image,
            mime_type: "image/png".to_string(),
            data: data.map(str::to_string),
            url: url.map(str::to_string),
            filename: None,
            size: Some(99),
            duration: None,
            transcription: Some(" ".to_string()),
        }
    }

    fn bytes(data: &str) -> Result<Option<Vec<u8>>, String> {
        check(input(Some(data), None)).map(|checked| checked.bytes)
    }

    #[test]
    fn data_is_taken_in_all_its_spellings() {
        for data in ["aGk=", "aGk", " aG\nk= ", "data:image/png;base64,aGk=", "DATA:;charset=x;Base64,aGk"] {
            assert_eq!(bytes(data), Ok(Some(b"hi".to_vec())), "{data}");
        }
        assert_eq!(check(input(None, Some("https://x/y"))).unwrap().bytes, None);
        assert_eq!(check(input(None, Some("https://x/y"))).unwrap().stored.transcription, None);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let large = "A".repeat(limits::process::MEDIA_MAX_BYTES / 3 * 4 + 8);
        for (data, why) in [
            ("a*b", "data is not base64"),
            ("data:image/png;base64", "without a comma"),
            ("data:text/plain,hi", "not in base64"),
            ("data:image/png;base64,", "data is empty"),
            (&large, "are taken: send a url instead"),
        ] {
            let error = bytes(data).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        let nothing = vec![input(Some("aGk"), None), input(Some("  "), None)];
        assert_eq!(check_all(nothing).unwrap_err(), "media[1]: it has neither data nor url");
        let untyped = MediaInput { mime_type: " ".to_string(), ..input(Some("aGk"), None) };
        assert!(check(untyped.clone()).unwrap_err().starts_with("mimeType is required"));
        let typed = MediaInput { data: Some("data:image/gif;base64,aGk".to_string()), ..untyped };
        assert_eq!(check(typed).unwrap().stored.mime_type, "image/gif");
        let many = vec![input(Some("aGk"), None); limits::process::MEDIA_MAX + 1];
        assert_eq!(check_all(many).unwrap_err(), "a message takes at most 32 media, and this one has 33");
    }
}
