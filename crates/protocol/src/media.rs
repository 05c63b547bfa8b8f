//! Wire types of media that go with a message: pictures, sound and documents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a medium is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MediaType {
    /// A picture.
    Image,
    /// Sound.
    Audio,
    /// Moving pictures.
    Video,
    /// Anything else.
    Document,
}

/// A medium as a caller sends it: its bytes in `data`, or where it is in `url`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MediaInput {
    /// Whether it is a picture, sound, video or a document.
    #[serde(rename = "type")]
    pub media_type: MediaType,
    /// Such as `image/png`.
    pub mime_type: String,
    /// Base64, or a data URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Where it is; kept as it is, never fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// Its size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Its length in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<f64>,
    /// What is said in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcription: Option<String>,
}

/// A medium as a conversation keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoredMedia {
    /// Whether it is a picture, sound, video or a document.
    #[serde(rename = "type")]
    pub media_type: MediaType,
    /// Such as `image/png`.
    pub mime_type: String,
    /// Names its bytes in `proc.media.read`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Where it is, when its bytes are not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// Its size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Its length in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<f64>,
    /// What is said in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcription: Option<String>,
}
