//! Name lookup of accounts, as `/etc/passwd` and `/etc/group` have them.

use std::collections::HashMap;

use protocol::ids::{Gid, Uid};
use vfs::{VPath, View};

/// Names of users and groups by number, and the other way round.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    users: HashMap<u32, String>,
    groups: HashMap<u32, String>,
    primary: HashMap<String, u32>,
}

impl Accounts {
    /// Reads the account files as the caller sees them; what cannot be read has no names.
    pub async fn read(view: &View) -> Accounts {
        let mut accounts = Accounts::default();
        for line in lines_of(view, "/etc/passwd").await {
            let mut fields = line.split(':');
            let (Some(name), Some(Ok(uid))) = (fields.next(), fields.nth(1).map(str::parse::<u32>)) else {
                continue;
            };
            if let Some(Ok(gid)) = fields.next().map(str::parse) {
                accounts.primary.insert(name.to_string(), gid);
            }
            accounts.users.entry(uid).or_insert_with(|| name.to_string());
        }
        for line in lines_of(view, "/etc/group").await {
            let mut fields = line.split(':');
            if let (Some(name), Some(Ok(gid))) = (fields.next(), fields.nth(1).map(str::parse::<u32>)) {
                accounts.groups.entry(gid).or_insert_with(|| name.to_string());
            }
        }
        accounts
    }

    /// The user's name, or the number when it has none.
    pub fn user(&self, uid: Uid) -> String {
        self.user_name(uid).map_or_else(|| uid.to_string(), str::to_string)
    }

    /// The group's name, or the number when it has none.
    pub fn group(&self, gid: Gid) -> String {
        self.group_name(gid).map_or_else(|| gid.to_string(), str::to_string)
    }

    pub fn user_name(&self, uid: Uid) -> Option<&str> {
        self.users.get(&uid.0).map(String::as_str)
    }

    pub fn group_name(&self, gid: Gid) -> Option<&str> {
        self.groups.get(&gid.0).map(String::as_str)
    }

    /// The user of a name or number.
    pub fn uid(&self, text: &str) -> Option<Uid> {
        number_of(&self.users, text).map(Uid)
    }

    /// The group of a name or number.
    pub fn gid(&self, text: &str) -> Option<Gid> {
        number_of(&self.groups, text).map(Gid)
    }

    /// The group a user belongs to first of all.
    pub fn primary_gid(&self, username: &str) -> Option<Gid> {
        self.primary.get(username).copied().map(Gid)
    }
}

fn number_of(names: &HashMap<u32, String>, text: &str) -> Option<u32> {
    let named = names.iter().find(|(_, name)| *name == text).map(|(number, _)| *number);
    named.or_else(|| text.parse().ok())
}

async fn lines_of(view: &View, path: &str) -> Vec<String> {
    let Ok(path) = VPath::absolute(path) else { return Vec::new() };
    let bytes = view.read(&path).await.unwrap_or_default();
    String::from_utf8_lossy(&bytes).lines().map(str::to_string).collect()
}
