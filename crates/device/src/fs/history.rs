//! `fs.history` and `fs.history.read`: the versions of a file that can still be had here, newest first.
//!
//! `12` is what an agent's change left, `12~` what was there before it, `c7` what the workspace's checkpoint 7 has. Only
//! what can be read is listed.

mod collect;

use base::limits::overwritten as limits;
use content::Side;
use content::lines::Window;
use protocol::fs::FileContent;
use protocol::fs::history::{History, HistoryRead, Versions};

pub(super) use collect::{Content, open_checkpoints};
use collect::{Found, collect};

use crate::files::{Failure, Files, LocalPath};
use crate::overwritten::Overwritten;

pub(super) fn history(files: &Files, store: &Overwritten, args: &History) -> Result<Versions, Failure> {
    let place = files.local_path(&args.path)?;
    let found = find_all(files, store, &place)?;
    let limit = args.limit.unwrap_or(limits::VERSIONS).clamp(1, limits::VERSIONS_MAX) as usize;
    let truncated = (found.len() > limit).then_some(true);
    let versions = found.into_iter().take(limit).map(|found| found.version).collect();
    Ok(Versions { path: place.text(), versions, truncated })
}

pub(super) fn read(files: &Files, store: &Overwritten, args: &HistoryRead) -> Result<FileContent, Failure> {
    let place = files.local_path(&args.path)?;
    let found = find(files, store, &place, &args.version)?;
    let failed = |why: String| Failure::Failed(format!("Failed to read '{}': {why}", place.text()));
    let bytes = match &found.content {
        Content::Nothing => return Err(failed(format!("it was deleted in version {}", args.version))),
        Content::Link(target) => {
            let target = target.display();
            return Err(failed(format!("in version {} it is a link to '{target}'", args.version)));
        }
        content => content.bytes(files, store).map_err(|error| failed(error.to_string()))?,
    };
    let window = Window { offset: args.offset, limit: args.limit };
    // With its carriage returns, unlike `fs.read` of a device: versions are compared byte for byte.
    let shown = content::read::content(Side::Native, &bytes[..], &place.text(), bytes.len() as u64, window);
    shown.map_err(|error| failed(error.to_string()))?.map_err(Failure::from)
}

/// One version of a file.
pub(super) fn find(
    files: &Files,
    store: &Overwritten,
    place: &LocalPath,
    version: &str,
) -> Result<Found, Failure> {
    let found = find_all(files, store, place)?.into_iter().find(|found| found.version.version == version);
    found.ok_or_else(|| {
        let path = place.text();
        Failure::Failed(format!("There is no version '{version}' of '{path}' here: fs.history lists them"))
    })
}

fn find_all(files: &Files, store: &Overwritten, place: &LocalPath) -> Result<Vec<Found>, Failure> {
    let failed = |error| Failure::of("read", place, &error);
    let real = files.real_path(place).map_err(failed)?;
    collect(files, store, &real).map_err(failed)
}
