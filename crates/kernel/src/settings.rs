//! The few config values the kernel itself looks at on every call, kept ready.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use base::limits;
use protocol::config::{self, Kind};
use protocol::error::Error;

const ROUTE_TIMEOUT: &str = "config/routing/timeout_ms";

/// Config values in use.
pub(crate) struct Settings {
    /// Looked at by every call to a device, so without a lock.
    route_timeout_ms: AtomicU64,
    shell: RwLock<shell::Settings>,
}

/// The keys that are kept ready.
const KEPT: &[&str] = &[
    ROUTE_TIMEOUT,
    "config/server/name",
    "config/server/timezone",
    "config/shell/wait_ms",
    "config/shell/timeout_ms",
    "config/shell/max_output_bytes",
    "config/shell/network_enabled",
    "config/shell/network_private",
];

/// Whether a key is kept ready.
pub(crate) fn is_kept(key: &str) -> bool {
    KEPT.contains(&key)
}

impl Settings {
    pub(crate) fn new() -> Settings {
        let shell = shell::Settings {
            hostname: String::new(),
            version: String::new(),
            pid: None,
            wait_ms: 0,
            timeout_ms: 0,
            max_output_bytes: 0,
            network: false,
            network_private: false,
            timezone: String::new(),
        };
        let settings = Settings { route_timeout_ms: AtomicU64::new(0), shell: RwLock::new(shell) };
        KEPT.iter().for_each(|key| settings.apply(key, None));
        settings
    }

    /// Takes over a value that was set, or the default of one that was removed.
    pub(crate) fn apply(&self, key: &str, value: Option<&str>) {
        let default = config::key(key).map(|row| row.default);
        let Some(text) = value.filter(|value| check(key, value).is_ok()).or(default) else { return };
        let mut shell = self.shell.write().unwrap_or_else(PoisonError::into_inner);
        let number = || text.parse().unwrap_or_default();
        match key {
            ROUTE_TIMEOUT => self.route_timeout_ms.store(number(), Ordering::Relaxed),
            "config/server/name" => shell.hostname = text.to_string(),
            "config/server/timezone" => shell.timezone = text.to_string(),
            "config/shell/wait_ms" => shell.wait_ms = number(),
            "config/shell/timeout_ms" => shell.timeout_ms = number(),
            "config/shell/max_output_bytes" => shell.max_output_bytes = number() as usize,
            "config/shell/network_enabled" => shell.network = text == "true",
            "config/shell/network_private" => shell.network_private = text == "true",
            _ => {}
        }
    }

    /// How long a device may take to answer.
    pub(crate) fn route_timeout(&self) -> Duration {
        Duration::from_millis(self.route_timeout_ms.load(Ordering::Relaxed))
    }

    /// What a command of the native shell runs with.
    pub(crate) fn shell(&self, version: &str, pid: Option<String>) -> shell::Settings {
        let shell = self.shell.read().unwrap_or_else(PoisonError::into_inner);
        shell::Settings { version: version.to_string(), pid, ..shell.clone() }
    }
}

/// Refuses a value that somebody gives for a key: too large, with NUL, or not fitting. `field` is the argument it
/// came in.
pub(crate) fn check_given(call: &str, field: &str, key: &str, value: &str) -> Result<(), Error> {
    if value.len() > limits::CONFIG_VALUE_BYTES_MAX {
        return Err(Error::new(
            413,
            format!("{field} is larger than {} bytes", limits::CONFIG_VALUE_BYTES_MAX),
        ));
    }
    if value.contains('\0') {
        return Err(Error::bad_argument(call, field, "must not contain NUL"));
    }
    check(key, value).map_err(|why| Error::bad_argument(call, field, &why))
}

/// What is wrong with a value for a known key, if something is.
fn check(key: &str, value: &str) -> Result<(), String> {
    let Some(row) = config::row(key) else { return Ok(()) };
    let fits = match row.kind {
        Kind::Text => true,
        Kind::Flag => matches!(value, "true" | "false"),
        Kind::Number { min, max } => value.parse().is_ok_and(|n: u64| (min..=max).contains(&n)),
        Kind::Timezone => is_timezone(value),
        Kind::OneOf(names) => names.iter().any(|name| name.eq_ignore_ascii_case(value.trim())),
    };
    if fits {
        return Ok(());
    }
    let wanted = match row.kind {
        Kind::Text => "text".to_string(),
        Kind::Flag => "true or false".to_string(),
        Kind::Number { min, max } => format!("a whole number from {min} to {max}"),
        Kind::Timezone => "an IANA time zone such as Europe/Berlin".to_string(),
        Kind::OneOf(names) => format!("one of: {}", names.join(", ")),
    };
    Err(format!("{key} must be {wanted}"))
}

/// Whether a name is an IANA time zone.
pub(crate) fn is_timezone(name: &str) -> bool {
    jiff::tz::TimeZone::get(name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_keys_are_checked_and_unknown_ones_are_not() {
        assert!(check(ROUTE_TIMEOUT, "5000").is_ok());
        for bad in ["", "x", "1", "-5", "99999999999"] {
            assert!(check(ROUTE_TIMEOUT, bad).is_err(), "{bad}");
        }
        assert!(check("config/server/timezone", "Europe/Berlin").is_ok());
        assert!(check("config/server/timezone", "Mars/Olympus").is_err());
        assert!(check("config/anything/else", "").is_ok());
        for key in ["config/files/quota_bytes", "users/1000/files/quota_bytes"] {
            assert!(check(key, "10000000").is_ok() && check(key, "0").is_ok());
            for bad in ["10GB", "-1", "1.5", "1e9", " 5"] {
                assert!(check(key, bad).is_err(), "{key} {bad}");
            }
        }
        assert!(check("users/1000/ai/model", "10GB").is_ok());
    }

    #[test]
    fn values_about_models_are_checked_for_everybody_and_for_one_user_alike() {
        let cases = [
            ("max_tokens", &["1", "8192"][..], &["0", "many", "-1", "1e3"][..]),
            ("context_window_tokens", &["200000"], &["999", "200k"]),
            ("generation/timeout_ms", &["1000"], &["5 s", "999"]),
            ("speech/max_chars", &["10"], &["all"]),
            ("reasoning", &["off", "xhigh", "Medium"], &["lots", "1"]),
            ("generation/streaming", &["auto", "off"], &["maybe"]),
            ("private_endpoints", &["deny", "allow"], &["no"]),
            ("provider", &["anthropic", "OpenAI", "google"], &["skynet"]),
            ("model", &["anything at all"], &[]),
        ];
        for (name, good, bad) in cases {
            for key in [format!("config/ai/{name}"), format!("users/1000/ai/{name}")] {
                for value in good {
                    assert!(check(&key, value).is_ok(), "{key} {value}");
                }
                for value in bad {
                    let refused = check_given("sys.config.set", "value", &key, value).unwrap_err();
                    assert!(refused.code == 400 && refused.message.contains(&key), "{refused}");
                }
            }
        }
        let names = |key: &str| match config::key(key).unwrap().kind {
            Kind::OneOf(names) => names,
            other => panic!("{other:?}"),
        };
        let (providers, levels) = (names("config/ai/provider"), names("config/ai/reasoning"));
        assert!(providers.iter().all(|name| name.parse::<model::Kind>().is_ok()));
        assert!(model::Kind::ALL.iter().all(|kind| providers.contains(&kind.as_str())));
        assert!(levels.iter().all(|name| name.parse::<model::Reasoning>().is_ok()));
        assert!(model::Reasoning::ALL.iter().all(|level| levels.contains(&level.as_str())));
    }

    #[test]
    fn what_is_set_is_used_and_what_is_removed_falls_back() {
        let settings = Settings::new();
        assert_eq!(settings.shell("1", None).wait_ms, 5_000);
        settings.apply("config/shell/wait_ms", Some("10"));
        settings.apply("config/shell/network_enabled", Some("false"));
        settings.apply("config/shell/timeout_ms", Some("nonsense"));
        let shell = settings.shell("1", None);
        assert_eq!((shell.wait_ms, shell.network, shell.timeout_ms), (10, false, 300_000));
        settings.apply("config/shell/wait_ms", None);
        assert_eq!(settings.shell("1", None).wait_ms, 5_000);
    }
}
