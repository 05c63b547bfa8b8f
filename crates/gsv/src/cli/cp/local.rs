//! Files on this machine: reading them, and putting received ones in place only when they are whole.

use std::io::SeekFrom;
use std::path::{Path, PathBuf};

use client::transfer::{self, Sha256};
use tokio::fs::{File, OpenOptions};
use tokio::io::AsyncSeekExt;

use crate::failure::{Failure, Result};

/// A file that is being received, beside the place where it will be.
pub struct Partial {
    path: PathBuf,
    destination: PathBuf,
    /// Positioned behind what is there already.
    pub file: File,
    /// How much is there already.
    pub offset: u64,
    /// The digest of what is there already.
    pub hash: Sha256,
}

impl Partial {
    /// Opens what an earlier attempt left behind, or starts anew.
    pub async fn open(destination: &Path) -> Result<Partial> {
        let name = destination.file_name().unwrap_or_default().to_string_lossy();
        let path = destination.with_file_name(format!(".{name}.gsv-part"));
        if let Some(directory) = path.parent() {
            tokio::fs::create_dir_all(directory).await.map_err(|error| cannot("create", directory, error))?;
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        // A link somebody put there must not lead elsewhere, and nobody else reads an unfinished file.
        #[cfg(unix)]
        options.mode(0o600).custom_flags(libc::O_NOFOLLOW);
        let mut file = options.open(&path).await.map_err(|error| cannot("write", &path, error))?;
        let offset = file.metadata().await.map_err(|error| cannot("read", &path, error))?.len();
        let hash =
            transfer::hash(&mut file, offset).await.map_err(|error| Failure::new(error.to_string()))?;
        Ok(Partial { path, destination: destination.to_path_buf(), file, offset, hash })
    }

    /// Throws away what is there: it is not the beginning of the file that is meant.
    pub async fn restart(&mut self) -> Result<()> {
        self.file.set_len(0).await.map_err(|error| cannot("write", &self.path, error))?;
        self.file.seek(SeekFrom::Start(0)).await.map_err(|error| cannot("write", &self.path, error))?;
        self.offset = 0;
        self.hash = Sha256::default();
        Ok(())
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
    /// Its size.
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
    use tokio::io::AsyncWriteExt;

    #[tokio::test]
    async fn a_broken_transfer_goes_on_where_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let destination = directory.path().join("deep/file");
        let mut partial = Partial::open(&destination).await.unwrap();
        partial.file.write_all(b"first ").await.unwrap();
        partial.file.flush().await.unwrap();
        drop(partial);
        let mut partial = Partial::open(&destination).await.unwrap();
        assert_eq!(partial.offset, 6);
        partial.file.write_all(b"second").await.unwrap();
        partial.finish(Some(0o4755)).await.unwrap();
        assert_eq!(std::fs::read(&destination).unwrap(), b"first second");
        assert_eq!(std::fs::read_dir(destination.parent().unwrap()).unwrap().count(), 1);
        assert_eq!(Source::open(&destination).await.unwrap().mode, cfg!(unix).then_some(0o755));
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_link_in_the_way_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let victim = directory.path().join("victim");
        std::fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, directory.path().join(".file.gsv-part")).unwrap();
        assert!(Partial::open(&directory.path().join("file")).await.is_err());
        assert_eq!(std::fs::read(&victim).unwrap(), b"precious");
    }

    #[tokio::test]
    async fn only_regular_files_are_sent() {
        let directory = tempfile::tempdir().unwrap();
        assert!(Source::open(directory.path()).await.is_err());
        assert!(Source::open(&directory.path().join("missing")).await.is_err());
    }
}
