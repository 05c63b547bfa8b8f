//! Repositories met on the walk: where their directory is, what git tracks in them, and what of them is only passing.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use base::limits::checkpoint as limits;

use super::tracked::Tracked;
use crate::place;
use crate::state::FileKind;

/// A repository of somebody's.
#[derive(Default)]
pub(super) struct Repository {
    /// What its index lists, by paths below its own root.
    pub(super) tracked: Tracked,
    /// Its `info/exclude`.
    pub(super) exclude: String,
    /// Its directory is outside the workspace.
    pub(super) is_elsewhere: bool,
}

impl Repository {
    /// The repository whose `.git` is in this directory of the workspace: a directory, or a file that names one.
    pub(super) fn open(workspace: &Path, dir: &OwnedFd, path: &[u8]) -> Repository {
        if let Ok(git) = place::open_dir(dir, b".git") {
            return Repository::read(&git, false);
        }
        let text = read_text(dir, b".git", 4096).unwrap_or_default();
        let Some(named) = text.trim_end().strip_prefix("gitdir: ") else { return Repository::default() };
        let here = workspace.join(OsStr::from_bytes(path));
        let git = normal(&here.join(named));
        let is_elsewhere = !git.starts_with(workspace);
        let Ok(opened) = place::open_root(&git) else {
            return Repository { is_elsewhere, ..Default::default() };
        };
        Repository::read(&opened, is_elsewhere)
    }

    /// The repository whose directory is open.
    pub(super) fn read(git: &OwnedFd, is_elsewhere: bool) -> Repository {
        let info = place::open_dir(git, b"info");
        let exclude = info.ok().and_then(|info| read_text(&info, b"exclude", limits::IGNORE_FILE_BYTES_MAX));
        let config = read_text(git, b"config", limits::IGNORE_FILE_BYTES_MAX).unwrap_or_default();
        let is_sha256 = config.to_ascii_lowercase().contains("sha256");
        let index = read_bytes(git, b"index", limits::INDEX_BYTES_MAX);
        let tracked = index.map(|bytes| Tracked::of_index(&bytes, is_sha256)).unwrap_or_default();
        Repository { tracked, exclude: exclude.unwrap_or_default(), is_elsewhere }
    }
}

/// Whether a name in a repository's directory is only there while git works.
pub(super) fn is_transient(name: &[u8]) -> bool {
    name.ends_with(b".lock") || name.starts_with(b"tmp_obj_") || name.starts_with(b"tmp_pack_")
}

/// Whether a directory in a repository's holds what has its own limit.
pub(super) fn holds_objects(name: &[u8]) -> bool {
    name == b"objects" || name == b"lfs"
}

/// A text file, with what is not UTF-8 replaced; `None` when it cannot be read, is none, or is too large.
pub(super) fn read_text(dir: &OwnedFd, name: &[u8], bytes_max: u64) -> Option<String> {
    read_bytes(dir, name, bytes_max).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn read_bytes(dir: &OwnedFd, name: &[u8], bytes_max: u64) -> Option<Vec<u8>> {
    let file = place::open_file(dir, name).ok()?;
    let state = place::state_of(&file).ok()?;
    if state.kind != FileKind::File || state.key.size > bytes_max {
        return None;
    }
    let mut bytes = Vec::with_capacity(state.key.size as usize);
    File::from(file).take(bytes_max).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The path without `.` and `..`, by its text alone.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}
