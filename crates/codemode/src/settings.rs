//! Settings of blocks that root can change, as they are now.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use protocol::config;

/// What blocks may use.
pub(crate) struct Settings {
    timeout_ms: AtomicU64,
    memory_bytes: AtomicU64,
}

impl Settings {
    pub(crate) fn new() -> Settings {
        let settings = Settings { timeout_ms: AtomicU64::new(0), memory_bytes: AtomicU64::new(0) };
        for key in [config::CODEMODE_TIMEOUT_MS.name(), config::CODEMODE_MEMORY_BYTES.name()] {
            settings.apply(key, None);
        }
        settings
    }

    pub(crate) fn is_known(key: &str) -> bool {
        key == config::CODEMODE_TIMEOUT_MS.name() || key == config::CODEMODE_MEMORY_BYTES.name()
    }

    /// Takes a value in, or the default where there is none.
    pub(crate) fn apply(&self, key: &str, value: Option<&str>) {
        if key == config::CODEMODE_TIMEOUT_MS.name() {
            self.timeout_ms.store(config::CODEMODE_TIMEOUT_MS.of([value]), Ordering::Relaxed);
        }
        if key == config::CODEMODE_MEMORY_BYTES.name() {
            self.memory_bytes.store(config::CODEMODE_MEMORY_BYTES.of([value]), Ordering::Relaxed);
        }
    }

    /// A block's own time.
    pub(crate) fn own_time(&self) -> Duration {
        Duration::from_millis(self.timeout_ms.load(Ordering::Relaxed))
    }

    /// The engine's heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        usize::try_from(self.memory_bytes.load(Ordering::Relaxed)).unwrap_or(usize::MAX)
    }
}
