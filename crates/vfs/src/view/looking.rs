//! Operations that read metadata: what is there, and what is in it.

use protocol::identity::ProcessIdentity;

use crate::disk::fail::Fail;
use crate::disk::meta::{ENTER, Meta, READ, WRITE};
use crate::disk::walk::{End, Found};
use crate::disk::write::read_whole;
use crate::disk::{Disk, mounts};
use crate::fault::{Code, Fault};
use crate::live;
use crate::path::VPath;
use crate::stat::{FileKind, Named, Stat};
use crate::view::{Follow, Opened, Resolved, View};

impl View {
    /// What is at a path.
    pub async fn stat(&self, path: &VPath, follow: Follow) -> Result<Stat, Fault> {
        let led = self.found(path, follow, |_, _, found| found.stat()).await;
        match led.map_err(|fail| fail.at("stat", path.as_str()))? {
            Resolved::Disk(stat) => Ok(stat),
            Resolved::Live(path) => live::stat(self, &path, follow).await,
        }
    }

    /// The names in a directory, sorted.
    pub async fn list(&self, path: &VPath) -> Result<Vec<Named>, Fault> {
        let led = self.found(path, Follow::Yes, list).await;
        let (directory, mut names) = match led.map_err(|fail| fail.at("scandir", path.as_str()))? {
            Resolved::Disk(listed) => listed,
            Resolved::Live(path) => return live::list(self, &path).await,
        };
        for name in live::names_in(&directory) {
            // One that can not be looked at now is left out, as a process that has just ended would be.
            if let Ok(stat) = live::stat(self, &directory.join(name), Follow::No).await {
                names.push(Named { name: name.to_string(), stat });
            }
        }
        names.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(names)
    }

    /// Opens for reading.
    pub async fn open(&self, path: &VPath) -> Result<Opened, Fault> {
        let wanted = path.clone();
        let led = if super::is_surely_live(path) {
            Ok(Resolved::Live(wanted))
        } else {
            self.on_disk(move |disk, who| open(disk, who, &wanted)).await
        };
        match led.map_err(|fail| fail.at("open", path.as_str()))? {
            Resolved::Disk(opened) => Ok(opened),
            Resolved::Live(path) => self.open_live(&path).await,
        }
    }

    async fn open_live(&self, path: &VPath) -> Result<Opened, Fault> {
        let mut stat = live::stat(self, path, Follow::Yes).await?;
        if stat.kind == FileKind::Directory {
            return Ok(Opened::Directory(stat));
        }
        let bytes = live::read(self, path).await?;
        stat.size = bytes.len() as u64;
        Ok(Opened::Bytes(bytes, stat))
    }

    /// Opens a plain file for reading if that needs no waiting at all; nothing means: ask [`View::open`].
    /// See also [`crate::disk::fast::read_now`].
    pub fn open_now(&self, path: &VPath) -> Option<Result<Opened, Fault>> {
        let opened = self.tree.disk.open_now(&self.who, path)?;
        Some(match opened {
            Ok((file, stat)) => Ok(Opened::File(file, stat)),
            Err(fail) => Err(fail.at("open", path.as_str())),
        })
    }

    /// A whole file, at most `limits::files::READ_MAX_BYTES` ([`Code::TooLarge`] beyond).
    pub async fn read(&self, path: &VPath) -> Result<Vec<u8>, Fault> {
        let led = self.found(path, Follow::Yes, |_, who, found| {
            let Found::Entry(entry) = found else { return Err(Code::IsDirectory.into()) };
            let there = entry.existing()?;
            if there.is_directory() {
                return Err(Code::IsDirectory.into());
            }
            need(there.meta(), who, READ)?;
            if there.special {
                return Err(Fail::because(Code::Invalid, "not a regular file"));
            }
            read_whole(there)
        });
        match led.await.map_err(|fail| {
            let op = if fail.code == Code::IsDirectory { "read" } else { "open" };
            fail.at(op, path.as_str())
        })? {
            Resolved::Disk(bytes) => Ok(bytes),
            Resolved::Live(path) => live::read(self, &path).await,
        }
    }

    /// Where a link leads, as it is written.
    pub async fn read_link(&self, path: &VPath) -> Result<String, Fault> {
        let led = self.found(path, Follow::No, |_, _, found| {
            let Found::Entry(entry) = found else { return Err(Code::Invalid.into()) };
            if !entry.existing()?.is_link() {
                return Err(Code::Invalid.into());
            }
            Ok(entry.dir.link_target(entry.os_name())?.to_string_lossy().into_owned())
        });
        match led.await.map_err(|fail| fail.at("readlink", path.as_str()))? {
            Resolved::Disk(target) => Ok(target),
            Resolved::Live(path) => live::read_link(self, &path).await,
        }
    }

    /// Whether the caller may read (4), write (2) and execute or enter (1), for the bits asked.
    pub async fn may(&self, path: &VPath, bits: u32) -> Result<bool, Fault> {
        let led = self.found(path, Follow::Yes, move |_, who, found| {
            let stat = found.stat()?;
            let fixed = match &found {
                Found::Entry(entry) => mounts::fixed_names(entry.path().as_str()).is_some(),
                _ => true,
            };
            Ok(may(stat, who, bits) && !(fixed && bits & WRITE != 0))
        });
        match led.await {
            Ok(Resolved::Disk(may)) => Ok(may),
            Ok(Resolved::Live(path)) => Ok(may(live::stat(self, &path, Follow::Yes).await?, &self.who, bits)),
            Err(fail) if fail.code == Code::Denied => Ok(false),
            Err(fail) => Err(fail.at("access", path.as_str())),
        }
    }
}

/// Root may read and write everything, but executes only what anybody may execute.
fn may(stat: Stat, who: &ProcessIdentity, bits: u32) -> bool {
    let meta = Meta { uid: stat.uid, gid: stat.gid, mode: stat.mode };
    let nobody_executes = stat.kind == FileKind::File && stat.mode & 0o111 == 0;
    meta.allows(who, bits) && !(bits & ENTER != 0 && nobody_executes)
}

pub(super) fn need(meta: Meta, who: &ProcessIdentity, bits: u32) -> Result<(), Fail> {
    if meta.allows(who, bits) { Ok(()) } else { Err(Code::Denied.into()) }
}

fn list(disk: &Disk, who: &ProcessIdentity, found: Found) -> Result<(VPath, Vec<Named>), Fail> {
    let dir = disk.directory(who, found)?;
    let mut names = Vec::new();
    for name in disk.names(&dir)? {
        if let Some(there) = disk.look(&dir, &name)? {
            // Of workspaces everybody sees those that are theirs.
            if dir.path.as_str() == mounts::WORKSPACES && !there.meta().allows(who, ENTER) {
                continue;
            }
            names.push(Named { name: name.to_string_lossy().into_owned(), stat: there.stat });
        }
    }
    Ok((dir.path, names))
}

fn open(disk: &Disk, who: &ProcessIdentity, path: &VPath) -> Result<Resolved<Opened>, Fail> {
    let generation = disk.directory_cache.generation();
    let (end, passed) = disk.walk_passing(who, path, Follow::Yes)?;
    let entry = match end {
        End::Found(Found::Live(path)) => return Ok(Resolved::Live(path)),
        End::Found(root @ Found::Root(_)) => return Ok(Resolved::Disk(Opened::Directory(root.stat()?))),
        End::Found(Found::Entry(entry)) => entry,
        End::Missing(entry, _) => return Err(entry.missing()),
    };
    let Some(there) = entry.there else { return Err(Code::NotFound.into()) };
    let stat = there.stat;
    if there.is_directory() {
        return Ok(Resolved::Disk(Opened::Directory(stat)));
    }
    need(there.meta(), who, READ)?;
    let file = there.into_file()?;
    if let Some(passed) = passed {
        disk.directory_cache.put(&entry.dir.path, passed, entry.dir.default_owner, generation);
    }
    Ok(Resolved::Disk(Opened::File(file, stat)))
}
