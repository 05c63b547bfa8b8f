//! Limits of talking to model providers.

use std::time::Duration;

/// A whole answer, from connecting to its last byte, unless config says otherwise.
pub const GENERATION_TIMEOUT: Duration = Duration::from_secs(180);
/// How long a provider may be silent; thinking models are quiet for long.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(120);
/// How often one request is sent in all.
pub const ATTEMPTS_MAX: u32 = 3;
/// Pause before the second attempt; it doubles, and up to half of it is left to chance.
pub const RETRY_PAUSE_FIRST: Duration = Duration::from_millis(500);
/// A provider that asks to wait longer than this is not asked again.
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(30);
/// Bytes of one answer as they come over the wire.
pub const RESPONSE_MAX_BYTES: usize = 64 * 1024 * 1024;
/// Bytes of one event of such an answer.
pub const EVENT_MAX_BYTES: usize = 16 * 1024 * 1024;
/// Blocks (texts, thoughts, tool calls) of one answer.
pub const BLOCKS_MAX: usize = 1_024;
/// Pieces of an answer that wait to be read, each what one read of the socket brought.
pub const PIECES_MAX: usize = 4;
/// Bytes read of an answer that is an error.
pub const ERROR_MAX_BYTES: usize = 64 * 1024;
/// Characters kept of a provider's error text.
pub const ERROR_MAX_CHARS: usize = 1_000;
/// How deep the JSON of a tool's arguments may be nested.
pub const JSON_DEPTH_MAX: usize = 128;
/// How long looking for a local model server may take.
pub const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// Bytes of one answer of such a server.
pub const PROBE_MAX_BYTES: usize = 4 * 1024 * 1024;
/// How many of its models are asked what they can do.
pub const PROBES_MAX: usize = 8;
/// How long writing speech down may take.
pub const TRANSCRIPTION_TIMEOUT: Duration = Duration::from_secs(120);
/// Largest sound that is written down, unless config says otherwise.
pub const TRANSCRIPTION_MAX_BYTES: usize = 25 * 1024 * 1024;
/// How long saying a text may take, unless config says otherwise.
pub const SPEECH_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest text that is said, in characters, unless config says otherwise.
pub const SPEECH_MAX_CHARS: usize = 4_000;
/// Largest sound a provider may answer with.
pub const SPEECH_MAX_BYTES: usize = 32 * 1024 * 1024;
/// A key shorter than this, in bytes, is taken out of texts only where it stands by itself.
pub const SECRET_PLAIN_BYTES: usize = 8;
