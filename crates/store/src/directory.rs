//! File lock on the data directory, which is made private: one gateway at a time.

use std::fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::OpenError;

/// A data directory that no other gateway uses for as long as this value lives.
pub(crate) struct Directory {
    path: PathBuf,
    _lock: File,
}

impl Directory {
    /// Makes the directory and `keys/` where they are missing, and takes the lock.
    pub fn hold(path: &Path) -> Result<Directory, OpenError> {
        make_private(path, false)?;
        let file = path.join("gsv.lock");
        let lock = open_private(&file).map_err(|error| not_writable(&file, &error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(OpenError::Held(path.display().to_string())),
            Err(TryLockError::Error(error)) => {
                return Err(OpenError::Failed(format!("{} cannot be locked: {error}", file.display())));
            }
        }
        make_private(&path.join("keys"), true)?;
        Ok(Directory { path: path.to_path_buf(), _lock: lock })
    }

    /// The database file, made with mode 0600 if it is new; its companions inherit the mode.
    pub fn database(&self) -> Result<PathBuf, OpenError> {
        let file = self.path.join("gsv.db");
        open_private(&file).map_err(|error| not_writable(&file, &error))?;
        Ok(file)
    }

    /// The file with the key of the secrets.
    pub fn key_file(&self) -> PathBuf {
        self.path.join("keys").join("secrets.key")
    }
}

/// Makes a directory only its owner may enter. One that is there already is left as it is unless `tighten`.
fn make_private(path: &Path, tighten: bool) -> Result<(), OpenError> {
    let made = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => std::fs::create_dir_all(parent),
        _ => Ok(()),
    }
    .and_then(|()| match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {
            let loose = std::fs::metadata(path)?.permissions().mode() & 0o077 != 0;
            if tighten && loose {
                std::fs::set_permissions(path, Permissions::from_mode(0o700))
            } else {
                Ok(())
            }
        }
        result => result,
    });
    made.map_err(|error| not_writable(path, &error))
}

fn open_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Says that a file or directory of the store cannot be written.
pub(crate) fn not_writable(path: &Path, error: &io::Error) -> OpenError {
    OpenError::NotWritable { dir: path.display().to_string(), why: error.to_string() }
}
