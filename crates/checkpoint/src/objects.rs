//! Content-addressed object store in git's pack format (SHA-256, whole objects, no deltas): one pack per checkpoint.
//!
//! An object is there when an index names it; an index is renamed into place after its pack is durable.

mod deflate;
mod oid;
mod pack;
mod pack_index;
mod writer;

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use base::limits::checkpoint as limits;

pub(crate) use oid::{Hasher, ObjectKind, Oid};
pub(crate) use pack::Pack;
pub(crate) use writer::{Streamed, Writer};

use crate::error::Fault;

/// The packs of one repository, largest first: most of what is looked for is in the first checkpoint's.
pub(crate) struct Objects {
    dir: PathBuf,
    packs: Vec<Pack>,
}

impl Objects {
    /// Opens what is there. A pack whose index is torn or missing does not count: no checkpoint refers to it.
    pub(crate) fn open(repository: &Path) -> Result<Objects, Fault> {
        let dir = repository.join("objects/pack");
        let mut packs = Vec::new();
        for entry in fs::read_dir(&dir)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "idx") {
                packs.extend(Pack::open(&path)?);
            }
        }
        packs.sort_by_key(|pack| (std::cmp::Reverse(pack.count()), pack.name().to_owned()));
        Ok(Objects { dir, packs })
    }

    /// Where the packs are.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// All packs.
    pub(crate) fn packs(&self) -> &[Pack] {
        &self.packs
    }

    /// Whether an object is there.
    pub(crate) fn contains(&self, oid: &Oid) -> bool {
        self.packs.iter().any(|pack| pack.find(oid).is_some())
    }

    /// A new pack, empty as yet.
    pub(crate) fn writer(&self) -> Writer<'_> {
        Writer::new(self, false)
    }

    /// Names objects as a writer does, and keeps none.
    pub(crate) fn dry_writer(&self) -> Writer<'_> {
        Writer::new(self, true)
    }

    /// An object that fits in memory.
    pub(crate) fn read(&self, oid: &Oid, kind: ObjectKind) -> Result<Vec<u8>, Fault> {
        let mut content = Vec::new();
        self.copy(oid, kind, limits::RECORD_BYTES_MAX, &mut content)?;
        Ok(content)
    }

    /// Writes an object's content out, and fails when that was not the content it should have.
    pub(crate) fn copy(
        &self,
        oid: &Oid,
        kind: ObjectKind,
        bytes_max: u64,
        to: &mut impl Write,
    ) -> Result<(), Fault> {
        let found = self.packs.iter().find_map(|pack| Some((pack, pack.find(oid)?)));
        let Some((pack, offset)) = found else {
            return Err(Fault::Damaged(format!("object {oid} is missing")));
        };
        let (found_kind, size, mut content) = pack.object(offset)?;
        if found_kind != kind || size > bytes_max {
            return Err(Fault::Damaged(format!("object {oid} is not what it should be")));
        }
        let damaged = |_: io::Error| Fault::Damaged(format!("object {oid} cannot be unpacked"));
        let mut hasher = Hasher::new(kind, size);
        let mut chunk = vec![0; limits::CHUNK_BYTES.min(size as usize + 1)];
        loop {
            let read = content.read(&mut chunk).map_err(damaged)?;
            if read == 0 {
                break;
            }
            hasher.update(&chunk[..read]);
            to.write_all(&chunk[..read])?;
        }
        if hasher.finish() != *oid {
            return Err(Fault::Damaged(format!("object {oid} has another digest")));
        }
        Ok(())
    }
}

/// Makes an empty bare repository where there is none.
pub(crate) fn create_repository(dir: &Path) -> io::Result<()> {
    if dir.join("HEAD").exists() {
        return Ok(());
    }
    fs::create_dir_all(dir.join("objects/pack"))?;
    fs::create_dir_all(dir.join("refs/checkpoints"))?;
    crate::atomic::write(&dir.join("config"), CONFIG.as_bytes())?;
    crate::atomic::write(&dir.join("HEAD"), b"ref: refs/heads/none\n")
}

/// Git's own checks forbid names such as `.git` in trees; ours are never checked out by git.
const CONFIG: &str = "\
[core]
\trepositoryformatversion = 1
\tbare = true
[extensions]
\tobjectformat = sha256
[gc]
\tauto = 0
[fsck]
\thasDotgit = ignore
\tgitmodulesBlob = ignore
\tgitmodulesLarge = ignore
\tgitmodulesName = ignore
\tgitmodulesParse = ignore
\tgitmodulesPath = ignore
\tgitmodulesSymlink = ignore
\tgitmodulesUpdate = ignore
\tgitmodulesUrl = ignore
\tgitattributesLarge = ignore
\tgitattributesLineLength = ignore
\tgitattributesBlob = ignore
\tlargePathname = ignore
";
