//! Typed settings: every config key is a row here, with its type, default, who may write it and whether it is a secret.
//!
//! A key is a constant ([`SHELL_WAIT_MS`]) and is read through it ([`Key::of`]); its name is written nowhere else. The
//! reference page is printed from the rows.

mod lookup;

pub use lookup::{Known, find, is_sensitive, nearest, set_by};

use std::marker::PhantomData;

use crate::ids::Uid;
use crate::spec::By;

/// What a value must look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// Any text; an empty one is as good as none.
    Text,
    /// The text of a file; an empty one is a value too.
    File,
    /// A whole number within bounds.
    Number {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
    },
    /// `true` or `false`.
    Flag,
    /// An IANA time zone.
    Timezone,
    /// One of some words, however they are capitalised.
    OneOf(&'static [&'static str]),
    /// An approval policy as JSON, see [`crate::policy`].
    Policy,
    /// A list of hosts, see [`crate::hosts`].
    Hosts,
}

/// Who may write a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// Nobody: it is there to be read.
    Nobody,
    /// Root, for everybody.
    Root,
    /// Root, for everybody as `config/…` and for one user as `users/<uid>/…`.
    RootForUser,
    /// Root for everybody as `config/…`, and each user as `users/<uid>/…`, which goes first.
    User,
}

/// One row: a key, or a family of keys with variable parts.
#[derive(Debug)]
pub struct Row {
    /// Such as `config/routing/timeout_ms`. `<name>` stands for one segment, `<path…>` for one or more.
    pub name: &'static str,
    /// Its value when nobody set it.
    pub default: &'static str,
    /// What it must look like.
    pub kind: ValueType,
    /// Who may set it.
    pub writer: Writer,
    /// Whether it is hidden from everybody but its owner, and encrypted at rest.
    pub is_secret: bool,
    /// Whether agents may set it too, and if not, who.
    pub by: By,
    /// What it is for.
    pub doc: &'static str,
}

impl Row {
    /// Whether the name has variable parts.
    pub fn is_family(&self) -> bool {
        self.name.contains('<')
    }
}

/// A key with the type of its value.
pub struct Key<T> {
    row: &'static Row,
    value: PhantomData<fn() -> T>,
}

impl<T> Clone for Key<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Key<T> {}

/// A type that a value can have.
pub trait Setting: Default {
    /// The value in a stored text; `None` when it does not fit the row.
    fn read(row: &Row, text: &str) -> Option<Self>;
}

impl Setting for String {
    fn read(_: &Row, text: &str) -> Option<String> {
        Some(text.to_string())
    }
}

impl Setting for u64 {
    fn read(row: &Row, text: &str) -> Option<u64> {
        let number = text.trim().parse().ok()?;
        match row.kind {
            ValueType::Number { min, max } => (min..=max).contains(&number).then_some(number),
            _ => None,
        }
    }
}

impl Setting for bool {
    fn read(_: &Row, text: &str) -> Option<bool> {
        text.trim().parse().ok()
    }
}

impl<T> Key<T> {
    const fn new(row: &'static Row) -> Key<T> {
        Key { row, value: PhantomData }
    }

    /// Its row.
    pub const fn row(self) -> &'static Row {
        self.row
    }

    /// Everybody's key: `config/…`.
    pub const fn name(self) -> &'static str {
        self.row.name
    }

    /// One user's key: `users/<uid>/…`.
    pub fn own(self, uid: Uid) -> String {
        format!("users/{uid}/{}", self.stem())
    }

    /// The name without its beginning, the same for everybody and for one user.
    pub fn stem(self) -> &'static str {
        stem(self.row.name)
    }

    /// The key of a family with its variable parts filled in, in their order.
    pub fn with(self, parts: &[&str]) -> String {
        let mut parts = parts.iter();
        let fill = |segment: &'static str| {
            if segment.starts_with('<') { parts.next().copied() } else { Some(segment) }
        };
        self.name().split('/').filter_map(fill).collect::<Vec<_>>().join("/")
    }
}

impl<T: Setting> Key<T> {
    /// The value that counts: of the stored texts, which come in the order of their rank, the first that fits, else the
    /// built-in one.
    pub fn of<'a>(self, stored: impl IntoIterator<Item = Option<&'a str>>) -> T {
        let stored = stored.into_iter().flatten().chain([self.row.default]);
        stored.filter_map(|text| self.read(text)).next().unwrap_or_default()
    }

    /// The value in one stored text, where it fits.
    pub fn read(self, text: &str) -> Option<T> {
        T::read(self.row, text)
    }
}

/// The name of everybody's key without its beginning.
pub fn stem(name: &str) -> &str {
    name.strip_prefix(SYSTEM).unwrap_or(name)
}

/// What a program reads in the place of a secret.
pub const MASKED: &str = "********";

/// What everybody's keys begin with.
const SYSTEM: &str = "config/";

/// A row is `/// doc` and `NAME: type = "key", "default", kind, Writer;`, with `secret` after the writer of a secret and
/// `, by Anybody` last where agents may set it too. Without that they never can.
macro_rules! keys {
    ($(
        $(#[doc = $doc:literal])+
        $key:ident: $ty:ty = $name:literal, $default:literal, $kind:expr, $writer:ident $($secret:ident)?
        $(, by $by:ident)?;
    )*) => {
        $(
            $(#[doc = $doc])+
            pub const $key: Key<$ty> = Key::new(&Row {
                name: $name,
                default: $default,
                kind: $kind,
                writer: Writer::$writer,
                is_secret: keys!(@secret $($secret)?),
                by: keys!(@by $($by)?),
                doc: concat!($($doc),+),
            });
        )*

        /// Every row.
        pub static ROWS: &[&Row] = &[$( $key.row ),*];
    };
    (@secret) => { false };
    (@secret secret) => { true };
    (@by) => { By::Person };
    (@by $by:ident) => { By::$by };
}

/// The providers of models; `google` is another name of `gemini`.
const PROVIDERS: [&str; 8] =
    ["anthropic", "openai", "openai-chat", "gemini", "google", "openrouter", "ollama", "demo"];

keys! {
    /// What this gateway is called.
    SERVER_NAME: String = "config/server/name", "gsv", ValueType::Text, Root, by Anybody;
    /// The time zone of schedules that name none.
    SERVER_TIMEZONE: String = "config/server/timezone", "UTC", ValueType::Timezone, Root, by Anybody;
    /// Where others reach this gateway, such as `https://gsv.example`: what sends people back here is told this address.
    /// Empty means the address that a request was made to.
    SERVER_PUBLIC_URL: String = "config/server/public_url", "", ValueType::Text, Root;
    /// The gateway's version. It can be read only.
    SERVER_VERSION: String = "config/server/version", "", ValueType::Text, Nobody;
    /// How long a device may take to answer a call, in milliseconds.
    ROUTING_TIMEOUT_MS: u64 = "config/routing/timeout_ms", "60000", ValueType::Number { min: 1_000, max: 3_600_000 }, Root;
    /// How long a call waits for a command of the native shell before it answers `running`, in milliseconds.
    SHELL_WAIT_MS: u64 = "config/shell/wait_ms", "5000", ValueType::Number { min: 0, max: 60_000 }, Root, by Anybody;
    /// A command of the native shell is ended after so many milliseconds.
    SHELL_TIMEOUT_MS: u64 = "config/shell/timeout_ms", "300000", ValueType::Number { min: 100, max: 86_400_000 }, Root;
    /// How much of each output stream of a native command is kept, in bytes.
    SHELL_MAX_OUTPUT_BYTES: u64 = "config/shell/max_output_bytes", "524288", ValueType::Number { min: 1_024, max: 16_777_216 }, Root;
    /// Whether `curl` works in the native shell.
    SHELL_NETWORK_ENABLED: bool = "config/shell/network_enabled", "true", ValueType::Flag, Root;
    /// Whether `curl` may reach loopback, private and link-local addresses.
    SHELL_NETWORK_PRIVATE: bool = "config/shell/network_private", "false", ValueType::Flag, Root;
    /// How long a CodeMode block may run, in milliseconds of its own: what it waits for calls does not count.
    CODEMODE_TIMEOUT_MS: u64 = "config/codemode/timeout_ms", "60000", ValueType::Number { min: 100, max: 3_600_000 }, Root;
    /// How large the heap of a CodeMode block may grow, in bytes.
    CODEMODE_MEMORY_BYTES: u64 = "config/codemode/memory_bytes", "134217728", ValueType::Number { min: 4_194_304, max: 402_653_184 }, Root;
    /// Whether `repo.import` may reach loopback, private and link-local addresses.
    REPO_NETWORK_PRIVATE: bool = "config/repo/network_private", "false", ValueType::Flag, Root;
    /// Whether services that accounts are connected at may have loopback and private addresses.
    OAUTH_PRIVATE_ENDPOINTS: String = "config/oauth/private_endpoints", "allow", ValueType::OneOf(&["allow", "deny"]), Root;
    /// Whether MCP servers, and where they let people sign in, may have loopback and private addresses.
    MCP_PRIVATE_ENDPOINTS: String = "config/mcp/private_endpoints", "allow", ValueType::OneOf(&["allow", "deny"]), Root;
    /// How many bytes one user may keep in the native file tree; 0 means any number.
    FILES_QUOTA_BYTES: u64 = "config/files/quota_bytes", "0", ValueType::Number { min: 0, max: 9_007_199_254_740_991 }, RootForUser;
    /// The largest push over HTTP, in bytes.
    GIT_PUSH_MAX_BYTES: u64 = "config/git/push_max_bytes", "536870912", ValueType::Number { min: 1_024, max: 1_099_511_627_776 }, Root;
    /// The hosts that confined commands of agents may reach; none when empty.
    AGENTS_NETWORK: String = "config/agents/network", "", ValueType::Hosts, User, by Approver;
    /// The model's provider: `anthropic`, `openai`, `openai-chat`, `gemini`, `openrouter`, `ollama` or `demo`.
    /// When empty the gateway looks for a key in its environment, then for a local server, then takes `demo`.
    AI_PROVIDER: String = "config/ai/provider", "", ValueType::OneOf(&PROVIDERS), User;
    /// The model's name, as its provider knows it.
    AI_MODEL: String = "config/ai/model", "", ValueType::Text, User, by Anybody;
    /// The provider's key.
    AI_API_KEY: String = "config/ai/api_key", "", ValueType::Text, User secret;
    /// A connected account of the user (`sys.oauth.start` with kind `ai-provider`) whose token is sent in place of a key:
    /// its provider, or `provider/accountKey`. The user's own `ai/api_key` goes first.
    AI_OAUTH_ACCOUNT: String = "config/ai/oauth_account", "", ValueType::Text, User;
    /// The provider's address with the version path, such as `https://host/v1`; its usual one when empty.
    AI_BASE_URL: String = "config/ai/base_url", "", ValueType::Text, User;
    /// What a model takes: `text`, or `text,image` for one that sees pictures; what is known of the model when empty.
    AI_INPUT: String = "config/ai/input", "", ValueType::OneOf(&["text", "text,image"]), User, by Anybody;
    /// How much a model thinks: `off`, `minimal`, `low`, `medium`, `high` or `xhigh`.
    AI_REASONING: String = "config/ai/reasoning", "off", ValueType::OneOf(&["off", "minimal", "low", "medium", "high", "xhigh"]), User, by Anybody;
    /// The longest answer of a model, in tokens.
    AI_MAX_TOKENS: u64 = "config/ai/max_tokens", "8192", ValueType::Number { min: 1, max: 10_000_000 }, User, by Anybody;
    /// How much a model takes, in tokens, when neither the user's config nor the table of models says so.
    AI_CONTEXT_WINDOW_TOKENS: u64 = "config/ai/context_window_tokens", "256000", ValueType::Number { min: 1_000, max: 100_000_000 }, User, by Anybody;
    /// How long the texts of a home's or a workspace's `context.d` may be together, in bytes.
    AI_MAX_CONTEXT_BYTES: u64 = "config/ai/max_context_bytes", "32768", ValueType::Number { min: 0, max: 16_777_216 }, User, by Anybody;
    /// How long one answer of a model may take, in milliseconds.
    AI_GENERATION_TIMEOUT_MS: u64 = "config/ai/generation/timeout_ms", "180000", ValueType::Number { min: 1_000, max: 3_600_000 }, User, by Anybody;
    /// `off` sends no events of a model's answer while it comes.
    AI_GENERATION_STREAMING: String = "config/ai/generation/streaming", "auto", ValueType::OneOf(&["auto", "on", "off"]), Root, by Anybody;
    /// `deny` refuses model providers at loopback and private addresses.
    AI_PRIVATE_ENDPOINTS: String = "config/ai/private_endpoints", "allow", ValueType::OneOf(&["allow", "deny"]), Root;
    /// Prices that differ from the built-in table: JSON, `{"provider/model": {"input", "output", "cacheRead",
    /// "cacheWrite"}}`, in US dollars for a million tokens.
    AI_PRICES: String = "config/ai/prices", "", ValueType::Text, Root;
    /// When a process asks before a tool runs, as JSON; the built-in policy when empty.
    AI_TOOLS_APPROVAL: String = "config/ai/tools/approval", "", ValueType::Policy, User, by Approver;
    /// The same for processes with one profile; the user's own goes before it.
    AI_PROFILE_TOOLS_APPROVAL: String = "config/ai/profile/<profile>/tools/approval", "", ValueType::Policy, Root, by Approver;
    /// A text that every process is told: it replaces the built-in one of that name, and an empty one leaves it out.
    AI_CONTEXT_D: String = "config/ai/context.d/<name>", "", ValueType::File, Root;
    /// The same for processes with one profile.
    AI_PROFILE_CONTEXT_D: String = "config/ai/profile/<profile>/context.d/<name>", "", ValueType::File, Root;
    /// A skill of processes with one profile.
    AI_PROFILE_SKILLS_D: String = "config/ai/profile/<profile>/skills.d/<path…>", "", ValueType::File, Root;
    /// The model that turns speech into text; none when empty.
    AI_TRANSCRIPTION_MODEL: String = "config/ai/transcription/model", "", ValueType::Text, User, by Anybody;
    /// Where that model is, with the version path; OpenAI's when empty.
    AI_TRANSCRIPTION_BASE_URL: String = "config/ai/transcription/base_url", "", ValueType::Text, User;
    /// The key for it; `config/ai/api_key` when empty and the provider is OpenAI's kind.
    AI_TRANSCRIPTION_API_KEY: String = "config/ai/transcription/api_key", "", ValueType::Text, User secret;
    /// The largest sound that is turned into text, in bytes.
    AI_TRANSCRIPTION_MAX_BYTES: u64 = "config/ai/transcription/max_bytes", "26214400", ValueType::Number { min: 1, max: 104_857_600 }, User, by Anybody;
    /// The model that turns text into speech; none when empty.
    AI_SPEECH_MODEL: String = "config/ai/speech/model", "", ValueType::Text, User, by Anybody;
    /// Where that model is, with the version path; OpenAI's when empty.
    AI_SPEECH_BASE_URL: String = "config/ai/speech/base_url", "", ValueType::Text, User;
    /// The key for it; `config/ai/api_key` when empty and the provider is OpenAI's kind.
    AI_SPEECH_API_KEY: String = "config/ai/speech/api_key", "", ValueType::Text, User secret;
    /// The voice.
    AI_SPEECH_SPEAKER: String = "config/ai/speech/speaker", "alloy", ValueType::Text, User, by Anybody;
    /// The encoding of speech, such as `mp3`.
    AI_SPEECH_ENCODING: String = "config/ai/speech/encoding", "mp3", ValueType::Text, User, by Anybody;
    /// The longest text that is spoken, in characters.
    AI_SPEECH_MAX_CHARS: u64 = "config/ai/speech/max_chars", "4000", ValueType::Number { min: 1, max: 100_000 }, User, by Anybody;
    /// How long speaking may take, in milliseconds.
    AI_SPEECH_TIMEOUT_MS: u64 = "config/ai/speech/timeout_ms", "30000", ValueType::Number { min: 1_000, max: 600_000 }, User, by Anybody;
    /// A run ends after so many answers of the model.
    PROCESS_MAX_TURNS: u64 = "config/process/max_turns", "100", ValueType::Number { min: 1, max: 100_000 }, Root;
    /// A run ends after so many milliseconds.
    PROCESS_MAX_RUN_MS: u64 = "config/process/max_run_ms", "3600000", ValueType::Number { min: 1_000, max: 2_592_000_000 }, Root;
    /// A run ends after so many tool calls.
    PROCESS_MAX_TOOL_CALLS: u64 = "config/process/max_tool_calls", "500", ValueType::Number { min: 1, max: 1_000_000 }, Root;
    /// How many processes a user may have that have not exited; 0 means any number.
    PROCESS_MAX_PER_USER: u64 = "config/process/max_per_user", "0", ValueType::Number { min: 0, max: 1_000_000 }, Root;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::Allow;

    #[test]
    fn defaults_fit_their_rows() {
        for row in ROWS {
            let fits = match row.kind {
                ValueType::Number { .. } => u64::read(row, row.default).is_some(),
                ValueType::Flag => bool::read(row, row.default).is_some(),
                ValueType::OneOf(words) => row.default.is_empty() || words.contains(&row.default),
                ValueType::Hosts => Allow::parse(row.default).is_ok(),
                ValueType::Text | ValueType::File | ValueType::Timezone | ValueType::Policy => true,
            };
            assert!(fits, "{}", row.name);
            assert!(row.name.starts_with(SYSTEM), "{}", row.name);
        }
    }

    #[test]
    fn agents_set_no_secret_no_policy_and_not_where_the_model_is() {
        for row in ROWS {
            let last = row.name.rsplit('/').next().unwrap_or_default();
            let is_closed = row.is_secret
                || row.kind == ValueType::Policy
                || row.writer == Writer::Nobody
                || matches!(last, "provider" | "base_url" | "private_endpoints" | "quota_bytes")
                || ["config/agents/", "config/process/", "config/shell/network_"]
                    .iter()
                    .any(|prefix| row.name.starts_with(prefix));
            assert!(!(is_closed && row.by == By::Anybody), "{}", row.name);
            assert!(row.kind != ValueType::Policy || row.by == By::Approver, "{}", row.name);
        }
    }

    #[test]
    fn the_first_value_that_fits_counts() {
        assert_eq!(AI_MAX_TOKENS.of([None, None]), 8_192);
        assert_eq!(AI_MAX_TOKENS.of([None, Some("7")]), 7);
        assert_eq!(AI_MAX_TOKENS.of([Some("many"), Some("7")]), 7);
        assert_eq!(AI_MAX_TOKENS.of([Some("0"), Some("-7")]), 8_192, "out of bounds");
        assert!(!SHELL_NETWORK_ENABLED.of([Some("false")]) && SHELL_NETWORK_ENABLED.of([Some("no")]));
        assert_eq!(SERVER_NAME.of([Some("tower")]), "tower");
    }

    #[test]
    fn keys_have_a_name_for_everybody_and_one_for_each_user() {
        assert_eq!(AI_MODEL.name(), "config/ai/model");
        assert_eq!((AI_MODEL.own(Uid(7)).as_str(), AI_MODEL.stem()), ("users/7/ai/model", "ai/model"));
        assert_eq!(AI_PROFILE_CONTEXT_D.with(&["task", "a.md"]), "config/ai/profile/task/context.d/a.md");
        assert_eq!(AI_PROFILE_CONTEXT_D.with(&["task"]), "config/ai/profile/task/context.d");
    }
}
