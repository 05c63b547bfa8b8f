//! `fs.pull`: a file's bytes to the caller, exactly as many as it had when it was opened.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;

use protocol::error::Error;
use protocol::fs::{Pull, PullOpened};
use protocol::outcome::Outcome;

use crate::files::{Failure, Files};
use crate::machine::Cx;

pub(super) async fn pull(cx: Cx, args: Pull) -> Result<Outcome<PullOpened>, Error> {
    let id = args.transfer_id.ok_or_else(|| Error::missing_argument("fs.pull", "transferId"))?;
    let (connection, slot) = cx.transfer_slot()?;
    let offset = args.offset.unwrap_or(0);
    let opening = super::blocking(&cx, move |files| open(files, &args.path, offset, id)).await?;
    let (file, opened) = match opening {
        Outcome::Done(opened) => opened,
        Outcome::Failed(error) => return Ok(Outcome::Failed(error)),
    };
    let (link, size) = (connection.link(id), opened.size);
    cx.then(async move {
        transfer::give(link, tokio::fs::File::from_std(file), offset, size).await;
        drop(slot);
    });
    Ok(Outcome::Done(opened))
}

fn open(files: &Files, path: &str, offset: u64, transfer_id: u32) -> Result<(File, PullOpened), Failure> {
    let place = files.local_path(path)?;
    let opened = files.entry(&place).and_then(|entry| entry.open()).and_then(|file| {
        let metadata = file.metadata()?;
        Ok((file, metadata))
    });
    let (file, metadata) = opened.map_err(|error| Failure::of("read", &place, &error))?;
    let size = metadata.len();
    if offset > size {
        let path = place.text();
        return Err(format!("Failed to read '{path}': offset {offset} is beyond its {size} bytes").into());
    }
    let mode = Some(metadata.permissions().mode() & 0o7777);
    Ok((file, PullOpened { path: place.text(), size, mode, transfer_id }))
}
