//! The tree as the interpreter sees it. Every operation goes through the user's [`View`], which decides who may
//! do what; here only words and types are exchanged.

use std::collections::HashSet;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use base::limits;
use bashkit::{DirEntry, FileSystem, FileSystemExt, FileType, Metadata};
use vfs::view::Writing;
use vfs::{Code, Fault, Follow, Kind, Stat, VPath, View};

/// The tree of one user, for one command.
pub(crate) struct Files {
    view: View,
}

impl Files {
    /// `view` must be one for a thread that may wait.
    pub(crate) fn new(view: View) -> Arc<Files> {
        Arc::new(Files { view })
    }
}

#[async_trait]
impl FileSystemExt for Files {}

/// The interpreter follows links itself, through `stat`, `read_link` and the checks of every step. So here `stat`
/// speaks of the link; what opens a file may follow all the same.
#[async_trait]
impl FileSystem for Files {
    async fn read_file(&self, path: &Path) -> bashkit::Result<Vec<u8>> {
        if let Some(name) = builtin_at(path) {
            return Ok(stub(name));
        }
        match path.to_str() {
            Some("/dev/zero" | "/dev/full") => Ok(vec![0; limits::NATIVE_SHELL_ZERO_BYTES]),
            Some("/dev/random" | "/dev/urandom") => Ok(random()),
            _ => self.view.read(&virtual_path(path)?).await.map_err(told),
        }
    }

    async fn write_file(&self, path: &Path, content: &[u8]) -> bashkit::Result<()> {
        let path = virtual_path(path)?;
        self.view.write(&path, content.to_vec(), Writing::default()).await.map(drop).map_err(told)
    }

    async fn append_file(&self, path: &Path, content: &[u8]) -> bashkit::Result<()> {
        self.view.append(&virtual_path(path)?, content.to_vec()).await.map_err(told)
    }

    async fn mkdir(&self, path: &Path, recursive: bool) -> bashkit::Result<()> {
        self.view.mkdir(&virtual_path(path)?, recursive, 0o755).await.map_err(told)
    }

    async fn remove(&self, path: &Path, recursive: bool) -> bashkit::Result<()> {
        self.view.remove(&virtual_path(path)?, recursive).await.map_err(told)
    }

    async fn stat(&self, path: &Path) -> bashkit::Result<Metadata> {
        if builtin_at(path).is_some() {
            return Ok(metadata_of_a_stub());
        }
        self.view.stat(&virtual_path(path)?, Follow::No).await.map(metadata).map_err(told)
    }

    async fn read_dir(&self, path: &Path) -> bashkit::Result<Vec<DirEntry>> {
        let names = self.view.list(&virtual_path(path)?).await.map_err(told)?;
        let entry = |named: vfs::Named| DirEntry { name: named.name, metadata: metadata(named.stat) };
        Ok(names.into_iter().map(entry).collect())
    }

    async fn exists(&self, path: &Path) -> bashkit::Result<bool> {
        if builtin_at(path).is_some() {
            return Ok(true);
        }
        Ok(self.view.stat(&virtual_path(path)?, Follow::Yes).await.is_ok())
    }

    async fn rename(&self, from: &Path, to: &Path) -> bashkit::Result<()> {
        let (from, to) = (virtual_path(from)?, virtual_path(to)?);
        match self.view.rename(&from, &to).await {
            // From one part of the tree to another a move is a copy, for a file.
            Err(fault) if fault.code == Code::CrossDevice => {
                let stat = self.view.stat(&from, Follow::No).await.map_err(told)?;
                if stat.kind != Kind::File {
                    return Err(told(fault));
                }
                self.view.copy(&from, &to).await.map_err(told)?;
                self.view.remove(&from, false).await.map_err(told)
            }
            moved => moved.map_err(told),
        }
    }

    async fn copy(&self, from: &Path, to: &Path) -> bashkit::Result<()> {
        self.view.copy(&virtual_path(from)?, &virtual_path(to)?).await.map_err(told)
    }

    async fn symlink(&self, target: &Path, link: &Path) -> bashkit::Result<()> {
        let target = target.to_string_lossy();
        self.view.symlink(&target, &virtual_path(link)?).await.map_err(told)
    }

    async fn read_link(&self, path: &Path) -> bashkit::Result<PathBuf> {
        self.view.read_link(&virtual_path(path)?).await.map(PathBuf::from).map_err(told)
    }

    async fn chmod(&self, path: &Path, mode: u32) -> bashkit::Result<()> {
        self.view.chmod(&virtual_path(path)?, mode & 0o7777).await.map_err(told)
    }

    async fn set_modified_time(&self, path: &Path, time: SystemTime) -> bashkit::Result<()> {
        let ms = match time.duration_since(UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |ms| -ms),
        };
        self.view.set_modified(&virtual_path(path)?, ms).await.map_err(told)
    }
}

fn virtual_path(path: &Path) -> bashkit::Result<VPath> {
    VPath::absolute(&path.to_string_lossy()).map_err(told)
}

fn metadata(stat: Stat) -> Metadata {
    let file_type = match stat.kind {
        Kind::File => FileType::File,
        Kind::Directory => FileType::Directory,
        Kind::Link => FileType::Symlink,
    };
    let modified = UNIX_EPOCH + Duration::from_millis(u64::try_from(stat.modified_ms).unwrap_or(0));
    Metadata { file_type, size: stat.size, mode: stat.mode, modified, created: modified }
}

/// What a command says about a failure: `cat: x: Permission denied`.
fn told(fault: Fault) -> bashkit::Error {
    let kind = match fault.code {
        Code::NotFound => ErrorKind::NotFound,
        Code::Denied | Code::NotPermitted => ErrorKind::PermissionDenied,
        Code::IsDirectory => ErrorKind::IsADirectory,
        Code::NotDirectory => ErrorKind::NotADirectory,
        Code::Exists => ErrorKind::AlreadyExists,
        Code::NotEmpty => ErrorKind::DirectoryNotEmpty,
        Code::NameTooLong | Code::Invalid => ErrorKind::InvalidInput,
        Code::NoSpace => ErrorKind::StorageFull,
        Code::Quota => ErrorKind::QuotaExceeded,
        Code::TooLarge => ErrorKind::FileTooLarge,
        Code::Unsupported => ErrorKind::Unsupported,
        Code::CrossDevice => ErrorKind::CrossesDevices,
        Code::Loop | Code::Io => ErrorKind::Other,
    };
    let words = fault.note.unwrap_or_else(|| fault.code.shell_words().to_string());
    bashkit::Error::Io(io::Error::new(kind, words))
}

/// Files are read as a whole here, so an endless one gives as much as scripts usually ask for.
fn random() -> Vec<u8> {
    const BLOCK: usize = 4096;
    (0..limits::NATIVE_SHELL_RANDOM_BYTES / BLOCK).flat_map(|_| base::random::bytes::<BLOCK>()).collect()
}

/// The interpreter's own commands, for which it finds a program under `/bin` and `/usr/bin`.
static BUILTINS: OnceLock<HashSet<String>> = OnceLock::new();

/// Makes the names of the interpreter's own commands known, once.
pub(crate) fn know_builtins(names: impl FnOnce() -> Vec<String>) {
    BUILTINS.get_or_init(|| names().into_iter().collect());
}

/// Where the program of a command is.
pub(crate) fn program(name: &str) -> String {
    format!("/usr/bin/{name}")
}

fn builtin_at(path: &Path) -> Option<&str> {
    let (directory, name) = path.to_str()?.rsplit_once('/')?;
    let is_one = matches!(directory, "/bin" | "/usr/bin") && BUILTINS.get()?.contains(name);
    is_one.then_some(name)
}

/// What the interpreter takes for the program of one of its own commands.
fn stub(name: &str) -> Vec<u8> {
    format!("#!/bin/sh\n# bashkit builtin: {name}\nexec {name} \"$@\"\n").into_bytes()
}

fn metadata_of_a_stub() -> Metadata {
    Metadata { file_type: FileType::File, size: 0, mode: 0o755, modified: UNIX_EPOCH, created: UNIX_EPOCH }
}
