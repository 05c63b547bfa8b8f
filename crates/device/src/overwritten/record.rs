//! Data transfer types of the undo log, written out as JSON: one record per call, one item per path.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Who makes a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Author {
    /// The process; empty for a person.
    pub(crate) pid: String,
    /// Its run. `undo-N` for an undo, where N is the number of its record.
    pub(crate) run: String,
}

/// What one call was about to change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Its number, which only grows.
    pub(crate) id: u64,
    pub(crate) at_ms: i64,
    /// The process; empty for a person.
    pub(crate) pid: String,
    pub(crate) run: String,
    /// The call's name, such as `fs.write`.
    pub(crate) call: String,
    /// The call's id.
    pub(crate) request: String,
    /// What it was about to change, what holds something before what it holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) items: Vec<Item>,
    /// A command that ran outside the sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<String>,
    /// Why nothing could be kept of what is named here, where a person approved the call all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lost: Option<String>,
}

/// One path of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Item {
    /// Absolute, without links but for the last name.
    #[serde(serialize_with = "write_path", deserialize_with = "read_path")]
    pub(crate) path: PathBuf,
    pub(crate) before: State,
    pub(crate) after: State,
}

/// What is, or was, at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "lowercase")]
pub(crate) enum State {
    /// Nothing.
    Absent,
    /// A file.
    File {
        sha256: String,
        size: u64,
        /// Its permission bits, where it was looked at.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<u32>,
        /// When it was last changed, where it was looked at.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        changed_ms: Option<i64>,
    },
    /// A symbolic link.
    Link {
        #[serde(serialize_with = "write_path", deserialize_with = "read_path")]
        target: PathBuf,
    },
    /// A directory.
    Dir {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<u32>,
    },
    /// A socket, a device or a pipe, which has no content; or what was not kept.
    Other,
}

impl State {
    /// A file with this content.
    pub(crate) fn file(content: &[u8]) -> State {
        let sha256 = super::objects::digest(content);
        State::File { sha256, size: content.len() as u64, mode: None, changed_ms: None }
    }

    /// Whether both are the same to a person. Modes and times do not count.
    pub(crate) fn is_same(&self, other: &State) -> bool {
        match (self, other) {
            (State::File { sha256, .. }, State::File { sha256: other, .. }) => sha256 == other,
            (State::Dir { .. }, State::Dir { .. }) => true,
            (State::Link { target }, State::Link { target: other }) => target == other,
            (State::Absent, State::Absent) => true,
            _ => false,
        }
    }
}

/// JSON has no place for a path that is not UTF-8, which is written as the numbers of its bytes.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum PathText {
    Text(String),
    Bytes(Vec<u8>),
}

fn write_path<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    let bytes = || PathText::Bytes(path.as_os_str().as_bytes().to_vec());
    path.to_str().map_or_else(bytes, |text| PathText::Text(text.to_string())).serialize(to)
}

fn read_path<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
    Ok(match PathText::deserialize(from)? {
        PathText::Text(text) => text.into(),
        PathText::Bytes(bytes) => OsString::from_vec(bytes).into(),
    })
}
