//! Garbage collection: partial files that were abandoned long ago are removed when another file is sent into their
//! directory.

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::sync::Mutex;

use base::limits;
use base::sync::lock;
use rustix::fs::{AtFlags, unlinkat};

use super::PartialId;
use crate::disk::dir::Dir;
use crate::disk::fail::Fail;
use crate::disk::{Disk, mounts};

/// Remembers which directory was last looked through for abandoned uploads.
#[derive(Default)]
pub struct Sweeper(Mutex<Option<(PartialId, i64)>>);

impl Sweeper {
    /// Removes partial files that were abandoned long ago. Many files are often sent into one directory: it is
    /// looked through once in a while.
    pub(super) fn sweep(&self, disk: &Disk, dir: &Dir, now_ms: i64) -> Result<(), Fail> {
        let id = dir.id()?;
        let mut swept = lock(&self.0);
        if swept.is_some_and(|(last, at)| last == id && now_ms - at < limits::device_files::UPLOAD_SWEEP_MS) {
            return Ok(());
        }
        *swept = Some((id, now_ms));
        drop(swept);
        let mut partials = Vec::new();
        let mut seen = 0;
        dir.each_raw(|name, _| {
            seen += 1;
            if name.as_encoded_bytes().starts_with(mounts::PARTIAL.as_bytes()) {
                partials.push(name.to_os_string());
            }
            if seen < limits::device_files::READ_ENTRIES_MAX {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })?;
        for name in partials {
            if let Err(fail) = remove_abandoned(disk, dir, &name, now_ms) {
                tracing::debug!(name = %name.display(), ?fail, "an abandoned upload is left");
            }
        }
        Ok(())
    }
}

/// A lock on it means that an upload is at work.
fn remove_abandoned(disk: &Disk, dir: &Dir, name: &OsStr, now_ms: i64) -> Result<(), Fail> {
    let Some(there) = disk.look(dir, name)? else { return Ok(()) };
    if now_ms.saturating_sub(there.stat.modified_ms) < limits::device_files::UPLOAD_PARTIAL_KEPT_MS {
        return Ok(());
    }
    let stat = there.stat;
    let file = there.into_file()?;
    if file.try_lock().is_ok() {
        unlinkat(&*dir.fd, name, AtFlags::empty())?;
        disk.refund(stat.uid, stat.size as i64);
    }
    Ok(())
}
