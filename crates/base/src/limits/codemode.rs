//! Limits of CodeMode blocks.

use std::time::Duration;

/// Longest source text.
pub const CODE_MAX_BYTES: usize = 1024 * 1024;
/// Heap of the engine.
pub const HEAP_BYTES: usize = 128 * 1024 * 1024;
/// Stack of the engine: deeper recursion is an error inside the block.
pub const STACK_BYTES: usize = 1024 * 1024;
/// Longest result, as JSON.
pub const RESULT_MAX_BYTES: usize = 4 * 1024 * 1024;
/// Lines of log.
pub const LOG_LINES_MAX: usize = 2_000;
/// Bytes of log.
pub const LOG_MAX_BYTES: usize = 256 * 1024;
/// Longest text of an error.
pub const ERROR_MAX_BYTES: usize = 16 * 1024;
/// Timers of a block that wait at once.
pub const TIMERS_MAX: usize = 4_096;
/// All that a block of a person may take, waiting for devices included.
pub const TOTAL: Duration = Duration::from_secs(60 * 60);
/// Nested calls that the error of a failed block lists.
pub const DONE_LISTED_MAX: usize = 20;
