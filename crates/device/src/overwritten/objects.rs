//! Content-addressed files: one per content, named by its SHA-256, readable by their owner alone. Each is durable before
//! it has its name, so that a name means the whole content.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use base::limits::overwritten as limits;
use checkpoint::atomic;
use sha2::{Digest, Sha256};

use super::capture::Unkept;

/// The suffix of a file that has no name yet. What a killed driver leaves under such a name is removed.
const TEMPORARY: &str = "tmp";

/// The digest of a content, as objects are named.
pub(super) fn digest(content: &[u8]) -> String {
    hex(&Sha256::digest(content))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The objects of a store.
pub(super) struct Objects {
    dir: PathBuf,
}

impl Objects {
    pub(super) fn new(dir: PathBuf) -> Objects {
        Objects { dir }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn batch(&self) -> Batch<'_> {
        Batch { objects: self, written: RefCell::default(), bytes: 0, items: 0 }
    }

    fn path(&self, sha256: &str) -> PathBuf {
        self.dir.join(sha256)
    }

    pub(super) fn holds(&self, sha256: &str) -> bool {
        self.path(sha256).exists()
    }

    /// A content that is still what its name says.
    pub(super) fn read(&self, sha256: &str) -> io::Result<Vec<u8>> {
        let content = atomic::read(&self.path(sha256), limits::FILE_BYTES_MAX)?;
        let content = content.ok_or_else(|| io::Error::other("it is not kept any more"))?;
        match digest(&content) == sha256 {
            true => Ok(content),
            false => Err(io::Error::other("what is kept of it is damaged")),
        }
    }
}

/// The digest of what a reader gives, and how much that is.
pub(super) fn digest_of(mut from: impl Read) -> io::Result<(String, u64)> {
    let mut hasher = Sha256::new();
    let size = copy(&mut from, &mut io::sink(), &mut hasher, u64::MAX)?;
    Ok((hex(&hasher.finalize()), size))
}

fn copy(from: &mut impl Read, to: &mut impl Write, hasher: &mut Sha256, bytes_max: u64) -> io::Result<u64> {
    let mut chunk = vec![0; 128 * 1024];
    let mut size = 0;
    loop {
        let read = match from.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        size += read as u64;
        if read == 0 || size > bytes_max {
            return Ok(size);
        }
        hasher.update(&chunk[..read]);
        to.write_all(&chunk[..read])?;
    }
}

/// Objects on their way into the store: they have no names until it is finished.
pub(crate) struct Batch<'a> {
    objects: &'a Objects,
    /// Temporary files, open, with the digests of their contents.
    written: RefCell<Vec<(PathBuf, String, u64)>>,
    bytes: u64,
    pub(super) items: usize,
}

impl Batch<'_> {
    /// Takes a content in and gives its digest and size.
    pub(super) fn add(&mut self, mut from: impl Read) -> Result<(String, u64), Unkept> {
        let room = limits::FILE_BYTES_MAX.min(limits::CALL_BYTES_MAX.saturating_sub(self.bytes));
        let name = format!("{}.{TEMPORARY}", base::random::tagged("new"));
        let temporary = self.objects.dir.join(name);
        let mut file = atomic::create(&temporary)?;
        let mut hasher = Sha256::new();
        let copied = copy(&mut from, &mut file, &mut hasher, room);
        let sha256 = hex(&hasher.finalize());
        let size = match copied {
            Ok(size) if size > room && room < limits::FILE_BYTES_MAX => {
                atomic::remove(&temporary)?;
                return Err(Unkept::too_large("it holds more than 256 MB"));
            }
            Ok(size) if size > room => {
                atomic::remove(&temporary)?;
                return Err(Unkept::too_large("a file is larger than 64 MB"));
            }
            Ok(size) => size,
            Err(error) => {
                atomic::remove(&temporary).ok();
                return Err(error.into());
            }
        };
        self.bytes += size;
        self.written.borrow_mut().push((temporary, sha256.clone(), size));
        Ok((sha256, size))
    }

    /// Makes the objects durable, then gives them their names. How many bytes are new.
    pub(super) fn finish(self) -> Result<u64, Unkept> {
        let written = self.written.take();
        if written.is_empty() {
            return Ok(0);
        }
        let named = name_all(self.objects, &written);
        if named.is_err() {
            for (temporary, ..) in &written {
                atomic::remove(temporary).ok();
            }
        }
        Ok(named?)
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        for (temporary, ..) in self.written.take() {
            // What is left is removed when the store is tidied up.
            atomic::remove(&temporary).ok();
        }
    }
}

fn name_all(objects: &Objects, written: &[(PathBuf, String, u64)]) -> io::Result<u64> {
    sync_all(objects, written)?;
    let mut added = 0;
    for (temporary, sha256, size) in written {
        let path = objects.path(sha256);
        if fs::metadata(&path).is_ok_and(|found| found.len() == *size) {
            atomic::remove(temporary)?;
        } else {
            fs::rename(temporary, &path)?;
            added += size;
        }
    }
    File::open(&objects.dir)?.sync_all()?;
    Ok(added)
}

fn sync_all(objects: &Objects, written: &[(PathBuf, String, u64)]) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    if written.len() > limits::SYNC_EACH_MAX {
        return Ok(rustix::fs::syncfs(File::open(&objects.dir)?)?);
    }
    written.iter().try_for_each(|(temporary, ..)| File::open(temporary)?.sync_all())
}
