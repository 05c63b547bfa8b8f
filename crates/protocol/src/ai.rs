//! Wire types and table of `ai.*`: what a process needs before a run, and speech in both directions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ids::DeviceId;
use crate::literal::Nullable;
use crate::proc::ContextFile;
use crate::proc::profile::Profile;
use crate::spec::syscalls;

syscalls! {
    /// Lists the tools a process may use and the devices they can run on.
    "ai.tools" Tools => ToolsResult, Program, Kernel, Reads, Root;
    /// Says which model a process uses and what stands in its context.
    "ai.config" Config => ConfigResult, Program, Kernel, Reads, Root;
    /// Turns speech into text.
    "ai.transcription.create" Transcribe => Transcription, Granted, Kernel, Reads | Network, Users;
    /// Turns text into speech.
    "ai.speech.create" Speak => Speech, Granted, Kernel, Reads | Network, Users;
}

/// Arguments of `ai.tools`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AiToolsArgs")]
pub struct Tools {}

/// Result of `ai.tools`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AiToolsResult")]
pub struct ToolsResult {
    /// The tools that the process may offer its model.
    pub tools: Vec<Tool>,
    /// The devices that are connected.
    pub devices: Vec<ToolDevice>,
    /// The names of servers that offer further tools; absent when there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mcp_servers: Vec<String>,
}

/// A tool as a model sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AiTool")]
pub struct Tool {
    /// The name that a model calls it by.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: Map<String, Value>,
}

/// A device as a model sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AiToolDevice")]
pub struct ToolDevice {
    /// Used as `target`.
    pub id: DeviceId,
    /// Patterns of the calls it answers.
    pub implements: Vec<String>,
    /// What the owner says it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Such as `linux`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
}

/// Arguments of `ai.config`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AiConfigArgs")]
pub struct Config {
    /// The profile; `task` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
}

/// Result of `ai.config`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AiConfigResult")]
pub struct ConfigResult {
    /// The profile whose policy and texts count; `task` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// Such as `anthropic`.
    pub provider: String,
    /// The model's name.
    pub model: String,
    /// The provider's key.
    pub api_key: String,
    /// How much it thinks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// The longest answer.
    pub max_tokens: u64,
    /// How much it takes; `null` when not known.
    pub context_window_tokens: Option<u64>,
    /// Who says so.
    pub context_window_source: WindowSource,
    /// Texts every process gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_context_files: Option<Vec<ContextFile>>,
    /// Texts this profile gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_context_files: Option<Vec<ContextFile>>,
    /// What it can look up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill_index: Option<Vec<Skill>>,
    /// When to ask a person, as JSON.
    #[serde(default, skip_serializing_if = "Nullable::is_absent")]
    pub profile_approval_policy: Nullable<String>,
    /// How long those texts may be together.
    pub max_context_bytes: u64,
}

/// Who says how much a model takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "AiContextWindowSource")]
pub enum WindowSource {
    /// The model's own data.
    Model,
    /// The setting `context_window_tokens`.
    Config,
    /// Nobody.
    Unknown,
}

/// A way of working that is written down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AiSkill")]
pub struct Skill {
    /// Id of the skill, with its layer where names collide.
    pub id: String,
    /// The name that the command `skills` knows it by.
    pub name: String,
    /// When to use it.
    pub description: String,
    /// Where it is.
    pub source: SkillSource,
}

/// Where a skill is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AiSkillSource")]
pub struct SkillSource {
    /// What holds it.
    pub kind: SkillKind,
    /// That thing's name.
    pub label: String,
    /// Whether the process may change it.
    pub writable: bool,
}

/// What holds a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "AiSkillKind")]
pub enum SkillKind {
    /// The profile of the process, in config.
    Profile,
    /// The user's home.
    Home,
    /// The workspace of the process.
    Workspace,
    /// An installed package.
    Package,
}

/// Arguments of `ai.transcription.create`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AiTranscriptionCreateArgs")]
pub struct Transcribe {
    /// The sound.
    pub audio: AudioInput,
    /// The language, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Words to expect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// `transcribe` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<TranscriptionMode>,
}

/// Sound as a caller sends it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AiAudioInput")]
pub struct AudioInput {
    /// Base64, or a data URL.
    pub data: String,
    /// Such as `audio/ogg`.
    pub mime_type: String,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// Its size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// What to do with speech.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "AiTranscriptionMode")]
pub enum TranscriptionMode {
    /// Write it down.
    Transcribe,
    /// Write it down in English.
    Translate,
}

/// Result of `ai.transcription.create`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AiTranscriptionCreateResult")]
pub struct Transcription {
    /// What was said.
    pub text: String,
    /// The language as a BCP 47 tag, such as `en`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// How long it is, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<f64>,
    /// Parts with their times, as the provider gives them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segments: Option<Vec<Value>>,
    /// Provider that was asked.
    pub provider: String,
    /// The provider's name for the model.
    pub model: String,
}

/// Arguments of `ai.speech.create`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AiSpeechCreateArgs")]
pub struct Speak {
    /// What to say.
    pub text: String,
    /// `markdown` when absent: it is turned into something that can be said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_format: Option<TextFormat>,
    /// The provider's name for the model; the one that is configured when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The voice, by the provider's name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voice: Option<String>,
    /// The language as a BCP 47 tag, such as `en`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Such as `mp3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// Such as `ogg`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// Samples per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample_rate: Option<u32>,
    /// Bits per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bit_rate: Option<u32>,
}

/// How a text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "AiTextFormat")]
pub enum TextFormat {
    /// Markup is turned into what a person would say.
    Markdown,
    /// As it is said.
    Plain,
}

/// Result of `ai.speech.create`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AiSpeechCreateResult")]
pub struct Speech {
    /// The sound.
    pub audio: AudioOutput,
    /// Provider that was asked.
    pub provider: String,
    /// The provider's name for the model.
    pub model: String,
    /// The voice, by the provider's name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voice: Option<String>,
    /// The audio codec, such as `mp3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// The container format, such as `ogg`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// True when there was nothing to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<bool>,
}

/// Sound as we answer it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AiAudioOutput")]
pub struct AudioOutput {
    /// A data URL.
    pub data: String,
    /// Such as `audio/mpeg`.
    pub mime_type: String,
    /// Its size in bytes.
    pub size: u64,
}
