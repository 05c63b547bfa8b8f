//! Wire types and table of `fs.*`: files, on the native target or on a device.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use crate::args::text_of;
use crate::outcome::Outcome;
use crate::spec::syscalls;

pub mod history;

syscalls! {
    /// Reads a file or lists a directory.
    /// Text comes with numbered lines, images (PNG, JPEG, GIF and WebP, told by their bytes) as content blocks; SVG is text.
    /// `offset` and `limit` count lines.
    "fs.read" Read => Outcome<ReadResult>, Granted, Target, Reads, Users.*,
        tool "Read"(path, offset, limit);
    /// Writes a whole file, creating it and its parent directories where needed.
    "fs.write" Write => Outcome<Written>, Granted, Target, Writes, Users.*,
        tool "Write"(path, content);
    /// Replaces exact text in a file. Several matches need `replaceAll` or a longer `oldString`.
    "fs.edit" Edit => Outcome<Edited>, Granted, Target, Writes, Users.*,
        tool "Edit"(path, oldString, newString, replaceAll);
    /// Deletes a file, or a directory with everything in it. There is no undo.
    "fs.delete" Delete => Outcome<Deleted>, Granted, Target, Destroys, Users.*,
        tool "Delete"(path);
    /// Finds plain text in files below a path.
    "fs.search" Search => Outcome<SearchResult>, Granted, Target, Reads, Users.*,
        tool "Search"(query, path, include);
    /// Opens a transfer that sends a file's bytes to the caller in binary frames.
    "fs.pull" Pull => Outcome<PullOpened>, Granted, Target, Reads, Users.*;
    /// Opens a transfer that takes a file's bytes from the caller in binary frames.
    "fs.push" Push => Outcome<PushOpened>, Granted, Target, Writes, Users.*;
}

/// Arguments of `fs.read`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FsReadArgs")]
pub struct Read {
    /// The file or directory.
    pub path: String,
    /// Lines to skip; 0 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Lines to return; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// A file's content or a directory's names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "FsReadResult")]
pub enum ReadResult {
    /// Content of a file, rendered for readers.
    File(FileContent),
    /// Names in a directory.
    Directory(Listing),
}

/// A file as `fs.read` returns it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FsFileContent")]
pub struct FileContent {
    /// Numbered text, or blocks for an image.
    pub content: Content,
    /// The path that was read.
    pub path: String,
    /// Number of lines returned, for text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u64>,
    /// The file's size in bytes.
    pub size: u64,
}

/// Text or blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "FsContent")]
pub enum Content {
    /// Numbered lines.
    Text(String),
    /// The same as [`Content::Text`], written as JSON already: large texts are not gone through once more.
    #[serde(skip_deserializing)]
    #[schemars(skip)]
    Json(JsonText),
    /// For images: a description and the picture.
    Blocks(Vec<Block>),
}

/// A JSON string as it stands on the wire, cheap to clone. It is read back as [`Content::Text`].
#[derive(Clone, Debug, PartialEq)]
pub struct JsonText(Arc<String>);

impl JsonText {
    /// Takes a text that is a JSON string, quotes and all; that it is one is the writer's duty.
    pub fn new(json: String) -> JsonText {
        debug_assert!(text_of(&json).is_some(), "not a JSON string: {json:.99}");
        JsonText(Arc::new(json))
    }
}

impl Serialize for JsonText {
    /// A struct of this name is what `serde_json` takes over as it is. Its own `RawValue` does the same, but cannot
    /// be had without parsing the text first.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const AS_IT_IS: &str = "$serde_json::private::RawValue";
        let mut raw = serializer.serialize_struct(AS_IT_IS, 1)?;
        raw.serialize_field(AS_IT_IS, self.0.as_str())?;
        raw.end()
    }
}

/// One content block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
#[schemars(rename = "FsContentBlock")]
pub enum Block {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// A picture.
    Image {
        /// Base64.
        data: String,
        /// Such as `image/png`.
        #[serde(rename = "mimeType")]
        mime_type: String,
    },
}

/// A directory as `fs.read` returns it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FsListing")]
pub struct Listing {
    /// The path that was listed.
    pub path: String,
    /// Names of files, sorted.
    pub files: Vec<String>,
    /// Names of directories, sorted.
    pub directories: Vec<String>,
}

/// Arguments of `fs.write`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FsWriteArgs")]
pub struct Write {
    /// The file.
    pub path: String,
    /// Its whole new content.
    pub content: String,
}

/// Result of `fs.write`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FsWritten")]
pub struct Written {
    /// The path that was written.
    pub path: String,
    /// Bytes written.
    pub size: u64,
}

/// Arguments of `fs.edit`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "FsEditArgs")]
pub struct Edit {
    /// The file.
    pub path: String,
    /// The exact text to replace.
    pub old_string: String,
    /// What replaces it.
    pub new_string: String,
    /// Replace every match; false when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replace_all: Option<bool>,
}

/// Result of `fs.edit`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FsEdited")]
pub struct Edited {
    /// The path that was edited.
    pub path: String,
    /// How many matches were replaced.
    pub replacements: u64,
}

/// Arguments of `fs.delete`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FsDeleteArgs")]
pub struct Delete {
    /// The file or directory.
    pub path: String,
}

/// Result of `fs.delete`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FsDeleted")]
pub struct Deleted {
    /// The path that was deleted.
    pub path: String,
}

/// Arguments of `fs.search`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FsSearchArgs")]
pub struct Search {
    /// Plain text to find.
    #[serde(alias = "pattern")]
    pub query: String,
    /// Where to look; the working directory when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// A glob that a file's name, or its path below `path`, must match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include: Option<String>,
}

/// Result of `fs.search`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FsSearchResult")]
pub struct SearchResult {
    /// The matching lines.
    pub matches: Vec<Match>,
    /// How many there are.
    pub count: u64,
    /// True when there may be more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
}

/// One matching line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FsMatch")]
pub struct Match {
    /// The file.
    pub path: String,
    /// Line number, from 1.
    pub line: u64,
    /// The line.
    pub content: String,
}

/// Arguments of `fs.pull`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "FsPullArgs")]
pub struct Pull {
    /// The file to send.
    pub path: String,
    /// Bytes to skip, to go on with a broken transfer; 0 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Set by the gateway: the id that the binary frames carry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer_id: Option<u32>,
}

/// Result of `fs.pull`: from here on the bytes travel in binary frames.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "FsPullOpened")]
pub struct PullOpened {
    /// The path that is read.
    pub path: String,
    /// The file's size in bytes.
    pub size: u64,
    /// Unix permission bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    /// The id that the binary frames carry.
    pub transfer_id: u32,
}

/// Arguments of `fs.push`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "FsPushArgs")]
pub struct Push {
    /// The file to write.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// SHA-256 of the whole file, in hex: names the upload, so that a broken one can go on.
    pub sha256: String,
    /// Unix permission bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    /// Set by the gateway: the id that the binary frames carry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer_id: Option<u32>,
}

/// Result of `fs.push`: send the bytes from `offset` on in binary frames.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "FsPushOpened")]
pub struct PushOpened {
    /// The path that will be written.
    pub path: String,
    /// Bytes that are there already from an earlier, broken transfer.
    pub offset: u64,
    /// The id that the binary frames carry.
    pub transfer_id: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_text_goes_out_as_it_is_and_comes_back_as_text() {
        let file = |content| {
            let content = FileContent { content, path: "/x".into(), lines: Some(1), size: 3 };
            Outcome::Done(ReadResult::File(content))
        };
        let json = JsonText::new(r#"" 1\tä\u0001\"""#.into());
        let text = crate::frame::to_json(&file(Content::Json(json.clone())));
        assert_eq!(text, r#"{"ok":true,"content":" 1\tä\u0001\"","path":"/x","lines":1,"size":3}"#);
        let plain = Content::Text(" 1\tä\u{1}\"".into());
        assert_eq!(serde_json::from_str::<Outcome<ReadResult>>(&text).unwrap(), file(plain));
        assert_eq!(serde_json::to_value(&json).unwrap(), " 1\tä\u{1}\"");
    }
}
