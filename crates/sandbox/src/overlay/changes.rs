//! Differences between the two layers of an overlay, read from the upper one as the kernel keeps it.
//!
//! A character device 0/0 is a whiteout: the name is deleted. A directory with the attribute `user.overlay.opaque` hides
//! the lower one whole. Everything else is there because it was created or copied up before it was changed.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use base::limits::sandbox::{OVERLAY_CHANGES_MAX, OVERLAY_DEPTH_MAX};

use super::{Change, ChangeKind, Entry, Stamp};

/// All changes, in the order of their paths. Neither layer may change meanwhile.
pub fn changes(lower: &Path, upper: &Path) -> io::Result<Vec<Change>> {
    match changes_up_to(lower, upper, OVERLAY_CHANGES_MAX)? {
        (found, false) => Ok(found),
        (_, true) => Err(io::Error::other(format!("more than {OVERLAY_CHANGES_MAX} files would change"))),
    }
}

/// The same with at most so many, and whether there are more.
pub fn changes_up_to(lower: &Path, upper: &Path, most: usize) -> io::Result<(Vec<Change>, bool)> {
    let mut reader = Reader { lower, upper, found: Vec::new(), most, is_full: false };
    match reader.directory(Path::new(""), true, 0) {
        Err(_) if reader.is_full => {}
        read => read?,
    }
    reader.found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok((reader.found, reader.is_full))
}

struct Reader<'a> {
    lower: &'a Path,
    upper: &'a Path,
    found: Vec<Change>,
    most: usize,
    /// There was one more than that.
    is_full: bool,
}

impl Reader<'_> {
    fn push(
        &mut self,
        path: &Path,
        kind: ChangeKind,
        after: Option<Entry>,
        before: Option<&Metadata>,
    ) -> io::Result<()> {
        if self.found.len() >= self.most {
            self.is_full = true;
            return Err(io::Error::other("more changes than are wanted"));
        }
        self.found.push(Change { path: path.to_owned(), kind, after, before: before.map(Stamp::of) });
        Ok(())
    }

    /// Everything in a directory of the upper layer; `merged` when the lower one of the same name shows through.
    fn directory(&mut self, path: &Path, merged: bool, depth: usize) -> io::Result<()> {
        if depth > OVERLAY_DEPTH_MAX {
            return Err(io::Error::other(format!("{} is too deep", path.display())));
        }
        for entry in fs::read_dir(self.upper.join(path))? {
            self.entry(&path.join(entry?.file_name()), merged, depth)?;
        }
        Ok(())
    }

    fn entry(&mut self, path: &Path, merged: bool, depth: usize) -> io::Result<()> {
        let after = fs::symlink_metadata(self.upper.join(path))?;
        let before = if merged { metadata_if_there(&self.lower.join(path))? } else { None };
        if after.file_type().is_char_device() && after.rdev() == 0 {
            // A whiteout over nothing was created and deleted again.
            return match &before {
                Some(found) => self.push(path, ChangeKind::Deleted, None, Some(found)),
                None => Ok(()),
            };
        }
        let marks = Marks::read(&self.upper.join(path))?;
        let entry = self.describe(path, &after)?;
        if marks.unknown {
            return self.push(path, ChangeKind::Unknown, Some(entry), before.as_ref());
        }
        let same_kind = before.as_ref().is_some_and(|before| before.file_type() == after.file_type());
        let kind = match &before {
            None => Some(ChangeKind::Created),
            Some(_) if !same_kind => Some(ChangeKind::Replaced),
            Some(before) => self.difference(path, before, &after)?,
        };
        if let Some(kind) = kind {
            self.push(path, kind, Some(entry), before.as_ref())?;
        }
        if after.is_dir() {
            if marks.opaque && same_kind {
                self.hidden_names(path)?;
            }
            self.directory(path, same_kind, depth + 1)?;
        }
        Ok(())
    }

    /// What an opaque directory hides of the lower one: all names that it does not have itself.
    fn hidden_names(&mut self, path: &Path) -> io::Result<()> {
        for entry in fs::read_dir(self.lower.join(path))? {
            let name = path.join(entry?.file_name());
            if metadata_if_there(&self.upper.join(&name))?.is_none() {
                let before = fs::symlink_metadata(self.lower.join(&name))?;
                self.push(&name, ChangeKind::Deleted, None, Some(&before))?;
            }
        }
        Ok(())
    }

    fn describe(&self, path: &Path, found: &Metadata) -> io::Result<Entry> {
        let mode = found.mode() & 0o777;
        Ok(if found.is_file() {
            Entry::File { bytes: found.size(), mode }
        } else if found.is_dir() {
            Entry::Directory { mode }
        } else if found.is_symlink() {
            Entry::Link { to: fs::read_link(self.upper.join(path))? }
        } else {
            Entry::Special
        })
    }

    /// How two things of the same kind differ. Copied up and the same is no change: times alone do not count.
    fn difference(&self, path: &Path, before: &Metadata, after: &Metadata) -> io::Result<Option<ChangeKind>> {
        let (lower, upper) = (self.lower.join(path), self.upper.join(path));
        let same = if after.is_file() {
            before.size() == after.size() && same_content(&lower, &upper)?
        } else if after.is_symlink() {
            fs::read_link(lower)? == fs::read_link(upper)?
        } else {
            after.is_dir()
        };
        // The mode of a link means nothing.
        let same_mode = after.is_symlink() || before.mode() == after.mode();
        Ok(match (same, same_mode) {
            (false, _) => Some(ChangeKind::Changed),
            (true, false) => Some(ChangeKind::Mode),
            (true, true) => None,
        })
    }
}

fn metadata_if_there(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn same_content(one: &PathBuf, other: &PathBuf) -> io::Result<bool> {
    let (mut one, mut other) = (File::open(one)?, File::open(other)?);
    let (mut left, mut right) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    loop {
        let read = one.read(&mut left)?;
        let (Some(left), Some(right)) = (left.get(..read), right.get_mut(..read)) else { return Ok(false) };
        match other.read_exact(right) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            result => result?,
        }
        if left != right {
            return Ok(false);
        }
        if read == 0 {
            return Ok(other.read(&mut [0])? == 0);
        }
    }
}

/// What the kernel noted about an entry of the upper layer, in attributes.
struct Marks {
    opaque: bool,
    unknown: bool,
}

impl Marks {
    fn read(path: &Path) -> io::Result<Marks> {
        let mut space = vec![0_u8; 64 * 1024];
        let length = match rustix::fs::llistxattr(path, &mut space) {
            Ok(length) => length,
            // A link or a file system without attributes.
            Err(rustix::io::Errno::OPNOTSUPP) => 0,
            Err(error) => return Err(error.into()),
        };
        let mut marks = Marks { opaque: false, unknown: false };
        for name in space.get(..length).unwrap_or_default().split(|byte| *byte == 0) {
            match name.strip_prefix(b"user.overlay.") {
                None | Some(b"origin" | b"impure" | b"uuid" | b"nlink" | b"upper") => {}
                Some(b"opaque") => {
                    let mut value = [0_u8; 8];
                    let read = rustix::fs::lgetxattr(path, "user.overlay.opaque", &mut value)?;
                    marks.opaque = value.get(..read) == Some(b"y");
                    marks.unknown |= !marks.opaque;
                }
                Some(_) => marks.unknown = true,
            }
        }
        Ok(marks)
    }
}
