//! Offboarding of workspaces: those of a removed user are deleted, or moved into the home that root keeps.

use std::ffi::OsStr;
use std::ops::ControlFlow;

use protocol::ids::Uid;
use store::accounts::Account;

use crate::disk::fail::Fail;
use crate::disk::mounts::{AWAY, BACK, WORKSPACES};
use crate::disk::walk::Entry;
use crate::fault::{Code, Fault};
use crate::home::superuser;
use crate::path::VPath;
use crate::tree::Tree;
use crate::view::Follow;

/// Where the workspaces of a removed user are in its home.
const KEPT: &str = "workspaces";
/// How many names are tried for one that is there already.
const NAMES_MAX: u32 = 1_000;

impl Tree {
    /// Deletes the workspaces of a removed user. Waits for the disk.
    pub fn delete_workspaces(&self, account: &Account) -> Result<(), Fault> {
        let delete = || -> Result<(), Fail> {
            for name in self.workspaces_of(account.uid)? {
                self.remove_workspace(&name)?;
            }
            Ok(())
        };
        delete().map_err(|fail| fail.at("unlink", WORKSPACES))
    }

    /// Moves the workspaces of a removed user into its home, which the caller gives to root. Waits for the disk.
    pub fn keep_workspaces(&self, account: &Account) -> Result<(), Fault> {
        let home = VPath::absolute(&account.home)?;
        let keep = || -> Result<(), Fail> {
            let names = self.workspaces_of(account.uid)?;
            if names.is_empty() {
                return Ok(());
            }
            let root = superuser();
            let kept = self.home_entry(&home.join(KEPT))?;
            if kept.there.is_none() {
                self.disk.make_directory(&root, &kept, 0o700)?;
            }
            for name in names {
                let from = self.workspace_entry(&name)?;
                let id = name.strip_prefix(AWAY).or_else(|| name.strip_prefix(BACK)).unwrap_or(&name);
                self.disk.rename_workspace(&from, &self.free_name(&home.join(KEPT), id)?)?;
            }
            Ok(())
        };
        keep().map_err(|fail| fail.at("rename", WORKSPACES))
    }

    fn free_name(&self, directory: &VPath, id: &str) -> Result<Entry, Fail> {
        for number in 1..=NAMES_MAX {
            let name = if number == 1 { id.to_string() } else { format!("{id}-{number}") };
            let entry = self.home_entry(&directory.join(&name))?;
            if entry.there.is_none() {
                return Ok(entry);
            }
        }
        Err(Code::Exists.into())
    }

    /// The names of the workspaces that belong to somebody, those set aside included. They are nobody's from now on.
    fn workspaces_of(&self, uid: Uid) -> Result<Vec<String>, Fail> {
        let root = superuser();
        let path = VPath::absolute(WORKSPACES).map_err(|_| Code::Invalid)?;
        let dir = self.disk.directory(&root, self.disk.find(&root, &path, Follow::No)?)?;
        let mut names = Vec::new();
        dir.each_raw(|name, _| {
            names.extend(name.to_str().map(str::to_string));
            ControlFlow::Continue(())
        })?;
        let mut own = Vec::new();
        for name in names {
            let there = self.disk.look(&dir, OsStr::new(&name))?;
            if there.is_some_and(|there| there.is_directory() && there.stat.uid == uid) {
                own.push(name);
            }
        }
        own.iter().for_each(|name| self.disk.change_workspace(name, None));
        Ok(own)
    }
}
