//! Offboarding of files: those of a removed user are deleted, or kept for root alone until a new user adopts them.
//!
//! Conversations that its agents had archived go the same way: they are moved into the home, since nothing else refers
//! to them any more; so do its workspaces. What came with messages is removed with the agents. Links are never followed.

use std::ops::ControlFlow;

use protocol::ids::{Gid, Uid};
use store::accounts::Account;

use super::{entry, superuser};
use crate::disk::fail::Fail;
use crate::disk::walk::{Entry, Found};
use crate::fault::{Code, Fault};
use crate::path::VPath;
use crate::tree::Tree;
use crate::view::Follow;

/// Where the archives of a removed user's agents are in its home; a number follows when there is one already.
const ARCHIVES: &str = "archived-conversations";
/// How many of those there may be.
const ARCHIVES_MAX: u32 = 1_000;
/// The mode of a home that is in use.
const OPEN: u32 = 0o750;
/// The mode of one that is root's.
const CLOSED: u32 = 0o700;

impl Tree {
    /// Whether there are files in the home of an account already, whoever they belong to. Waits for the disk.
    pub fn has_home_files(&self, account: &Account) -> bool {
        let Ok(path) = VPath::absolute(&account.home) else { return false };
        let there = |path| -> Result<bool, Fail> {
            let home = self.home_entry(path)?;
            Ok(home.there.is_some_and(|there| there.is_directory()) && !self.is_empty(path)?)
        };
        there(&path).unwrap_or(false)
    }

    /// Makes everything in the home of an account its own. Waits for the disk.
    pub fn adopt_home(&self, account: &Account) -> Result<(), Fault> {
        let path = VPath::absolute(&account.home)?;
        let fault = |fail: Fail| fail.at("chown", path.as_str());
        // The directory itself comes last: until then nobody sees what is not the account's yet.
        self.give_below(&path, account.uid, account.gid).map_err(fault)?;
        self.give_home(&path, account.uid, account.gid, OPEN).map_err(fault)
    }

    /// Gives what a removed user leaves to root, and closes it to everybody else. False when there is no home of
    /// its own. Waits for the disk.
    pub fn keep_home(&self, account: &Account) -> Result<bool, Fault> {
        let path = VPath::absolute(&account.home)?;
        let fault = |fail: Fail| fail.at("chown", path.as_str());
        self.remove_media(account).map_err(fault)?;
        if !self.is_own_home(account, &path).map_err(fault)? {
            // There is no home to move its workspaces into either: they stay that user's, whose number nobody gets again.
            return self.close_archives(account).map(|()| false).map_err(fault);
        }
        // The directory itself comes first: from then on nobody gets in.
        self.give_home(&path, Uid::ROOT, Gid::ROOT, CLOSED).map_err(fault)?;
        self.move_archives(account, &path).map_err(fault)?;
        self.keep_workspaces(account)?;
        self.give_below(&path, Uid::ROOT, Gid::ROOT).map_err(fault)?;
        Ok(true)
    }

    /// Deletes what a removed user leaves. Always false: nothing is kept. Waits for the disk.
    pub fn delete_home(&self, account: &Account) -> Result<bool, Fault> {
        let path = VPath::absolute(&account.home)?;
        let fault = |fail: Fail| fail.at("unlink", path.as_str());
        self.remove_media(account).map_err(fault)?;
        self.remove_archives(account).map_err(fault)?;
        self.delete_workspaces(account)?;
        if self.is_own_home(account, &path).map_err(fault)? {
            self.disk.remove_place(&superuser(), &self.home_entry(&path).map_err(fault)?).map_err(fault)?;
        }
        Ok(false)
    }

    pub(crate) fn home_entry(&self, path: &VPath) -> Result<Entry, Fail> {
        entry(self.disk.find(&superuser(), path, Follow::No)?)
    }

    fn is_own_home(&self, account: &Account, path: &VPath) -> Result<bool, Fail> {
        let there = self.home_entry(path)?.there;
        Ok(there.is_some_and(|there| there.is_directory() && there.stat.uid == account.uid))
    }

    fn give_home(&self, path: &VPath, uid: Uid, gid: Gid, mode: u32) -> Result<(), Fail> {
        let root = superuser();
        self.give(Found::Entry(self.home_entry(path)?), uid, gid)?;
        or_unsupported(self.disk.change_mode(&root, Found::Entry(self.home_entry(path)?), mode))
    }

    fn give(&self, found: Found, uid: Uid, gid: Gid) -> Result<(), Fail> {
        or_unsupported(self.disk.change_owner(&superuser(), found, Some(uid), Some(gid)))
    }

    /// Gives everything below a directory to somebody. Paths are gone through again from the top, so that depth costs
    /// no handles; nobody but root can be in there and put a link in the way.
    fn give_below(&self, top: &VPath, uid: Uid, gid: Gid) -> Result<(), Fail> {
        let root = superuser();
        let mut pending = vec![top.clone()];
        while let Some(path) = pending.pop() {
            let dir = match self.disk.find(&root, &path, Follow::No) {
                Ok(found) => self.disk.directory(&root, found)?,
                Err(fail) if fail.code == Code::NotFound => continue,
                Err(fail) => return Err(fail),
            };
            let mut names = Vec::new();
            dir.each_raw(|name, _| {
                names.push(name.to_os_string());
                ControlFlow::Continue(())
            })?;
            for name in names {
                let Some(text) = name.to_str() else { continue };
                let Some(there) = self.disk.look(&dir, &name)? else { continue };
                if there.is_link() || there.special {
                    continue;
                }
                let name = text.to_string();
                if there.is_directory() {
                    pending.push(path.join(&name));
                }
                self.give(Found::Entry(Entry { dir: dir.clone(), name, there: Some(there) }), uid, gid)?;
            }
        }
        Ok(())
    }

    fn remove_media(&self, account: &Account) -> Result<(), Fail> {
        self.remove_if_there(&format!("/var/media/{}", account.uid))
    }

    fn remove_archives(&self, account: &Account) -> Result<(), Fail> {
        self.remove_if_there(&archives_of(account))
    }

    /// There is no home to move them into.
    fn close_archives(&self, account: &Account) -> Result<(), Fail> {
        let path = VPath::absolute(&archives_of(account)).map_err(|_| Code::Invalid)?;
        match self.disk.find(&superuser(), &path, Follow::No) {
            Ok(Found::Entry(archives)) if archives.there.is_some() => {
                self.give(Found::Entry(archives), Uid::ROOT, Gid::ROOT)?;
                self.give_below(&path, Uid::ROOT, Gid::ROOT)
            }
            Ok(_) => Ok(()),
            Err(fail) if fail.code == Code::NotFound => Ok(()),
            Err(fail) => Err(fail),
        }
    }

    fn remove_if_there(&self, path: &str) -> Result<(), Fail> {
        let path = VPath::absolute(path).map_err(|_| Code::Invalid)?;
        let root = superuser();
        match self.disk.find(&root, &path, Follow::No) {
            Ok(found) => match entry(found)? {
                entry if entry.there.is_some() => self.disk.remove(&root, &entry, true),
                _ => Ok(()),
            },
            Err(fail) if fail.code == Code::NotFound => Ok(()),
            Err(fail) => Err(fail),
        }
    }

    fn move_archives(&self, account: &Account, home: &VPath) -> Result<(), Fail> {
        let root = superuser();
        let archives = VPath::absolute(&archives_of(account)).map_err(|_| Code::Invalid)?;
        let from = match self.disk.find(&root, &archives, Follow::No) {
            Ok(found) => entry(found)?,
            Err(fail) if fail.code == Code::NotFound => return Ok(()),
            Err(fail) => return Err(fail),
        };
        if from.there.is_none() {
            return Ok(());
        }
        for number in 1..=ARCHIVES_MAX {
            let name = if number == 1 { ARCHIVES.to_string() } else { format!("{ARCHIVES}-{number}") };
            let to = self.home_entry(&home.join(&name))?;
            if to.there.is_none() {
                return self.disk.rename(&root, &from, &to);
            }
        }
        Err(Fail::because(Code::Exists, format!("'{home}' has too many {ARCHIVES}")))
    }
}

fn archives_of(account: &Account) -> String {
    format!("/var/sessions/{}", account.username)
}

/// Where the disk keeps no owners, they follow from the place: there is nothing to write.
fn or_unsupported(done: Result<(), Fail>) -> Result<(), Fail> {
    done.or_else(|fail| if fail.code == Code::Unsupported { Ok(()) } else { Err(fail) })
}
