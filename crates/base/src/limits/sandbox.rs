//! Limits of the sandbox: what a confined command may use, and what its set-up may take.

use std::time::Duration;

/// Largest description of a confined command that its helper reads, in bytes.
pub const SPEC_MAX_BYTES: usize = 4 * 1024 * 1024;
/// Longest text in which a failed set-up tells what happened, in bytes.
pub const FAILURE_MAX_BYTES: usize = 4 * 1024;
/// How long the helper may take to make a network namespace.
pub const NETWORK_OPEN: Duration = Duration::from_secs(10);
/// Entries of a directory that are shown one by one because others in it are hidden.
pub const INVERTED_ENTRIES_MAX: usize = 8_192;
/// How often a hidden place that somebody removes just then is tried to be covered.
pub const COVER_ATTEMPTS_MAX: usize = 8;
/// Bytes of `/proc/net/unix` in which the machine's sockets are looked for.
pub const SOCKET_TABLE_MAX_BYTES: u64 = 16 * 1024 * 1024;
/// Bytes of the table of mounts that is searched for other names of hidden places.
pub const MOUNT_TABLE_MAX_BYTES: u64 = 16 * 1024 * 1024;
/// Rules of a Landlock rule set.
pub const LANDLOCK_RULES_MAX: usize = 16_384;
/// Processes and threads of a confined command.
pub const PROCESSES_MAX: u64 = 4_096;
/// Open files of each of its processes.
pub const OPEN_FILES_MAX: u64 = 65_536;
/// Largest file that it may write, in bytes.
pub const FILE_MAX_BYTES: u64 = 16 * 1024 * 1024 * 1024;
/// Memory that its processes may hold together, in bytes; looked at every `MEMORY_WATCH`.
pub const MEMORY_MAX_BYTES: u64 = 8 * 1024 * 1024 * 1024;
/// How often the memory of its processes is added up.
pub const MEMORY_WATCH: Duration = Duration::from_millis(500);
/// Size of its `/dev/shm`, in bytes.
pub const SHARED_MEMORY_MAX_BYTES: u64 = 1024 * 1024 * 1024;
/// Size of its `/run`, in bytes.
pub const RUN_DIRECTORY_MAX_BYTES: u64 = 64 * 1024 * 1024;
/// How much rather than others its processes are ended when the machine has no memory left, of 1000.
pub const OUT_OF_MEMORY_SCORE: u32 = 500;
/// Rounds in which what outlived a command is ended where there is no process namespace.
pub const SWEEP_ROUNDS_MAX: usize = 100;
/// How long one trial of the probe may take.
pub const PROBE_TRIAL: Duration = Duration::from_secs(10);
/// Bytes of output of one trial of the probe that are read.
pub const PROBE_OUTPUT_MAX_BYTES: u64 = 64 * 1024;
/// Processes allowed in the trial that counts them. Some systems allow no smaller number.
pub const PROBE_PROCESSES_MAX: u64 = 320;
/// Files of an overlay that are listed.
pub const OVERLAY_CHANGES_MAX: usize = 100_000;
/// Deepest directory of an overlay that is looked into.
pub const OVERLAY_DEPTH_MAX: usize = 200;
/// Files of a workspace whose times are compared before an overlay is applied.
pub const OVERLAY_SCAN_MAX: usize = 1_000_000;
/// How far the times that the kernel gives files may lag behind its clock.
pub const OVERLAY_CLOCK_STEP: Duration = Duration::from_millis(20);
