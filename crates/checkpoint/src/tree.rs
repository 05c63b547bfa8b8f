//! Git tree objects: names with kinds and contents, in git's order.

use crate::error::Fault;
use crate::objects::{ObjectKind, Objects, Oid, Writer};
use crate::state::FileKind;

/// The tree of the workspace, in the root tree of a checkpoint.
pub(crate) const FILES: &[u8] = b"files";
/// The side file, beside it.
pub(crate) const SIDE: &[u8] = b"side";

/// One line of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) name: Vec<u8>,
    pub(crate) kind: FileKind,
    /// Permission bits; git keeps one of them.
    pub(crate) mode: u32,
    pub(crate) oid: Oid,
}

/// Adds the tree of these items.
pub(crate) fn write(writer: &mut Writer<'_>, mut items: Vec<Item>) -> Result<Oid, Fault> {
    items.sort_unstable_by(|a, b| order(a).cmp(order(b)));
    let mut content = Vec::with_capacity(items.iter().map(|item| item.name.len() + 40).sum());
    for item in &items {
        content.extend(git_mode(item));
        content.push(b' ');
        content.extend(&item.name);
        content.push(0);
        content.extend(item.oid.0);
    }
    writer.add(ObjectKind::Tree, &content)
}

/// Reads a tree.
pub(crate) fn read(objects: &Objects, oid: &Oid) -> Result<Vec<Item>, Fault> {
    let content = objects.read(oid, ObjectKind::Tree)?;
    decode(&content).ok_or_else(|| Fault::Damaged(format!("tree {oid} cannot be read")))
}

fn decode(mut content: &[u8]) -> Option<Vec<Item>> {
    let mut items = Vec::new();
    while !content.is_empty() {
        let space = content.iter().position(|byte| *byte == b' ')?;
        let end = content.iter().position(|byte| *byte == 0)?;
        let name = content.get(space + 1..end)?.to_vec();
        let (kind, mode) = match &content[..space] {
            b"40000" => (FileKind::Dir, 0o755),
            b"100755" => (FileKind::File, 0o755),
            b"100644" => (FileKind::File, 0o644),
            b"120000" => (FileKind::Link, 0o777),
            _ => return None,
        };
        let is_component = !name.is_empty() && name != b"." && name != b".." && !name.contains(&b'/');
        if !is_component {
            return None;
        }
        let oid = Oid(content.get(end + 1..end + 1 + Oid::BYTES)?.try_into().ok()?);
        content = &content[end + 1 + Oid::BYTES..];
        items.push(Item { name, kind, mode, oid });
    }
    Some(items)
}

fn git_mode(item: &Item) -> &'static [u8] {
    match item.kind {
        FileKind::Dir => b"40000",
        FileKind::Link => b"120000",
        _ if item.mode & 0o100 != 0 => b"100755",
        _ => b"100644",
    }
}

/// Git sorts directories as if their names ended with a slash.
fn order(item: &Item) -> impl Iterator<Item = u8> {
    let slash = (item.kind == FileKind::Dir).then_some(b'/');
    item.name.iter().copied().chain(slash)
}
