//! A snapshot in memory: what was where, by path, with what was seen and not kept.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::label::{LeftOut, Why};
use crate::objects::Oid;
use crate::state::{FileKind, Key};

/// Bytes of a path below the workspace, without a slash at either end.
pub(crate) type Name = Vec<u8>;

/// The state of a workspace.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) entries: BTreeMap<Name, Entry>,
    pub(crate) noted: BTreeMap<Name, Noted>,
    /// There was more to note than is noted.
    pub(crate) has_more: bool,
}

/// Something that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) kind: FileKind,
    /// Content of a file, target of a link; directories have none.
    pub(crate) oid: Option<Oid>,
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) size: u64,
    pub(crate) mtime_ns: i64,
    /// Of a walk just made; not stored.
    pub(crate) key: Option<Key>,
}

impl Entry {
    /// Whether both are the same to a person: times do not count, nor a link's mode.
    pub(crate) fn is_same(&self, other: &Entry) -> bool {
        let modes = self.kind == FileKind::Link || self.mode == other.mode;
        self.kind == other.kind && self.oid == other.oid && modes
    }
}

/// Something that was seen and is not kept, or not as it was at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Noted {
    pub(crate) why: Why,
    pub(crate) is_dir: bool,
    pub(crate) key: Key,
}

impl Snapshot {
    /// What is not in it, without what is ignored.
    pub(crate) fn left_out(&self) -> Vec<LeftOut> {
        let noted = self.noted.iter().filter(|(_, noted)| noted.why != Why::Ignored);
        noted.map(|(name, noted)| LeftOut { path: path_of(name), why: noted.why }).collect()
    }

    /// Whether nothing is missing that should come back, and nothing was passed by unseen.
    pub(crate) fn is_whole(&self) -> bool {
        !self.has_more && self.noted.values().all(|noted| !noted.why.is_loss())
    }
}

/// Appends a component and gives the length to truncate to.
pub(crate) fn push(path: &mut Name, component: &[u8]) -> usize {
    let length = path.len();
    if length > 0 {
        path.push(b'/');
    }
    path.extend(component);
    length
}

/// The path of such bytes.
pub(crate) fn path_of(name: &[u8]) -> PathBuf {
    Path::new(OsStr::from_bytes(name)).to_path_buf()
}

/// Everything up to the last component, empty for what is directly in the workspace; and that component.
pub(crate) fn split(name: &[u8]) -> (&[u8], &[u8]) {
    match name.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&name[..at], &name[at + 1..]),
        None => (&[], name),
    }
}

/// Whether a path is inside the `.git` of a repository, or is one.
pub(crate) fn is_in_repository(name: &[u8]) -> bool {
    name.split(|byte| *byte == b'/').any(|component| component == b".git")
}

/// The `.git` of a path among the objects of a repository, which are named by their content.
pub(crate) fn git_dir_of_object(name: &[u8]) -> Option<&[u8]> {
    let mut end = 0;
    let mut git = None;
    for component in name.split(|byte| *byte == b'/') {
        end += component.len();
        match git {
            None if component == b".git" => git = Some(&name[..end]),
            Some(_) if component == b"objects" || component == b"lfs" => return git,
            _ => {}
        }
        end += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_belong_to_a_repository() {
        assert_eq!(git_dir_of_object(b"a/.git/objects/pack/x"), Some(&b"a/.git"[..]));
        assert_eq!(git_dir_of_object(b".git/modules/m/objects/00/x"), Some(&b".git"[..]));
        assert_eq!(git_dir_of_object(b".git/refs/objects-of-desire"), None);
        assert_eq!(git_dir_of_object(b"objects/x"), None);
    }
}
