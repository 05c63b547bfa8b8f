//! Operations that change names and metadata: directories, links, moves, modes, owners, times, and removal.

use protocol::identity::ProcessIdentity;
use protocol::ids::{Gid, Uid};

use crate::disk::Disk;
use crate::disk::fail::Fail;
use crate::disk::mounts::{self, Protected};
use crate::disk::walk::{Entry, Found};
use crate::fault::{Code, Fault};
use crate::live;
use crate::observe::Agent;
use crate::path::VPath;
use crate::stat::FileKind;
use crate::view::{Follow, Resolved, View};

impl View {
    /// Makes a directory; `recursive` makes missing parents too and is content with one that is there.
    pub async fn mkdir(&self, path: &VPath, recursive: bool, mode: u32) -> Result<(), Fault> {
        let wanted = path.clone();
        let led = if super::is_surely_live(path) {
            Ok(Resolved::Live(wanted))
        } else {
            self.on_disk(move |disk, who| {
                let found = if recursive {
                    disk.find_with_parents(who, &wanted)?
                } else {
                    disk.find(who, &wanted, Follow::No)?
                };
                match found {
                    Found::Live(path) => Ok(Resolved::Live(path)),
                    Found::Root(_) if recursive => Ok(Resolved::Disk(())),
                    Found::Root(_) => Err(Code::Exists.into()),
                    Found::Entry(entry) => make(disk, who, &entry, recursive, mode).map(Resolved::Disk),
                }
            })
            .await
        };
        match led.map_err(|fail| fail.at("mkdir", path.as_str()))? {
            Resolved::Disk(()) => Ok(()),
            Resolved::Live(path) => self.mkdir_live(&path, recursive).await,
        }
    }

    async fn mkdir_live(&self, path: &VPath, recursive: bool) -> Result<(), Fault> {
        match live::stat(self, path, Follow::Yes).await {
            Ok(stat) if stat.kind == FileKind::Directory && recursive => Ok(()),
            Ok(_) => Err(Fault::new(Code::Exists, "mkdir", path.as_str())),
            Err(fault) if fault.code == Code::NotFound => Err(live::refusal("mkdir", path)),
            Err(fault) => Err(fault),
        }
    }

    /// Why nobody may remove or move a directory, in words such as `is a home`; nothing for an ordinary one. Who removes
    /// what is in a directory first asks this before it begins. The path must be free of links.
    pub fn protection(path: &VPath) -> Option<&'static str> {
        let is_live_top = live::covers(path) && path.parts().count() <= 2;
        let protected = mounts::protection(path.as_str()).or(is_live_top.then_some(Protected::System));
        protected.map(Protected::words)
    }

    /// Removes a file, a link, or a directory; one that is not empty only with `recursive`.
    pub async fn remove(&self, path: &VPath, recursive: bool) -> Result<(), Fault> {
        let agent = self.agent.clone();
        let led = self.found(path, Follow::No, move |disk, who, found| match found {
            Found::Entry(entry) => {
                // What was removed before it failed is gone as well.
                let removed = disk.remove(who, &entry, recursive);
                disk.changed(&entry, who, agent.as_deref());
                removed
            }
            _ => Err(Fail::because(Code::NotPermitted, "'/' is part of the system and can not be removed")),
        });
        let fault = |fail: Fail| {
            let op = if fail.code == Code::NotEmpty { "rmdir" } else { "unlink" };
            fail.at(op, path.as_str())
        };
        match led.await.map_err(fault)? {
            Resolved::Disk(()) => Ok(()),
            Resolved::Live(path) => live::remove(self, &path).await,
        }
    }

    /// Moves; replaces a file that is there.
    pub async fn rename(&self, from: &VPath, to: &VPath) -> Result<(), Fault> {
        let (source, goal, agent) = (from.clone(), to.clone(), self.agent.clone());
        let moved = self.on_disk(move |disk, who| {
            let (source, goal) = (disk.find(who, &source, Follow::No)?, disk.find(who, &goal, Follow::No)?);
            match (source, goal) {
                (Found::Live(_), _) | (_, Found::Live(_)) => Err(Code::CrossDevice.into()),
                (Found::Entry(source), Found::Entry(goal)) => {
                    disk.rename(who, &source, &goal)?;
                    disk.changed(&source, who, agent.as_deref());
                    disk.changed(&goal, who, agent.as_deref());
                    Ok(())
                }
                _ => Err(Fail::because(Code::NotPermitted, "'/' is part of the system and can not be moved")),
            }
        });
        moved.await.map_err(|fail| fail.at("rename", from.as_str()))
    }

    /// Makes a symbolic link; `target` is kept as it is written.
    pub async fn symlink(&self, target: &str, link: &VPath) -> Result<(), Fault> {
        let (target, agent) = (target.to_string(), self.agent.clone());
        let led = self.found(link, Follow::No, move |disk, who, found| match found {
            Found::Entry(entry) => {
                disk.make_link(who, &entry, &target)?;
                disk.changed(&entry, who, agent.as_deref());
                Ok(())
            }
            _ => Err(Code::Exists.into()),
        });
        match led.await.map_err(|fail| fail.at("symlink", link.as_str()))? {
            Resolved::Disk(()) => Ok(()),
            Resolved::Live(path) => match live::stat(self, &path, Follow::No).await {
                Ok(_) => Err(Fault::new(Code::Exists, "symlink", path.as_str())),
                Err(_) => Err(live::refusal("symlink", &path)),
            },
        }
    }

    /// Sets the permission bits.
    pub async fn chmod(&self, path: &VPath, mode: u32) -> Result<(), Fault> {
        let agent = self.agent.clone();
        let change = move |disk: &Disk, who: &ProcessIdentity, found: Found| {
            change_mode(disk, who, found, mode, agent.as_deref())
        };
        let led = self.found(path, Follow::Yes, change).await;
        self.or_live_refusal("chmod", path, led).await
    }

    /// Sets owner and group: root any, the owner a group of its own.
    pub async fn chown(&self, path: &VPath, uid: Option<Uid>, gid: Option<Gid>) -> Result<(), Fault> {
        let change = move |disk: &Disk, who: &ProcessIdentity, found| disk.change_owner(who, found, uid, gid);
        let led = self.found(path, Follow::Yes, change).await;
        self.or_live_refusal("chown", path, led).await
    }

    /// Sets the permission bits of what a walk has met: where a link is on the way by now, nothing is done.
    pub async fn chmod_met(&self, path: &VPath, mode: u32) -> Result<(), Fault> {
        let agent = self.agent.clone();
        let change = move |disk: &Disk, who: &ProcessIdentity, found: Found| {
            change_mode(disk, who, found, mode, agent.as_deref())
        };
        let led = self.met(path, change).await;
        self.or_live_refusal("chmod", path, led).await
    }

    /// Sets owner and group of what a walk has met: where a link is on the way by now, nothing is done.
    pub async fn chown_met(&self, path: &VPath, uid: Option<Uid>, gid: Option<Gid>) -> Result<(), Fault> {
        let change = move |disk: &Disk, who: &ProcessIdentity, found| disk.change_owner(who, found, uid, gid);
        let led = self.met(path, change).await;
        self.or_live_refusal("chown", path, led).await
    }

    /// Removes a file, a link or an empty directory that a walk has met: where a link is on the way to it by
    /// now, nothing is done.
    pub async fn remove_met(&self, path: &VPath) -> Result<(), Fault> {
        let agent = self.agent.clone();
        let led = self.met(path, move |disk, who, found| match found {
            Found::Entry(entry) => {
                disk.remove(who, &entry, false)?;
                disk.changed(&entry, who, agent.as_deref());
                Ok(())
            }
            _ => Err(Code::NotPermitted.into()),
        });
        match led.await.map_err(|fail| fail.at("unlink", path.as_str()))? {
            Resolved::Disk(()) => Ok(()),
            Resolved::Live(path) => live::remove(self, &path).await,
        }
    }

    /// Like `found` for a path that had no links: one that is there now was put there to lead elsewhere.
    async fn met<T: Send + 'static>(
        &self,
        path: &VPath,
        work: impl FnOnce(&Disk, &ProcessIdentity, Found) -> Result<T, Fail> + Send + 'static,
    ) -> Result<Resolved<T>, Fail> {
        let asked = path.clone();
        let led = self.found(path, Follow::No, move |disk, who, found| match &found {
            Found::Entry(entry) if entry.path() != asked => Err(Code::Loop.into()),
            _ => work(disk, who, found),
        });
        match led.await? {
            Resolved::Live(led) if led != *path => Err(Code::Loop.into()),
            led => Ok(led),
        }
    }

    /// Sets the time of the last change. Live files have none of their own; they are left as they are.
    pub async fn set_modified(&self, path: &VPath, ms: i64) -> Result<(), Fault> {
        let led = self.found(path, Follow::Yes, move |disk, who, found| disk.change_time(who, found, ms));
        match led.await.map_err(|fail| fail.at("utimes", path.as_str()))? {
            Resolved::Disk(()) => Ok(()),
            Resolved::Live(path) => live::stat(self, &path, Follow::Yes).await.map(drop),
        }
    }

    /// What the kernel shows as files has the owners and modes that it gives them.
    async fn or_live_refusal(
        &self,
        op: &'static str,
        path: &VPath,
        led: Result<Resolved<()>, Fail>,
    ) -> Result<(), Fault> {
        match led.map_err(|fail| fail.at(op, path.as_str()))? {
            Resolved::Disk(()) => Ok(()),
            Resolved::Live(path) => {
                live::stat(self, &path, Follow::Yes).await?;
                Err(live::refusal(op, &path))
            }
        }
    }
}

fn change_mode(
    disk: &Disk,
    who: &ProcessIdentity,
    found: Found,
    mode: u32,
    agent: Option<&Agent>,
) -> Result<(), Fail> {
    let Found::Entry(entry) = found else { return disk.change_mode(who, found, mode) };
    disk.change_mode_of(who, &entry, mode)?;
    disk.changed(&entry, who, agent);
    Ok(())
}

fn make(disk: &Disk, who: &ProcessIdentity, entry: &Entry, recursive: bool, mode: u32) -> Result<(), Fail> {
    match disk.make_directory(who, entry, mode) {
        Err(fail) if fail.code == Code::Exists && recursive => {
            let there = disk.look(&entry.dir, entry.os_name())?;
            if there.is_some_and(|there| there.is_directory()) { Ok(()) } else { Err(fail) }
        }
        made => made,
    }
}
