//! Limits of config and of other short texts that users store.

/// Longest config key, in bytes.
pub const KEY_MAX_BYTES: usize = 512;
/// Longest config value, in bytes.
pub const VALUE_MAX_BYTES: usize = 1024 * 1024;
/// Keys that one user may have set below `users/<uid>/`.
pub const USER_KEYS_MAX: usize = 256;
/// Bytes of those keys and their values as they are kept, which for secrets is somewhat more than their text.
pub const USER_MAX_BYTES: usize = 4 * 1024 * 1024;
/// Longest label, reason or other short text a user may store, in characters.
pub const LABEL_MAX_CHARS: usize = 200;
