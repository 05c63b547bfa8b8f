//! Limits of the shell inside the gateway.

use std::time::Duration;

/// Threads that run commands; a command that goes on holds one.
pub const THREADS_MAX: usize = 96;
/// Threads of these that only root's commands get.
pub const THREADS_OF_ROOT: usize = 8;
/// Commands of one user that run at once; further ones wait.
pub const RUNNING_PER_USER_MAX: usize = 8;
/// Commands that may wait for a thread; further ones get 429.
pub const QUEUE_MAX: usize = 256;
/// Bytes of the scripts that wait for a thread.
pub const QUEUE_MAX_BYTES: usize = 64 * 1024 * 1024;
/// Commands of one user that may run or wait at once; further ones get 429.
pub const PER_USER_MAX: usize = 32;
/// Commands that are remembered, with those that have ended.
pub const SESSIONS_MAX: usize = 1_024;
/// Commands of one user that have ended and are remembered.
pub const ENDED_PER_USER_MAX: usize = 32;
/// Stack of such a thread; the interpreter recurses on it. Only what is used costs memory. Calls take
/// many times the room in debug builds.
pub const STACK_BYTES: usize = if cfg!(debug_assertions) { 4096 } else { 512 } * 1024 * 1024;
/// Longest filter of `jq`, in bytes; its parser recurses, at worst once for each.
pub const JQ_FILTER_MAX_BYTES: usize = 16 * 1024;
/// Bytes that the values of one `jq` may have as it counts them; it counts an eighth of some. With 16
/// bytes for each level a value is nested at most a million deep, which the stack above bears.
pub const JQ_MAX_BYTES: u64 = 16 * 1024 * 1024;
/// How deep a value that `jq` prints with indentation may be nested.
pub const JQ_DEPTH_MAX: usize = 1_000;
/// Bytes that one `sort` takes in, each line counted as `LINE_BYTES` longer than it is.
pub const SORT_MAX_BYTES: usize = 128 * 1024 * 1024;
/// What a line that is held costs besides its text.
pub const LINE_BYTES: usize = 64;
/// Commands that hold much memory, of all users, that run at once; further ones wait.
pub const HEAVY_MAX: usize = 8;
/// How many of these places one user's commands take at most; further ones wait.
pub const HEAVY_PER_USER_MAX: usize = 3;
/// Bytes that one command reads from files when it holds all of them.
pub const READ_MAX_BYTES: usize = 96 * 1024 * 1024;
/// Time of a `jq` whose definitions call themselves with filters; each such call keeps the last one.
pub const JQ_RECURSION: Duration = Duration::from_secs(1);
/// Words `(`, `!` and `-not` of one `find`; its parser recurses.
pub const FIND_DEPTH_MAX: usize = 1_000;
/// Words of one `find`; its expression is walked for every file.
pub const FIND_WORDS_MAX: usize = 20_000;
/// How often a running command is looked at.
pub const TICK: Duration = Duration::from_millis(25);
/// How long a command that writes more than its caller reads pauses before it looks again.
pub const HELD_PAUSE: Duration = Duration::from_millis(5);
/// A command that was told to end and does not is given up after this long, with its thread.
pub const GRACE: Duration = Duration::from_secs(2);
/// Threads that were given up and are replaced; beyond this they are not.
pub const LOST_MAX: usize = 16;
/// Commands of one user that were given up and still run; with so many the user starts no more.
pub const LOST_PER_USER_MAX: usize = 2;
/// How much one reading of `/dev/zero` gives.
pub const ZERO_BYTES: usize = 16 * 1024 * 1024;
/// How much one reading of `/dev/urandom` gives.
pub const RANDOM_BYTES: usize = 1024 * 1024;
/// Time a command may keep its thread busy.
pub const CPU: Duration = Duration::from_secs(10);
/// By how much the memory of the whole gateway may grow while a command runs that takes most of it.
pub const HELD_MAX_BYTES: u64 = 512 * 1024 * 1024;
/// Commands that one script may run.
pub const COMMANDS_MAX: usize = 100_000;
/// Turns of all loops of one script.
pub const LOOPS_MAX: usize = 1_000_000;
/// How deep functions, sourced files and child shells may be nested; the interpreter takes no more.
pub const FUNCTION_DEPTH_MAX: usize = 16;
/// How deep subshells, and command substitutions, may be nested.
pub const SUBSHELL_DEPTH_MAX: usize = 32;
/// Jobs in the background and pipeline stages of one script at once.
pub const JOBS_MAX: usize = 64;
/// Memory of one script.
pub const MEMORY_MAX_BYTES: u64 = 256 * 1024 * 1024;
/// Bytes of all variables of one script; less than what one `$(...)` may hold, so that a cut one fails.
pub const VARIABLE_MAX_BYTES: usize = 48 * 1024 * 1024;
/// Bytes that one command may write to a pipe that is read as a whole, to a file, or to the caller.
pub const STREAM_MAX_BYTES: usize = 64 * 1024 * 1024;
/// Longest script that is looked through for commands that read stdin.
pub const SCAN_MAX_BYTES: usize = 256 * 1024;
/// How deep such a script may be nested.
pub const SCAN_DEPTH_MAX: usize = 100;
/// Longest script, in bytes. What is made of it takes ninety times as much.
pub const SCRIPT_MAX_BYTES: usize = 4_000_000;
/// Longest arithmetic expression with more than `ARITHMETIC_NESTED_MAX` others in it. The time the interpreter takes for
/// it grows with the square.
pub const ARITHMETIC_MAX_BYTES: usize = 16 * 1024;
/// Arithmetic expressions within one that is longer than `ARITHMETIC_MAX_BYTES`.
pub const ARITHMETIC_NESTED_MAX: usize = 32;
/// Statements, calls and arithmetic operations of one run of `bc`.
pub const BC_STEPS_MAX: usize = 1_000_000;
/// Bits of a number of `bc`.
pub const BC_BITS_MAX: u64 = 1_000_000;
/// Digits behind the point of a number of `bc`.
pub const BC_SCALE_MAX: u32 = 100_000;
/// How deep the functions of a `bc` program may be nested.
pub const BC_CALLS_MAX: usize = 200;
/// Files that one command with `-R` looks at.
pub const WALK_FILES_MAX: usize = 200_000;
/// Targets that `devices list` shows unless `--limit` says otherwise.
pub const TARGETS_LISTED: u64 = 20;
/// Most targets that `devices list` shows at once.
pub const TARGETS_LISTED_MAX: u64 = 100;
/// How deep below `skills.d` a skill may be.
pub const SKILL_DEPTH_MAX: usize = 4;
/// Skills of one layer, and files of one skill, that are looked at.
pub const SKILL_FILES_MAX: usize = 2_000;
/// Characters of a skill's description.
pub const SKILL_DESCRIPTION_MAX_CHARS: usize = 220;
/// Commits of one history that a `git` of the shell walks.
pub const GIT_COMMITS_MAX: usize = 10_000;
/// Versions of one file that `git blame` looks at.
pub const GIT_VERSIONS_MAX: usize = 500;
/// Files of one tree, or that differ between two, that a `git` looks at.
pub const GIT_FILES_MAX: usize = 50_000;
/// Bytes of all files of a directory that `git status` compares with what is committed.
pub const GIT_LIVE_MAX_BYTES: u64 = 512 * 1024 * 1024;
/// Largest file that a `git` shows or compares line by line.
pub const GIT_FILE_MAX_BYTES: u64 = 16 * 1024 * 1024;
/// Bytes of the file that says of what a directory is a clone.
pub const GIT_MARKER_MAX_BYTES: u64 = 4_096;
