//! Cache of the settings that the kernel looks at on every call, kept ready and replaced when one is set.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base::limits;
use protocol::config::{self, ValueType};
use protocol::error::Error;
use protocol::{hosts, policy};

/// Config values in use.
pub(crate) struct Settings {
    /// Looked at by every call to a device, so without a lock.
    route_timeout_ms: AtomicU64,
}

/// Whether a key is kept ready.
pub(crate) fn is_kept(key: &str) -> bool {
    key == config::ROUTING_TIMEOUT_MS.name()
}

impl Settings {
    pub(crate) fn new() -> Settings {
        Settings { route_timeout_ms: AtomicU64::new(config::ROUTING_TIMEOUT_MS.of([])) }
    }

    /// Takes over a value that was set, or the default of one that was removed.
    pub(crate) fn apply(&self, key: &str, value: Option<&str>) {
        if is_kept(key) {
            let value = value.filter(|value| check(key, value).is_ok());
            self.route_timeout_ms.store(config::ROUTING_TIMEOUT_MS.of([value]), Ordering::Relaxed);
        }
    }

    /// How long a device may take to answer.
    pub(crate) fn route_timeout(&self) -> Duration {
        Duration::from_millis(self.route_timeout_ms.load(Ordering::Relaxed))
    }
}

/// Refuses a value that somebody gives for a key: too large, with NUL, or not fitting. `field` is the argument it
/// came in.
pub(crate) fn check_given(call: &str, field: &str, key: &str, value: &str) -> Result<(), Error> {
    if value.len() > limits::config::VALUE_MAX_BYTES {
        return Err(Error::new(
            413,
            format!("{field} is larger than {} bytes", limits::config::VALUE_MAX_BYTES),
        ));
    }
    if value.contains('\0') {
        return Err(Error::bad_argument(call, field, "must not contain NUL"));
    }
    check(key, value).map_err(|why| Error::bad_argument(call, field, &why))
}

/// What is wrong with a value, or with the key, if something is.
fn check(key: &str, value: &str) -> Result<(), String> {
    let Some(known) = config::find(key) else { return Err(unknown(key)) };
    let fits = match known.row.kind {
        ValueType::Text | ValueType::File => true,
        ValueType::Flag => matches!(value, "true" | "false"),
        ValueType::Number { min, max } => value.parse().is_ok_and(|n: u64| (min..=max).contains(&n)),
        ValueType::Timezone => is_timezone(value),
        ValueType::OneOf(names) => names.iter().any(|name| name.eq_ignore_ascii_case(value.trim())),
        ValueType::Policy => {
            return policy::check(value).map_err(|why| format!("{key} is not a policy: {why}"));
        }
        ValueType::Hosts => {
            let wrong = |why| format!("{key} is not a list of hosts: {why}");
            return hosts::Allow::parse(value).map(|_| ()).map_err(wrong);
        }
    };
    if fits { Ok(()) } else { Err(format!("{key} must be {}", wanted(known.row.kind))) }
}

fn wanted(kind: ValueType) -> String {
    match kind {
        ValueType::Text | ValueType::File => "text".to_string(),
        ValueType::Flag => "true or false".to_string(),
        ValueType::Number { min, max } => format!("a whole number from {min} to {max}"),
        ValueType::Timezone => "an IANA time zone such as Europe/Berlin".to_string(),
        ValueType::OneOf(names) => format!("one of: {}", names.join(", ")),
        ValueType::Policy => "an approval policy".to_string(),
        ValueType::Hosts => "a list of hosts".to_string(),
    }
}

/// What to say about a key that is in no row.
pub(crate) fn unknown(key: &str) -> String {
    match config::nearest(key) {
        Some(near) => format!("there is no setting {key}; did you mean {near}?"),
        None => format!("there is no setting {key}; `gsv config get` lists those there are"),
    }
}

/// Whether a name is an IANA time zone.
pub(crate) fn is_timezone(name: &str) -> bool {
    jiff::tz::TimeZone::get(name).is_ok()
}

#[cfg(test)]
mod tests {

    use protocol::config::Key;

    use super::*;

    #[test]
    fn known_keys_are_checked_and_others_are_unknown() {
        assert!(check(config::ROUTING_TIMEOUT_MS.name(), "5000").is_ok());
        for bad in ["", "x", "1", "-5", "99999999999"] {
            assert!(check(config::ROUTING_TIMEOUT_MS.name(), bad).is_err(), "{bad}");
        }
        assert!(check("config/server/timezone", "Europe/Berlin").is_ok());
        assert!(check("config/server/timezone", "Mars/Olympus").is_err());
        assert_eq!(
            check("config/anything/else", "x").unwrap_err(),
            "there is no setting config/anything/else; `gsv config get` lists those there are"
        );
        assert_eq!(
            check("config/ai/modle", "x").unwrap_err(),
            "there is no setting config/ai/modle; did you mean config/ai/model?"
        );
        for key in ["config/files/quota_bytes", "users/1000/files/quota_bytes"] {
            assert!(check(key, "10000000").is_ok() && check(key, "0").is_ok());
            for bad in ["10GB", "-1", "1.5", "1e9", " 5"] {
                assert!(check(key, bad).is_err(), "{key} {bad}");
            }
        }
        assert!(check("users/1000/ai/model", "10GB").is_ok());
        for key in ["config/agents/network", "users/1000/agents/network"] {
            assert!(check(key, "registries *.example.org !ads.example.org").is_ok());
            let why = check(key, "*").unwrap_err();
            assert!(why.starts_with(&format!("{key} is not a list of hosts: *: ")), "{why}");
        }
    }

    #[test]
    fn values_about_models_are_checked_for_everybody_and_for_one_user_alike() {
        let cases = [
            ("max_tokens", &["1", "8192"][..], &["0", "many", "-1", "1e3"][..]),
            ("context_window_tokens", &["200000"], &["999", "200k"]),
            ("generation/timeout_ms", &["1000"], &["5 s", "999"]),
            ("speech/max_chars", &["10"], &["all"]),
            ("reasoning", &["off", "xhigh", "Medium"], &["lots", "1"]),
            (
                "tools/approval",
                &["{}", r#"{"default":"ask"}"#],
                &["ask", r#"{"default":"never"}"#, r#"{"rule":[]}"#],
            ),
            ("provider", &["anthropic", "OpenAI", "google"], &["skynet"]),
            ("input", &["text", "text,image"], &["pictures", "image"]),
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
        for (name, good, bad) in
            [("generation/streaming", "auto", "maybe"), ("private_endpoints", "deny", "no")]
        {
            let key = format!("config/ai/{name}");
            assert!(check(&key, good).is_ok() && check(&key, bad).is_err(), "{key}");
            assert!(check(&format!("users/1000/ai/{name}"), good).is_err(), "{name} is for everybody");
        }
        let names = |key: Key<String>| match key.row().kind {
            ValueType::OneOf(names) => names,
            other => panic!("{other:?}"),
        };
        let (providers, levels) = (names(config::AI_PROVIDER), names(config::AI_REASONING));
        assert!(providers.iter().all(|name| name.parse::<model::ProviderKind>().is_ok()));
        assert!(model::ProviderKind::ALL.iter().all(|kind| providers.contains(&kind.as_str())));
        assert!(levels.iter().all(|name| name.parse::<model::Reasoning>().is_ok()));
        assert!(model::Reasoning::ALL.iter().all(|level| levels.contains(&level.as_str())));
    }

    #[test]
    fn what_is_set_is_used_and_what_is_removed_falls_back() {
        let (settings, key) = (Settings::new(), config::ROUTING_TIMEOUT_MS.name());
        assert_eq!(settings.route_timeout(), Duration::from_secs(60));
        settings.apply(key, Some("5000"));
        assert_eq!(settings.route_timeout(), Duration::from_secs(5));
        settings.apply(key, Some("nonsense"));
        assert_eq!(settings.route_timeout(), Duration::from_secs(60));
        settings.apply(key, Some("5000"));
        settings.apply(key, None);
        assert_eq!(settings.route_timeout(), Duration::from_secs(60));
    }
}
