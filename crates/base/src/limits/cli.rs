//! Limits of the command line.

use std::time::Duration;

/// How long the first call of a command waits: short, so that the session's id is known soon.
pub const FIRST_WAIT_MS: u64 = super::shell::WAIT_MIN_MS;
/// How long a poll of a running command waits for output; also how long Ctrl-C may have to wait.
pub const POLL_WAIT_MS: u64 = 500;
/// The least time between polls that bring nothing, for targets that answer at once.
pub const IDLE_PAUSE: Duration = Duration::from_millis(100);
/// First pause before going on with a command after a loss; doubles up to the next.
pub const LOSS_PAUSE_FIRST: Duration = Duration::from_millis(250);
/// Longest pause between attempts to go on.
pub const LOSS_PAUSE_MAX: Duration = Duration::from_secs(4);
/// After this long without the gateway or the device a followed command is left alone.
pub const LOSS_MAX: Duration = super::device::RECONNECT_MAX;
/// How long ending the command on a target may take when this program is told to end.
pub const END_TIMEOUT: Duration = Duration::from_secs(5);
/// Presses of Ctrl-C that may wait to be looked at; more say nothing new.
pub const PRESSES_MAX: usize = 4;
/// How much of stdin goes into one call.
pub const STDIN_CHUNK_MAX_BYTES: usize = 1024 * 1024;
/// Chunks of stdin that may wait for their call; the reader waits when there are more.
pub const STDIN_CHUNKS_MAX: usize = 2;
/// How often one file is tried by `gsv cp`.
pub const COPY_ATTEMPTS_MAX: u32 = 6;
/// Pause before the second attempt; it doubles.
pub const COPY_PAUSE_FIRST: Duration = Duration::from_millis(500);
/// How deep directories may be nested for `gsv cp -r`.
pub const COPY_DEPTH_MAX: usize = 128;
/// How long it is remembered that `gsv cp -r` was interrupted, in milliseconds.
pub const COPY_RECORD_KEPT_MS: i64 = 7 * 24 * 60 * 60 * 1_000;
/// Bytes of a file's name that go into the name of its unfinished copy.
pub const PARTIAL_NAME_MAX_BYTES: usize = 200;
/// Lines of history that `gsv shell` keeps.
pub const HISTORY_LINES_MAX: usize = 5_000;
/// Lines of a script that `gsv shell` reads ahead.
pub const LINES_AHEAD_MAX: usize = 16;
/// How often a person may mistype a password.
pub const PASSWORD_ATTEMPTS_MAX: u32 = 3;
/// How long the settings file is waited for while another command changes it.
pub const CONFIG_LOCK_WAIT: Duration = Duration::from_secs(5);
/// Pause between attempts to have the settings file for oneself.
pub const CONFIG_LOCK_PAUSE: Duration = Duration::from_millis(10);
/// Signals that are kept while the answer to a call is waited for.
pub const SIGNALS_AHEAD_MAX: usize = 65_536;
/// Messages that are read anew after signals were missed.
pub const MESSAGES_READ_MAX: usize = 20_000;
/// How many of the newest runs are looked at for one that ended unseen.
pub const RUNS_LOOKED_AT: u64 = 100;
/// How long compacting a conversation may take, with a model that writes the summary.
pub const COMPACT_TIMEOUT: Duration = Duration::from_secs(300);
/// How long a prompt may take to give its terminal back when the program is told to end.
pub const PROMPT_END_TIMEOUT: Duration = Duration::from_millis(500);
/// How long an import of a repository may take before the command no longer waits for it.
pub const IMPORT_TIMEOUT: Duration = Duration::from_secs(3_600);
/// Bytes of a question of git for credentials.
pub const CREDENTIAL_MAX_BYTES: u64 = 64 * 1024;
/// How long the system's keyring may take to answer.
pub const KEYRING_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a person may take to unlock the system's keyring.
pub const KEYRING_UNLOCK_TIMEOUT: Duration = Duration::from_secs(60);
/// How long an undo, or a look at the versions of a file, may take.
pub const UNDO_TIMEOUT: Duration = Duration::from_secs(15 * 60);
