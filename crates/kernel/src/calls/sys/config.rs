//! `sys.config.*`

use base::limits;
use gateway::Caller;
use protocol::config::{KEYS, is_sensitive};
use protocol::error::Error;
use protocol::ids::Uid;
use protocol::sys::{ConfigEntries, ConfigEntry, ConfigGet, ConfigSet, Done};
use serde_json::Value;

use crate::calls::Cx;
use crate::{settings, store_error};

/// A key that shows the gateway's version and can not be set.
const VERSION_KEY: &str = "config/server/version";

pub(crate) async fn get(cx: Cx, args: ConfigGet) -> Result<ConfigEntries, Error> {
    let key = args.key.as_deref().unwrap_or_default().trim_end_matches('/');
    if let Some(value) = exact(&cx, key).await? {
        if !may_read(&cx.caller, key) {
            return Err(Error::forbidden(format!("Permission denied: cannot read {key}")));
        }
        return Ok(ConfigEntries { entries: vec![ConfigEntry { key: key.to_string(), value }] });
    }
    let readable = |key: &str| may_read(&cx.caller, key);
    let mut entries: std::collections::BTreeMap<String, String> =
        defaults(&cx, key).filter(|(key, _)| readable(key)).collect();
    entries.extend(cx.kernel.store.config_where(key, readable).await.map_err(store_error)?);
    Ok(ConfigEntries {
        entries: entries.into_iter().map(|(key, value)| ConfigEntry { key, value }).collect(),
    })
}

async fn exact(cx: &Cx, key: &str) -> Result<Option<String>, Error> {
    if key.is_empty() {
        return Ok(None);
    }
    let stored = cx.kernel.store.config_value(key).await.map_err(store_error)?;
    Ok(stored.or_else(|| default_of(cx, key)))
}

fn default_of(cx: &Cx, key: &str) -> Option<String> {
    if key == VERSION_KEY {
        return Some(cx.kernel.version.clone());
    }
    protocol::config::key(key).map(|row| row.default.to_string())
}

fn defaults<'a>(cx: &'a Cx, prefix: &'a str) -> impl Iterator<Item = (String, String)> + 'a {
    let below = move |key: &str| {
        prefix.is_empty() || key.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/'))
    };
    let known = KEYS.iter().map(|row| row.key).chain([VERSION_KEY]);
    known.filter(move |key| below(key)).filter_map(|key| Some((key.to_string(), default_of(cx, key)?)))
}

fn may_read(caller: &Caller, key: &str) -> bool {
    if caller.is_root() {
        return true;
    }
    match owner_of(key) {
        Some((uid, _)) => uid == caller.uid(),
        None => key.starts_with("config/") && !is_sensitive(key),
    }
}

/// The user a `users/<uid>/…` key belongs to, and the rest of it.
fn owner_of(key: &str) -> Option<(Uid, &str)> {
    let (uid, rest) = key.strip_prefix("users/")?.split_once('/')?;
    Some((Uid(uid.parse().ok()?), rest))
}

pub(crate) async fn set(cx: Cx, args: ConfigSet) -> Result<Done, Error> {
    let key = args.key.trim();
    let value = text_of(&args.value)?;
    check_key(key)?;
    check_write(&cx.caller, key)?;
    check_agent(&cx.caller, key)?;
    let store = &cx.kernel.store;
    let removable = key.starts_with("users/") || protocol::config::key(key).is_some();
    if value.trim().is_empty() && removable {
        store.config_remove(key).await.map_err(store_error)?;
        cx.kernel.config_changed(key, None);
    } else {
        settings::check_given("sys.config.set", "value", key, &value)?;
        store.config_set(key, &value).await.map_err(store_error)?;
        cx.kernel.config_changed(key, Some(&value));
    }
    Ok(Done { ok: true })
}

/// An agent that could change when it has to ask would not have to ask.
fn check_agent(caller: &Caller, key: &str) -> Result<(), Error> {
    if caller.origin.is_program() && key.ends_with("/tools/approval") {
        return Err(Error::forbidden(format!("Permission denied: only a person may change {key}")));
    }
    Ok(())
}

fn text_of(value: &Value) -> Result<String, Error> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(flag) => Ok(flag.to_string()),
        Value::Null => Err(Error::missing_argument("sys.config.set", "a value")),
        _ => Err(Error::bad_argument("sys.config.set", "value", "must be text, a number or a boolean")),
    }
}

fn check_key(key: &str) -> Result<(), Error> {
    if key.is_empty() {
        return Err(Error::missing_argument("sys.config.set", "a key"));
    }
    let clean =
        !key.contains(char::is_control) && key.split('/').all(|part| !part.is_empty() && part != "..");
    if !clean || key.len() > limits::CONFIG_KEY_BYTES_MAX || key == VERSION_KEY {
        return Err(Error::bad_argument("sys.config.set", "key", "is not a key that can be set"));
    }
    Ok(())
}

fn check_write(caller: &Caller, key: &str) -> Result<(), Error> {
    if caller.is_root() {
        return Ok(());
    }
    match owner_of(key) {
        Some((uid, rest)) if uid == caller.uid() => {
            if rest.starts_with("ai/") {
                return Ok(());
            }
            Err(Error::forbidden(format!(
                "Permission denied: key \"{rest}\" is not user-overridable (allowed prefixes: ai/)"
            )))
        }
        Some(_) => {
            Err(Error::forbidden(format!("Permission denied: cannot write another user's config ({key})")))
        }
        None => Err(Error::forbidden(format!("Permission denied: only root can set system config ({key})"))),
    }
}
