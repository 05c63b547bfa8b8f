//! Limits of MCP servers: what they may say, and how long they may take.

use std::time::Duration;

/// MCP servers of one user.
pub const SERVERS_MAX: usize = 100;
/// Longest name of a server, in characters.
pub const NAME_MAX_CHARS: usize = 80;
/// Longest URL of a server, in bytes.
pub const URL_MAX_BYTES: usize = 2_048;
/// Headers that are sent with every request to a server.
pub const HEADERS_MAX: usize = 32;
/// Longest of these, name and value, in bytes.
pub const HEADER_MAX_BYTES: usize = 16 * 1024;
/// How long a server may take to answer one request while it is being connected.
pub const CONNECT_REQUEST_TIMEOUT: Duration = Duration::from_secs(20);
/// How long connecting may take in all, with everything that a server is asked then.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(45);
/// How long a tool may take.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(300);
/// Largest answer of a server, in bytes.
pub const ANSWER_MAX_BYTES: usize = 8 * 1024 * 1024;
/// Largest answer to what is not a call of a tool, such as an error page, in bytes.
pub const SMALL_ANSWER_MAX_BYTES: usize = 256 * 1024;
/// Tools of one server; what it tells of beyond is left out.
pub const TOOLS_MAX: usize = 1_000;
/// Tools, resources or prompts of one server that are counted.
pub const ITEMS_MAX: usize = 100_000;
/// Pages of one list.
pub const PAGES_MAX: usize = 200;
/// Largest description and schemas of one tool, in bytes of JSON; a larger tool is left out.
pub const TOOL_MAX_BYTES: usize = 128 * 1024;
/// All tools of one server, in bytes of JSON.
pub const TOOLS_MAX_BYTES: usize = 4 * 1024 * 1024;
/// Longest instructions of a server, in bytes; the rest is left out.
pub const INSTRUCTIONS_MAX_BYTES: usize = 16 * 1024;
/// Largest capabilities of a server, in bytes of JSON.
pub const CAPABILITIES_MAX_BYTES: usize = 16 * 1024;
/// Longest error text that is kept of a server, in bytes.
pub const ERROR_MAX_BYTES: usize = 1_024;
/// Shortest and longest pause before a server is connected again.
pub const RECONNECT_MIN: Duration = Duration::from_secs(2);
/// See `RECONNECT_MIN`.
pub const RECONNECT_MAX: Duration = Duration::from_secs(10 * 60);
/// Servers that are connected at the same time without anybody waiting for it.
pub const CONNECTING_MAX: usize = 8;
/// Servers whose changes are listened to, over all users.
pub const LISTENING_MAX: usize = 2_000;
/// How long a stream of changes may be silent.
pub const LISTEN_IDLE: Duration = Duration::from_secs(60 * 60);
/// How long one stream of changes may last before it is opened anew.
pub const LISTEN_TOTAL: Duration = Duration::from_secs(24 * 60 * 60);
/// Bytes of one stream of changes before it is opened anew.
pub const LISTEN_MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Shortest time between two questions for a server's tools that nobody asked for.
pub const RELIST_MIN: Duration = Duration::from_secs(5);
/// How often a broken answer stream is taken up again.
pub const RESUME_MAX: usize = 3;
/// Longest pause before that, whatever a server asks for.
pub const RESUME_PAUSE_MAX: Duration = Duration::from_secs(5);
/// Unused connections kept per server.
pub const IDLE_CONNECTIONS_MAX: usize = 4;
/// A token that ends within this time is renewed before it is used.
pub const TOKEN_MARGIN: Duration = Duration::from_secs(20);
/// Largest metadata document of a sign-in, in bytes.
pub const METADATA_MAX_BYTES: usize = 256 * 1024;
/// Largest TypeScript declarations of all tools that a model is shown, in bytes.
pub const DECLARATIONS_MAX_BYTES: usize = 24 * 1024;
/// The same of one tool.
pub const DECLARATION_MAX_BYTES: usize = 4 * 1024;
