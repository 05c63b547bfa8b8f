//! Object database of one bare repository: loose objects and packs, read with gix.

use std::path::{Path, PathBuf};

use base::limits::repo as limits;
use gix_hash::ObjectId;
use gix_object::{Find, FindHeader as _, Kind, tree};

use super::bases::Bases;
use super::fault::Fault;

/// A bare repository that is open. It is opened for each piece of work, and stays on the thread that does it.
pub(crate) struct Bare {
    path: PathBuf,
    odb: gix_odb::Handle,
}

/// A name in a directory.
pub(crate) use tree::Entry;

impl Bare {
    pub(crate) fn open(path: &Path) -> Result<Bare, Fault> {
        let options = gix_odb::store::init::Options {
            alloc_limit_bytes: Some(limits::OBJECT_MAX_BYTES as usize),
            ..Default::default()
        };
        let mut odb = gix_odb::at_opts(path.join("objects"), gix_hash::Kind::Sha1, None, options)?;
        odb.set_pack_cache(|| Box::new(Bases::default()));
        Ok(Bare { path: path.to_path_buf(), odb })
    }

    /// The directory of the repository.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The objects, for gix.
    pub(crate) fn objects(&self) -> &gix_odb::Handle {
        &self.odb
    }

    /// Whether an object is there.
    pub(crate) fn has(&self, id: &ObjectId) -> bool {
        gix_object::Exists::exists(&self.odb, id)
    }

    /// What an object is, and how long; `None` when it is not there.
    pub(crate) fn header(&self, id: &ObjectId) -> Result<Option<(Kind, u64)>, Fault> {
        let header = self.odb.try_header(id).map_err(Fault::damaged)?;
        Ok(header.map(|header| (header.kind, header.size)))
    }

    /// An object of a certain kind.
    pub(crate) fn object(&self, id: &ObjectId, kind: Kind) -> Result<Vec<u8>, Fault> {
        let mut content = Vec::new();
        let found = match self.odb.try_find(id, &mut content) {
            Ok(found) => found.map(|object| object.kind),
            // What is too large is not read; its header still says so.
            Err(error) => match self.header(id)? {
                Some((_, size)) if size > limits::OBJECT_MAX_BYTES => return Err(too_large(id, size)),
                _ => return Err(Fault::damaged(error)),
            },
        };
        match found {
            Some(found) if found == kind => Ok(content),
            Some(found) => Err(Fault::Damaged(format!("{id} is a {found}, not a {kind}"))),
            None => Err(Fault::Damaged(format!("{id} is missing"))),
        }
    }

    /// How long the content of a file is.
    pub(crate) fn blob_size(&self, id: &ObjectId) -> Result<u64, Fault> {
        match self.header(id)? {
            Some((Kind::Blob, size)) => Ok(size),
            Some((found, _)) => Err(Fault::Damaged(format!("{id} is a {found}, not a blob"))),
            None => Err(Fault::Damaged(format!("{id} is missing"))),
        }
    }

    /// The content of a file.
    pub(crate) fn blob(&self, id: &ObjectId) -> Result<Vec<u8>, Fault> {
        self.object(id, Kind::Blob)
    }

    /// The entries of a directory, in git's order.
    pub(crate) fn tree(&self, id: &ObjectId) -> Result<Vec<Entry>, Fault> {
        if id.is_empty_tree() {
            return Ok(Vec::new());
        }
        let content = self.object(id, Kind::Tree)?;
        let tree = gix_object::TreeRef::from_bytes(&content, gix_hash::Kind::Sha1).map_err(Fault::damaged)?;
        Ok(tree.into_owned().entries)
    }

    /// What is at a path below a directory; `None` when there is nothing.
    pub(crate) fn entry_at(
        &self,
        root: &ObjectId,
        path: &[&[u8]],
    ) -> Result<Option<(tree::EntryMode, ObjectId)>, Fault> {
        let mut at = (tree::EntryMode::from(tree::EntryKind::Tree), *root);
        for name in path {
            if !at.0.is_tree() {
                return Ok(None);
            }
            let entries = self.tree(&at.1)?;
            match entries.into_iter().find(|entry| entry.filename.as_slice() == *name) {
                Some(entry) => at = (entry.mode, entry.oid),
                None => return Ok(None),
            }
        }
        Ok(Some(at))
    }
}

pub(crate) fn too_large(id: &ObjectId, size: u64) -> Fault {
    let limit = limits::OBJECT_MAX_BYTES;
    Fault::TooLarge(format!(
        "the object {id} has {size} bytes, the limit is {limit}: clone the repository with git"
    ))
}

/// Whether bytes are text: UTF-8 without a NUL.
pub(crate) fn is_text(content: &[u8]) -> bool {
    !content.contains(&0) && std::str::from_utf8(content).is_ok()
}
