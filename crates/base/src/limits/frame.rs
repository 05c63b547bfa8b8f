//! Limits of single messages on the wire.

/// Largest incoming WebSocket message; above it the answer is 413 and the socket stays.
pub const MAX_BYTES: usize = 32 * 1024 * 1024;
/// How much of the beginning of a message that is too large is looked at, for the call it answers.
pub const OVERSIZED_BEGINNING_BYTES: usize = 1024;
/// The same of its end.
pub const OVERSIZED_END_BYTES: usize = 256;
/// Largest message the gateway sends or a client accepts.
pub const OUT_MAX_BYTES: usize = 64 * 1024 * 1024;
/// Outgoing messages are cut into WebSocket fragments of this size: shipped clients refuse larger ones.
pub const FRAGMENT_MAX_BYTES: usize = 1024 * 1024;
/// Room that is made for an answer before it is written: as much as the one before it took, within these bounds.
pub const ANSWER_ROOM_MIN_BYTES: usize = 320;
/// See `ANSWER_ROOM_MIN_BYTES`.
pub const ANSWER_ROOM_MAX_BYTES: usize = 16 * 1024;
