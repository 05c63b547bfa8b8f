//! Layered configuration of one user: the user's own values over everybody's over the built-in defaults.

use std::collections::BTreeMap;

use model::PrivateHosts;
use protocol::config::{self, Kind};
use protocol::ids::Uid;
use store::Store;

/// Config as one user has it. Keys are named without their beginning: `ai/model` is `users/<uid>/ai/model` or
/// `config/ai/model`. It holds keys of providers, so it has no `Debug`.
pub(crate) struct Config {
    uid: Uid,
    own: BTreeMap<String, String>,
    everybodys: BTreeMap<String, String>,
}

impl Config {
    /// Reads what a run needs.
    pub(crate) async fn read(store: &Store, uid: Uid) -> Result<Config, String> {
        let user = format!("users/{uid}");
        let own = below(store, &user, "ai").await?;
        let mut everybodys = below(store, "config", "ai").await?;
        everybodys.extend(below(store, "config", "process").await?);
        Ok(Config { uid, own, everybodys })
    }

    /// The same from lists, for tests.
    #[cfg(test)]
    pub(crate) fn of(uid: Uid, own: &[(&str, &str)], everybodys: &[(&str, &str)]) -> Config {
        let map = |list: &[(&str, &str)]| {
            list.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
        };
        Config { uid, own: map(own), everybodys: map(everybodys) }
    }

    /// The user's own value, an empty one too.
    pub(crate) fn user(&self, name: &str) -> Option<&str> {
        self.own.get(name).map(String::as_str)
    }

    /// Everybody's value, where it was set.
    pub(crate) fn system(&self, name: &str) -> Option<&str> {
        self.everybodys.get(name).map(String::as_str)
    }

    /// Everybody's value, or the built-in one.
    pub(crate) fn system_text(&self, name: &str) -> &str {
        self.system(name).unwrap_or_else(|| row(name).map_or("", |row| row.default))
    }

    /// The value that counts. What the user has set to nothing is nothing.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.user(name).unwrap_or_else(|| self.system_text(name))
    }

    /// The number that counts: one that is no number, or out of bounds, is passed over with a warning.
    pub(crate) fn number(&self, name: &str) -> u64 {
        let default = || row(name).and_then(|row| row.default.parse().ok()).unwrap_or_default();
        let set = self.own_number(name).or_else(|| self.number_in(self.system(name), name, "config"));
        set.unwrap_or_else(default)
    }

    /// The user's own number.
    pub(crate) fn own_number(&self, name: &str) -> Option<u64> {
        self.number_in(self.user(name), name, "users")
    }

    fn number_in(&self, text: Option<&str>, name: &str, of: &str) -> Option<u64> {
        let text = text.map(str::trim).filter(|text| !text.is_empty())?;
        let (min, max) = match row(name).map(|row| row.kind) {
            Some(Kind::Number { min, max }) => (min, max),
            _ => (0, u64::MAX),
        };
        let number = text.parse().ok().filter(|number| (min..=max).contains(number));
        if number.is_none() {
            let uid = self.uid;
            tracing::warn!(of, name, %uid, "a config value is no number from {min} to {max} and is not used");
        }
        number
    }

    /// Everybody's values whose names begin so, by name, with the beginning taken off.
    pub(crate) fn system_below<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let from = self.everybodys.range(prefix.to_string()..);
        from.map_while(move |(key, value)| Some((key.strip_prefix(prefix)?, value.as_str())))
    }

    /// What the key of a value is called that the user, or else root, would set.
    pub(crate) fn names(&self, name: &str) -> String {
        format!("users/{}/{name} (or config/{name} for everybody)", self.uid)
    }

    /// What the user's own key of a value is called.
    pub(crate) fn own_name(&self, name: &str) -> String {
        format!("users/{}/{name}", self.uid)
    }

    /// What the key of the value that counts is called.
    pub(crate) fn place(&self, name: &str) -> String {
        let own = self.own.contains_key(name);
        if own { format!("users/{}/{name}", self.uid) } else { format!("config/{name}") }
    }

    /// Whether providers may be at private addresses. Only root says so.
    pub(crate) fn private_hosts(&self) -> PrivateHosts {
        let denied = self.system_text("ai/private_endpoints").trim().eq_ignore_ascii_case("deny");
        if denied { PrivateHosts::Deny } else { PrivateHosts::Allow }
    }

    /// Whether events of an answer are sent while it comes. Only root says so.
    pub(crate) fn streams(&self) -> bool {
        self.system_text("ai/generation/streaming").trim() != "off"
    }
}

/// The values below `<top>/<branch>/`, named from the branch on.
async fn below(store: &Store, top: &str, branch: &str) -> Result<BTreeMap<String, String>, String> {
    let prefix = format!("{top}/{branch}");
    let rows = store.config_below(&prefix).await;
    let rows = rows.map_err(|error| format!("The config below {prefix} could not be read: {error}"))?;
    let cut = top.len() + 1;
    Ok(rows.into_iter().filter_map(|(key, value)| Some((key.get(cut..)?.to_string(), value))).collect())
}

fn row(name: &str) -> Option<&'static config::Key> {
    config::KEYS.iter().find(|row| row.key.strip_prefix("config/") == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_s_value_goes_first_even_when_empty() {
        let own = [("ai/model", ""), ("ai/reasoning", "high")];
        let config = Config::of(Uid(7), &own, &[("ai/model", "m")]);
        assert_eq!((config.text("ai/model"), config.text("ai/reasoning")), ("", "high"));
        assert_eq!(config.text("ai/speech/encoding"), "mp3", "the built-in value is last");
        assert_eq!(config.place("ai/model"), "users/7/ai/model");
        assert_eq!(config.place("ai/provider"), "config/ai/provider");
    }

    #[test]
    fn bad_numbers_fall_back_to_the_next() {
        for bad in ["many", "-1", "1e3", "0", "99999999999999999999999999", "NaN"] {
            let config = Config::of(Uid(7), &[("ai/max_tokens", bad)], &[("ai/max_tokens", "1000")]);
            assert_eq!(config.number("ai/max_tokens"), 1_000, "{bad}");
            let config = Config::of(Uid(7), &[], &[("ai/max_tokens", bad)]);
            assert_eq!(config.number("ai/max_tokens"), 8_192, "{bad}");
        }
    }

    #[test]
    fn values_below_are_listed_by_name() {
        let rows = [
            ("ai/context.d/b.md", "2"),
            ("ai/context.d/a.md", "1"),
            ("ai/context.dx", "3"),
            ("ai/model", "m"),
        ];
        let config = Config::of(Uid(7), &[], &rows);
        let below: Vec<_> = config.system_below("ai/context.d/").collect();
        assert_eq!(below, [("a.md", "1"), ("b.md", "2")]);
    }
}
