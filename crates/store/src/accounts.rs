//! Users and groups.

use protocol::ids::{Gid, Uid};

use crate::{Result, Store};

/// A user.
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    /// Its number.
    pub uid: Uid,
    /// Its private group's number, the same as `uid`.
    pub gid: Gid,
    /// All its groups, ascending, the private one included.
    pub gids: Vec<Gid>,
    /// Login name.
    pub username: String,
    /// Real name.
    pub gecos: String,
    /// Home directory on the native target.
    pub home: String,
    /// Login shell, as `/etc/passwd` shows it.
    pub shell: String,
    /// Password hash; `!` when it has none.
    pub hash: String,
    /// Locked by root; the hash is kept.
    pub locked: bool,
    /// When the password was changed, in milliseconds.
    pub changed_at: i64,
}

/// A user to add. Its uid is the next free number from 1000 on, over users and groups.
#[derive(Clone, Debug)]
pub struct NewAccount {
    /// Login name; also the private group's name.
    pub username: String,
    /// Password hash.
    pub hash: String,
    /// Groups besides the private one.
    pub groups: Vec<Gid>,
    /// Now, in milliseconds.
    pub now_ms: i64,
}

/// A group.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Its number.
    pub gid: Gid,
    /// Its name.
    pub name: String,
    /// Login names, in order of the uid; users whose private group it is are not listed.
    pub members: Vec<String>,
}

/// What `sys.setup` writes, all of it or nothing.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The first user.
    pub account: NewAccount,
    /// Root's new password hash.
    pub root_hash: String,
    /// Config values.
    pub config: Vec<(String, String)>,
    /// A device token; its `uid` is replaced by the new user's.
    pub token: Option<crate::tokens::NewToken>,
}

impl Store {
    /// Adds root (locked, home `/root`, shell `/bin/init`) and the groups root 0, users 100, drivers 101,
    /// services 102, if there are no accounts yet.
    pub async fn provision(&self, _now_ms: i64) -> Result<()> {
        unimplemented!()
    }

    /// True while root has no password and there is no user from 1000 on.
    pub async fn in_setup_mode(&self) -> Result<bool> {
        unimplemented!()
    }

    /// Writes the first user, root's password, config and token in one transaction, only while in setup mode;
    /// `None` when the system had been set up already. Also returns the token's row.
    pub async fn setup(&self, _setup: Setup) -> Result<Option<(Account, Option<crate::tokens::Token>)>> {
        unimplemented!()
    }

    /// By login name.
    pub async fn account(&self, _username: &str) -> Result<Option<Account>> {
        unimplemented!()
    }

    /// By number.
    pub async fn account_by_uid(&self, _uid: Uid) -> Result<Option<Account>> {
        unimplemented!()
    }

    /// All, by uid.
    pub async fn accounts(&self) -> Result<Vec<Account>> {
        unimplemented!()
    }

    /// Adds a user with its private group; `Conflict` when the name is taken by a user or a group.
    pub async fn account_create(&self, _new: NewAccount) -> Result<Account> {
        unimplemented!()
    }

    /// Sets the password hash. False when there is no such user.
    pub async fn account_set_hash(&self, _uid: Uid, _hash: &str, _now_ms: i64) -> Result<bool> {
        unimplemented!()
    }

    /// Locks or unlocks.
    pub async fn account_set_locked(&self, _uid: Uid, _locked: bool) -> Result<bool> {
        unimplemented!()
    }

    /// Replaces the memberships besides the private group.
    pub async fn account_set_groups(&self, _uid: Uid, _groups: &[Gid]) -> Result<()> {
        unimplemented!()
    }

    /// Removes a user, its private group, its memberships, tokens, grants of the private group and
    /// `users/<uid>/` config.
    pub async fn account_remove(&self, _uid: Uid) -> Result<bool> {
        unimplemented!()
    }

    /// All groups, by gid.
    pub async fn groups(&self) -> Result<Vec<Group>> {
        unimplemented!()
    }

    /// Adds a group with the next free number from 1000 on, over users and groups.
    pub async fn group_create(&self, _name: &str) -> Result<Group> {
        unimplemented!()
    }

    /// Removes a group with its memberships, grants and device access.
    pub async fn group_remove(&self, _gid: Gid) -> Result<bool> {
        unimplemented!()
    }
}
