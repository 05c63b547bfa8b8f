//! Layered configuration of one user: the user's own values over everybody's over the built-in defaults.

use std::collections::BTreeMap;

use model::PrivateHosts;
use protocol::config::{self, Key};
use protocol::ids::Uid;
use store::Store;

/// Config as one user has it, by the stems of its keys. It holds keys of providers, so it has no `Debug`.
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
    pub(crate) fn user(&self, key: Key<String>) -> Option<&str> {
        self.own.get(key.stem()).map(String::as_str)
    }

    /// Sets the user's own value for this reading of the config.
    pub(crate) fn set_own(&mut self, key: Key<String>, value: String) {
        self.own.insert(key.stem().to_string(), value);
    }

    /// Everybody's value, where it was set.
    pub(crate) fn system(&self, key: Key<String>) -> Option<&str> {
        self.everybodys.get(key.stem()).map(String::as_str)
    }

    /// Everybody's value of a key with variable parts, where it was set.
    pub(crate) fn system_with(&self, key: Key<String>, parts: &[&str]) -> Option<&str> {
        self.everybodys.get(config::stem(&key.with(parts))).map(String::as_str)
    }

    /// Everybody's value, or the built-in one.
    pub(crate) fn system_text(&self, key: Key<String>) -> &str {
        self.system(key).unwrap_or(key.row().default)
    }

    /// The value that counts. What the user has set to nothing is nothing.
    pub(crate) fn text(&self, key: Key<String>) -> &str {
        self.user(key).unwrap_or_else(|| self.system_text(key))
    }

    /// The number that counts: one that is no number, or out of bounds, is passed over with a warning.
    pub(crate) fn number(&self, key: Key<u64>) -> u64 {
        let set = self.own_number(key).or_else(|| self.number_in(&self.everybodys, key, key.name()));
        set.unwrap_or_else(|| key.of([]))
    }

    /// The user's own number.
    pub(crate) fn own_number(&self, key: Key<u64>) -> Option<u64> {
        self.number_in(&self.own, key, &key.own(self.uid))
    }

    fn number_in(&self, values: &BTreeMap<String, String>, key: Key<u64>, name: &str) -> Option<u64> {
        let text = values.get(key.stem()).filter(|text| !text.trim().is_empty())?;
        let number = key.read(text);
        if number.is_none() {
            tracing::warn!(name, wanted = ?key.row().kind, "a config value does not fit and is not used");
        }
        number
    }

    /// Everybody's values of a key whose last part is variable, by that part.
    pub(crate) fn system_below<'a>(
        &'a self,
        key: Key<String>,
        parts: &[&str],
    ) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let prefix = format!("{}/", config::stem(&key.with(parts)));
        let from = self.everybodys.range(prefix.clone()..);
        from.map_while(move |(key, value)| Some((key.strip_prefix(&prefix)?, value.as_str())))
    }

    /// What the key of a value is called that the user, or else root, would set.
    pub(crate) fn names(&self, key: Key<String>) -> String {
        format!("{} (or {} for everybody)", key.own(self.uid), key.name())
    }

    /// What the user's own key of a value is called.
    pub(crate) fn own_name(&self, key: Key<String>) -> String {
        key.own(self.uid)
    }

    /// What the key of the value that counts is called.
    pub(crate) fn place(&self, key: Key<String>) -> String {
        let own = self.own.contains_key(key.stem());
        if own { key.own(self.uid) } else { key.name().to_string() }
    }

    /// Whether providers may be at private addresses. Only root says so.
    pub(crate) fn private_hosts(&self) -> PrivateHosts {
        let denied = self.system_text(config::AI_PRIVATE_ENDPOINTS).trim().eq_ignore_ascii_case("deny");
        if denied { PrivateHosts::Deny } else { PrivateHosts::Allow }
    }

    /// Whether events of an answer are sent while it comes. Only root says so.
    pub(crate) fn streams(&self) -> bool {
        self.system_text(config::AI_GENERATION_STREAMING).trim() != "off"
    }
}

/// The values below `<top>/<branch>/`, named from the branch on.
async fn below(store: &Store, top: &str, branch: &str) -> Result<BTreeMap<String, String>, String> {
    let prefix = format!("{top}/{branch}");
    let rows = store.config().below(&prefix).await;
    let rows = rows.map_err(|error| format!("The config below {prefix} could not be read: {error}"))?;
    let cut = top.len() + 1;
    Ok(rows.into_iter().filter_map(|(key, value)| Some((key.get(cut..)?.to_string(), value))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_s_value_goes_first_even_when_empty() {
        let own = [("ai/model", ""), ("ai/reasoning", "high")];
        let found = Config::of(Uid(7), &own, &[("ai/model", "m")]);
        assert_eq!((found.text(config::AI_MODEL), found.text(config::AI_REASONING)), ("", "high"));
        assert_eq!(found.text(config::AI_SPEECH_ENCODING), "mp3", "the built-in value is last");
        assert_eq!(found.place(config::AI_MODEL), "users/7/ai/model");
        assert_eq!(found.place(config::AI_PROVIDER), "config/ai/provider");
    }

    #[test]
    fn bad_numbers_fall_back_to_the_next() {
        for bad in ["many", "-1", "1e3", "0", "99999999999999999999999999", "NaN"] {
            let found = Config::of(Uid(7), &[("ai/max_tokens", bad)], &[("ai/max_tokens", "1000")]);
            assert_eq!(found.number(config::AI_MAX_TOKENS), 1_000, "{bad}");
            let found = Config::of(Uid(7), &[], &[("ai/max_tokens", bad)]);
            assert_eq!(found.number(config::AI_MAX_TOKENS), 8_192, "{bad}");
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
        let found = Config::of(Uid(7), &[], &rows);
        let below: Vec<_> = found.system_below(config::AI_CONTEXT_D, &[]).collect();
        assert_eq!(below, [("a.md", "1"), ("b.md", "2")]);
    }
}
