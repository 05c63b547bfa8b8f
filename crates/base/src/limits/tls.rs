//! Limits of trust roots.

/// Bytes of certificates that `SSL_CERT_FILE` and `SSL_CERT_DIR` may add, in all.
pub const ROOTS_MAX_BYTES: u64 = 16 * 1024 * 1024;
/// Files of such a directory that are looked at.
pub const ROOT_FILES_MAX: usize = 10_000;
