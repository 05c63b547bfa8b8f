//! Credential store: the sessions of `gsv auth login`, one for each gateway and user, as `[[session]]` tables. The
//! older form, one session as `gateway.session_*`, is read too and rewritten at the first change.

use terminal::failure::{Failure, Result};
use toml_edit::{ArrayOfTables, Item, Table, value};

use super::ConfigFile;
use crate::credentials::{DEFAULT_URL, is_same_gateway, socket_url};

/// The array of tables that holds the sessions.
const SESSIONS: &str = "session";

/// How one session was kept before there could be several.
const OLD_KEYS: [&str; 4] = [
    "gateway.session_token",
    "gateway.session_token_id",
    "gateway.session_expires_at",
    "gateway.session_url",
];

/// A session of `gsv auth login`.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredSession {
    /// The gateway it belongs to.
    pub url: String,
    /// Whose it is.
    pub username: String,
    /// The secret.
    pub token: String,
    /// Names the secret, so that it can be revoked.
    pub token_id: Option<String>,
    /// When it ends, in milliseconds.
    pub expires_at_ms: Option<i64>,
    /// Names the token in the system's keyring that may answer approvals, where the secret here may not.
    pub keyring_token_id: Option<String>,
}

impl StoredSession {
    /// Whether it is of this gateway and this user.
    pub fn is_of(&self, url: &str, username: &str) -> bool {
        is_same_gateway(&self.url, url) && self.username == username
    }

    fn from_table(table: &Table) -> Option<StoredSession> {
        let text = |name: &str| table.get(name).and_then(Item::as_str).map(str::to_string);
        Some(StoredSession {
            url: text("url")?,
            username: text("username")?,
            token: text("token")?,
            token_id: text("token_id"),
            expires_at_ms: table.get("expires_at").and_then(Item::as_integer),
            keyring_token_id: text("keyring_token_id"),
        })
    }

    fn to_table(&self) -> Table {
        let mut table = Table::new();
        table.insert("url", value(&self.url));
        table.insert("username", value(&self.username));
        table.insert("token", value(&self.token));
        if let Some(id) = &self.token_id {
            table.insert("token_id", value(id));
        }
        if let Some(expires_at_ms) = self.expires_at_ms {
            table.insert("expires_at", value(expires_at_ms));
        }
        if let Some(id) = &self.keyring_token_id {
            table.insert("keyring_token_id", value(id));
        }
        table
    }
}

impl ConfigFile {
    /// The sessions, the newest last. A table that is none is left out.
    pub fn sessions(&self) -> Vec<StoredSession> {
        let tables = self.document.get(SESSIONS).and_then(Item::as_array_of_tables);
        let kept = tables.into_iter().flatten().filter_map(StoredSession::from_table);
        self.old_session().into_iter().chain(kept).collect()
    }

    /// Keeps a session, in place of an earlier one of the same gateway and user.
    pub fn put_session(&mut self, session: &StoredSession) -> Result<()> {
        self.remove_session(&session.url, &session.username)?;
        self.session_tables()?.push(session.to_table());
        Ok(())
    }

    /// Removes the session of a gateway and user, if there is one.
    pub fn remove_session(&mut self, url: &str, username: &str) -> Result<()> {
        self.rewrite_old_session()?;
        let tables = self.session_tables()?;
        tables.retain(|table| StoredSession::from_table(table).is_none_or(|one| !one.is_of(url, username)));
        if tables.is_empty() {
            self.document.remove(SESSIONS);
        }
        Ok(())
    }

    fn session_tables(&mut self) -> Result<&mut ArrayOfTables> {
        let path = self.path.display().to_string();
        let item = self.document.entry(SESSIONS).or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
        item.as_array_of_tables_mut().ok_or_else(|| {
            Failure::new(format!("{path}: `{SESSIONS}` is not a list of [[{SESSIONS}]] tables"))
                .with_hint("remove it from the file and log in again")
        })
    }

    fn old_session(&self) -> Option<StoredSession> {
        let url = self.get("gateway.session_url").or_else(|| self.get("gateway.url"));
        Some(StoredSession {
            token: self.get("gateway.session_token")?,
            username: self.get("gateway.username")?,
            url: socket_url(&url.unwrap_or_else(|| DEFAULT_URL.to_string())),
            token_id: self.get("gateway.session_token_id"),
            expires_at_ms: self.get("gateway.session_expires_at").and_then(|text| text.parse().ok()),
            keyring_token_id: None,
        })
    }

    /// Gives the one session of the older form its own table, with the user and gateway of this moment: both belong
    /// to it only until the next login.
    pub(super) fn rewrite_old_session(&mut self) -> Result<()> {
        let old = self.old_session();
        OLD_KEYS.iter().for_each(|key| self.remove(key));
        if let Some(session) = old {
            self.session_tables()?.push(session.to_table());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;

    const OLD: &str = "[gateway]\nurl = \"ws://a/ws\"\nusername = \"alice\"\nsession_token = \"t\"\n\
        session_token_id = \"i\"\nsession_expires_at = 17\nsession_url = \"ws://a/ws\"\n";

    fn session(url: &str, username: &str, token: &str) -> StoredSession {
        StoredSession {
            url: url.into(),
            username: username.into(),
            token: token.into(),
            token_id: Some("i".into()),
            expires_at_ms: Some(17),
            keyring_token_id: None,
        }
    }

    #[test]
    fn sessions_of_other_gateways_and_users_stay() {
        let (_directory, mut file) = file("[gateway]\nurl = \"ws://a/ws\" # home\n");
        let (a, b) = (session("ws://a/ws", "alice", "1"), session("ws://b/ws", "alice", "2"));
        let root = session("ws://a/ws", "root", "3");
        for one in [&a, &b, &root] {
            file.put_session(one).unwrap();
        }
        file.save().unwrap();
        let mut file = ConfigFile::load_from(&file.path).unwrap();
        assert_eq!(file.sessions(), [a, b.clone(), root.clone()]);
        let again = session("ws://a:80/ws", "alice", "4");
        file.put_session(&again).unwrap();
        assert_eq!(file.sessions(), [b, root.clone(), again]);
        file.remove_session("ws://b/ws", "alice").unwrap();
        file.remove_session("ws://a/ws", "alice").unwrap();
        assert_eq!(file.sessions(), [root]);
        file.remove_session("ws://a/ws", "root").unwrap();
        assert_eq!(file.document.to_string(), "[gateway]\nurl = \"ws://a/ws\" # home\n");
    }

    #[test]
    fn the_older_form_is_read_and_rewritten() {
        let (_directory, mut file) = file(OLD);
        assert_eq!(file.sessions(), [session("ws://a/ws", "alice", "t")]);
        file.put_session(&session("ws://b/ws", "bob", "2")).unwrap();
        file.set("gateway.username", "bob").unwrap();
        assert_eq!(file.sessions(), [session("ws://a/ws", "alice", "t"), session("ws://b/ws", "bob", "2")]);
        assert!(!file.document.to_string().contains("session_token"), "{}", file.document);
    }

    #[test]
    fn the_older_session_stays_its_users_when_the_user_changes() {
        let (_directory, mut file) = file(OLD);
        file.set("gateway.username", "bob").unwrap();
        file.set("gateway.url", "ws://b/ws").unwrap();
        assert_eq!(file.sessions(), [session("ws://a/ws", "alice", "t")]);
    }
}
