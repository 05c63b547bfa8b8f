//! Operations that write content: writing, appending, editing, copying.

use std::fs::File;
use std::io::Read;

use base::limits;
use protocol::identity::ProcessIdentity;

use crate::disk::Disk;
use crate::disk::fail::Fail;
use crate::disk::walk::Entry;
use crate::disk::write::{Filling, Target, read_open};
use crate::fault::{Code, Fault};
use crate::live;
use crate::observe::Agent;
use crate::path::VPath;
use crate::stat::Stat;
use crate::view::{Follow, Opened, Resolved, View, Writing};

impl View {
    /// Replaces or creates a file, atomically and durably.
    pub async fn write(&self, path: &VPath, bytes: Vec<u8>, how: Writing) -> Result<Stat, Fault> {
        match self.write_on_disk(path, bytes, how).await.map_err(|fail| fail.at("open", path.as_str()))? {
            Ok(stat) => Ok(stat),
            Err((path, _)) if how.exclusive => Err(Fault::new(Code::Exists, "open", path.as_str())),
            Err((path, bytes)) => {
                let _alone = self.change_live(&path).await?;
                live::write(self, &path, bytes).await?;
                match live::stat(self, &path, Follow::Yes).await {
                    // An empty text removes some config keys, and with them the file.
                    Err(fault) if fault.code == Code::NotFound => Ok(live::gone(self)),
                    stat => stat,
                }
            }
        }
    }

    /// Writes on disk, or gives the bytes back with the live path that was meant.
    async fn write_on_disk(
        &self,
        path: &VPath,
        bytes: Vec<u8>,
        how: Writing,
    ) -> Result<Result<Stat, (VPath, Vec<u8>)>, Fail> {
        if super::is_surely_live(path) {
            return Ok(Err((path.clone(), bytes)));
        }
        self.learn_quota().await?;
        let (path, size, agent) = (path.clone(), bytes.len(), self.agent.clone());
        self.writes_to_disk(size, move |disk, who| match disk.target(who, &path, how.parents)? {
            Target::Live(path) => Ok(Err((path, bytes))),
            Target::Entry(entry) => {
                let stat = disk.replace(who, &entry, how, |draft| draft.add(&bytes))?;
                disk.changed(&entry, who, agent.as_deref());
                Ok(Ok(stat))
            }
        })
        .await
    }

    /// Adds to the end of a file, creating it if need be. As durable as the page cache: a killed gateway loses
    /// nothing of it; the next write of the file outlives a loss of power too.
    pub async fn append(&self, path: &VPath, bytes: Vec<u8>) -> Result<(), Fault> {
        let (wanted, agent) = (path.clone(), self.agent.clone());
        let led = if super::is_surely_live(path) {
            Ok(Err((wanted, bytes)))
        } else {
            match self.learn_quota().await {
                Ok(()) => {
                    let work = move |disk: &Disk, who: &ProcessIdentity| {
                        append(disk, who, &wanted, bytes, agent.as_deref())
                    };
                    self.on_disk(work).await
                }
                Err(fail) => Err(fail),
            }
        };
        match led.map_err(|fail| fail.at("open", path.as_str()))? {
            Ok(()) => Ok(()),
            Err((path, bytes)) => self.append_live(&path, bytes).await,
        }
    }

    /// Waits until nobody else changes a live file: an account file that was read before somebody else's change
    /// and written after it would undo that change.
    async fn change_live(&self, path: &VPath) -> Result<Option<tokio::sync::MutexGuard<'_, ()>>, Fault> {
        if path.parts().next() == Some("dev") {
            // Nothing is kept there.
            return Ok(None);
        }
        let waited = tokio::time::timeout(limits::files::WORK_WAIT, self.tree.live_changes.lock()).await;
        let busy = "others are changing live files; try again";
        waited.map(Some).map_err(|_| Fault::new(Code::Io, "open", path.as_str()).because(busy))
    }

    /// A live file is written as a whole: what it says now, and what is added. Devices have no content to keep.
    async fn append_live(&self, path: &VPath, bytes: Vec<u8>) -> Result<(), Fault> {
        if path.parts().next() == Some("dev") {
            return live::write(self, path, bytes).await;
        }
        let _alone = self.change_live(path).await?;
        let before = match live::read(self, path).await {
            Ok(text) => text,
            Err(fault) if fault.code == Code::NotFound => Vec::new(),
            Err(fault) => return Err(fault),
        };
        let whole = [before.as_slice(), &bytes].concat();
        live::write_after(self, path, Some(&before), whole).await
    }

    /// Replaces a file's content by what `change` makes of it; nobody else changes it meanwhile.
    /// `change` may refuse with words of its own: the outer result is the tree's, the inner one `change`'s.
    pub async fn edit<T: Send + 'static, E: Send + 'static>(
        &self,
        path: &VPath,
        change: impl FnOnce(Vec<u8>) -> Result<(Vec<u8>, T), E> + Send + 'static,
    ) -> Result<Result<T, E>, Fault> {
        let at = |fail: Fail| fail.at("open", path.as_str());
        let (live, change) = if super::is_surely_live(path) {
            (path.clone(), change)
        } else {
            self.learn_quota().await.map_err(at)?;
            let (wanted, agent) = (path.clone(), self.agent.clone());
            let edited = self.on_disk(move |disk, who| match disk.target(who, &wanted, false)? {
                Target::Live(path) => Ok(Err((path, change))),
                Target::Entry(entry) => {
                    let edited = disk.edit(who, &entry, change)?;
                    disk.changed(&entry, who, agent.as_deref());
                    Ok(Ok(edited))
                }
            });
            match edited.await.map_err(at)? {
                Ok(edited) => return Ok(edited),
                Err(live) => live,
            }
        };
        let _alone = self.change_live(&live).await?;
        let before = live::read(self, &live).await?;
        let (after, value) = match change(before.clone()) {
            Ok(changed) => changed,
            Err(refusal) => return Ok(Err(refusal)),
        };
        live::write_after(self, &live, Some(&before), after).await?;
        Ok(Ok(value))
    }

    /// Copies one file. A new file gets the mode of the old one, less the umask, and belongs to the caller.
    pub async fn copy(&self, from: &VPath, to: &VPath) -> Result<(), Fault> {
        match self.open(from).await? {
            Opened::Directory(_) => Err(Fault::new(Code::IsDirectory, "cp", from.as_str())),
            Opened::Bytes(bytes, stat) => {
                let how = Writing { mode: stat.mode & 0o777, ..Writing::default() };
                self.write(to, bytes, how).await.map(drop)
            }
            Opened::File(file, stat) => self.copy_file(file, stat, to).await,
        }
    }

    async fn copy_file(&self, file: File, stat: Stat, to: &VPath) -> Result<(), Fault> {
        let at = |fail: Fail| fail.at("cp", to.as_str());
        let led = if super::is_surely_live(to) {
            Resolved::Live((to.clone(), file))
        } else {
            self.learn_quota().await.map_err(at)?;
            let (wanted, agent) = (to.clone(), self.agent.clone());
            self.on_disk(move |disk, who| match disk.target(who, &wanted, false)? {
                Target::Live(path) => Ok(Resolved::Live((path, file))),
                Target::Entry(entry) => {
                    copy(disk, who, &entry, &file, stat)?;
                    disk.changed(&entry, who, agent.as_deref());
                    Ok(Resolved::Disk(()))
                }
            })
            .await
            .map_err(at)?
        };
        let (path, file) = match led {
            Resolved::Disk(()) => return Ok(()),
            Resolved::Live(live) => live,
        };
        let bytes = self.on_disk(move |_, _| read_open(&file, stat.size)).await.map_err(at)?;
        let _alone = self.change_live(&path).await?;
        live::write(self, &path, bytes).await
    }
}

fn append(
    disk: &Disk,
    who: &ProcessIdentity,
    path: &VPath,
    bytes: Vec<u8>,
    agent: Option<&Agent>,
) -> Result<Result<(), (VPath, Vec<u8>)>, Fail> {
    match disk.target(who, path, false)? {
        Target::Live(path) => Ok(Err((path, bytes))),
        Target::Entry(entry) => {
            disk.append(who, &entry, &bytes)?;
            disk.changed(&entry, who, agent);
            Ok(Ok(()))
        }
    }
}

fn copy(disk: &Disk, who: &ProcessIdentity, entry: &Entry, from: &File, stat: Stat) -> Result<(), Fail> {
    let same = entry.there.as_ref().map(|there| there.id) == Some(crate::disk::dir::id_of(from)?);
    if same {
        return Err(Fail::because(Code::Invalid, "source and destination are the same file"));
    }
    let how = Writing { mode: stat.mode & 0o777, ..Writing::default() };
    disk.replace(who, entry, how, |to| pour(from, to)).map(drop)
}

fn pour(mut from: &File, to: &mut Filling) -> Result<(), Fail> {
    let mut buffer = vec![0; limits::files::COPY_BYTES];
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(()),
            length => to.add(&buffer[..length])?,
        }
    }
}
