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
}

/// The row of a known key.
pub fn key(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.key == name)
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
    fn secrets_are_known_by_their_last_segment() {
        for key in ["config/ai/api_key", "users/1/ai/API_KEY", "x/openai_api_key", "a/b_token", "secret"] {
            assert!(is_sensitive(key), "{key}");
        }
        for key in ["config/ai/model", "config/ai/api_key/note", "config/tokens", "config/ai/max_tokens"] {
            assert!(!is_sensitive(key), "{key}");
        }
    }
}
