//! `fs.push`: a file's bytes from the caller. They collect in a partial file beside the target, named after
//! the digest, so that a broken upload goes on where it stopped; the target is replaced at the very end.

use std::collections::HashMap;
use std::fs::{File, Permissions, TryLockError};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use base::limits;
use client::transfer::{self, Link};
use protocol::error::Error;
use protocol::fs::{Push, PushOpened};
use protocol::outcome::Outcome;
use tokio::sync::Notify;

use crate::files::{Entry, Files, Place, hidden_name, keep_owner_and_mode};
use crate::machine::{Cx, Machine};

/// Uploads under way, by partial file: a newer one of the same file ends an older one that lost its caller.
#[derive(Default)]
pub struct Uploads {
    running: Mutex<HashMap<PathBuf, Arc<Notify>>>,
}

impl Uploads {
    fn end_older(&self, partial: &Path) {
        if let Some(older) = self.lock().remove(partial) {
            older.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, Arc<Notify>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An entry in the table; dropping it takes it out.
struct Running {
    machine: Arc<Machine>,
    partial: PathBuf,
    ended: Arc<Notify>,
}

impl Running {
    fn enter(machine: &Arc<Machine>, partial: &Path) -> Running {
        let (partial, ended) = (partial.to_path_buf(), Arc::new(Notify::new()));
        machine.uploads.lock().insert(partial.clone(), ended.clone());
        Running { machine: machine.clone(), partial, ended }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut running = self.machine.uploads.lock();
        if running.get(&self.partial).is_some_and(|ended| Arc::ptr_eq(ended, &self.ended)) {
            running.remove(&self.partial);
        }
    }
}

/// An upload whose partial file is open and locked.
struct Upload {
    place: Place,
    target: Entry,
    partial: Entry,
    file: File,
    offset: u64,
}

pub(super) async fn push(cx: Cx, args: Push) -> Result<Outcome<PushOpened>, Error> {
    let id = args.transfer_id.ok_or_else(|| Error::missing_argument("fs.push", "transferId"))?;
    if !super::is_sha256(&args.sha256) {
        return Err(Error::bad_argument("fs.push", "sha256", "must be 64 hex digits"));
    }
    let (connection, slot) = cx.transfer_slot()?;
    let (machine, wanted) = (cx.machine.clone(), args.clone());
    let opening = super::blocking(&cx, move |files| open(files, &machine.uploads, &wanted)).await?;
    let upload = match opening {
        Outcome::Done(upload) => upload,
        Outcome::Failed(error) => return Ok(Outcome::Failed(error)),
    };
    let opened = PushOpened { path: upload.place.text(), offset: upload.offset, transfer_id: id };
    let link = Link::open(&connection, id);
    let running = Running::enter(&cx.machine, upload.partial.real());
    cx.then(async move {
        take_in(link, upload, &args, &running.ended).await;
        drop(slot);
    });
    Ok(Outcome::Done(opened))
}

async fn take_in(mut link: Link, upload: Upload, args: &Push, ended: &Notify) {
    let Upload { place, target, partial, file, offset } = upload;
    let mut file = tokio::fs::File::from_std(file);
    let received = async {
        let hash = transfer::hash_before_receiving(&link, &mut file, offset).await?;
        transfer::receive(&mut link, &mut file, offset, args.size, hash, |_| {}).await
    };
    let received = tokio::select! {
        received = received => received,
        () = ended.notified() => return link.fail("a newer transfer of the same file has begun").await,
    };
    let sha256 = match received {
        Ok(found) if found.eq_ignore_ascii_case(&args.sha256) => found,
        Ok(found) => {
            link.fail(&format!("the digest does not match: {} was meant, {found} arrived", args.sha256))
                .await;
            return discard(partial).await;
        }
        Err(transfer::Error::Corrupt { .. }) => return discard(partial).await,
        Err(error) => {
            // What arrived stays for the next attempt.
            tracing::debug!(path = %place.text(), %error, "a file was not taken in to its end");
            return;
        }
    };
    let file = file.into_std().await;
    let mode = args.mode;
    let stored = tokio::task::spawn_blocking(move || store(&file, &partial, &target, mode)).await;
    let told = match stored {
        Ok(Ok(())) => link.stored(&sha256).await,
        Ok(Err(error)) => return link.fail(&format!("Failed to write '{}': {error}", place.text())).await,
        Err(error) => return link.fail(&format!("Internal error: {error}")).await,
    };
    if let Err(error) = told {
        tracing::debug!(path = %place.text(), %error, "a stored file could not be reported");
    }
}

fn open(files: &Files, uploads: &Uploads, args: &Push) -> Result<Upload, String> {
    let place = files.place(&args.path)?;
    let failed = |error: std::io::Error| format!("Failed to write '{}': {error}", place.text());
    let target = files.entry_to_write(&place).map_err(failed)?;
    let tag = args.sha256[..16].to_ascii_lowercase();
    let partial = target.beside(&hidden_name(target.name(), &tag, "gsv-part")).map_err(failed)?;
    let file = partial.open_private().map_err(failed)?;
    uploads.end_older(partial.real());
    lock(&file).map_err(failed)?;
    let mut offset = file.metadata().map_err(failed)?.len();
    if offset > args.size {
        file.set_len(0).map_err(failed)?;
        offset = 0;
    }
    Ok(Upload { place, target, partial, file, offset })
}

/// An upload that was ended may still have a write under way; the lock is free once that is done.
fn lock(file: &File) -> std::io::Result<()> {
    let deadline = Instant::now() + limits::UPLOAD_LOCK_WAIT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                return Err(std::io::Error::other("another transfer writes this file"));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(std::time::Duration::from_millis(10)),
        }
    }
}

fn store(file: &File, partial: &Entry, target: &Entry, mode: Option<u32>) -> std::io::Result<()> {
    match (mode, target.metadata_itself()) {
        (Some(mode), _) => file.set_permissions(Permissions::from_mode(mode & 0o777))?,
        (None, Ok(existing)) => keep_owner_and_mode(file, &existing)?,
        (None, Err(_)) => file.set_permissions(Permissions::from_mode(0o644))?,
    }
    file.sync_all()?;
    partial.move_to(target)
}

async fn discard(partial: Entry) {
    let removed = tokio::task::spawn_blocking(move || partial.remove()).await;
    if let Ok(Err(error)) = removed {
        tracing::warn!(%error, "a partial file could not be removed");
    }
}
