//! Allocator tuning of the gateway.

/// Keeps the memory of a few large messages between them. Otherwise the C library gives it back after each message
/// and takes it again for the next one, page by page, which costs more than filling it.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code)] // There is no safe interface to the allocator's settings.
pub fn keep_a_little() {
    /// What is free at the end of a heap stays there up to so many bytes.
    const KEPT_BYTES: libc::c_int = 16 * 1024 * 1024;
    /// Blocks from this size on come from the machine each time, and go back at once, as what hashing a password
    /// takes.
    const MAPPED_BYTES: libc::c_int = 16 * 1024 * 1024;
    // SAFETY: two numbers of the allocator are set, which it allows at any time.
    let set = unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT_BYTES) == 1
            && libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES) == 1
    };
    if !set {
        tracing::debug!("the allocator keeps its own settings");
    }
}

/// Other allocators have ways of their own.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn keep_a_little() {}
