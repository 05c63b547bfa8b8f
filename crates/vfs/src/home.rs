//! Home provisioning: what a new home holds, to whom one belongs, and what becomes of it when its user is removed.
//!
//! A home is laid out once; what its owner changes or removes afterwards stays so. A home that is there already
//! and belongs to somebody else, such as the one a removed user of the same name has left, is not touched unless the
//! new user is to adopt it.

mod removed;

use std::ops::ControlFlow;

use protocol::identity::ProcessIdentity;
use protocol::ids::{Gid, Uid};
use store::accounts::Account;

use crate::disk::fail::Fail;
use crate::disk::walk::{Entry, Found};
use crate::fault::{Code, Fault};
use crate::path::VPath;
use crate::tree::Tree;
use crate::view::{Follow, Writing};

/// In this order. The last one says that the home is complete: whatever broke off before is done again.
const DIRECTORIES: [&str; 4] = ["context.d", "skills.d", "knowledge", "knowledge/inbox"];
const FILES: [(&str, &str); 2] = [
    ("context.d/00-constitution.md", include_str!("home/00-constitution.md")),
    ("context.d/10-user.md", include_str!("home/10-user.md")),
];

/// What became of a home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// It was there.
    Kept,
    /// It was made, or what was missing in it.
    LaidOut,
    /// What is there belongs to somebody else, or is no directory; it was left alone.
    Foreign,
}

impl Tree {
    /// Makes an account's home with the directories and files that everybody begins with. Waits for the disk.
    pub fn lay_out_home(&self, account: &Account) -> Result<Home, Fault> {
        let path = VPath::absolute(&account.home)?;
        let fault = |fail: Fail| fail.at("mkdir", path.as_str());
        if !self.own_home(account, &path).map_err(fault)? {
            return Ok(Home::Foreign);
        }
        let who = identity(account);
        let at = |name: &str| -> Result<Entry, Fail> {
            let path = VPath::resolve(name, path.as_str(), path.as_str()).map_err(|_| Code::Invalid)?;
            entry(self.disk.find(&who, &path, Follow::No)?)
        };
        let complete = DIRECTORIES[DIRECTORIES.len() - 1];
        if at(complete).is_ok_and(|entry| entry.there.is_some()) {
            return Ok(Home::Kept);
        }
        let lay_out = || -> Result<(), Fail> {
            for name in DIRECTORIES.iter().filter(|name| **name != complete) {
                self.add_directory(&who, &at(name)?)?;
            }
            for (name, text) in FILES {
                self.add_file(&who, &at(name)?, &text.replace("{username}", &account.username))?;
            }
            self.add_directory(&who, &at(complete)?)
        };
        lay_out().map_err(fault)?;
        Ok(Home::LaidOut)
    }

    /// Makes the home itself, if need be. False when what is there is not the account's.
    fn own_home(&self, account: &Account, path: &VPath) -> Result<bool, Fail> {
        let root = superuser();
        let mut home = entry(self.disk.find(&root, path, Follow::No)?)?;
        if home.there.is_none() {
            self.disk.make_directory(&root, &home, 0o750)?;
            home = entry(self.disk.find(&root, path, Follow::No)?)?;
        }
        let there = home.existing()?;
        if !there.is_directory() || there.stat.uid == account.uid {
            if there.is_directory() && !there.stamped {
                // From now on it stays this user's, whoever is called so later.
                self.disk.stamp(there.handle()?, there.meta())?;
            }
            return Ok(there.is_directory());
        }
        // Root's and empty: it has just been made, perhaps by a gateway that was stopped right then.
        if !there.stat.uid.is_root() || !self.is_empty(path)? {
            return Ok(false);
        }
        self.disk.change_owner(&root, Found::Entry(home), Some(account.uid), Some(account.gid))?;
        Ok(true)
    }

    fn is_empty(&self, path: &VPath) -> Result<bool, Fail> {
        let root = superuser();
        let found = self.disk.find(&root, path, Follow::No)?;
        let mut empty = true;
        self.disk.directory(&root, found)?.each_raw(|_, _| {
            empty = false;
            ControlFlow::Break(())
        })?;
        Ok(empty)
    }

    fn add_directory(&self, who: &ProcessIdentity, entry: &Entry) -> Result<(), Fail> {
        if entry.there.is_some() {
            return Ok(());
        }
        or_there(self.disk.make_directory(who, entry, 0o750))
    }

    fn add_file(&self, who: &ProcessIdentity, entry: &Entry, text: &str) -> Result<(), Fail> {
        if entry.there.is_some() {
            return Ok(());
        }
        let how = Writing { mode: 0o640, parents: false, exclusive: true };
        or_there(self.disk.replace(who, entry, how, |draft| draft.add(text.as_bytes())).map(|_| ()))
    }
}

/// Somebody else was faster.
fn or_there(done: Result<(), Fail>) -> Result<(), Fail> {
    done.or_else(|fail| if fail.code == Code::Exists { Ok(()) } else { Err(fail) })
}

fn entry(found: Found) -> Result<Entry, Fail> {
    match found {
        Found::Entry(entry) => Ok(entry),
        Found::Live(_) | Found::Root(_) => Err(Code::Invalid.into()),
    }
}

fn identity(account: &Account) -> ProcessIdentity {
    ProcessIdentity {
        uid: account.uid,
        gid: account.gid,
        gids: account.gids.clone(),
        username: account.username.clone(),
        home: account.home.clone(),
        cwd: account.home.clone(),
        workspace_id: None,
    }
}

pub(crate) fn superuser() -> ProcessIdentity {
    ProcessIdentity {
        uid: Uid::ROOT,
        gid: Gid::ROOT,
        gids: vec![Gid::ROOT],
        username: "root".to_string(),
        home: "/root".to_string(),
        cwd: "/".to_string(),
        workspace_id: None,
    }
}

#[cfg(test)]
mod tests;
