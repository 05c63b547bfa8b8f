//! Tree editor: changes of paths on top of a commit's tree. Only directories that are changed are read and written.

use std::collections::BTreeMap;

use gix_hash::ObjectId;
use gix_object::tree::{EntryKind, EntryMode};
use gix_object::{Kind, WriteTo as _};

use super::bare::{Bare, Entry};
use super::fault::Fault;
use super::paths::{TreePath, check_name};
use super::write::NewObjects;

/// One change of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Writes a file.
    Put {
        path: TreePath,
        content: Vec<u8>,
        /// Whether it may be run; as before when nothing is said.
        executable: Option<bool>,
    },
    /// Writes a symbolic link.
    Link { path: TreePath, target: String },
    /// Deletes a file, or a directory with everything in it.
    Delete { path: TreePath, recursive: bool },
    /// Moves a file or a directory to a name that is free.
    Move { from: TreePath, to: TreePath },
}

impl Change {
    /// How much it brings.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Change::Put { content, .. } => content.len() as u64,
            Change::Link { target, .. } => target.len() as u64,
            Change::Delete { .. } | Change::Move { .. } => 0,
        }
    }
}

/// A directory, as far as it was read.
#[derive(Default)]
struct Directory {
    entries: BTreeMap<Vec<u8>, Node>,
}

enum Node {
    /// As it is in the repository; directories too, as long as nobody looked into them.
    Unread(EntryMode, ObjectId),
    Read(Directory),
}

impl Node {
    fn is_directory(&self) -> bool {
        match self {
            Node::Unread(mode, _) => mode.is_tree(),
            Node::Read(_) => true,
        }
    }
}

/// A tree that is being changed.
pub(crate) struct TreeEditor<'a> {
    bare: &'a Bare,
    root: Node,
}

impl<'a> TreeEditor<'a> {
    pub(crate) fn new(bare: &'a Bare, tree: ObjectId) -> TreeEditor<'a> {
        TreeEditor { bare, root: Node::Unread(EntryKind::Tree.into(), tree) }
    }

    /// Makes a change.
    pub(crate) fn apply(&mut self, change: &Change, objects: &mut NewObjects<'_>) -> Result<(), Fault> {
        match change {
            Change::Put { path, content, executable } => {
                let blob = objects.add(Kind::Blob, content.clone())?;
                let is_set = self.mode_at(path)?.is_some_and(|mode| mode.is_executable());
                let kind = match executable.unwrap_or(is_set) {
                    true => EntryKind::BlobExecutable,
                    false => EntryKind::Blob,
                };
                self.set(path, Node::Unread(kind.into(), blob))
            }
            Change::Link { path, target } => {
                let is_allowed = path.names().last().is_some_and(|name| check_name(name, true).is_ok());
                if target.is_empty() || target.contains('\0') || !is_allowed {
                    return Err(Fault::Bad(format!("Invalid repo path: {}", path.as_str())));
                }
                let blob = objects.add(Kind::Blob, target.clone().into_bytes())?;
                self.set(path, Node::Unread(EntryKind::Link.into(), blob))
            }
            Change::Delete { path, recursive } => self.delete(path, *recursive),
            Change::Move { from, to } => self.rename(from, to),
        }
    }

    /// Lets a path be what it is elsewhere, or nothing.
    pub(crate) fn place(
        &mut self,
        path: &TreePath,
        side: Option<(EntryMode, ObjectId)>,
    ) -> Result<(), Fault> {
        match side {
            Some((mode, id)) => self.set(path, Node::Unread(mode, id)),
            None if self.find(path)?.is_some() => self.take(path).map(|_| ()),
            None => Ok(()),
        }
    }

    /// Writes the directories that changed; the root.
    pub(crate) fn write(self, objects: &mut NewObjects<'_>) -> Result<ObjectId, Fault> {
        match written(self.root, objects)? {
            Some((_, tree)) if !tree.is_empty_tree() => Ok(tree),
            // Git knows it without having it; others do not.
            _ => objects.add(Kind::Tree, Vec::new()),
        }
    }

    fn mode_at(&mut self, path: &TreePath) -> Result<Option<EntryMode>, Fault> {
        Ok(match self.find(path)? {
            Some(Node::Unread(mode, _)) => Some(*mode),
            Some(Node::Read(_)) => Some(EntryKind::Tree.into()),
            None => None,
        })
    }

    fn find(&mut self, path: &TreePath) -> Result<Option<&Node>, Fault> {
        let mut node = &mut self.root;
        for name in path.names() {
            if !node.is_directory() {
                return Ok(None);
            }
            match read(self.bare, node)?.entries.get_mut(name) {
                Some(next) => node = next,
                None => return Ok(None),
            }
        }
        Ok(Some(node))
    }

    /// The directory that a path is in, made where it is missing, and the last name of the path.
    fn parent<'p>(&mut self, path: &'p TreePath) -> Result<(&mut Directory, &'p [u8]), Fault> {
        let names = path.names();
        let Some((last, parents)) = names.split_last() else {
            return Err(Fault::Bad("Invalid repo path: /".to_string()));
        };
        let mut directory = read(self.bare, &mut self.root)?;
        for name in parents {
            let next =
                directory.entries.entry(name.to_vec()).or_insert_with(|| Node::Read(Directory::default()));
            if !next.is_directory() {
                let name = String::from_utf8_lossy(name);
                return Err(Fault::Conflict(format!("not a directory: {name} in {}", path.as_str())));
            }
            directory = read(self.bare, next)?;
        }
        Ok((directory, last))
    }

    fn set(&mut self, path: &TreePath, node: Node) -> Result<(), Fault> {
        let (directory, name) = self.parent(path)?;
        if directory.entries.get(name).is_some_and(Node::is_directory) {
            return Err(Fault::Conflict(format!("is a directory: {}", path.as_str())));
        }
        directory.entries.insert(name.to_vec(), node);
        Ok(())
    }

    fn delete(&mut self, path: &TreePath, recursive: bool) -> Result<(), Fault> {
        let is_directory = self.find(path)?.map(Node::is_directory).ok_or_else(|| missing(path))?;
        if is_directory && !recursive {
            let path = path.as_str();
            return Err(Fault::Conflict(format!(
                "ENOTEMPTY: directory not empty: {path}; delete it with recursive"
            )));
        }
        self.take(path).map(|_| ())
    }

    fn rename(&mut self, from: &TreePath, to: &TreePath) -> Result<(), Fault> {
        if to.as_str().strip_prefix(from.as_str()).is_some_and(|rest| rest.starts_with('/')) {
            return Err(Fault::Bad(format!("can not move {} into itself", from.as_str())));
        }
        if self.find(from)?.is_none() {
            return Err(missing(from));
        }
        if self.find(to)?.is_some() {
            return Err(Fault::Conflict(format!("destination already exists: {}", to.as_str())));
        }
        let node = self.take(from)?;
        let (directory, name) = self.parent(to)?;
        directory.entries.insert(name.to_vec(), node);
        Ok(())
    }

    fn take(&mut self, path: &TreePath) -> Result<Node, Fault> {
        let (directory, name) = self.parent(path)?;
        directory.entries.remove(name).ok_or_else(|| missing(path))
    }
}

fn missing(path: &TreePath) -> Fault {
    Fault::Missing(format!("Path not found: {}", path.as_str()))
}

/// The directory that a node is, read when it was not.
fn read<'n>(bare: &Bare, node: &'n mut Node) -> Result<&'n mut Directory, Fault> {
    if let Node::Unread(_, tree) = node {
        let entries = bare.tree(tree)?;
        let of_entry = |entry: Entry| (entry.filename.into(), Node::Unread(entry.mode, entry.oid));
        *node = Node::Read(Directory { entries: entries.into_iter().map(of_entry).collect() });
    }
    match node {
        Node::Read(directory) => Ok(directory),
        Node::Unread(..) => Err(Fault::Damaged("a directory was read and is not there".to_string())),
    }
}

/// Writes a node and what is below it; nothing of a directory that has become empty.
fn written(node: Node, objects: &mut NewObjects<'_>) -> Result<Option<(EntryMode, ObjectId)>, Fault> {
    let directory = match node {
        Node::Unread(mode, id) => return Ok(Some((mode, id))),
        Node::Read(directory) => directory,
    };
    let mut entries = Vec::new();
    for (name, node) in directory.entries {
        if let Some((mode, oid)) = written(node, objects)? {
            entries.push(Entry { mode, filename: name.into(), oid });
        }
    }
    if entries.is_empty() {
        return Ok(None);
    }
    entries.sort();
    let mut content = Vec::new();
    gix_object::Tree { entries }.write_to(&mut content)?;
    Ok(Some((EntryKind::Tree.into(), objects.add(Kind::Tree, content)?)))
}
