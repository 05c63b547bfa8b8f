//! Limits of guests: children of this program that run code that is not ours, and the blocks that they run.

use std::time::Duration;

/// Children that wait for their first block, for whomever it comes from.
pub const BLANK: usize = 2;
/// Children that have served somebody and wait for that somebody's next block, in all.
pub const KEPT_MAX: usize = 16;
/// Children at once, busy and waiting; who comes then waits for one to end.
pub const CHILDREN_MAX: usize = 128;
/// Children at once that serve one user.
pub const CHILDREN_PER_USER_MAX: usize = 64;
/// Blocks that a child runs before another takes its place.
pub const BLOCKS_PER_CHILD: u32 = 32;
/// A child whose block took longer than this is not kept: its processor time is counted over its life.
pub const KEPT_AFTER_AT_MOST: Duration = Duration::from_secs(1);
/// A child that served somebody and was not needed for so long goes.
pub const IDLE: Duration = Duration::from_secs(30);
/// Children that never served anybody go when no block was run for so long; the next one then starts a child.
pub const BLANK_IDLE: Duration = Duration::from_secs(600);
/// How often it is seen whether anybody still waits for a block.
pub const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long a block waits for a child to be free, and a child to start.
pub const START_WAIT: Duration = Duration::from_secs(30);
/// Orders that wait for the thread that starts and ends children.
pub const ORDERS_MAX: usize = 512;
/// Address space of a child: the program itself, the engine's heap, and what it reads and writes.
pub const ADDRESS_SPACE_BYTES: u64 = 768 * 1024 * 1024;
/// Processor time of a child.
pub const CPU_SECONDS: u64 = 60;
/// Longest frame between the gateway and a child, either way.
pub const FRAME_MAX_BYTES: usize = 16 * 1024 * 1024;
/// Bytes that a child may send for one block.
pub const BLOCK_SENT_MAX_BYTES: u64 = 256 * 1024 * 1024;
/// Calls of one block under way at once; more wait for an answer first.
pub const CALLS_AT_ONCE: usize = 64;
/// Calls that a block may have made and not got answers to, under way or waiting.
pub const CALLS_OUTSTANDING_MAX: usize = 4_096;
/// Calls of one block.
pub const CALLS_MAX: u64 = 20_000;
/// Bytes that may wait for a child that does not read.
pub const UNREAD_MAX_BYTES: usize = 64 * 1024 * 1024;
/// Bytes of the arguments of a call that are noted for the report of its block.
pub const NOTED_MAX_BYTES: usize = 200;
