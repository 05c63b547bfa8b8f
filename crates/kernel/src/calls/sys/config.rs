//! Handlers of `sys.config.*`: reading, validating and writing settings.

use base::limits;
use gateway::Caller;
use protocol::config::{self, MASKED, ROWS, SERVER_VERSION, ValueType, is_sensitive};
use protocol::error::Error;
use protocol::ids::Uid;
use protocol::sys::{ConfigEntries, ConfigEntry, ConfigGet, ConfigSet, Done};
use serde_json::Value;
use store::config::Room;

use crate::calls::Cx;
use crate::{access, settings};

pub(crate) async fn get(cx: Cx, args: ConfigGet) -> Result<ConfigEntries, Error> {
    let key = args.key.as_deref().unwrap_or_default().trim_end_matches('/');
    if let Some(value) = exact(&cx, key).await? {
        if !may_read(&cx.caller, key) {
            return Err(Error::forbidden(format!("Permission denied: cannot read {key}")));
        }
        return Ok(ConfigEntries { entries: vec![masked_for(&cx.caller, key.to_string(), value)] });
    }
    let readable = |key: &str| may_read(&cx.caller, key);
    let mut entries: std::collections::BTreeMap<String, String> =
        defaults(&cx, key).filter(|(key, _)| readable(key)).collect();
    entries.extend(cx.kernel.store.config().matching(key, readable).await?);
    Ok(ConfigEntries {
        entries: entries.into_iter().map(|(key, value)| masked_for(&cx.caller, key, value)).collect(),
    })
}

/// A setting as the caller sees it: a program learns that a secret is set and not what it is, whoever it acts for.
fn masked_for(caller: &Caller, key: String, value: String) -> ConfigEntry {
    let is_masked = caller.origin.is_program() && is_sensitive(&key) && !value.is_empty();
    ConfigEntry { value: if is_masked { MASKED.to_string() } else { value }, key }
}

async fn exact(cx: &Cx, key: &str) -> Result<Option<String>, Error> {
    if key.is_empty() {
        return Ok(None);
    }
    let stored = cx.kernel.store.config().value(key).await?;
    Ok(stored.or_else(|| default_of(cx, key)))
}

fn default_of(cx: &Cx, key: &str) -> Option<String> {
    if key == SERVER_VERSION.name() {
        return Some(cx.kernel.version.clone());
    }
    let row = ROWS.iter().find(|row| row.name == key && !row.is_family())?;
    Some(row.default.to_string())
}

fn defaults<'a>(cx: &'a Cx, prefix: &'a str) -> impl Iterator<Item = (String, String)> + 'a {
    let below = move |key: &str| {
        prefix.is_empty() || key.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/'))
    };
    let below = ROWS.iter().map(|row| row.name).filter(move |key| below(key));
    below.filter_map(|key| Some((key.to_string(), default_of(cx, key)?)))
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
    let (text, rest) = key.strip_prefix("users/")?.split_once('/')?;
    let uid = Uid(text.parse().ok()?);
    // Written in one way only: `users/01000/…` is nobody's.
    (uid.to_string() == text).then_some((uid, rest))
}

pub(crate) async fn set(cx: Cx, args: ConfigSet) -> Result<Done, Error> {
    let key = args.key.trim();
    let value = text_of(&args.value)?;
    check_key(key)?;
    check_write(&cx.caller, key)?;
    access::check_by(&cx.caller, config::set_by(key), key)?;
    let store = &cx.kernel.store;
    match value.filter(|value| is_value(key, value)) {
        Some(value) => {
            if config::find(key).is_none() {
                return Err(Error::bad_argument("sys.config.set", "key", &settings::unknown(key)));
            }
            settings::check_given("sys.config.set", "value", key, &value)?;
            match owner_of(key) {
                Some((uid, _)) => set_of_user(&cx, uid, key, &value).await?,
                None => store.config().set(key, &value).await?,
            }
            cx.kernel.config_changed(key, Some(&value));
        }
        // Also a key that is not known: it may be left from a time when any could be set.
        None => {
            store.config().remove(key).await?;
            cx.kernel.config_changed(key, None);
        }
    }
    Ok(Done { ok: true })
}

/// What a user has set is bounded, whoever sets it.
async fn set_of_user(cx: &Cx, uid: Uid, key: &str, value: &str) -> Result<(), Error> {
    let room =
        Room { keys: limits::config::USER_KEYS_MAX as i64, bytes: limits::config::USER_MAX_BYTES as i64 };
    let is_set = cx.kernel.store.config().set_within(&format!("users/{uid}"), key, value, room).await?;
    if is_set {
        return Ok(());
    }
    Err(Error::new(
        413,
        format!(
            "users/{uid}/ is full: it may hold {} keys and {} bytes; remove some with `gsv config unset`",
            limits::config::USER_KEYS_MAX,
            limits::config::USER_MAX_BYTES
        ),
    ))
}

/// An empty text is as good as none, but for files, where it says that the file is empty.
fn is_value(key: &str, value: &str) -> bool {
    let is_file = || config::find(key).is_some_and(|known| known.row.kind == ValueType::File);
    !value.trim().is_empty() || is_file()
}

/// The text of a value; `None` removes the key.
fn text_of(value: &Value) -> Result<Option<String>, Error> {
    match value {
        Value::String(text) => Ok(Some(text.clone())),
        Value::Number(number) => Ok(Some(number.to_string())),
        Value::Bool(flag) => Ok(Some(flag.to_string())),
        Value::Null => Ok(None),
        _ => Err(Error::bad_argument("sys.config.set", "value", "must be text, a number, a boolean or null")),
    }
}

fn check_key(key: &str) -> Result<(), Error> {
    if key.is_empty() {
        return Err(Error::missing_argument("sys.config.set", "a key"));
    }
    let clean =
        !key.contains(char::is_control) && key.split('/').all(|part| !part.is_empty() && part != "..");
    if !clean || key.len() > limits::config::KEY_MAX_BYTES || key == SERVER_VERSION.name() {
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
