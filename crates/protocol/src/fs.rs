//! Files, on the native target or on a device.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::outcome::Outcome;
use crate::spec::syscalls;

syscalls! {
    /// Reads a file or lists a directory.
    /// Text comes with numbered lines, images as content blocks; `offset` and `limit` count lines.
    "fs.read" Read => Outcome<ReadResult>, Granted, Target, tool "Read";
    /// Writes a whole file, creating it and its parent directories where needed.
    "fs.write" Write => Outcome<Written>, Granted, Target, tool "Write";
    /// Replaces exact text in a file. Several matches need `replaceAll` or a longer `oldString`.
    "fs.edit" Edit => Outcome<Edited>, Granted, Target, tool "Edit";
    /// Deletes a file, or a directory with everything in it. There is no undo.
    "fs.delete" Delete => Outcome<Deleted>, Granted, Target, tool "Delete";
    /// Finds plain text in files below a path.
    "fs.search" Search => Outcome<SearchResult>, Granted, Target, tool "Search";
    /// Opens a transfer that sends a file's bytes to the caller in binary frames.
    "fs.pull" Pull => Outcome<PullOpened>, Granted, Target;
    /// Opens a transfer that takes a file's bytes from the caller in binary frames.
    "fs.push" Push => Outcome<PushOpened>, Granted, Target;
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
    /// A file.
    File(FileContent),
    /// A directory.
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
    /// For images: a description and the picture.
    Blocks(Vec<Block>),
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
    /// A glob that file names must match.
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
