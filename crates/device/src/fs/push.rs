//! `fs.push`: a file's bytes from the caller. They collect in a partial file beside the target, named after
//! the digest, so that a broken upload goes on where it stopped; the target is replaced at the very end.

use std::fs::{File, Permissions, TryLockError};
use std::io::Seek;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

use base::clock::Clock;
use base::limits;
use protocol::error::Error;
use protocol::fs::{Push, PushOpened};
use protocol::outcome::Outcome;
use transfer::{Intake, PARTIAL, Running};

use super::uploads::Uploads;
use crate::files::{Entry, Failure, Files, LocalPath, cannot_be_replaced, hidden_name, keep_owner_and_mode};
use crate::machine::Cx;
use crate::overwritten::{Keeper, State};

/// Where an upload goes at its end.
struct Target {
    place: LocalPath,
    target: Entry,
    partial: Entry,
    mode: Option<u32>,
    sha256: String,
    keeper: Keeper,
    /// Directories that were made for it.
    made: Vec<PathBuf>,
}

type Opened = (Target, Intake, Running<PathBuf>);

pub(super) async fn push(cx: Cx, args: Push) -> Result<Outcome<PushOpened>, Error> {
    let id = args.transfer_id.ok_or_else(|| Error::missing_argument("fs.push", "transferId"))?;
    if !transfer::is_sha256(&args.sha256) {
        return Err(Error::bad_argument("fs.push", "sha256", "must be 64 hex digits"));
    }
    let (connection, slot) = cx.transfer_slot()?;
    let machine = cx.machine.clone();
    let keeper = cx.keeper("fs.push");
    let opening = super::blocking(&cx, move |files| open(files, &machine.uploads, keeper, &args)).await?;
    let (target, intake, running) = match opening {
        Outcome::Done(opened) => opened,
        Outcome::Failed(error) => return Ok(Outcome::Failed(error)),
    };
    let opened = PushOpened { path: target.place.text(), offset: intake.offset, transfer_id: id };
    let link = connection.link(id);
    cx.then(async move {
        transfer::take_in(link, intake, target, running.ended()).await;
        drop(slot);
    });
    Ok(Outcome::Done(opened))
}

fn open(files: &Files, uploads: &Uploads, keeper: Keeper, args: &Push) -> Result<Opened, Failure> {
    let place = files.local_path(&args.path)?;
    let failed = |error| Failure::of("write", &place, &error);
    let made = keeper.missing_directories(files, &place);
    let target = files.entry_to_write(&place).map_err(failed)?;
    uploads.sweep(&target);
    let tag = transfer::partial_tag(&args.sha256);
    let partial = target.beside(&hidden_name(target.name(), &tag, PARTIAL)).map_err(failed)?;
    let file = partial.open_private().map_err(failed)?;
    let running = Running::enter(&uploads.running, partial.real().to_path_buf());
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
    let intake = Intake { file, offset, size: args.size, sha256: args.sha256.clone() };
    let sha256 = args.sha256.to_ascii_lowercase();
    Ok((Target { place, target, partial, mode: args.mode, sha256, keeper, made }, intake, running))
}

/// An upload that was ended may still have a write under way; the lock is free once that is done.
fn lock(file: &File) -> std::io::Result<()> {
    let deadline = Clock::system().instant() + limits::device_files::UPLOAD_LOCK_WAIT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Clock::system().instant() >= deadline => {
                return Err(std::io::Error::other("another transfer writes this file"));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(limits::device_files::UPLOAD_LOCK_RETRY),
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

impl transfer::Destination for Target {
    fn store(self, file: File) -> Result<(), String> {
        let size = file.metadata().map_err(|error| error.to_string())?.len();
        let after = || State::File { sha256: self.sha256, size, mode: None, changed_ms: None };
        self.keeper.before_write(&self.target, after, self.made).map_err(|failure| match failure {
            Failure::Failed(why) => why,
            Failure::Refused(error) => error.message,
        })?;
        let stored = store(file, &self.partial, &self.target, self.mode);
        stored.map_err(|error| format!("Failed to write '{}': {error}", self.place.text()))
    }

    fn discard(self) {
        if let Err(error) = self.partial.remove() {
            tracing::warn!(%error, "a partial file could not be removed");
        }
    }
}
