//! Config keys: what they mean, what they are when nobody set them, and which ones are secrets.

/// What a value must look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
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
}

/// One known key.
pub struct Key {
    /// Such as `config/routing/timeout_ms`.
    pub key: &'static str,
    /// Its value when nobody set it.
    pub default: &'static str,
    /// What it must look like.
    pub kind: Kind,
    /// What it is for.
    pub doc: &'static str,
}

macro_rules! keys {
    ($( $(#[doc = $doc:literal])+ $key:literal = $default:literal, $kind:expr; )*) => {
        /// Every known key.
        pub static KEYS: &[Key] =
            &[$( Key { key: $key, default: $default, kind: $kind, doc: concat!($($doc),+) } ),*];
    };
}

/// The providers of models; `google` is another name of `gemini`.
const PROVIDERS: [&str; 8] =
    ["anthropic", "openai", "openai-chat", "gemini", "google", "openrouter", "ollama", "demo"];

keys! {
    /// What this gateway is called.
    "config/server/name" = "gsv", Kind::Text;
    /// The time zone of schedules that name none.
    "config/server/timezone" = "UTC", Kind::Timezone;
    /// How long a device may take to answer a call, in milliseconds.
    "config/routing/timeout_ms" = "60000", Kind::Number { min: 1_000, max: 3_600_000 };
    /// How long a call waits for a command of the native shell before it answers `running`, in milliseconds.
    "config/shell/wait_ms" = "5000", Kind::Number { min: 0, max: 60_000 };
    /// A command of the native shell is ended after so many milliseconds.
    "config/shell/timeout_ms" = "300000", Kind::Number { min: 100, max: 86_400_000 };
    /// How much of each output stream of a native command is kept, in bytes.
    "config/shell/max_output_bytes" = "524288", Kind::Number { min: 1_024, max: 16_777_216 };
    /// Whether `curl` works in the native shell.
    "config/shell/network_enabled" = "true", Kind::Flag;
    /// Whether `curl` may reach loopback, private and link-local addresses.
    "config/shell/network_private" = "false", Kind::Flag;
    /// How many bytes one user may keep in the native file tree; 0 means any number.
    /// `users/<uid>/files/quota_bytes`, which only root may set, takes precedence for one user.
    "config/files/quota_bytes" = "0", Kind::Number { min: 0, max: 9_007_199_254_740_991 };
    /// The model's provider: `anthropic`, `openai`, `openai-chat`, `gemini`, `openrouter`, `ollama` or `demo`.
    /// When empty the gateway looks for a key in its environment, then for a local server, then takes `demo`.
    /// Each key below `config/ai/` of this kind may be set for one user as `users/<uid>/ai/…`.
    "config/ai/provider" = "", Kind::OneOf(&PROVIDERS);
    /// The model's name, as its provider knows it.
    "config/ai/model" = "", Kind::Text;
    /// The provider's key.
    "config/ai/api_key" = "", Kind::Text;
    /// The provider's address with the version path, such as `https://host/v1`; its usual one when empty.
    "config/ai/base_url" = "", Kind::Text;
    /// What a model takes: `text`, or `text,image` for one that sees pictures; what is known of the model when empty.
    "config/ai/input" = "", Kind::OneOf(&["text", "text,image"]);
    /// How much a model thinks: `off`, `minimal`, `low`, `medium`, `high` or `xhigh`.
    "config/ai/reasoning" = "off", Kind::OneOf(&["off", "minimal", "low", "medium", "high", "xhigh"]);
    /// The longest answer of a model, in tokens.
    "config/ai/max_tokens" = "8192", Kind::Number { min: 1, max: 10_000_000 };
    /// How much a model takes, in tokens, when neither the user's config nor the table of models says so.
    "config/ai/context_window_tokens" = "256000", Kind::Number { min: 1_000, max: 100_000_000 };
    /// How long the texts of a home's or a workspace's `context.d` may be together, in bytes.
    "config/ai/max_context_bytes" = "32768", Kind::Number { min: 0, max: 16_777_216 };
    /// How long one answer of a model may take, in milliseconds.
    "config/ai/generation/timeout_ms" = "180000", Kind::Number { min: 1_000, max: 3_600_000 };
    /// `off` sends no events of a model's answer while it comes.
    "config/ai/generation/streaming" = "auto", Kind::OneOf(&["auto", "on", "off"]);
    /// `deny` refuses model providers at loopback and private addresses.
    "config/ai/private_endpoints" = "allow", Kind::OneOf(&["allow", "deny"]);
    /// Prices that differ from the built-in table: JSON, `{"provider/model": {"input", "output", "cacheRead",
    /// "cacheWrite"}}`, in US dollars for a million tokens.
    "config/ai/prices" = "", Kind::Text;
    /// When a process asks before a tool runs, as JSON; the built-in policy when empty. Per profile:
    /// `config/ai/profile/<profile>/tools/approval`.
    "config/ai/tools/approval" = "", Kind::Text;
    /// The model that turns speech into text; none when empty.
    "config/ai/transcription/model" = "", Kind::Text;
    /// Where that model is, with the version path; OpenAI's when empty.
    "config/ai/transcription/base_url" = "", Kind::Text;
    /// The key for it; `config/ai/api_key` when empty and the provider is OpenAI's kind.
    "config/ai/transcription/api_key" = "", Kind::Text;
    /// The largest sound that is turned into text, in bytes.
    "config/ai/transcription/max_bytes" = "26214400", Kind::Number { min: 1, max: 104_857_600 };
    /// The model that turns text into speech; none when empty.
    "config/ai/speech/model" = "", Kind::Text;
    /// Where that model is, with the version path; OpenAI's when empty.
    "config/ai/speech/base_url" = "", Kind::Text;
    /// The key for it; `config/ai/api_key` when empty and the provider is OpenAI's kind.
    "config/ai/speech/api_key" = "", Kind::Text;
    /// The voice.
    "config/ai/speech/speaker" = "alloy", Kind::Text;
    /// The encoding of speech, such as `mp3`.
    "config/ai/speech/encoding" = "mp3", Kind::Text;
    /// The longest text that is spoken, in characters.
    "config/ai/speech/max_chars" = "4000", Kind::Number { min: 1, max: 100_000 };
    /// How long speaking may take, in milliseconds.
    "config/ai/speech/timeout_ms" = "30000", Kind::Number { min: 1_000, max: 600_000 };
    /// A run ends after so many answers of the model.
    "config/process/max_turns" = "100", Kind::Number { min: 1, max: 100_000 };
    /// A run ends after so many milliseconds.
    "config/process/max_run_ms" = "3600000", Kind::Number { min: 1_000, max: 2_592_000_000 };
    /// A run ends after so many tool calls.
    "config/process/max_tool_calls" = "500", Kind::Number { min: 1, max: 1_000_000 };
    /// How many processes a user may have that have not exited; 0 means any number.
    "config/process/max_per_user" = "0", Kind::Number { min: 0, max: 1_000_000 };
}

/// The row of a known key.
pub fn key(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.key == name)
}

/// The row that says what the value of a key must look like: its own, or, for a user's own value that stands in for
/// everybody's (`users/<uid>/ai/…`, `users/<uid>/files/quota_bytes`), that of everybody's key.
pub fn row(name: &str) -> Option<&'static Key> {
    let own = || {
        let (_, rest) = name.strip_prefix("users/")?.split_once('/')?;
        let stands_in = rest.starts_with("ai/") || rest == "files/quota_bytes";
        KEYS.iter().find(|row| stands_in && row.key.strip_prefix("config/") == Some(rest))
    };
    key(name).or_else(own)
}

/// Whether a key holds a secret, by the name of its last segment.
pub fn is_sensitive(key: &str) -> bool {
    const NAMES: [&str; 7] =
        ["api_key", "secret", "token", "password", "access_token", "refresh_token", "client_secret"];
    const ENDINGS: [&str; 4] = ["_api_key", "_secret", "_token", "_password"];
    let last = key.rsplit('/').next().unwrap_or(key).to_ascii_lowercase();
    NAMES.contains(&last.as_str()) || ENDINGS.iter().any(|ending| last.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_users_value_has_the_row_of_everybodys() {
        for name in ["ai/max_tokens", "ai/generation/timeout_ms", "files/quota_bytes"] {
            let row = row(&format!("users/1000/{name}")).unwrap();
            assert_eq!(row.key, format!("config/{name}"));
        }
        for name in ["users/1000/shell/wait_ms", "users/ai/max_tokens", "users/1000/ai", "config/ai", ""] {
            assert!(row(name).is_none(), "{name}");
        }
        assert_eq!(row("config/shell/wait_ms").unwrap().key, "config/shell/wait_ms");
    }

    #[test]
    fn secrets_are_known_by_their_last_segment() {
        for key in ["config/ai/api_key", "users/1/ai/API_KEY", "x/openai_api_key", "a/b_token", "secret"] {
            assert!(is_sensitive(key), "{key}");
        }
        for key in ["config/ai/model", "config/ai/api_key/note", "config/tokens", "config/ai/max_tokens"] {
            assert!(!is_sensitive(key), "{key}");
        }
    }
}
