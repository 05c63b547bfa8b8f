//! Snapshot of the settings that a command runs with, made from the config's texts.

use std::collections::BTreeMap;

use protocol::config::{self, Key, Setting};

/// What root and the user have set, read when the command starts.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `config/server/name`
    pub hostname: String,
    pub version: String,
    /// The calling process, if it is one.
    pub pid: Option<String>,
    /// `config/shell/wait_ms`
    pub wait_ms: u64,
    /// `config/shell/timeout_ms`
    pub timeout_ms: u64,
    /// `config/shell/max_output_bytes`
    pub max_output_bytes: usize,
    /// `config/shell/network_enabled`
    pub network: bool,
    /// `config/shell/network_private`
    pub network_private: bool,
    /// `config/server/timezone`
    pub timezone: String,
}

/// The config keys that commands look at.
const KEYS: &[&str] = &[
    config::ROUTING_TIMEOUT_MS.name(),
    config::SERVER_NAME.name(),
    config::SERVER_TIMEZONE.name(),
    config::SHELL_WAIT_MS.name(),
    config::SHELL_TIMEOUT_MS.name(),
    config::SHELL_MAX_OUTPUT_BYTES.name(),
    config::SHELL_NETWORK_ENABLED.name(),
    config::SHELL_NETWORK_PRIVATE.name(),
];

/// The stored texts of those keys that are set.
pub(crate) type Texts = BTreeMap<&'static str, String>;

impl Settings {
    /// The key, if commands look at it.
    pub(crate) fn key(name: &str) -> Option<&'static str> {
        KEYS.iter().find(|key| **key == name).copied()
    }

    /// What the texts say, for nobody in particular.
    pub(crate) fn of(texts: &Texts, version: &str) -> Settings {
        fn get<T: Setting>(texts: &Texts, key: Key<T>) -> T {
            key.of([texts.get(key.name()).map(String::as_str)])
        }
        Settings {
            hostname: get(texts, config::SERVER_NAME),
            version: version.to_string(),
            pid: None,
            wait_ms: get(texts, config::SHELL_WAIT_MS),
            timeout_ms: get(texts, config::SHELL_TIMEOUT_MS),
            max_output_bytes: get(texts, config::SHELL_MAX_OUTPUT_BYTES) as usize,
            network: get(texts, config::SHELL_NETWORK_ENABLED),
            network_private: get(texts, config::SHELL_NETWORK_PRIVATE),
            timezone: get(texts, config::SERVER_TIMEZONE),
        }
    }
}
