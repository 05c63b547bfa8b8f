//! Atomic file replacement on this machine: received files collect in a locked part file and are renamed when whole.

use std::fs::TryLockError;
use std::io::{ErrorKind, SeekFrom};
use std::path::{Path, PathBuf};

use base::limits;
use terminal::failure::{Failure, Result};
use tokio::fs::File;
use tokio::io::{AsyncSeekExt, AsyncWriteExt};
use transfer::Sha256;

use super::location::Remote;

/// What an earlier attempt of the same copy left behind, if anything. Nothing is created for it.
pub struct FoundPart {
    path: PathBuf,
    destination: PathBuf,
    file: Option<File>,
    /// How much is there already.
    pub offset: u64,
    hash: Sha256,
}

/// A file that is being received, beside the place where it will be. Nobody else writes it meanwhile.
pub struct PartFile {
    path: PathBuf,
    destination: PathBuf,
    /// Positioned behind what is there already.
    pub file: File,
    /// How much is there already.
    pub offset: u64,
    /// The digest of what is there already.
    pub hash: Sha256,
}

impl FoundPart {
    /// Looks for what is there of `source` beside `destination`. A link is written through.
    pub async fn find(destination: &Path, source: &Remote) -> Result<FoundPart> {
        let destination = writable(destination)?;
        let path = destination.with_file_name(partial_name(&destination, source).await);
        let Some(file) = open_locked(&path, &destination, false)? else {
            return Ok(FoundPart { path, destination, file: None, offset: 0, hash: Sha256::default() });
        };
        let mut file = File::from_std(file);
        let offset = file.metadata().await.map_err(|error| cannot("read", &path, error))?.len();
        let hash =
            transfer::hash(&mut file, offset).await.map_err(|error| Failure::new(error.to_string()))?;
        Ok(FoundPart { path, destination, file: Some(file), offset, hash })
    }

    /// Removes it: the file is complete already.
    pub fn discard(self) -> Result<()> {
        match self.file {
            Some(_) => std::fs::remove_file(&self.path).map_err(|error| cannot("remove", &self.path, error)),
            None => Ok(()),
        }
    }

    /// Goes on with it, or begins; `anew` throws away what is there: it is not the beginning of what is meant.
    pub async fn open(self, anew: bool) -> Result<PartFile> {
        let FoundPart { path, destination, file, offset, hash } = self;
        let (file, is_new) = match file {
            Some(file) => (file, false),
            None => (create(&path, &destination)?, true),
        };
        let mut partial = PartFile { path, destination, file, offset, hash };
        // Somebody else may have left something since it was looked for.
        if anew || is_new {
            partial.restart().await?;
        }
        Ok(partial)
    }
}

impl PartFile {
    /// Throws away what is there: it is not the beginning of the file that is meant.
    pub async fn restart(&mut self) -> Result<()> {
        self.file.set_len(0).await.map_err(|error| cannot("write", &self.path, error))?;
        self.file.seek(SeekFrom::Start(0)).await.map_err(|error| cannot("write", &self.path, error))?;
        self.offset = 0;
        self.hash = Sha256::default();
        Ok(())
    }

    /// Leaves what arrived for the next attempt; where that is nothing, nothing is left.
    pub async fn leave(mut self) {
        // What is still being written would keep the file locked.
        let written = self.file.flush().await;
        let empty = self.file.metadata().await.is_ok_and(|metadata| metadata.len() == 0);
        let removed = if empty { tokio::fs::remove_file(&self.path).await } else { Ok(()) };
        if let Err(error) = written.and(removed) {
            tracing::debug!(path = %self.path.display(), %error, "an unfinished file");
        }
    }

    /// Puts the whole file in place in one step.
    pub async fn finish(self, mode: Option<u32>) -> Result<()> {
        self.file.sync_all().await.map_err(|error| cannot("write", &self.path, error))?;
        set_mode(&self.file, &self.destination, mode)
            .await
            .map_err(|error| cannot("write", &self.path, error))?;
        let renamed = tokio::fs::rename(&self.path, &self.destination).await;
        renamed.map_err(|error| cannot("write", &self.destination, error))
    }
}

/// Where a file really goes: behind a link, and never in the place of a device or a pipe.
fn writable(path: &Path) -> Result<PathBuf> {
    let about = match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(path.to_path_buf()),
        about => about.map_err(|error| cannot("write", path, error))?,
    };
    let (path, about) = if about.is_symlink() {
        let real = path.canonicalize().map_err(|error| cannot("follow the link", path, error))?;
        let about = std::fs::metadata(&real).map_err(|error| cannot("write", &real, error))?;
        (real, about)
    } else {
        (path.to_path_buf(), about)
    };
    if about.is_file() {
        return Ok(path);
    }
    Err(Failure::new(format!("{} exists and is not a regular file", path.display())))
}

/// Copies from different places to the same one do not meet; a long name is cut to leave room.
async fn partial_name(destination: &Path, source: &Remote) -> String {
    let name = destination.file_name().unwrap_or_default().to_string_lossy();
    let name = &name[..name.floor_char_boundary(limits::cli::PARTIAL_NAME_MAX_BYTES)];
    let source = format!("{}\0{}", source.target, source.path);
    // Memory can always be read.
    let tag = transfer::hash(&mut source.as_bytes(), source.len() as u64).await.unwrap_or_default();
    format!(".{name}.{}.gsv-part", &transfer::hex(tag)[..8])
}

fn create(path: &Path, destination: &Path) -> Result<File> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).map_err(|error| cannot("create", directory, error))?;
    }
    let file = open_locked(path, destination, true)?;
    file.map(File::from_std).ok_or_else(|| Failure::new(format!("{} vanished", path.display())))
}

/// Opens a partial file and locks it; `None` when there is none and none shall be made.
fn open_locked(path: &Path, destination: &Path, create: bool) -> Result<Option<std::fs::File>> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true).create(create).truncate(false);
    // A link somebody put there must not lead elsewhere, and nobody else reads an unfinished file.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = match options.open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound && !create => return Ok(None),
        file => file.map_err(|error| cannot("write", path, error))?,
    };
    let locked = match file.try_lock() {
        // Where nothing can be locked, files can still be copied.
        Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => true,
        Err(TryLockError::Error(error)) => return Err(cannot("lock", path, error)),
        Err(TryLockError::WouldBlock) => false,
        // The other copy may have put the file in its place before it let go of it.
        Ok(()) => is_at(&file, path),
    };
    if locked {
        return Ok(Some(file));
    }
    Err(Failure::new(format!("another copy to {} is going on", destination.display()))
        .with_hint("wait for it, or end it; this one can then go on where it was"))
}

#[cfg(unix)]
fn is_at(file: &std::fs::File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), std::fs::symlink_metadata(path)) {
        (Ok(opened), Ok(there)) => id(opened) == id(there),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_at(_file: &std::fs::File, path: &Path) -> bool {
    path.exists()
}

/// A file that is replaced keeps its own permissions; a new one gets the source's.
#[cfg(unix)]
async fn set_mode(file: &File, destination: &Path, mode: Option<u32>) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let own = tokio::fs::metadata(destination).await.ok().map(|metadata| metadata.permissions().mode());
    // Set-id bits are never taken from elsewhere.
    let mode = own.or(mode).unwrap_or(0o644) & 0o777;
    file.set_permissions(std::fs::Permissions::from_mode(mode)).await
}

#[cfg(not(unix))]
async fn set_mode(_file: &File, _destination: &Path, _mode: Option<u32>) -> std::io::Result<()> {
    Ok(())
}

/// A file to send.
pub struct Source {
    /// At its beginning.
    pub file: File,
    pub size: u64,
    /// Unix permission bits.
    pub mode: Option<u32>,
}

impl Source {
    /// Opens a regular file.
    pub async fn open(path: &Path) -> Result<Source> {
        let about = tokio::fs::metadata(path).await.map_err(|error| cannot("read", path, error))?;
        // Opening a named pipe would wait for its writer.
        if !about.is_file() {
            return Err(Failure::new(format!("{} is not a regular file", path.display())));
        }
        let file = File::open(path).await.map_err(|error| cannot("read", path, error))?;
        let metadata = file.metadata().await.map_err(|error| cannot("read", path, error))?;
        Ok(Source { size: metadata.len(), mode: mode_of(&metadata), file })
    }

    /// The digest of the whole file; afterwards it stands at its beginning again.
    pub async fn digest(&mut self) -> Result<String> {
        let hash = transfer::hash(&mut self.file, self.size).await;
        let hash = hash.map_err(|error| Failure::new(error.to_string()))?;
        self.file.seek(SeekFrom::Start(0)).await?;
        Ok(transfer::hex(hash))
    }
}

#[cfg(unix)]
fn mode_of(metadata: &std::fs::Metadata) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    Some(metadata.permissions().mode() & 0o777)
}

#[cfg(not(unix))]
fn mode_of(_metadata: &std::fs::Metadata) -> Option<u32> {
    None
}

/// A failure that names the file.
pub fn cannot(what: &str, path: &Path, error: std::io::Error) -> Failure {
    Failure::new(format!("cannot {what} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str) -> Remote {
        Remote { target: "desk".into(), path: path.into() }
    }

    async fn open(destination: &Path) -> Result<PartFile> {
        FoundPart::find(destination, &source("file")).await?.open(false).await
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(directory).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[tokio::test]
    async fn a_broken_transfer_goes_on_where_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let destination = directory.path().join("deep/file");
        let mut partial = open(&destination).await.unwrap();
        partial.file.write_all(b"first ").await.unwrap();
        partial.leave().await;
        assert_eq!(FoundPart::find(&destination, &source("other")).await.unwrap().offset, 0);
        let mut partial = open(&destination).await.unwrap();
        assert_eq!(partial.offset, 6);
        partial.file.write_all(b"second").await.unwrap();
        partial.finish(Some(0o4755)).await.unwrap();
        assert_eq!(std::fs::read(&destination).unwrap(), b"first second");
        assert_eq!(names(destination.parent().unwrap()), ["file"]);
        assert_eq!(Source::open(&destination).await.unwrap().mode, cfg!(unix).then_some(0o755));
    }

    #[tokio::test]
    async fn two_copies_to_one_place_do_not_mix() {
        let directory = tempfile::tempdir().unwrap();
        let destination = directory.path().join("file");
        let first = open(&destination).await.unwrap();
        let Err(second) = open(&destination).await else { panic!("two at once") };
        assert!(second.message.contains("another copy to"), "{}", second.message);
        first.leave().await;
        open(&destination).await.unwrap();
    }

    #[tokio::test]
    async fn looking_creates_nothing_and_nothing_received_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let destination = directory.path().join("deep/file");
        let earlier = FoundPart::find(&destination, &source("file")).await.unwrap();
        assert!(names(directory.path()).is_empty());
        earlier.open(false).await.unwrap().leave().await;
        assert!(names(destination.parent().unwrap()).is_empty());
    }

    #[tokio::test]
    async fn the_longest_names_can_be_received() {
        let directory = tempfile::tempdir().unwrap();
        let destination = directory.path().join("ü".repeat(127));
        open(&destination).await.unwrap().finish(None).await.unwrap();
        assert!(destination.exists());
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_link_in_the_way_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let victim = directory.path().join("victim");
        std::fs::write(&victim, "precious").unwrap();
        let destination = directory.path().join("file");
        let partial = directory.path().join(partial_name(&destination, &source("file")).await);
        std::os::unix::fs::symlink(&victim, partial).unwrap();
        assert!(open(&destination).await.is_err());
        assert_eq!(std::fs::read(&victim).unwrap(), b"precious");
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_link_is_written_through_and_a_device_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let (real, link) = (directory.path().join("real"), directory.path().join("link"));
        std::fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let mut partial = open(&link).await.unwrap();
        partial.file.write_all(b"new").await.unwrap();
        partial.finish(None).await.unwrap();
        assert_eq!(std::fs::read(&real).unwrap(), b"new");
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        let dangling = directory.path().join("dangling");
        std::os::unix::fs::symlink("nowhere", &dangling).unwrap();
        for refused in [Path::new("/dev/null"), directory.path(), &dangling] {
            assert!(open(refused).await.is_err(), "{}", refused.display());
        }
    }

    #[tokio::test]
    async fn only_regular_files_are_sent() {
        let directory = tempfile::tempdir().unwrap();
        assert!(Source::open(directory.path()).await.is_err());
        assert!(Source::open(&directory.path().join("missing")).await.is_err());
    }
}
