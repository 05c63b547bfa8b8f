//! Every queue, size and timeout of the program on one page. Units come last in the names.

use std::time::Duration;

/// Largest incoming WebSocket message; above it the answer is 413 and the socket stays.
pub const FRAME_BYTES_MAX: usize = 32 * 1024 * 1024;
/// How much of the beginning of a message that is too large is looked at, for the call it answers.
pub const OVERSIZED_BEGINNING_BYTES: usize = 1024;
/// The same of its end.
pub const OVERSIZED_END_BYTES: usize = 256;
/// Largest message the gateway sends or a client accepts.
pub const OUT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Outgoing messages are cut into WebSocket fragments of this size: shipped clients refuse larger ones.
pub const FRAGMENT_BYTES_MAX: usize = 1024 * 1024;
/// Read buffer of one socket; small, because most sockets are idle.
pub const SOCKET_READ_BUFFER_BYTES: usize = 4 * 1024;

/// Frames that may wait for one client to read them.
pub const OUTBOX_FRAMES_MAX: usize = 4_096;
/// Bytes that may wait for one client to read them.
pub const OUTBOX_BYTES_MAX: usize = 128 * 1024 * 1024;
/// A client that got nothing for so long keeps no memory for what it may get.
pub const OUTBOX_SPARE_KEPT: Duration = Duration::from_secs(2);
/// Above this many waiting bytes the gateway stops reading further requests from that client.
pub const OUTBOX_BYTES_HIGH: usize = 8 * 1024 * 1024;
/// How long one write to a client may take before the client counts as not reading.
pub const SEND_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a socket that is to be closed may take for what waits and for the close frame.
pub const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);
/// Requests of one socket that may be under way at once; further ones wait unread.
pub const REQUESTS_IN_FLIGHT_MAX: usize = 1_024;
/// Bytes of the requests of one socket that may be under way at once; further ones wait unread.
pub const REQUEST_BYTES_IN_FLIGHT_MAX: usize = 64 * 1024 * 1024;

/// Sockets that have not logged in; beyond this the oldest is closed.
pub const PENDING_SOCKETS_MAX: usize = 4_096;
/// A socket that has not logged in is closed after this long.
pub const PENDING_SOCKET_TIMEOUT: Duration = Duration::from_secs(600);

/// Calls one device may have open at once.
pub const ROUTES_PER_DEVICE_MAX: usize = 16_384;
/// How often expired routes are looked for.
pub const ROUTE_SWEEP: Duration = Duration::from_millis(100);
/// A driver that does not say it is ready gets its first request this long after its connect answer.
pub const DRIVER_SETTLE: Duration = Duration::from_millis(75);
/// The gateway pings a driver this often.
pub const DRIVER_PING: Duration = Duration::from_secs(30);
/// A driver whose last sign of life is older than this is closed.
pub const DRIVER_SILENCE_MAX: Duration = Duration::from_secs(100);
/// A remembered shell session is forgotten this long after its last use.
pub const SHELL_SESSION_MS: i64 = 24 * 60 * 60 * 1_000;
/// Longest `client.id` and device id.
pub const CLIENT_ID_BYTES_MAX: usize = 200;
/// Patterns one driver may list in `implements`.
pub const IMPLEMENTS_MAX: usize = 256;
/// Longest device description, in characters.
pub const DEVICE_DESCRIPTION_CHARS_MAX: usize = 500;

/// Failed logins of one user from one address within `LOGIN_WINDOW_MS` before the address must wait.
pub const LOGIN_FAILURES_MAX: u32 = 10;
/// The window in which failed logins are counted.
pub const LOGIN_WINDOW_MS: i64 = 60_000;
/// The first wait after too many failures; it doubles with each further failure.
pub const LOGIN_WAIT_MS: i64 = 10_000;
/// The longest wait.
pub const LOGIN_WAIT_MS_MAX: i64 = 15 * 60_000;
/// Logins of one user from one address that may be checked at the same time, beyond those that may fail.
pub const LOGIN_TRIES_AT_ONCE: u32 = 8;
/// Longest user name, in bytes.
pub const USERNAME_BYTES_MAX: usize = 32;
/// Longest login token, in bytes.
pub const TOKEN_BYTES_MAX: usize = 256;
/// Largest message of a socket that has not logged in.
pub const PENDING_FRAME_BYTES_MAX: usize = 1024 * 1024;
/// User and address pairs that are remembered.
pub const LOGIN_RECORDS_MAX: usize = 16_384;
/// Password hashes computed at the same time; each needs 19 MiB.
pub const PASSWORD_HASHES_MAX: usize = 2;
/// Logins that may wait for a password hash; further ones get 429.
pub const PASSWORD_QUEUE_MAX: usize = 64;
/// Of those, from one address.
pub const PASSWORD_QUEUE_PER_ADDRESS_MAX: usize = 24;

/// Longest password, in bytes.
pub const PASSWORD_BYTES_MAX: usize = 1_024;
/// Longest config key, in bytes.
pub const CONFIG_KEY_BYTES_MAX: usize = 512;
/// Longest config value, in bytes.
pub const CONFIG_VALUE_BYTES_MAX: usize = 1024 * 1024;
/// Longest label, reason or other short text a user may store, in characters.
pub const LABEL_CHARS_MAX: usize = 200;

/// Largest chunk of a file transfer, without the four-byte id.
pub const TRANSFER_CHUNK_BYTES_MAX: usize = 256 * 1024;
/// Bytes a sender may have under way before the receiver acknowledges.
pub const TRANSFER_WINDOW_BYTES: u64 = 4 * 1024 * 1024;
/// A transfer without any frame for this long is given up.
pub const TRANSFER_IDLE: Duration = Duration::from_secs(60);
/// The receiver of a transfer acknowledges each time it has taken in so many bytes.
pub const TRANSFER_ACK_BYTES: u64 = 1024 * 1024;
/// The receiver repeats its acknowledgement after so long without news, as a sign of life.
pub const TRANSFER_SIGN_OF_LIFE: Duration = Duration::from_secs(15);
/// The receiver waits this long for the first byte: the sender may have to hash what was sent earlier.
pub const TRANSFER_FIRST: Duration = Duration::from_secs(600);
/// Transfers one socket may have open at once.
pub const TRANSFERS_PER_SOCKET_MAX: usize = 32;

/// Room that is made for an answer before it is written: as much as the one before it took, within these bounds.
pub const ANSWER_ROOM_BYTES_MIN: usize = 320;
/// See `ANSWER_ROOM_BYTES_MIN`.
pub const ANSWER_ROOM_BYTES_MAX: usize = 16 * 1024;
/// Statements in one group commit.
pub const STORE_BATCH_MAX: usize = 512;
/// Write jobs that may wait for the writer.
pub const STORE_QUEUE_MAX: usize = 8_192;
/// Read-only connections beside the writer.
pub const STORE_READERS: usize = 4;
/// PostgreSQL connections.
pub const STORE_POOL: usize = 8;
/// How long a statement may wait for the database.
pub const STORE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long SQLite waits for a lock that another program holds on the file.
pub const STORE_BUSY: Duration = Duration::from_secs(5);
/// How often a batch that lost a race is run again on PostgreSQL.
pub const STORE_RETRIES_MAX: usize = 8;
/// How long a store whose last holder has just gone is waited for before it counts as held.
pub const STORE_LOCK_WAIT: Duration = Duration::from_secs(1);
/// Page cache of each of SQLite's readers.
pub const STORE_CACHE_KIB: i64 = 1_024;
/// Page cache of SQLite's writer.
pub const STORE_WRITER_CACHE_KIB: i64 = 4_096;
/// Events of the change stream that are kept for a subscriber that is slow to read.
pub const CHANGES_KEPT_MAX: usize = 256;
/// How long a lease is held without being renewed.
pub const LEASE_KEPT: Duration = Duration::from_secs(30);
/// How often leases are renewed: a few attempts may fail before one is lost.
pub const LEASE_RENEWAL: Duration = Duration::from_secs(8);
/// Pages of SQLite's log that are moved into the database together: pages that change often are moved once.
pub const STORE_LOG_PAGES: i64 = 4_000;

/// How long a starting gateway waits for one that was just killed to let go of its address and its store.
pub const TAKEOVER_WAIT: Duration = Duration::from_secs(2);
/// How often it tries.
pub const TAKEOVER_RETRY: Duration = Duration::from_millis(20);

/// How long a graceful stop may take.
pub const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Client: how long opening a socket and `sys.connect` may take.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// Client: how long a call may take unless the caller says otherwise; above the gateway's route timeout.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(120);
/// Client: messages that may wait to be sent.
pub const CLIENT_OUTGOING_MAX: usize = 256;
/// Client: bytes of such messages; a larger message waits until it is alone.
pub const CLIENT_OUTGOING_BYTES_MAX: u32 = 64 * 1024 * 1024;
/// Client: events that may wait to be read; beyond this the socket is not read either.
pub const CLIENT_EVENTS_MAX: usize = 256;
/// Client: a message may take `SEND_TIMEOUT` and a second for each so many bytes.
pub const SEND_BYTES_PER_SECOND_MIN: u64 = 64 * 1024;
/// Client: messages of one transfer that may wait to be read; more than a window of full chunks.
pub const TRANSFER_QUEUE_MAX: usize = 64;
/// Client: bytes kept of transfers that nobody has asked for yet.
pub const TRANSFER_EARLY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Client: ended transfers whose late messages are known to be late.
pub const TRANSFERS_ENDED_KEPT: usize = 64;

/// Driver: refusals of its token in a row after which it gives up.
pub const DRIVER_REFUSALS_MAX: u32 = 3;
/// Driver: first pause before reconnecting; doubles up to the next.
pub const RECONNECT_FIRST: Duration = Duration::from_secs(1);
/// Driver: longest pause before reconnecting.
pub const RECONNECT_MAX: Duration = Duration::from_secs(60);
/// Driver: a connection that lasted this long starts the pauses anew.
pub const RECONNECT_RESET: Duration = Duration::from_secs(30);
/// Driver: how often it pings the gateway.
pub const KEEPALIVE: Duration = Duration::from_secs(60);
/// Driver: how long a ping may wait for room in the queue; the next one comes soon enough.
pub const PING_WAIT: Duration = Duration::from_secs(1);
/// Driver: replies kept for a gateway that was not reachable.
pub const REPLIES_KEPT_MAX: usize = 256;
/// Driver: bytes of such replies.
pub const REPLIES_KEPT_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Driver: how long such a reply is kept.
pub const REPLY_KEPT: Duration = Duration::from_secs(120);
/// Driver: status events kept while offline; the oldest go first.
pub const EVENTS_KEPT_MAX: usize = 2_048;
/// Driver: requests worked on at once.
pub const DRIVER_REQUESTS_MAX: usize = 256;

/// Driver shell: how long a call waits for a command to end.
pub const SHELL_WAIT_MS: u64 = 5_000;
/// Driver shell: bounds of the `yieldMs` argument.
pub const SHELL_WAIT_MS_MIN: u64 = 250;
/// Driver shell: see `SHELL_WAIT_MS_MIN`.
pub const SHELL_WAIT_MS_MAX: u64 = 30_000;
/// Driver shell: a command is ended after this long, unless `timeout` says otherwise.
pub const SHELL_TIMEOUT_MS: u64 = 300_000;
/// Driver shell: longest `timeout`.
pub const SHELL_TIMEOUT_MS_MAX: u64 = 24 * 60 * 60 * 1_000;
/// Driver shell: pause between TERM and KILL.
pub const SHELL_KILL_AFTER: Duration = Duration::from_millis(250);
/// Driver shell: output that comes this soon after other output is answered together with it.
pub const SHELL_COALESCE: Duration = Duration::from_millis(75);
/// Driver shell: how long output is read after a command ended; others may hold its pipes open.
pub const SHELL_DRAIN: Duration = Duration::from_millis(250);
/// Driver shell: bytes of stdin that may wait for a command to read them.
pub const SHELL_STDIN_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Driver shell: stdin writes that may wait for a command to read them.
pub const SHELL_STDIN_WRITES_MAX: usize = 256;
/// Driver shell: bytes kept per stream; the tail wins.
pub const SHELL_OUTPUT_BYTES_MAX: usize = 200_000;
/// Driver shell: a command whose unread output is full waits this long for somebody to ask for it; then the
/// oldest is dropped.
pub const SHELL_UNREAD_WAIT: Duration = Duration::from_secs(10);
/// Driver shell: bytes read from a command at once.
pub const SHELL_READ_BYTES: usize = 16 * 1024;
/// Driver shell: size of `tail`.
pub const SHELL_TAIL_BYTES: usize = 4_000;
/// Driver shell: a finished session nobody polled is kept this long.
pub const SHELL_FINISHED_KEPT: Duration = Duration::from_secs(600);
/// Driver shell: sessions at once.
pub const SHELL_SESSIONS_MAX: usize = 256;

/// Driver files: largest text file `fs.read` returns.
pub const READ_TEXT_BYTES_MAX: u64 = 24 * 1024 * 1024;
/// Driver files: largest image `fs.read` returns.
pub const READ_IMAGE_BYTES_MAX: u64 = 10 * 1024 * 1024;
/// Driver files: bytes looked at to tell what kind of file it is.
pub const READ_HEAD_BYTES: usize = 8 * 1024;
/// Driver files: how long a new upload waits for a broken one of the same file to let go.
pub const UPLOAD_LOCK_WAIT: Duration = Duration::from_secs(5);
/// Driver files: how often it looks whether it has let go.
pub const UPLOAD_LOCK_RETRY: Duration = Duration::from_millis(10);
/// Driver files: an unfinished upload that nobody went on with for this long is removed.
pub const UPLOAD_PARTIAL_KEPT_MS: i64 = 7 * 24 * 60 * 60 * 1_000;
/// Driver files: how often one directory is looked through for such uploads.
pub const UPLOAD_SWEEP_MS: i64 = 60 * 60 * 1_000;
/// Driver files: entries of one directory listing.
pub const READ_ENTRIES_MAX: usize = 100_000;
/// Driver files: matches of one search.
pub const SEARCH_MATCHES_MAX: usize = 100;
/// Driver files: characters kept of one matching line.
pub const SEARCH_LINE_CHARS_MAX: usize = 200;
/// Driver files: an ignore file larger than this is not honoured.
pub const SEARCH_IGNORE_BYTES_MAX: u64 = 1024 * 1024;
/// Driver files: a search is ended after this long and says so.
pub const SEARCH_TIME_MAX: Duration = Duration::from_secs(25);
/// A search holds so much of one file at a time; a file with a longer line is looked into up to that line.
pub const SEARCH_HEAP_BYTES_MAX: usize = 8 * 1024 * 1024;

// Native files.

/// Native files: links that may be followed on the way to one file.
pub const LINKS_FOLLOWED_MAX: usize = 40;
/// Native files: longest path, in bytes.
pub const PATH_BYTES_MAX: usize = 4_096;
/// Native files: longest name of one file, in bytes.
pub const NAME_BYTES_MAX: usize = 255;
/// Native files: largest file that is read into memory as a whole.
pub const FILE_READ_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Native files: a changed directory is made durable after so long; changes that come meanwhile share the sync.
pub const FILE_SETTLE_AFTER: Duration = Duration::from_millis(5);
/// Native files: the thread that does it ends after so long without work.
pub const FILE_SETTLE_IDLE: Duration = Duration::from_secs(10);
/// Native files: changed directories that may wait for it; beyond it their whole file system is synced at once.
pub const FILE_SETTLE_MAX: usize = 256;
/// Native files: replaced files whose room is given back by that thread too; beyond it the writer does it itself.
pub const FILE_REPLACED_MAX: usize = 128;
/// Native files: size of each of the two files of the journal of small writes.
pub const FILE_JOURNAL_BYTES: u64 = 4 * 1024 * 1024;
/// Native files: largest content that is written by way of the journal.
pub const FILE_JOURNAL_CONTENT_MAX: usize = 64 * 1024;
/// Native files: room that each file of the journal keeps for notes that a record counts no longer.
pub const FILE_JOURNAL_SPARE_BYTES: u64 = 256 * 1024;
/// Native files: written files that only the journal makes durable yet; each is an open file. Beyond it, writes go
/// the ordinary way until these are durable by themselves.
pub const FILE_JOURNAL_PENDING_MAX: usize = 1_024;
/// Native files: what the journal holds is made durable by itself so long after the first record.
pub const FILE_JOURNAL_SETTLE_AFTER: Duration = Duration::from_secs(1);
/// Native files: threads that make many files durable at once, which share the disk's turns.
pub const FILE_JOURNAL_SYNC_THREADS: usize = 8;
/// Native files: how long anything waits for the journal.
pub const FILE_JOURNAL_WAIT: Duration = Duration::from_secs(60);
/// Native files: writes are done where they are asked for only while they take no longer than this.
pub const FILE_WRITE_HERE_TIME_MAX: Duration = Duration::from_millis(2);
/// Native files: largest content that is written where it is asked for.
pub const FILE_WRITE_HERE_BYTES_MAX: usize = 64 * 1024;
/// Native files: a write that comes sooner than this after another one was waiting already, and gets a thread.
pub const FILE_WRITE_HERE_GAP: Duration = Duration::from_micros(10);
/// Native files: small files that are kept as they were last shown.
pub const SHOWN_FILES_MAX: usize = 256;
/// Native files: largest file that is kept so.
pub const SHOWN_FILE_BYTES_MAX: u64 = 16 * 1024;
/// Native files: how long a file must have stood still before it is; longer than the coarsest clock of a host's
/// file system counts at once.
pub const SHOWN_SETTLED: Duration = Duration::from_millis(2_500);
/// Native files: the same where that clock is a fine one, which ticks at least every ten milliseconds.
pub const SHOWN_SETTLED_FINE: Duration = Duration::from_millis(200);
/// Native files: names that one glance at directories takes in; what has more is read each time.
pub const FILE_GLANCE_NAMES_MAX: usize = 128;
/// Native files: largest image `fs.read` returns.
pub const NATIVE_IMAGE_BYTES_MAX: u64 = 25 * 1024 * 1024;
/// Native files: largest file that is read without a thread of its own, if it is in memory already.
pub const NATIVE_READ_NOW_BYTES_MAX: u64 = 2 * 1024 * 1024;
/// Native files: matches of one search.
pub const NATIVE_SEARCH_MATCHES_MAX: usize = 500;
/// Native files: threads of one search.
pub const NATIVE_SEARCH_THREADS: usize = 2;
/// Native files: how deep below its start a search goes.
pub const NATIVE_SEARCH_DEPTH_MAX: usize = 256;
/// Native files: live files that one search looks into.
pub const NATIVE_SEARCH_LIVE_FILES_MAX: usize = 10_000;
/// Native files: searches under way at once; further ones wait.
pub const NATIVE_SEARCHES_MAX: usize = 4;
/// Native files: searches of one user under way at once.
pub const NATIVE_SEARCHES_PER_USER_MAX: usize = 2;
/// Native files: how long a search may wait for its turn; longer than another one takes.
pub const NATIVE_SEARCH_WAIT: Duration = Duration::from_secs(30);
/// Native files: memory of all contents that `fs.read` makes at once.
pub const NATIVE_READS_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// Native files: how long a reading may wait for its part of that memory.
pub const NATIVE_READ_WAIT: Duration = Duration::from_secs(30);
/// Native files: time for finding out where the links of one directory lead; the rest of them count as files.
pub const NATIVE_LIST_LINKS_TIME_MAX: Duration = Duration::from_secs(2);
/// Native files: names looked up on the way to one file, those that links lead over included.
pub const WALK_STEPS_MAX: usize = 16_384;
/// Native files: names in one directory that are shown at once.
pub const DIRECTORY_NAMES_MAX: usize = 200_000;
/// Native files: pieces of work on the disk that are under way at once for callers of the async runtime.
pub const FILE_WORK_MAX: usize = 64;
/// Native files: how long such a piece of work may wait for its turn.
pub const FILE_WORK_WAIT: Duration = Duration::from_secs(60);
/// Native files: directories whose permissions are remembered for quick reads.
pub const DIRECTORIES_REMEMBERED_MAX: usize = 1_024;
/// Native files: how long they are remembered; changes made on the host show after that.
pub const DIRECTORY_REMEMBERED: Duration = Duration::from_secs(1);
/// Native files: how many different files can surely be changed at once.
pub const FILE_LOCKS: usize = 1_024;
/// Native files: what is left of a broken write is removed when it is older than this.
pub const FILE_DRAFT_KEPT_MS: i64 = 60 * 60 * 1_000;
/// Native files: directories of which is remembered when they were looked through for such leftovers.
pub const FILE_DRAFT_SWEEPS_MAX: usize = 4_096;
/// Native files: how often something that others change meanwhile is tried.
pub const FILE_RACES_MAX: usize = 64;
/// Native files: how old the count of a user's bytes may be before everything is counted anew.
pub const FILE_USAGE_KEPT: Duration = Duration::from_secs(60);
/// Native files: a new count is made after so many times of what the last one took, if that is longer.
pub const FILE_USAGE_KEPT_TIMES: u32 = 20;
/// Native files: how long a write waits for the first count of everybody's bytes; then it goes on uncounted.
pub const FILE_USAGE_WAIT: Duration = Duration::from_secs(10);
/// Native files: how long a change of a file waits for other changes of it.
pub const FILE_LOCK_WAIT: Duration = Duration::from_secs(60);
/// Native files: directories that are looked through for leftovers of broken writes when the gateway starts.
pub const FILE_SWEEP_DIRECTORIES_MAX: usize = 200_000;
/// Native files: how deep that goes.
pub const FILE_SWEEP_DEPTH_MAX: usize = 64;
/// Native files: the pause after each of these directories.
pub const FILE_SWEEP_PAUSE: Duration = Duration::from_millis(1);
/// Native files: bytes copied at once.
pub const FILE_COPY_BYTES: usize = 256 * 1024;
/// Native files: how often a transfer looks whether its caller has read what waits for it.
pub const NATIVE_TRANSFER_PAUSE: Duration = Duration::from_millis(10);

// Native shell.

/// Native shell: threads that run commands; a command that goes on holds one.
pub const NATIVE_SHELL_THREADS_MAX: usize = 96;
/// Native shell: threads of these that only root's commands get.
pub const NATIVE_SHELL_THREADS_OF_ROOT: usize = 8;
/// Native shell: commands of one user that run at once; further ones wait.
pub const NATIVE_SHELL_RUNNING_PER_USER_MAX: usize = 8;
/// Native shell: commands that may wait for a thread; further ones get 429.
pub const NATIVE_SHELL_QUEUE_MAX: usize = 256;
/// Native shell: bytes of the scripts that wait for a thread.
pub const NATIVE_SHELL_QUEUE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Native shell: commands of one user that may run or wait at once; further ones get 429.
pub const NATIVE_SHELL_PER_USER_MAX: usize = 32;
/// Native shell: commands that are remembered, with those that have ended.
pub const NATIVE_SHELL_SESSIONS_MAX: usize = 1_024;
/// Native shell: commands of one user that have ended and are remembered.
pub const NATIVE_SHELL_ENDED_PER_USER_MAX: usize = 32;
/// Native shell: stack of such a thread; the interpreter recurses on it. Only what is used costs memory. Calls take
/// many times the room in debug builds.
pub const NATIVE_SHELL_STACK_BYTES: usize = if cfg!(debug_assertions) { 4096 } else { 512 } * 1024 * 1024;
/// Native shell: longest filter of `jq`, in bytes; its parser recurses, at worst once for each.
pub const NATIVE_SHELL_JQ_FILTER_BYTES_MAX: usize = 16 * 1024;
/// Native shell: bytes that the values of one `jq` may have as it counts them; it counts an eighth of some. With 16
/// bytes for each level a value is nested at most a million deep, which the stack above bears.
pub const NATIVE_SHELL_JQ_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Native shell: how deep a value that `jq` prints with indentation may be nested.
pub const NATIVE_SHELL_JQ_DEPTH_MAX: usize = 1_000;
/// Native shell: bytes that one `sort` takes in, each line counted as `NATIVE_SHELL_LINE_BYTES` longer than it is.
pub const NATIVE_SHELL_SORT_BYTES_MAX: usize = 128 * 1024 * 1024;
/// Native shell: what a line that is held costs besides its text.
pub const NATIVE_SHELL_LINE_BYTES: usize = 64;
/// Native shell: commands that hold much memory, of all users, that run at once; further ones wait.
pub const NATIVE_SHELL_HEAVY_MAX: usize = 8;
/// Native shell: how many of these places one user's commands take at most; further ones wait.
pub const NATIVE_SHELL_HEAVY_PER_USER_MAX: usize = 3;
/// Native shell: bytes that one command reads from files when it holds all of them.
pub const NATIVE_SHELL_READ_BYTES_MAX: usize = 96 * 1024 * 1024;
/// Native shell: time of a `jq` whose definitions call themselves with filters; each such call keeps the last one.
pub const NATIVE_SHELL_JQ_RECURSION: Duration = Duration::from_secs(1);
/// Native shell: words `(`, `!` and `-not` of one `find`; its parser recurses.
pub const NATIVE_SHELL_FIND_DEPTH_MAX: usize = 1_000;
/// Native shell: words of one `find`.
pub const NATIVE_SHELL_FIND_WORDS_MAX: usize = 20_000;
/// Native shell: how often a running command is looked at.
pub const NATIVE_SHELL_TICK: Duration = Duration::from_millis(25);
/// Native shell: how long a command that writes more than its caller reads pauses before it looks again.
pub const NATIVE_SHELL_HELD_PAUSE: Duration = Duration::from_millis(5);
/// Native shell: a command that was told to end and does not is given up after this long, with its thread.
pub const NATIVE_SHELL_GRACE: Duration = Duration::from_secs(2);
/// Native shell: threads that were given up and are replaced; beyond this they are not.
pub const NATIVE_SHELL_LOST_MAX: usize = 16;
/// Native shell: commands of one user that were given up and still run; with so many the user starts no more.
pub const NATIVE_SHELL_LOST_PER_USER_MAX: usize = 2;
/// Native shell: how much one reading of `/dev/zero` gives.
pub const NATIVE_SHELL_ZERO_BYTES: usize = 16 * 1024 * 1024;
/// Native shell: how much one reading of `/dev/urandom` gives.
pub const NATIVE_SHELL_RANDOM_BYTES: usize = 1024 * 1024;
/// Native shell: time a command may keep its thread busy.
pub const NATIVE_SHELL_CPU: Duration = Duration::from_secs(10);
/// Native shell: by how much the memory of the whole gateway may grow while a command runs that takes most of it.
pub const NATIVE_SHELL_HELD_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// Native shell: commands that one script may run.
pub const NATIVE_SHELL_COMMANDS_MAX: usize = 100_000;
/// Native shell: turns of all loops of one script.
pub const NATIVE_SHELL_LOOPS_MAX: usize = 1_000_000;
/// Native shell: how deep functions, sourced files and child shells may be nested; the interpreter takes no more.
pub const NATIVE_SHELL_FUNCTION_DEPTH_MAX: usize = 16;
/// Native shell: how deep subshells, and command substitutions, may be nested.
pub const NATIVE_SHELL_SUBSHELL_DEPTH_MAX: usize = 32;
/// Native shell: jobs in the background and pipeline stages of one script at once.
pub const NATIVE_SHELL_JOBS_MAX: usize = 64;
/// Native shell: memory of one script.
pub const NATIVE_SHELL_MEMORY_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Native shell: bytes of all variables of one script; less than what one `$(...)` may hold, so that a cut one fails.
pub const NATIVE_SHELL_VARIABLE_BYTES_MAX: usize = 48 * 1024 * 1024;
/// Native shell: bytes that one command may write to a pipe that is read as a whole, to a file, or to the caller.
pub const NATIVE_SHELL_STREAM_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Native shell: longest script that is looked through for commands that read stdin.
pub const NATIVE_SHELL_SCAN_BYTES_MAX: usize = 256 * 1024;
/// Native shell: how deep such a script may be nested.
pub const NATIVE_SHELL_SCAN_DEPTH_MAX: usize = 100;
/// Native shell: longest script, in bytes. What is made of it takes ninety times as much.
pub const NATIVE_SHELL_SCRIPT_BYTES_MAX: usize = 4_000_000;

/// Native shell: statements, calls and sums of one `bc`.
pub const BC_STEPS_MAX: usize = 1_000_000;
/// Native shell: bits of a number of `bc`.
pub const BC_BITS_MAX: u64 = 1_000_000;
/// Native shell: digits behind the point of a number of `bc`.
pub const BC_SCALE_MAX: u32 = 100_000;
/// Native shell: how deep the functions of a `bc` program may be nested.
pub const BC_CALLS_MAX: usize = 200;
/// Native shell: files that one command with `-R` looks at.
pub const WALK_FILES_MAX: usize = 200_000;
/// Native shell: targets that `devices list` shows unless `--limit` says otherwise.
pub const TARGETS_LISTED: u64 = 20;
/// Native shell: most targets that `devices list` shows at once.
pub const TARGETS_LISTED_MAX: u64 = 100;
/// Native shell: how deep below `skills.d` a skill may be.
pub const SKILL_DEPTH_MAX: usize = 4;
/// Native shell: skills of one layer, and files of one skill, that are looked at.
pub const SKILL_FILES_MAX: usize = 2_000;
/// Native shell: characters of a skill's description.
pub const SKILL_DESCRIPTION_CHARS_MAX: usize = 220;
/// Native shell: how long `curl` may take, unless `--max-time` says less.
pub const CURL_TIME_MAX: Duration = Duration::from_secs(300);
/// Native shell: how long opening a connection may take, unless `--connect-timeout` says less.
pub const CURL_CONNECT_TIME_MAX: Duration = Duration::from_secs(30);
/// Native shell: largest body that `curl` takes in.
pub const CURL_BODY_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Native shell: redirects that `curl -L` follows, unless `--max-redirs` says less.
pub const CURL_REDIRECTS_MAX: u64 = 20;
/// Native shell: URLs of one `curl`.
pub const CURL_URLS_MAX: usize = 64;

// Outgoing requests.

/// Outgoing: how long looking up a name, opening a connection and TLS may take together.
pub const OUTGOING_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Outgoing: how long one address of a host may be silent before the next is tried beside it.
pub const OUTGOING_CONNECT_STAGGER: Duration = Duration::from_millis(250);
/// Outgoing: how many addresses of a host are looked at.
pub const OUTGOING_ADDRESSES_MAX: usize = 16;
/// Outgoing: how long the other side may be silent, unless the request says otherwise.
pub const OUTGOING_IDLE_TIMEOUT: Duration = Duration::from_secs(120);
/// Outgoing: how long a request may take with its redirects and its body, unless it says otherwise.
pub const OUTGOING_TOTAL_TIMEOUT: Duration = Duration::from_secs(3_600);
/// Outgoing: headers of one answer.
pub const OUTGOING_HEADERS_MAX: usize = 200;
/// Outgoing: bytes of the headers of one answer.
pub const OUTGOING_HEADER_BYTES_MAX: usize = 256 * 1024;
/// Outgoing: bytes of the body of one answer, unless the request says otherwise.
pub const OUTGOING_BODY_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Outgoing: redirects that any request may follow.
pub const OUTGOING_REDIRECTS_MAX: u64 = 20;
/// Outgoing: unused connections kept per host.
pub const OUTGOING_IDLE_CONNECTIONS_MAX: usize = 64;
/// Outgoing: how long an unused connection is kept.
pub const OUTGOING_IDLE_CONNECTION_KEPT: Duration = Duration::from_secs(60);
/// Outgoing: how long an answer that is over may take to end, so that its connection can be used again.
pub const OUTGOING_DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
/// Outgoing: bytes that are read for that.
pub const OUTGOING_DRAIN_BYTES_MAX: u64 = 64 * 1024;

// Models.

/// Models: a whole answer, from connecting to its last byte, unless config says otherwise.
pub const MODEL_GENERATION_TIMEOUT: Duration = Duration::from_secs(180);
/// Models: how long a provider may be silent; thinking models are quiet for long.
pub const MODEL_IDLE_TIMEOUT: Duration = Duration::from_secs(120);
/// Models: how often one request is sent in all.
pub const MODEL_ATTEMPTS_MAX: u32 = 3;
/// Models: pause before the second attempt; it doubles, and up to half of it is left to chance.
pub const MODEL_RETRY_PAUSE_FIRST: Duration = Duration::from_millis(500);
/// Models: a provider that asks to wait longer than this is not asked again.
pub const MODEL_RETRY_AFTER_MAX: Duration = Duration::from_secs(30);
/// Models: bytes of one answer as they come over the wire.
pub const MODEL_RESPONSE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Models: bytes of one event of such an answer.
pub const MODEL_EVENT_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Models: blocks (texts, thoughts, tool calls) of one answer.
pub const MODEL_BLOCKS_MAX: usize = 1_024;
/// Models: pieces of an answer that wait to be read, each what one read of the socket brought.
pub const MODEL_PIECES_MAX: usize = 4;
/// Models: bytes read of an answer that is an error.
pub const MODEL_ERROR_BYTES_MAX: usize = 64 * 1024;
/// Models: characters kept of a provider's error text.
pub const MODEL_ERROR_CHARS_MAX: usize = 1_000;
/// Models: how deep the JSON of a tool's arguments may be nested.
pub const MODEL_JSON_DEPTH_MAX: usize = 128;
/// Models: how long looking for a local model server may take.
pub const MODEL_PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// Models: bytes of one answer of such a server.
pub const MODEL_PROBE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Models: how many of its models are asked what they can do.
pub const MODEL_PROBES_MAX: usize = 8;
/// Models: how long writing speech down may take.
pub const TRANSCRIPTION_TIMEOUT: Duration = Duration::from_secs(120);
/// Models: largest sound that is written down, unless config says otherwise.
pub const TRANSCRIPTION_BYTES_MAX: usize = 25 * 1024 * 1024;
/// Models: how long saying a text may take, unless config says otherwise.
pub const SPEECH_TIMEOUT: Duration = Duration::from_secs(30);
/// Models: longest text that is said, in characters, unless config says otherwise.
pub const SPEECH_CHARS_MAX: usize = 4_000;
/// Models: largest sound a provider may answer with.
pub const SPEECH_BYTES_MAX: usize = 32 * 1024 * 1024;

// Command line.

/// Command line: how long the first call of a command waits: short, so that the session's id is known soon.
pub const CLI_FIRST_WAIT_MS: u64 = SHELL_WAIT_MS_MIN;
/// Command line: how long a poll of a running command waits for output; also how long Ctrl-C may have to wait.
pub const CLI_POLL_WAIT_MS: u64 = 500;
/// Command line: the least time between polls that bring nothing, for targets that answer at once.
pub const CLI_IDLE_PAUSE: Duration = Duration::from_millis(100);
/// Command line: first pause before going on with a command after a loss; doubles up to the next.
pub const CLI_LOSS_PAUSE_FIRST: Duration = Duration::from_millis(250);
/// Command line: longest pause between attempts to go on.
pub const CLI_LOSS_PAUSE_MAX: Duration = Duration::from_secs(4);
/// Command line: after this long without the gateway or the device a followed command is left alone.
pub const CLI_LOSS_MAX: Duration = RECONNECT_MAX;
/// Command line: how long ending the command on a target may take when this program is told to end.
pub const CLI_END_TIMEOUT: Duration = Duration::from_secs(5);
/// Command line: presses of Ctrl-C that may wait to be looked at; more say nothing new.
pub const CLI_PRESSES_MAX: usize = 4;
/// Command line: how much of stdin goes into one call.
pub const CLI_STDIN_CHUNK_BYTES_MAX: usize = 1024 * 1024;
/// Command line: chunks of stdin that may wait for their call; the reader waits when there are more.
pub const CLI_STDIN_CHUNKS_MAX: usize = 2;
/// Command line: how often one file is tried by `gsv cp`.
pub const CLI_COPY_ATTEMPTS_MAX: u32 = 6;
/// Command line: pause before the second attempt; it doubles.
pub const CLI_COPY_PAUSE_FIRST: Duration = Duration::from_millis(500);
/// Command line: how deep directories may be nested for `gsv cp -r`.
pub const CLI_COPY_DEPTH_MAX: usize = 128;
/// Command line: how long it is remembered that `gsv cp -r` was interrupted, in milliseconds.
pub const CLI_COPY_RECORD_KEPT_MS: i64 = 7 * 24 * 60 * 60 * 1_000;
/// Command line: bytes of a file's name that go into the name of its unfinished copy.
pub const CLI_PARTIAL_NAME_BYTES_MAX: usize = 200;
/// Command line: lines of history that `gsv shell` keeps.
pub const CLI_HISTORY_LINES_MAX: usize = 5_000;
/// Command line: lines of a script that `gsv shell` reads ahead.
pub const CLI_LINES_AHEAD_MAX: usize = 16;
/// Command line: how often a person may mistype a password.
pub const CLI_PASSWORD_ATTEMPTS_MAX: u32 = 3;
/// Command line: how long the settings file is waited for while another command changes it.
pub const CLI_CONFIG_LOCK_WAIT: Duration = Duration::from_secs(5);
/// Command line: pause between attempts to have the settings file for oneself.
pub const CLI_CONFIG_LOCK_PAUSE: Duration = Duration::from_millis(10);
/// Command line: signals that are kept while the answer to a call is waited for.
pub const CLI_SIGNALS_AHEAD_MAX: usize = 65_536;
/// Command line: messages that are read anew after signals were missed.
pub const CLI_MESSAGES_READ_MAX: usize = 20_000;
/// Command line: how many of the newest runs are looked at for one that ended unseen.
pub const CLI_RUNS_LOOKED_AT: u64 = 100;
/// Command line: how long compacting a conversation may take, with a model that writes the summary.
pub const CLI_COMPACT_TIMEOUT: Duration = Duration::from_secs(300);

// Processes.

/// Processes: messages that may wait in one process's mailbox; further ones get 429.
pub const PROCESS_MAIL_MAX: usize = 256;
/// Processes: how long somebody waits for room in a mailbox, and for the answer.
pub const PROCESS_ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// Processes: one without a run sleeps after so long without mail; only its rows are left.
pub const PROCESS_IDLE: Duration = Duration::from_secs(30);
/// Processes: how often a step is tried to be kept when the store fails.
pub const PROCESS_STORE_ATTEMPTS: u32 = 5;
/// Processes: pause before the second attempt; it doubles.
pub const PROCESS_STORE_RETRY_PAUSE: Duration = Duration::from_millis(100);
/// Processes: how long one rests whose steps can not be kept, before it goes on where it was.
pub const PROCESS_STORE_PAUSE: Duration = Duration::from_secs(5);
/// Processes: messages that may wait in the queue of one process.
pub const PROCESS_QUEUE_MAX: u64 = 1_000;
/// Processes: longest message, in bytes.
pub const PROCESS_MESSAGE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Processes: media of one message.
pub const PROCESS_MEDIA_MAX: usize = 32;
/// Processes: largest medium, in bytes.
pub const PROCESS_MEDIA_BYTES_MAX: usize = 25 * 1024 * 1024;
/// Processes: texts a process is told when it starts, all together, in bytes.
pub const PROCESS_CONTEXT_BYTES_MAX: usize = 1024 * 1024;
/// Processes: longest result of a tool that goes to the model as it is; the middle of longer ones is cut.
pub const PROCESS_RESULT_BYTES_MAX: usize = 256 * 1024;
/// Processes: tool calls of one turn that run at the same time.
pub const PROCESS_TOOLS_AT_ONCE: usize = 16;
/// Processes: tool calls of one turn; the rest are refused.
pub const PROCESS_TOOLS_PER_TURN_MAX: usize = 128;
/// Processes: pages of history are at most so many messages.
pub const PROCESS_HISTORY_MAX: u64 = 1_000;
/// Processes: bytes of such a page, before they become JSON; it ends early rather than become too large to send.
pub const PROCESS_HISTORY_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Processes: bytes of an archived segment that a conversation can be forked from.
pub const PROCESS_RESTORE_BYTES_MAX: usize = 512 * 1024 * 1024;
/// Processes: conversations of one process.
pub const PROCESS_CONVERSATIONS_MAX: u64 = 10_000;
/// Processes: after a restart, how long a device is waited for that has the result of a call.
pub const PROCESS_RECALL_WAIT: Duration = Duration::from_secs(60);
/// Processes: pictures kept in memory for the next turn.
pub const PROCESS_PICTURES_KEPT: usize = 32;
/// Processes: without a configured model, what was found on this machine is believed for so long.
pub const PROCESS_DISCOVERY_KEPT: Duration = Duration::from_secs(60);
/// Processes: what runs work with is kept so long at most, and only while nothing it was made of changes.
pub const PROCESS_SETUP_KEPT: Duration = Duration::from_secs(10);
/// Processes: so many of these are kept.
pub const PROCESS_SETUPS_MAX: usize = 256;
/// Processes: messages of a conversation that are read from the store at once.
pub const PROCESS_MESSAGES_PER_READ: u64 = 1_000;
/// Processes: skills that a prompt names; the shell lists the rest.
pub const PROCESS_SKILLS_NAMED_MAX: usize = 200;
/// Processes: bytes of those pictures, in base 64.
pub const PROCESS_PICTURES_KEPT_BYTES: usize = 64 * 1024 * 1024;
/// Processes: characters of a conversation that a model summarizes in one pass, when its context window is not known.
pub const PROCESS_SUMMARY_CHARS: usize = 24_000;
/// Processes: fewest and most characters of such a pass, when the window is known.
pub const PROCESS_SUMMARY_CHARS_RANGE: (usize, usize) = (2_000, 240_000);
/// Processes: passes that one summary may take.
pub const PROCESS_SUMMARY_PASSES_MAX: usize = 64;
/// Processes: messages that are archived, or copied, at once.
pub const PROCESS_ARCHIVE_PAGE: u64 = 64;
/// Processes: longest line of an archive that is read, in bytes. Its owner can change the file.
pub const PROCESS_ARCHIVE_LINE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Processes: how much of an archive is unpacked at most, in bytes.
pub const PROCESS_ARCHIVE_BYTES_MAX: u64 = 4 * 1024 * 1024 * 1024;
/// Processes: pages of an archived segment are at most so many messages.
pub const PROCESS_SEGMENT_READ_MAX: u64 = 500;
/// Processes: runs whose route to a connection is remembered.
pub const PROCESS_ROUTES_MAX: usize = 65_536;
/// Processes: deadline of a call between processes when none is named, in milliseconds.
pub const PROCESS_IPC_TIMEOUT_MS: u64 = 60_000;
/// Processes: shortest and longest such deadline, in milliseconds.
pub const PROCESS_IPC_TIMEOUT_MS_RANGE: (u64, u64) = (1_000, 600_000);
/// Processes: open calls between processes that are looked at together.
pub const PROCESS_IPC_PAGE: u64 = 100;
/// Processes: how long a device whose socket was lost in the middle of a call is waited for, and after the start of
/// the gateway one that had been connected before.
pub const PROCESS_DEVICE_RETURN_WAIT: Duration = Duration::from_secs(30);
/// Providers: a key shorter than this, in bytes, is taken out of texts only where it stands by itself.
pub const SECRET_BYTES_PLAIN: usize = 8;

// Signals.

/// Signals: how many of one user's newest signals are kept for connections that come back.
pub const SIGNALS_KEPT: usize = 4_096;
/// Signals: bytes of one user's signals that are kept.
pub const SIGNALS_KEPT_BYTES: usize = 4 * 1024 * 1024;
/// Signals: bytes of all users' signals that are kept together; those of whoever was quiet longest go first.
pub const SIGNALS_KEPT_BYTES_ALL: usize = 256 * 1024 * 1024;
/// Signals: users whose signals are kept; the one that was quiet longest goes first.
pub const SIGNALS_USERS_MAX: usize = 4_096;
/// Signals: bytes of a model's answer that are kept in one piece.
pub const SIGNALS_PIECE_BYTES: usize = 64 * 1024;
/// Signals: for one user, places in the order of signals that a client can not go on from.
pub const SIGNALS_TANGLED_MAX: usize = 4_096;
/// Signals: answers of models, of one user, whose text so far is at hand for connections that come back.
pub const SIGNALS_ANSWERS_MAX: usize = 1_024;
/// Signals: with more frames than this waiting, deltas are merged past signals of other runs too.
pub const SIGNALS_WAITING_MANY: usize = 32;
/// Signals: how many waiting frames are looked through for one to merge with.
pub const SIGNALS_LOOK_BACK_MAX: usize = 512;
/// Signals: how long the signals of a run go to the connection that started it.
pub const PROCESS_ROUTE_KEPT: Duration = Duration::from_secs(30 * 60);
/// Client: signals that may wait to be read; beyond this the socket is not read either.
pub const CLIENT_SIGNALS_MAX: usize = 1_024;

/// Driver: results of durable calls that are remembered.
pub const LEDGER_CALLS_MAX: usize = 1_024;
/// Driver: bytes of such results.
pub const LEDGER_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Driver: how long such a result is remembered.
pub const LEDGER_KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// Driver: calls whose results are gone but that are still known to have been made.
pub const LEDGER_FORGOTTEN_MAX: usize = 65_536;
/// Driver: longest id of a durable call, in bytes.
pub const LEDGER_ID_BYTES_MAX: usize = 256;

// Approvals.

/// Approvals: longest command that is looked into, in bytes; longer ones are asked about.
pub const APPROVAL_SCRIPT_BYTES_MAX: usize = 64 * 1024;
/// Approvals: how deep the syntax of a command may be nested to be looked into.
pub const APPROVAL_SYNTAX_DEPTH_MAX: usize = 60;
/// Approvals: commands within commands (`sudo sh -c '…'`) that are looked into.
pub const APPROVAL_NESTING_MAX: usize = 16;
/// Approvals: simple commands of one script that are looked into.
pub const APPROVAL_COMMANDS_MAX: usize = 1_000;
/// Approvals: longest shape of a command that can be remembered, in bytes.
pub const APPROVAL_SHAPE_BYTES_MAX: usize = 1_024;

// TLS and OAuth.

/// TLS: bytes of certificates that `SSL_CERT_FILE` and `SSL_CERT_DIR` may add, in all.
pub const TLS_ROOTS_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// TLS: files of such a directory that are looked at.
pub const TLS_ROOT_FILES_MAX: usize = 10_000;
/// OAuth: how long a person may take to agree at the service.
pub const OAUTH_FLOW_KEPT: Duration = Duration::from_secs(10 * 60);
/// OAuth: flows of one user that may wait for a person at the same time.
pub const OAUTH_FLOWS_MAX: usize = 100;
/// OAuth: how long a service may take to turn a code into a token.
pub const OAUTH_TOKEN_TIMEOUT: Duration = Duration::from_secs(30);
/// OAuth: largest answer with a token, in bytes.
pub const OAUTH_TOKEN_BYTES_MAX: usize = 1024 * 1024;
/// Command line: how long a prompt may take to give its terminal back when the program is told to end.
pub const CLI_PROMPT_END_TIMEOUT: Duration = Duration::from_millis(500);
