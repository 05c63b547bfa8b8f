//! Comparison of a versioned directory with a commit: the files that differ, found by what the host says of them, and
//! by their content only where that has changed.

use std::collections::{BTreeMap, HashMap};

use base::limits::versions as limits;
use gix_hash::ObjectId;
use gix_object::Kind;
use gix_object::tree::{EntryKind, EntryMode};
use vfs::versioned::{Content, Place, Stamp};

use super::roots::{Root, has_place, leads_inside};
use crate::git::bare::Bare;
use crate::git::fault::Fault;

/// What stands at a path, in a commit or in the file tree.
pub(crate) type Side = (EntryMode, ObjectId);

/// Files by their paths below a root.
pub(crate) type Files = BTreeMap<String, Side>;

/// A file that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Below the root.
    pub path: String,
    /// As it was.
    pub old: Option<Side>,
    /// As it is.
    pub new: Option<Side>,
}

/// What is known of files that have not changed since they were read.
#[derive(Default)]
pub(crate) struct Index {
    known: HashMap<String, (Stamp, Side)>,
}

impl Index {
    /// How many files it knows.
    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }
}

/// What is not versioned, and why.
pub(crate) type Skipped = Vec<(String, &'static str)>;

/// A root, its files, and what is known of them.
pub(crate) struct Live<'a> {
    pub root: &'a Root,
    pub place: &'a Place<'a>,
    pub index: &'a mut Index,
    pub skipped: Skipped,
    pub now_ms: i64,
}

impl Live<'_> {
    /// What differs from a tree at some paths and below them.
    pub(crate) fn differences(
        &mut self,
        bare: &Bare,
        tree: Option<ObjectId>,
        scopes: &[String],
    ) -> Result<Vec<Difference>, Fault> {
        let mut found = Vec::new();
        for scope in scopes {
            let mut base = files_at(bare, tree, self.root, scope)?;
            let mut met = Vec::new();
            let all = self.place.survey(scope, &has_place, limits::FILES_MAX, &mut met);
            if !all.map_err(|fault| Fault::Conflict(fault.to_string()))? {
                return Err(Fault::TooLarge(format!(
                    "{} has more than {} files and is not versioned",
                    self.root.path(),
                    limits::FILES_MAX
                )));
            }
            for one in met {
                if one.stamp.is_some() && !self.root.has_place_for(&one.path) {
                    continue;
                }
                match self.side(&one.path, one.stamp)? {
                    Seen::Gone => {}
                    // What can not be read is taken to be as it was.
                    Seen::Unknown => base.retain(|path, _| !is_within(path, &one.path)),
                    Seen::There(new) => {
                        let old = base.remove(&one.path);
                        if old != Some(new) {
                            found.push(Difference { path: one.path, old, new: Some(new) });
                        }
                    }
                }
            }
            for (path, old) in base {
                self.index.known.remove(&path);
                found.push(Difference { path, old: Some(old), new: None });
            }
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        found.dedup_by(|a, b| a.path == b.path);
        Ok(found)
    }

    fn side(&mut self, path: &str, stamp: Option<Stamp>) -> Result<Seen, Fault> {
        let Some(stamp) = stamp else {
            self.skipped.push((path.to_string(), "it is no regular file, or may not be read"));
            return Ok(Seen::Unknown);
        };
        if let Some((known, side)) = self.index.known.get(path)
            && *known == stamp
        {
            return Ok(Seen::There(*side));
        }
        self.index.known.remove(path);
        let content = self.place.read(path, limits::FILE_MAX_BYTES);
        let content = match content.map_err(|fault| Fault::Conflict(fault.to_string()))? {
            Some(content) => content,
            None => return Ok(Seen::Gone),
        };
        let (side, stamp) = match side_of(path, &content)? {
            Ok(side) => side,
            Err(why) => {
                self.skipped.push((path.to_string(), why));
                return Ok(Seen::Unknown);
            }
        };
        // A file that is so young may change again without the host's clock showing it.
        if self.now_ms - stamp.changed_ms() > limits::SETTLED_AFTER_MS {
            self.index.known.insert(path.to_string(), (stamp, side));
        }
        Ok(Seen::There(side))
    }
}

enum Seen {
    There(Side),
    Gone,
    Unknown,
}

/// What a content is in a repository, or why it is not versioned.
pub(crate) fn side_of(path: &str, content: &Content) -> Result<Result<(Side, Stamp), &'static str>, Fault> {
    let hash = |bytes: &[u8]| {
        gix_object::compute_hash(gix_hash::Kind::Sha1, Kind::Blob, bytes).map_err(Fault::damaged)
    };
    Ok(match content {
        Content::Directory => Err("it is a directory now"),
        Content::Skipped(why) => Err(*why),
        Content::Link { target, .. } if !leads_inside(path, target) => {
            Err("it leads out of what is versioned")
        }
        Content::Link { target, stamp } => Ok(((EntryKind::Link.into(), hash(target.as_bytes())?), *stamp)),
        Content::File { bytes, executable, stamp } => {
            let kind = if *executable { EntryKind::BlobExecutable } else { EntryKind::Blob };
            Ok(((kind.into(), hash(bytes)?), *stamp))
        }
    })
}

/// Whether a path is another one or below it.
pub(crate) fn is_within(path: &str, other: &str) -> bool {
    other.is_empty() || path.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The files of a commit's tree at a path and below it that have a place in the file tree.
pub(crate) fn files_at(
    bare: &Bare,
    tree: Option<ObjectId>,
    root: &Root,
    scope: &str,
) -> Result<Files, Fault> {
    let mut files = Files::new();
    let Some(tree) = tree else { return Ok(files) };
    let names: Vec<&[u8]> = scope.split('/').filter(|name| !name.is_empty()).map(str::as_bytes).collect();
    if let Some(side) = bare.entry_at(&tree, &names)? {
        gather(bare, root, scope, side, 0, &mut files)?;
    }
    Ok(files)
}

fn gather(
    bare: &Bare,
    root: &Root,
    path: &str,
    (mode, id): Side,
    depth: usize,
    files: &mut Files,
) -> Result<(), Fault> {
    if mode.is_tree() {
        if depth > base::limits::repo::DEPTH_MAX || files.len() > limits::FILES_MAX {
            return Err(Fault::TooLarge(format!("{} is too large to be versioned", root.path())));
        }
        for entry in bare.tree(&id)? {
            let Ok(name) = std::str::from_utf8(&entry.filename) else { continue };
            let inner = if path.is_empty() { name.to_string() } else { format!("{path}/{name}") };
            gather(bare, root, &inner, (entry.mode, entry.oid), depth + 1, files)?;
        }
        return Ok(());
    }
    let stands = match mode.kind() {
        EntryKind::Blob | EntryKind::BlobExecutable => bare.blob_size(&id)? <= limits::FILE_MAX_BYTES,
        EntryKind::Link => link_at(bare, &id)?.is_some_and(|target| leads_inside(path, &target)),
        EntryKind::Tree | EntryKind::Commit => false,
    };
    if stands && root.has_place_for(path) {
        // Old modes of git mean the same as these.
        let mode = mode.kind().into();
        files.insert(path.to_string(), (mode, id));
    }
    Ok(())
}

/// Where a link of a repository leads, if that is a path.
pub(crate) fn link_at(bare: &Bare, id: &ObjectId) -> Result<Option<String>, Fault> {
    if bare.blob_size(id)? > base::limits::repo::PATH_MAX_BYTES as u64 {
        return Ok(None);
    }
    Ok(String::from_utf8(bare.blob(id)?).ok())
}
