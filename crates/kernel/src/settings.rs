//! The few config values the kernel itself looks at on every call, kept ready.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use protocol::config::{self, Kind};
use protocol::error::Error;

pub(crate) const ROUTE_TIMEOUT: &str = "config/routing/timeout_ms";

/// Config values in use.
pub(crate) struct Settings {
    route_timeout_ms: AtomicU64,
}

impl Settings {
    pub(crate) fn new() -> Settings {
        let settings = Settings { route_timeout_ms: AtomicU64::new(0) };
        settings.apply(ROUTE_TIMEOUT, None);
        settings
    }

    /// Takes over a value that was set, or the default of one that was removed.
    pub(crate) fn apply(&self, key: &str, value: Option<&str>) {
        if key != ROUTE_TIMEOUT {
            return;
        }
        let default = config::key(key).map(|row| row.default);
        if let Some(ms) = value.or(default).and_then(|text| text.parse().ok()) {
            self.route_timeout_ms.store(ms, Ordering::Relaxed);
        }
    }

    /// How long a device may take to answer.
    pub(crate) fn route_timeout(&self) -> Duration {
        Duration::from_millis(self.route_timeout_ms.load(Ordering::Relaxed))
    }
}

/// Refuses a value that does not fit a known key.
pub(crate) fn check(key: &str, value: &str) -> Result<(), Error> {
    let Some(row) = config::key(key) else { return Ok(()) };
    let fits = match row.kind {
        Kind::Text => true,
        Kind::Flag => matches!(value, "true" | "false"),
        Kind::Number { min, max } => value.parse().is_ok_and(|n: u64| (min..=max).contains(&n)),
        Kind::Timezone => is_timezone(value),
    };
    if fits {
        return Ok(());
    }
    let wanted = match row.kind {
        Kind::Text => "text".to_string(),
        Kind::Flag => "true or false".to_string(),
        Kind::Number { min, max } => format!("a whole number from {min} to {max}"),
        Kind::Timezone => "an IANA time zone such as Europe/Berlin".to_string(),
    };
    Err(Error::bad_argument("sys.config.set", "value", &format!("{key} must be {wanted}")))
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
            assert_eq!(check(ROUTE_TIMEOUT, bad).unwrap_err().code, 400, "{bad}");
        }
        assert!(check("config/server/timezone", "Europe/Berlin").is_ok());
        assert!(check("config/server/timezone", "Mars/Olympus").is_err());
        assert!(check("config/anything/else", "").is_ok());
    }
}
