//! Key-value settings. Those with sensitive names are encrypted at rest.

use protocol::config::{Key, Setting, is_sensitive};

use crate::changes::Topic;
use crate::secrets::Secrets;
use crate::sql::Statement;
use crate::{Result, Store};

/// How much may be set below a prefix.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// How many of them.
    pub keys: i64,
    /// Bytes of keys and values.
    pub bytes: i64,
}

/// Config values. See [`Store::config`].
#[derive(Clone, Copy)]
pub struct Config<'a>(pub(crate) &'a Store);

impl Store {
    /// Config values.
    pub fn config(&self) -> Config<'_> {
        Config(self)
    }
}

impl Config<'_> {
    /// Value of a key, decrypted; `None` when it is not set.
    pub async fn value(self, key: &str) -> Result<Option<String>> {
        let statement = Statement::new("SELECT key, value, sealed FROM config WHERE key = $1").bind(key);
        let Some(mut row) = self.0.read(statement).await?.pop() else { return Ok(None) };
        let (key, value, sealed) = (row.text()?, row.text()?, row.flag()?);
        Ok(Some(self.unseal(&key, value, sealed)?))
    }

    /// Everybody's value of a setting, or the built-in one.
    pub async fn setting<T: Setting>(self, key: Key<T>) -> Result<T> {
        Ok(key.of([self.value(key.name()).await?.as_deref()]))
    }

    /// All below `<prefix>/` (all of them when empty), by key.
    pub async fn below(self, prefix: &str) -> Result<Vec<(String, String)>> {
        self.matching(prefix, |_| true).await
    }

    /// Those below `<prefix>/` whose key fits; the others are not even decrypted.
    pub async fn matching(self, prefix: &str, fits: impl Fn(&str) -> bool) -> Result<Vec<(String, String)>> {
        let statement = if prefix.is_empty() {
            Statement::new("SELECT key, value, sealed FROM config ORDER BY key")
        } else {
            // `0` is the character after `/`, and keys are compared by their bytes.
            Statement::new("SELECT key, value, sealed FROM config WHERE key >= $1 AND key < $2 ORDER BY key")
                .bind(format!("{prefix}/"))
                .bind(format!("{prefix}0"))
        };
        let mut entries = Vec::new();
        for mut row in self.0.read(statement).await? {
            let (key, value, sealed) = (row.text()?, row.text()?, row.flag()?);
            if fits(&key) {
                let value = self.unseal(&key, value, sealed)?;
                entries.push((key, value));
            }
        }
        Ok(entries)
    }

    /// Sets a key; sensitive ones are encrypted.
    pub async fn set(self, key: &str, value: &str) -> Result<()> {
        self.0.change_of(Topic::Config, set(self.0.secrets(), key, value)?).await?;
        Ok(())
    }

    /// Sets a value below `<prefix>/` unless there would then be more keys or bytes than may be; false when so. Keys and
    /// values count as they are kept.
    pub async fn set_within(self, prefix: &str, key: &str, value: &str, room: Room) -> Result<bool> {
        let sealed = is_sensitive(key);
        let value = if sealed { self.0.secrets().seal(&record(key), value)? } else { value.to_string() };
        let bytes = i64::try_from(key.len() + value.len()).unwrap_or(i64::MAX);
        // One statement, so that two at once do not both find room.
        let statement = Statement::new(
            "INSERT INTO config (key, value, sealed) SELECT $1, $2, $3 \
             WHERE (SELECT COUNT(*) FROM config WHERE key >= $4 AND key < $5 AND key <> $1) < $6 \
             AND (SELECT COALESCE(SUM(OCTET_LENGTH(key) + OCTET_LENGTH(value)), 0) FROM config \
             WHERE key >= $4 AND key < $5 AND key <> $1) <= $7 \
             ON CONFLICT (key) DO UPDATE SET value = excluded.value, sealed = excluded.sealed RETURNING key",
        );
        let statement = statement.bind(key).bind(value).bind(sealed);
        let statement = statement.bind(format!("{prefix}/")).bind(format!("{prefix}0"));
        let statement = statement.bind(room.keys).bind(room.bytes.saturating_sub(bytes));
        Ok(!self.0.change_of(Topic::Config, statement).await?.is_empty())
    }

    /// Removes a value. False when there was none.
    pub async fn remove(self, key: &str) -> Result<bool> {
        let statement = Statement::new("DELETE FROM config WHERE key = $1 RETURNING key").bind(key);
        Ok(!self.0.change_of(Topic::Config, statement).await?.is_empty())
    }

    fn unseal(self, key: &str, value: String, sealed: bool) -> Result<String> {
        if sealed { self.0.secrets().open(&record(key), &value) } else { Ok(value) }
    }
}

/// The statement that sets a value, encrypted if its key says so.
pub(crate) fn set(secrets: &Secrets, key: &str, value: &str) -> Result<Statement> {
    let sealed = is_sensitive(key);
    let value = if sealed { secrets.seal(&record(key), value)? } else { value.to_string() };
    Ok(Statement::new(
        "INSERT INTO config (key, value, sealed) VALUES ($1, $2, $3) \
         ON CONFLICT (key) DO UPDATE SET value = excluded.value, sealed = excluded.sealed",
    )
    .bind(key)
    .bind(value)
    .bind(sealed))
}

/// What an encrypted value is bound to.
fn record(key: &str) -> String {
    format!("config:{key}")
}
