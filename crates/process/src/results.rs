//! What a tool gave, as the model gets it: words, pictures apart, and whether it failed.

use base::limits;
use protocol::error::Error;
use protocol::fs;
use protocol::media::{MediaInput, MediaType};
use serde_json::{Map, Value, json};

/// What a call came to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shown {
    /// For the model.
    pub(crate) text: String,
    /// True when it failed.
    pub(crate) is_error: bool,
    /// Pictures that go with the words.
    pub(crate) pictures: Vec<MediaInput>,
    /// For `proc.run.tool.finished`, when it worked.
    pub(crate) output: Option<Value>,
}

impl Shown {
    /// A call that was refused, interrupted or went wrong.
    pub(crate) fn error(why: &str) -> Shown {
        let text = cut(&format!("Error: {}", without_nul(why)));
        Shown { text, is_error: true, pictures: Vec::new(), output: None }
    }

    /// What went wrong, without the word in front.
    pub(crate) fn why(&self) -> Option<&str> {
        self.is_error.then(|| self.text.strip_prefix("Error: ").unwrap_or(&self.text))
    }
}

/// What a call answered.
pub(crate) fn show(answer: Result<String, Error>) -> Shown {
    let data = match answer {
        Ok(data) => data,
        Err(error) => return Shown::error(&error.message),
    };
    match serde_json::from_str::<Value>(&data) {
        Ok(Value::Object(object)) => show_object(object, data),
        Ok(Value::String(text)) => words(without_nul(&text)),
        Ok(_) => words(data),
        Err(_) => words(without_nul(&data)),
    }
}

fn words(text: String) -> Shown {
    let text = cut(&text);
    Shown { output: Some(Value::from(text.clone())), text, is_error: false, pictures: Vec::new() }
}

fn show_object(object: Map<String, Value>, data: String) -> Shown {
    let failed = object.get("ok") == Some(&Value::Bool(false));
    let bare = object.keys().all(|key| key == "ok" || key == "error");
    if failed && bare {
        let why = object.get("error").and_then(Value::as_str);
        return Shown::error(why.unwrap_or("the operation failed without saying why"));
    }
    if let Some(shown) = show_picture(&object) {
        return shown;
    }
    let text = cut(&data);
    let output = if text.len() == data.len() { Value::Object(object) } else { Value::from(text.clone()) };
    Shown { text, is_error: failed, pictures: Vec::new(), output: Some(output) }
}

/// The answer of `fs.read` for a picture: its words as text, the picture apart. `None` for anything else.
fn show_picture(object: &Map<String, Value>) -> Option<Shown> {
    let content = object.get("content").filter(|content| content.is_array())?;
    let blocks: Vec<fs::Block> = serde_json::from_value(content.clone()).ok()?;
    let filename = object.get("path").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
    let (mut text, mut pictures, mut seen) = (Vec::new(), Vec::new(), Vec::new());
    for block in blocks {
        match block {
            fs::Block::Text { text: words } => {
                seen.push(json!({ "type": "text", "text": words }));
                text.push(without_nul(&words));
            }
            fs::Block::Image { data, mime_type } => {
                seen.push(json!({ "type": "image", "mimeType": mime_type }));
                pictures.push(MediaInput {
                    media_type: MediaType::Image,
                    mime_type,
                    data: Some(data),
                    url: None,
                    filename: filename.map(str::to_string),
                    size: None,
                    duration: None,
                    transcription: None,
                });
            }
        }
    }
    let mut output = object.clone();
    output.insert("content".to_string(), Value::Array(seen));
    let text = cut(&text.join("\n"));
    Some(Shown { text, is_error: false, pictures, output: Some(Value::Object(output)) })
}

/// A text that is short enough for a model: of a longer one the middle is left out, and that is said.
fn cut(text: &str) -> String {
    let most = limits::PROCESS_RESULT_BYTES_MAX;
    if text.len() <= most {
        return text.to_string();
    }
    let (head, tail) = (text.floor_char_boundary(most / 2), text.ceil_char_boundary(text.len() - most / 2));
    let left_out = tail - head;
    format!(
        "{}\n\n[{left_out} bytes in the middle were left out. Ask for a part of it to see them.]\n\n{}",
        &text[..head],
        &text[tail..]
    )
}

/// The store keeps no NUL character; this way what was said live is what is read later.
pub(crate) fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(data: &str) -> Shown {
        show(Ok(data.to_string()))
    }

    #[test]
    fn a_failed_operation_is_an_error_and_keeps_what_else_it_said() {
        let bare = shown(r#"{"ok":false,"error":"Not found: /x"}"#);
        assert_eq!((bare.text.as_str(), bare.is_error), ("Error: Not found: /x", true));
        assert_eq!(bare.why(), Some("Not found: /x"));
        let shell =
            r#"{"ok":false,"status":"failed","error":"Command exited with code 1","output":"no such"}"#;
        let shell = shown(shell);
        assert!(shell.is_error && shell.text.contains("no such"), "{}", shell.text);
        let frame = show(Err(Error::new(503, "Device offline: macbook")));
        assert_eq!((frame.text.as_str(), frame.is_error), ("Error: Device offline: macbook", true));
    }

    #[test]
    fn a_picture_is_taken_out_of_the_words() {
        let data = json!({ "ok": true, "path": "/home/ann/cat.png", "size": 3, "content": [
            { "type": "text", "text": "Read image /home/ann/cat.png [image/png, 3 B]" },
            { "type": "image", "mimeType": "image/png", "data": "AAAA" },
        ] });
        let shown = shown(&data.to_string());
        assert_eq!(shown.text, "Read image /home/ann/cat.png [image/png, 3 B]");
        assert_eq!(shown.pictures.len(), 1);
        assert_eq!(shown.pictures[0].filename.as_deref(), Some("cat.png"));
        assert!(!shown.output.unwrap().to_string().contains("AAAA"));
    }

    #[test]
    fn other_results_are_json_and_strings_are_themselves() {
        let listing = r#"{"ok":true,"path":"/","files":[],"directories":["home"]}"#;
        assert_eq!(shown(listing).text, listing);
        assert_eq!(shown(r#""plain\u0000words""#).text, "plain\u{fffd}words");
        assert_eq!(shown("null").text, "null");
        assert_eq!(shown("not json").text, "not json");
    }

    #[test]
    fn the_middle_of_a_long_result_is_left_out_between_characters() {
        let most = limits::PROCESS_RESULT_BYTES_MAX;
        let long = format!("{}€{}", "a".repeat(most / 2 - 1), "b".repeat(most));
        let cut = cut(&long);
        assert!(cut.starts_with("aaaa") && cut.ends_with("bbbb") && cut.contains("bytes in the middle"));
        assert!(cut.len() < most + 200 && !cut.contains('€'));
        assert_eq!(super::cut("short"), "short");
    }
}
