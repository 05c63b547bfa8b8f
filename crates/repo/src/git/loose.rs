//! Census of loose objects and packs, and the removal of objects that nothing has named for a long time.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::fault::Fault;
use super::hold::Hold;
use crate::faults::step;

/// What lies in a repository.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Census {
    pub loose: usize,
    /// Loose ones that were last written, or used anew, before the time that was asked about.
    pub old: usize,
    pub packs: usize,
    /// Objects in packs; one that is in two counts twice.
    pub packed: u64,
}

/// Counts; what is older than `before_ms` is old.
pub(crate) fn census(repository: &Path, before_ms: i64) -> io::Result<Census> {
    let mut census = Census::default();
    for_each_loose(repository, |path| {
        census.loose += 1;
        census.old += usize::from(is_older(path, before_ms)?);
        Ok(())
    })?;
    for path in entries(&repository.join("objects/pack"))? {
        if path.extension().is_some_and(|end| end == "idx") {
            census.packs += 1;
            census.packed += u64::from(objects_of(&path)?);
        }
    }
    Ok(census)
}

/// Removes what unfinished work left among the objects before a time.
pub(crate) fn remove_drafts(repository: &Path, before_ms: i64) -> io::Result<()> {
    for directory in entries(&repository.join("objects"))?.iter().filter(|path| path.is_dir()) {
        let name = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // Those of pushes go with the next push.
        if name.len() != 2 && name != "pack" {
            continue;
        }
        for path in entries(directory)? {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if (name.starts_with("tmp_") || name.starts_with(".tmp-")) && is_older(&path, before_ms)? {
                remove(&path)?;
            }
        }
    }
    Ok(())
}

/// Removes loose objects that nothing names, as whoever is alone has found out, unless one was used since `before_ms`.
/// Returns how many are gone.
pub(crate) fn prune(
    repository: &Path,
    _alone: &Hold,
    hashes: Vec<String>,
    before_ms: i64,
) -> Result<usize, Fault> {
    let mut gone = 0;
    for hash in hashes.iter().filter(|hash| is_hash(hash)) {
        let path = repository.join("objects").join(&hash[..2]).join(&hash[2..]);
        if is_older(&path, before_ms)? {
            step("object pruned")?;
            remove(&path)?;
            gone += 1;
        }
    }
    Ok(gone)
}

fn is_hash(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn for_each_loose(repository: &Path, mut each: impl FnMut(&Path) -> io::Result<()>) -> io::Result<()> {
    for directory in entries(&repository.join("objects"))? {
        let is_fan = directory.file_name().is_some_and(|name| name.len() == 2);
        let names = if is_fan { entries(&directory)? } else { Vec::new() };
        let is_object = |path: &&PathBuf| path.file_name().is_some_and(|name| name.len() == 38);
        names.iter().filter(is_object).try_for_each(|path| each(path))?;
    }
    Ok(())
}

fn entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries?.map(|entry| Ok(entry?.path())).collect(),
    }
}

/// False also for what is not there.
fn is_older(path: &Path, than_ms: i64) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(there) => Ok(there.mtime() * 1_000 < than_ms),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// How many objects an index has: the last of the 256 sums behind its head.
fn objects_of(index: &Path) -> io::Result<u32> {
    const LAST_SUM_AT: u64 = 8 + 255 * 4;
    let mut file = match File::open(index) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        file => file?,
    };
    let mut sum = [0; 4];
    file.seek(SeekFrom::Start(LAST_SUM_AT))?;
    file.read_exact(&mut sum)?;
    Ok(u32::from_be_bytes(sum))
}
