//! Directory-relative file operations (`openat` style): one name in an open directory, and what can be done to it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, DirEntry, Metadata, OpenOptions, OpenOptionsExt};

use super::say_outside;

/// A file or directory that was found, or a file that is about to be made.
pub struct Entry {
    pub(super) dir: Dir,
    pub(super) name: OsString,
    real: PathBuf,
}

impl Entry {
    pub(super) fn new(dir: Dir, name: OsString, real: PathBuf) -> Entry {
        Entry { dir, name, real }
    }

    /// Its path without links.
    pub fn real(&self) -> &Path {
        &self.real
    }

    /// Another name in the same directory.
    pub(crate) fn beside(&self, name: &OsStr) -> io::Result<Entry> {
        Ok(Entry::new(self.dir.try_clone()?, name.to_os_string(), self.real.with_file_name(name)))
    }

    /// Its name in the directory.
    pub(crate) fn name(&self) -> &OsStr {
        &self.name
    }

    /// What it is. A link is not followed: entries are found with their links resolved already.
    pub fn metadata_itself(&self) -> io::Result<Metadata> {
        self.dir.symlink_metadata(&self.name).map_err(say_outside)
    }

    /// Opens a regular file for reading. A pipe or a terminal is refused instead of waited for.
    pub fn open(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_NOFOLLOW);
        let file = self.dir.open_with(&self.name, &options).map_err(say_outside)?.into_std();
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        if !metadata.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        Ok(file)
    }

    /// Opens a file of our own for reading and writing, making it where needed, for nobody else to read.
    pub(crate) fn open_private(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
        let file = self.dir.open_with(&self.name, &options).map_err(say_outside)?.into_std();
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        Ok(file)
    }

    /// Where a link leads, as it is written in it.
    pub(crate) fn link_target(&self) -> io::Result<PathBuf> {
        self.dir.read_link_contents(&self.name).map_err(say_outside)
    }

    /// The inside of a directory, which is not reached through a link.
    pub(crate) fn enter(&self) -> io::Result<Entry> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_NONBLOCK);
        let dir = self.dir.open_with(&self.name, &options).map_err(say_outside)?.into_std();
        Ok(Entry::new(Dir::from_std_file(dir), ".".into(), self.real.clone()))
    }

    /// A name in a directory that was entered.
    pub(crate) fn child(&self, name: &OsStr) -> io::Result<Entry> {
        Ok(Entry::new(self.dir.try_clone()?, name.to_os_string(), self.real.join(name)))
    }

    /// Makes a directory.
    pub(crate) fn make_directory(&self) -> io::Result<()> {
        self.dir.create_dir(&self.name)
    }

    /// Makes a link that leads where it says, be that anywhere.
    pub(crate) fn make_link(&self, target: &Path) -> io::Result<()> {
        self.dir.symlink_contents(target, &self.name)
    }

    /// Sets the permission bits of a file or a directory; a link is not followed.
    pub(crate) fn set_mode(&self, mode: u32) -> io::Result<()> {
        if self.metadata_itself()?.is_symlink() {
            return Ok(());
        }
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY);
        let file = self.dir.open_with(&self.name, &options).map_err(say_outside)?.into_std();
        file.set_permissions(std::fs::Permissions::from_mode(mode & 0o7777))
    }

    /// Removes a directory that is empty; whether it was.
    pub(crate) fn remove_empty_directory(&self) -> io::Result<bool> {
        match self.dir.remove_dir(&self.name) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// What a directory holds.
    pub(crate) fn list(&self) -> io::Result<impl Iterator<Item = io::Result<DirEntry>>> {
        self.dir.read_dir(&self.name).map_err(say_outside)
    }

    /// Replaces the file's content, all or nothing: readers see the old file or the new one, also after a crash.
    /// An existing file keeps its mode and, where we may, its owner. Where nothing can take its place it is
    /// written as it stands.
    pub fn replace(&self, content: &[u8]) -> io::Result<()> {
        let temporary = self.beside(&hidden_name(&self.name, &base::random::tagged(""), "gsv-tmp"))?;
        let written = self.write_temporary(&temporary, content).and_then(|()| temporary.move_to(self));
        let Err(error) = written else { return Ok(()) };
        // The first error is the one to tell; what may be left is a file with our own suffix.
        drop(temporary.dir.remove_file(&temporary.name));
        if !cannot_be_replaced(&error) {
            return Err(error);
        }
        match self.overwrite(&mut &content[..]) {
            // Without a file there is nothing to overwrite: the directory's refusal is the reason.
            Err(missing) if missing.kind() == io::ErrorKind::NotFound => Err(error),
            done => done,
        }
    }

    /// Writes an existing file in place, for files that nothing can take the place of.
    pub(crate) fn overwrite(&self, content: &mut impl io::Read) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_NOFOLLOW);
        let mut file = self.dir.open_with(&self.name, &options).map_err(say_outside)?.into_std();
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        file.set_len(0)?;
        io::copy(content, &mut file)?;
        file.sync_all()
    }

    /// The mode a new file gets beside this one when it is made with `mode`: the kernel takes off the umask.
    pub(crate) fn mode_of_new(&self, mode: u32) -> io::Result<u32> {
        let probe = self.beside(&hidden_name(&self.name, &base::random::tagged(""), "gsv-tmp"))?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(mode);
        let made = probe.dir.open_with(&probe.name, &options)?.into_std().metadata();
        probe.dir.remove_file(&probe.name)?;
        Ok(made?.permissions().mode() & 0o777)
    }

    fn write_temporary(&self, temporary: &Entry, content: &[u8]) -> io::Result<()> {
        let existing = match self.metadata_itself() {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(if existing.is_some() { 0o600 } else { 0o666 });
        let mut file = temporary.dir.open_with(&temporary.name, &options)?.into_std();
        file.write_all(content)?;
        if let Some(existing) = existing {
            keep_owner_and_mode(&file, &existing)?;
        }
        file.sync_all()
    }

    /// Takes the place of another entry of the same directory, durably.
    pub(crate) fn move_to(&self, other: &Entry) -> io::Result<()> {
        self.dir.rename(&self.name, &other.dir, &other.name)?;
        // Not every file system syncs directories; the rename itself has happened.
        if let Ok(dir) = self.dir.open(".") {
            drop(dir.sync_all());
        }
        Ok(())
    }
}

/// A file that is a mount point, or one that stands in a directory that takes no other.
pub(crate) fn cannot_be_replaced(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EBUSY | libc::EACCES | libc::EROFS))
}

/// `.name.tag.suffix`, cut so that it is no longer than file names may be.
pub(crate) fn hidden_name(name: &OsStr, tag: &str, suffix: &str) -> OsString {
    const NAME_BYTES_MAX: usize = 180;
    let name = name.to_string_lossy();
    let end = (0..=NAME_BYTES_MAX.min(name.len())).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
    format!(".{}.{tag}.{suffix}", &name[..end]).into()
}

/// Gives a new file the owner, where we may, and the mode of the one it replaces.
pub(crate) fn keep_owner_and_mode(file: &File, existing: &Metadata) -> io::Result<()> {
    use cap_std::fs::MetadataExt as _;
    let ours = file.metadata()?;
    if (ours.uid(), ours.gid()) != (existing.uid(), existing.gid()) {
        // Only root may give files away; others keep what they write.
        drop(std::os::unix::fs::fchown(file, Some(existing.uid()), Some(existing.gid())));
    }
    file.set_permissions(std::fs::Permissions::from_mode(existing.mode() & 0o7777))
}
