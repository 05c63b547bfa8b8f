//! File system adapter: the tree as the interpreter sees it. Every operation goes through the user's [`View`], which
//! decides who may do what; here only words and types are exchanged.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use bashkit::{DirEntry, FileSystem, FileSystemExt, FileType, Metadata};
use vfs::view::Writing;
use vfs::{Code, Fault, FileKind, Follow, Stat, VPath, View};

use crate::arithmetic;
use crate::meter::{self, Endless, Meter};
use crate::program_paths::builtin_at;

/// The tree of one user, for one command.
pub(crate) struct Files {
    view: View,
    meter: Arc<Meter>,
}

impl Files {
    /// `view` must be one for a thread that may wait.
    pub(crate) fn new(view: View, meter: Arc<Meter>) -> Arc<Files> {
        Arc::new(Files { view, meter })
    }

    /// The mode of a new file, if the script wants another than the usual one and the file is not there yet.
    async fn mode_of_new(&self, path: &VPath, all: u32) -> Option<u32> {
        let umask = self.meter.umask();
        if umask == USUAL_MASK || self.view.stat(path, Follow::Yes).await.is_ok() {
            return None;
        }
        Some(all & !umask)
    }

    /// Whether what was read of a file would be run, and would keep the interpreter busy without end.
    async fn is_hostile_script(&self, path: &Path, bytes: &[u8]) -> bool {
        if !std::str::from_utf8(bytes).is_ok_and(arithmetic::is_too_nested) {
            return false;
        }
        let Ok(path) = virtual_path(path) else { return false };
        let stat = self.view.stat(&path, Follow::Yes).await;
        self.meter.runs_scripts() || stat.is_ok_and(|stat| stat.mode & 0o111 != 0)
    }

    /// What is made gets at most what the usual umask leaves; a wider one is a wish of its own.
    async fn widen(&self, path: &VPath, mode: u32) -> Result<(), Fault> {
        if mode & USUAL_MASK == 0 { Ok(()) } else { self.view.chmod(path, mode).await }
    }
}

const USUAL_MASK: u32 = 0o022;

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
        let text = path.to_str().unwrap_or_default();
        match self.meter.endless(text) {
            Some(Endless::Bytes(count)) if text.ends_with("random") => return Ok(random(count)),
            Some(Endless::Bytes(count)) => return Ok(vec![0; count]),
            Some(Endless::Refused(why)) => {
                return Err(bashkit::Error::Io(io::Error::new(ErrorKind::FileTooLarge, why)));
            }
            None => {}
        }
        let bytes = self.view.read(&virtual_path(path)?).await.map_err(told)?;
        if self.is_hostile_script(path, &bytes).await {
            return Err(bashkit::Error::Io(io::Error::new(ErrorKind::FileTooLarge, arithmetic::TOO_NESTED)));
        }
        if self.meter.take(text, &bytes) {
            return Ok(bytes);
        }
        let why = "the command would hold too much; give it fewer or smaller files";
        Err(bashkit::Error::Io(io::Error::new(ErrorKind::FileTooLarge, why)))
    }

    async fn write_file(&self, path: &Path, content: &[u8]) -> bashkit::Result<()> {
        let path = virtual_path(path)?;
        let mode = self.mode_of_new(&path, 0o666).await;
        let how = Writing { mode: mode.unwrap_or(Writing::default().mode), ..Writing::default() };
        self.view.write(&path, content.to_vec(), how).await.map_err(told)?;
        self.widen(&path, mode.unwrap_or_default()).await.map_err(told)
    }

    async fn append_file(&self, path: &Path, content: &[u8]) -> bashkit::Result<()> {
        let virtual_path = virtual_path(path)?;
        if !self.meter.append(path.to_str().unwrap_or_default(), content.len()) {
            let most = meter::APPENDED_BYTES_MAX / 1024 / 1024;
            let why = format!("one script appends at most {most} MiB to a file");
            return Err(bashkit::Error::Io(io::Error::new(ErrorKind::FileTooLarge, why)));
        }
        if self.mode_of_new(&virtual_path, 0o666).await.is_some() {
            return self.write_file(path, content).await;
        }
        self.view.append(&virtual_path, content.to_vec()).await.map_err(told)
    }

    async fn mkdir(&self, path: &Path, recursive: bool) -> bashkit::Result<()> {
        let path = virtual_path(path)?;
        let mode = self.mode_of_new(&path, 0o777).await;
        self.view.mkdir(&path, recursive, mode.unwrap_or(0o755)).await.map_err(told)?;
        self.widen(&path, mode.unwrap_or_default()).await.map_err(told)
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
                if stat.kind != FileKind::File {
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
        FileKind::File => FileType::File,
        FileKind::Directory => FileType::Directory,
        FileKind::Link => FileType::Symlink,
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

fn random(count: usize) -> Vec<u8> {
    const BLOCK: usize = 4096;
    let mut bytes: Vec<u8> = Vec::with_capacity(count.next_multiple_of(BLOCK));
    while bytes.len() < count {
        bytes.extend_from_slice(&base::random::bytes::<BLOCK>());
    }
    bytes.truncate(count);
    bytes
}

/// What the interpreter takes for the program of one of its own commands.
fn stub(name: &str) -> Vec<u8> {
    format!("#!/bin/sh\n# bashkit builtin: {name}\nexec {name} \"$@\"\n").into_bytes()
}

fn metadata_of_a_stub() -> Metadata {
    Metadata { file_type: FileType::File, size: 0, mode: 0o755, modified: UNIX_EPOCH, created: UNIX_EPOCH }
}
