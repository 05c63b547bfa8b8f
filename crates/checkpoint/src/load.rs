//! Reading a snapshot from the store: its trees, completed by its side file.

use crate::error::Fault;
use crate::objects::{ObjectKind, Objects, Oid};
use crate::snapshot::{Entry, Name, Snapshot, push};
use crate::state::FileKind;
use crate::{side, tree};

/// Reads the snapshot of a commit.
pub(crate) fn load(objects: &Objects, commit: &Oid) -> Result<Snapshot, Fault> {
    let root = tree::read(objects, &tree_of(objects, commit)?)?;
    let damaged = || Fault::Damaged("a checkpoint without its parts".into());
    let part = |name: &[u8]| root.iter().find(|item| item.name == name).ok_or_else(damaged);
    let mut snapshot = Snapshot::default();
    load_tree(objects, &part(tree::FILES)?.oid, &mut Vec::new(), &mut snapshot)?;
    let side = objects.read(&part(tree::SIDE)?.oid, ObjectKind::Blob)?;
    side::decode(&side, &mut snapshot).ok_or_else(damaged)?;
    Ok(snapshot)
}

fn load_tree(objects: &Objects, oid: &Oid, path: &mut Name, to: &mut Snapshot) -> Result<(), Fault> {
    for item in tree::read(objects, oid)? {
        let length = push(path, &item.name);
        let kind = item.kind;
        let entry = Entry {
            kind,
            oid: (kind != FileKind::Dir).then_some(item.oid),
            mode: item.mode,
            uid: u32::MAX,
            gid: u32::MAX,
            size: 0,
            mtime_ns: 0,
            key: None,
        };
        to.entries.insert(path.clone(), entry);
        if kind == FileKind::Dir {
            load_tree(objects, &item.oid, path, to)?;
        }
        path.truncate(length);
    }
    Ok(())
}

/// The root tree of a commit.
pub(crate) fn tree_of(objects: &Objects, commit: &Oid) -> Result<Oid, Fault> {
    let text = objects.read(commit, ObjectKind::Commit)?;
    let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let digits = first.strip_prefix(b"tree ").and_then(|digits| std::str::from_utf8(digits).ok());
    digits.and_then(Oid::parse).ok_or_else(|| Fault::Damaged("a commit without a tree".into()))
}
