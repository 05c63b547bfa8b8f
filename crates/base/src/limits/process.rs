//! Limits of processes.

use std::time::Duration;

/// Messages that may wait in one process's mailbox; further ones get 429.
pub const MAIL_MAX: usize = 256;
/// How long somebody waits for room in a mailbox, and for the answer.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// One without a run sleeps after so long without mail; only its rows are left.
pub const IDLE: Duration = Duration::from_secs(30);
/// How often a step is tried to be kept when the store fails.
pub const STORE_ATTEMPTS: u32 = 5;
/// Pause before the second attempt; it doubles.
pub const STORE_RETRY_PAUSE: Duration = Duration::from_millis(100);
/// How long one rests whose steps cannot be kept, before it goes on where it was.
pub const STORE_PAUSE: Duration = Duration::from_secs(5);
/// Messages that may wait in the queue of one process.
pub const QUEUE_MAX: u64 = 1_000;
/// Longest message, in bytes.
pub const MESSAGE_MAX_BYTES: usize = 4 * 1024 * 1024;
/// Media of one message.
pub const MEDIA_MAX: usize = 32;
/// Largest medium, in bytes.
pub const MEDIA_MAX_BYTES: usize = 25 * 1024 * 1024;
/// Texts a process is told when it starts, all together, in bytes.
pub const CONTEXT_MAX_BYTES: usize = 1024 * 1024;
/// Longest result of a tool that goes to the model as it is; the middle of longer ones is cut.
pub const RESULT_MAX_BYTES: usize = 256 * 1024;
/// Tool calls of one turn that run at the same time.
pub const TOOLS_AT_ONCE: usize = 16;
/// Calls of one CodeMode block that change something; each is journaled.
pub const NESTED_MAX: usize = 1_000;
/// Tool calls of one turn; the rest are refused.
pub const TOOLS_PER_TURN_MAX: usize = 128;
/// Pages of history are at most so many messages.
pub const HISTORY_MAX: u64 = 1_000;
/// Bytes of such a page, before they become JSON; it ends early rather than become too large to send.
pub const HISTORY_MAX_BYTES: usize = 8 * 1024 * 1024;
/// Bytes of an archived segment that a conversation can be forked from.
pub const RESTORE_MAX_BYTES: usize = 512 * 1024 * 1024;
/// Conversations of one process.
pub const CONVERSATIONS_MAX: u64 = 10_000;
/// After a restart, how long a device is waited for that has the result of a call.
pub const RECALL_WAIT: Duration = Duration::from_secs(60);
/// Pictures kept in memory for the next turn.
pub const PICTURES_KEPT: usize = 32;
/// Without a configured model, what was found on this machine is believed for so long.
pub const DISCOVERY_KEPT: Duration = Duration::from_secs(60);
/// What runs work with is kept so long at most, and only while nothing it was made of changes.
pub const SETUP_KEPT: Duration = Duration::from_secs(10);
/// So many of these are kept.
pub const SETUPS_MAX: usize = 256;
/// Messages of a conversation that are read from the store at once.
pub const MESSAGES_PER_READ: u64 = 1_000;
/// Skills that a prompt names; the shell lists the rest.
pub const SKILLS_NAMED_MAX: usize = 200;
/// Bytes of those pictures, in base 64.
pub const PICTURES_KEPT_BYTES: usize = 64 * 1024 * 1024;
/// Characters of a conversation that a model summarizes in one pass, when its context window is not known.
pub const SUMMARY_CHARS: usize = 24_000;
/// Fewest and most characters of such a pass, when the window is known.
pub const SUMMARY_RANGE_CHARS: (usize, usize) = (2_000, 240_000);
/// Passes that one summary may take.
pub const SUMMARY_PASSES_MAX: usize = 64;
/// Messages that are archived, or copied, at once.
pub const ARCHIVE_PAGE: u64 = 64;
/// Longest line of an archive that is read, in bytes. Its owner can change the file.
pub const ARCHIVE_LINE_MAX_BYTES: u64 = 64 * 1024 * 1024;
/// How much of an archive is unpacked at most, in bytes.
pub const ARCHIVE_MAX_BYTES: u64 = 4 * 1024 * 1024 * 1024;
/// Pages of an archived segment are at most so many messages.
pub const SEGMENT_READ_MAX: u64 = 500;
/// Deadline of a call between processes when none is named, in milliseconds.
pub const IPC_TIMEOUT_MS: u64 = 60_000;
/// Shortest and longest such deadline, in milliseconds.
pub const IPC_TIMEOUT_RANGE_MS: (u64, u64) = (1_000, 600_000);
/// Open calls between processes that are looked at together.
pub const IPC_PAGE: u64 = 100;
/// How long a device whose socket was lost in the middle of a call is waited for, and after the start of
/// the gateway one that had been connected before.
pub const DEVICE_RETURN_WAIT: Duration = Duration::from_secs(30);
/// Files of one conversation that are remembered as read; when there are more, all are forgotten and asked about again.
pub const KNOWN_FILES_MAX: usize = 10_000;
/// Conversations of one process whose files are remembered.
pub const KNOWN_CONVERSATIONS_MAX: usize = 64;
/// Commands of one process of which it is known that their sandbox kept them from a host; when there are more, all are
/// forgotten, and told to the model again.
pub const REFUSED_COMMANDS_MAX: usize = 256;
/// How long a device may take to say whether a file is there that an agent is about to write.
pub const LOOK_WAIT: Duration = Duration::from_secs(3);
/// Bytes of the transcript that a workspace keeps of a conversation; the newest messages are kept.
pub const TRANSCRIPT_MAX_BYTES: usize = 16 * 1024 * 1024;
/// Newest messages that the summary of a workspace is made from.
pub const CHECKPOINT_MESSAGES: u64 = 64;
/// How long a model may take for that summary before a process is reset or killed; without it there is a plain one.
pub const CHECKPOINT_SUMMARY_WAIT: Duration = Duration::from_secs(10);
/// How long a process is not reset or killed because of its checkpoint.
pub const CHECKPOINT_WAIT: Duration = Duration::from_secs(20);
/// Runs that are looked at for one that can be undone, newest first.
pub const UNDO_RUNS_MAX: u64 = 500;
