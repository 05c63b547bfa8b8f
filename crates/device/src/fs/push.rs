//! `fs.push`: a file's bytes from the caller. They collect in a partial file beside the target, named after
//! the digest, so that a broken upload goes on where it stopped; the target is replaced at the very end.

use std::fs::{File, Permissions, TryLockError};
use std::io::Seek;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::Instant;

use base::limits;
use client::transfer::{self, Link};
use protocol::error::Error;
use protocol::fs::{Push, PushOpened};
use protocol::outcome::Outcome;
use tokio::sync::Notify;

use super::uploads::{PARTIAL, Running, Uploads};
use crate::files::{Entry, Failure, Files, Place, cannot_be_replaced, hidden_name, keep_owner_and_mode};
use crate::machine::Cx;

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
        take_in(link, upload, &args, running.ended()).await;
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
    // A slow disk may take its time to make the bytes durable.
    let storing = tokio::task::spawn_blocking(move || store(file, &partial, &target, mode));
    let told = match link.say_alive_during(args.size - offset, storing).await {
        Ok(Ok(Ok(()))) => link.stored(&sha256).await,
        Ok(Ok(Err(error))) => {
            return link.fail(&format!("Failed to write '{}': {error}", place.text())).await;
        }
        Ok(Err(error)) => return link.fail(&format!("Internal error: {error}")).await,
        Err(error) => Err(error),
    };
    if let Err(error) = told {
        tracing::debug!(path = %place.text(), %error, "a stored file could not be reported");
    }
}

fn open(files: &Files, uploads: &Uploads, args: &Push) -> Result<Upload, Failure> {
    let place = files.place(&args.path)?;
    let failed = |error| Failure::of("write", &place, &error);
    let target = files.entry_to_write(&place).map_err(failed)?;
    uploads.sweep(&target);
    let tag = args.sha256[..16].to_ascii_lowercase();
    let partial = target.beside(&hidden_name(target.name(), &tag, PARTIAL)).map_err(failed)?;
    let file = partial.open_private().map_err(failed)?;
    uploads.end_older(partial.real());
    lock(&file).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !partial.metadata_itself().is_ok_and(|found| cap_std::fs::MetadataExt::ino(&found) == metadata.ino()) {
        return Err(failed(std::io::Error::other("its partial file was removed just now, try again")));
    }
    let mut offset = metadata.len();
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
            Err(TryLockError::WouldBlock) => std::thread::sleep(limits::UPLOAD_LOCK_RETRY),
        }
    }
}

/// An existing file keeps its mode and owner; a new one gets the mode the sender names, less the umask.
fn store(mut file: File, partial: &Entry, target: &Entry, mode: Option<u32>) -> std::io::Result<()> {
    match target.metadata_itself() {
        Ok(existing) => keep_owner_and_mode(&file, &existing)?,
        Err(_) => {
            let mode = target.mode_of_new(mode.unwrap_or(0o666) & 0o777)?;
            file.set_permissions(Permissions::from_mode(mode))?;
        }
    }
    file.sync_all()?;
    match partial.move_to(target) {
        Err(error) if cannot_be_replaced(&error) => {
            file.rewind()?;
            target.overwrite(&mut file)?;
            partial.remove()
        }
        moved => moved,
    }
}

async fn discard(partial: Entry) {
    let removed = tokio::task::spawn_blocking(move || partial.remove()).await;
    if let Ok(Err(error)) = removed {
        tracing::warn!(%error, "a partial file could not be removed");
    }
}
