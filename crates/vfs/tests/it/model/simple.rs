//! Reference model: a file tree in memory, as simple as can be.

use std::collections::BTreeMap;

use vfs::Code;

use super::{Answer, Op};
use crate::world::{TEAM, Who};

/// The tree in memory. Node 0 is the root.
pub struct Model {
    nodes: Vec<Node>,
}

struct Node {
    what: What,
    uid: u32,
    gid: u32,
    mode: u32,
}

enum What {
    File(Vec<u8>),
    Directory(BTreeMap<String, usize>),
    Link(String),
}

/// A name in a directory, found without links.
struct Spot {
    parent: usize,
    path: Vec<String>,
    node: Option<usize>,
}

type Told = Result<Answer, Code>;

impl Model {
    pub fn new() -> Model {
        let mut model = Model { nodes: vec![directory(0, 0, 0o755)] };
        for (parent, name, node) in [
            (0, "tmp", directory(0, 0, 0o1777)),
            (0, "var", directory(0, 0, 0o755)),
            (0, "home", directory(0, 0, 0o755)),
            (3, "ann", directory(1_000, TEAM, 0o775)),
        ] {
            model.add(parent, name, node);
        }
        model
    }

    fn add(&mut self, parent: usize, name: &str, node: Node) {
        self.nodes.push(node);
        let number = self.nodes.len() - 1;
        self.children_mut(parent).insert(name.to_string(), number);
    }

    fn children(&self, node: usize) -> Option<&BTreeMap<String, usize>> {
        match &self.nodes[node].what {
            What::Directory(children) => Some(children),
            _ => None,
        }
    }

    fn children_mut(&mut self, node: usize) -> &mut BTreeMap<String, usize> {
        match &mut self.nodes[node].what {
            What::Directory(children) => children,
            _ => panic!("not a directory"),
        }
    }

    fn may(&self, who: Who, node: usize, bits: u32) -> bool {
        let Node { uid, gid, mode, .. } = self.nodes[node];
        let shift = match () {
            () if who == Who::Root => return true,
            () if who.uid() == uid => 6,
            () if who.gids().contains(&gid) => 3,
            () => 0,
        };
        (mode >> shift) & bits == bits
    }

    /// The nodes from the root to where a path leads, with what is left when the last name is missing.
    fn find(&self, who: Who, path: &str, follow: bool) -> Result<Spot, Code> {
        let split = |text: &str| -> Vec<String> {
            text.split('/').filter(|part| !part.is_empty()).map(str::to_string).rev().collect()
        };
        let mut way: Vec<(String, usize)> = vec![(String::new(), 0)];
        let (mut todo, mut links) = (split(path), 0);
        while let Some(name) = todo.pop() {
            let here = way.last().unwrap().1;
            let children = self.children(here).ok_or(Code::NotDirectory)?;
            if !self.may(who, here, 1) {
                return Err(Code::Denied);
            }
            if name == ".." {
                way.truncate((way.len() - 1).max(1));
                continue;
            }
            let Some(child) = children.get(&name).copied() else {
                if !todo.is_empty() {
                    return Err(Code::NotFound);
                }
                let path = way[1..].iter().map(|(name, _)| name.clone()).chain([name]).collect();
                return Ok(Spot { parent: here, path, node: None });
            };
            match &self.nodes[child].what {
                What::Link(target) if follow || !todo.is_empty() => {
                    links += 1;
                    if links > 40 {
                        return Err(Code::Loop);
                    }
                    if target.starts_with('/') {
                        way.truncate(1);
                    }
                    todo.extend(split(target));
                }
                _ => way.push((name, child)),
            }
        }
        let path = way[1..].iter().map(|(name, _)| name.clone()).collect();
        Ok(Spot { parent: way[way.len() - 2].1, path, node: Some(way[way.len() - 1].1) })
    }

    /// Who may add and remove names: nobody in the root.
    fn change(&self, who: Who, parent: usize) -> Result<(), Code> {
        match parent {
            0 => Err(Code::NotPermitted),
            _ if self.may(who, parent, 3) => Ok(()),
            _ => Err(Code::Denied),
        }
    }

    /// The owner of a node; links belong to the owner of the place.
    fn owner(&self, spot_path: &[String], node: usize) -> u32 {
        match &self.nodes[node].what {
            What::Link(_) => self.place(spot_path).0,
            _ => self.nodes[node].uid,
        }
    }

    /// Owner and group of what has none of its own.
    fn place(&self, path: &[String]) -> (u32, u32) {
        if path.len() > 2 && path[0] == "home" { (1_000, TEAM) } else { (0, 0) }
    }

    fn sticky(&self, who: Who, spot: &Spot, node: usize) -> Result<(), Code> {
        let parent = &self.nodes[spot.parent];
        let owners = [0, parent.uid, self.owner(&spot.path, node)];
        let bound = parent.mode & 0o1000 != 0 && !owners.contains(&who.uid());
        if bound { Err(Code::NotPermitted) } else { Ok(()) }
    }

    fn is_kept(&self, spot: &Spot) -> bool {
        spot.path.len() == 1 || (spot.path.len() == 2 && spot.path[0] == "home")
    }

    fn link_refused(&self, who: Who, parent: usize) -> Result<(), Code> {
        let shared = self.nodes[parent].mode & 0o1000 != 0;
        if shared && who != Who::Root { Err(Code::NotPermitted) } else { Ok(()) }
    }

    /// The answer; nothing when it depends on the order of names on disk.
    pub fn run(&mut self, who: Who, op: &Op) -> Option<Told> {
        Some(match op {
            Op::Remove(path, true) => return self.remove_all(who, path),
            Op::Read(path) => self.read(who, path),
            Op::Write(path, byte) => self.put(who, path, |bytes| *bytes = vec![*byte; 3]),
            Op::Append(path, byte) => self.put(who, path, |bytes| bytes.push(*byte)),
            Op::Mkdir(path, mode) => self.mkdir(who, path, *mode),
            Op::Remove(path, false) => self.remove(who, path),
            Op::Rename(from, to) => self.rename(who, from, to),
            Op::Symlink(target, path) => self.symlink(who, target, path),
            Op::Chmod(path, mode) => self.change_meta(who, path, |node| {
                node.mode = mode & 0o7777;
                true
            }),
            Op::Chgrp(path, gid) => self.change_meta(who, path, |node| {
                let own = who == Who::Root || node.gid == *gid || who.gids().contains(gid);
                node.gid = if own { *gid } else { node.gid };
                own
            }),
            Op::List(path) => self.list(who, path),
            Op::Stat(path, follow) => self.stat(who, path, *follow),
        })
    }

    fn read(&self, who: Who, path: &str) -> Told {
        let node = self.find(who, path, true)?.node.ok_or(Code::NotFound)?;
        match &self.nodes[node].what {
            What::Directory(_) => Err(Code::IsDirectory),
            What::File(bytes) if self.may(who, node, 4) => Ok(Answer::Bytes(bytes.clone())),
            _ => Err(Code::Denied),
        }
    }

    fn put(&mut self, who: Who, path: &str, change: impl FnOnce(&mut Vec<u8>)) -> Told {
        let spot = self.find(who, path, true)?;
        let Some(node) = spot.node else {
            self.change(who, spot.parent)?;
            let mut bytes = Vec::new();
            change(&mut bytes);
            let new = Node { what: What::File(bytes), uid: who.uid(), gid: who.uid(), mode: 0o644 };
            self.add(spot.parent, spot.path.last().unwrap(), new);
            return Ok(Answer::Done);
        };
        let allowed = self.may(who, node, 2);
        match &mut self.nodes[node].what {
            What::Directory(_) => Err(Code::IsDirectory),
            What::File(bytes) if allowed => {
                change(bytes);
                Ok(Answer::Done)
            }
            _ => Err(Code::Denied),
        }
    }

    fn mkdir(&mut self, who: Who, path: &str, mode: u32) -> Told {
        let spot = self.find(who, path, false)?;
        if spot.node.is_some() {
            return Err(Code::Exists);
        }
        self.change(who, spot.parent)?;
        let new = directory(who.uid(), who.uid(), mode & 0o1755);
        self.add(spot.parent, spot.path.last().unwrap(), new);
        Ok(Answer::Done)
    }

    fn may_remove(&self, who: Who, spot: &Spot) -> Result<usize, Code> {
        let node = spot.node.ok_or(Code::NotFound)?;
        if self.children(node).is_some() && self.is_kept(spot) {
            return Err(Code::NotPermitted);
        }
        self.change(who, spot.parent)?;
        self.sticky(who, spot, node)?;
        Ok(node)
    }

    fn remove(&mut self, who: Who, path: &str) -> Told {
        let spot = self.find(who, path, false)?;
        let node = self.may_remove(who, &spot)?;
        if self.children(node).is_some_and(|children| !children.is_empty()) {
            return Err(Code::NotEmpty);
        }
        self.children_mut(spot.parent).remove(spot.path.last().unwrap());
        Ok(Answer::Done)
    }

    fn remove_all(&mut self, who: Who, path: &str) -> Option<Told> {
        let spot = match self.find(who, path, false) {
            Ok(spot) => spot,
            Err(code) => return Some(Err(code)),
        };
        match self.may_remove(who, &spot) {
            Err(code) => Some(Err(code)),
            Ok(node) if self.can_empty(who, node, &spot.path) => {
                self.children_mut(spot.parent).remove(spot.path.last().unwrap());
                Some(Ok(Answer::Done))
            }
            Ok(_) => None,
        }
    }

    fn can_empty(&self, who: Who, node: usize, path: &[String]) -> bool {
        let Some(children) = self.children(node) else { return true };
        children.is_empty()
            || (self.may(who, node, 7)
                && children.iter().all(|(name, child)| {
                    let below: Vec<String> = path.iter().cloned().chain([name.clone()]).collect();
                    let spot = Spot { parent: node, path: below, node: Some(*child) };
                    self.sticky(who, &spot, *child).is_ok() && self.can_empty(who, *child, &spot.path)
                }))
    }

    fn rename(&mut self, who: Who, from: &str, to: &str) -> Told {
        let (from, to) = (self.find(who, from, false)?, self.find(who, to, false)?);
        let moved = from.node.ok_or(Code::NotFound)?;
        if from.path == to.path {
            return Ok(Answer::Done);
        }
        let is_directory = self.children(moved).is_some();
        let replaced = to.node.map(|node| self.children(node).map(BTreeMap::is_empty));
        if (is_directory && self.is_kept(&from)) || (matches!(replaced, Some(Some(_))) && self.is_kept(&to)) {
            return Err(Code::NotPermitted);
        }
        self.change(who, from.parent)?;
        self.change(who, to.parent)?;
        self.sticky(who, &from, moved)?;
        if let Some(node) = to.node {
            self.sticky(who, &to, node)?;
        }
        if matches!(self.nodes[moved].what, What::Link(_)) {
            self.link_refused(who, to.parent)?;
        }
        if is_directory && to.path.starts_with(&from.path) {
            return Err(Code::Invalid);
        }
        match (is_directory, replaced) {
            (true, Some(None)) => return Err(Code::NotDirectory),
            (false, Some(Some(_))) => return Err(Code::IsDirectory),
            _ => {}
        }
        if is_directory && from.parent != to.parent && !self.may(who, moved, 2) {
            return Err(Code::Denied);
        }
        if replaced == Some(Some(false)) {
            return Err(Code::NotEmpty);
        }
        self.children_mut(from.parent).remove(from.path.last().unwrap());
        self.children_mut(to.parent).insert(to.path.last().unwrap().clone(), moved);
        Ok(Answer::Done)
    }

    fn symlink(&mut self, who: Who, target: &str, path: &str) -> Told {
        let spot = self.find(who, path, false)?;
        if spot.node.is_some() {
            return Err(Code::Exists);
        }
        self.change(who, spot.parent)?;
        self.link_refused(who, spot.parent)?;
        let new = Node { what: What::Link(target.to_string()), uid: 0, gid: 0, mode: 0o777 };
        self.add(spot.parent, spot.path.last().unwrap(), new);
        Ok(Answer::Done)
    }

    fn change_meta(&mut self, who: Who, path: &str, change: impl FnOnce(&mut Node) -> bool) -> Told {
        let spot = self.find(who, path, true)?;
        let node = spot.node.ok_or(Code::NotFound)?;
        let ruled = who == Who::Root || who.uid() == self.nodes[node].uid;
        if ruled && change(&mut self.nodes[node]) { Ok(Answer::Done) } else { Err(Code::NotPermitted) }
    }

    fn list(&self, who: Who, path: &str) -> Told {
        let node = self.find(who, path, true)?.node.ok_or(Code::NotFound)?;
        let children = self.children(node).ok_or(Code::NotDirectory)?;
        if self.may(who, node, 5) {
            Ok(Answer::Names(children.keys().cloned().collect()))
        } else {
            Err(Code::Denied)
        }
    }

    fn stat(&self, who: Who, path: &str, follow: bool) -> Told {
        let spot = self.find(who, path, follow)?;
        let node = spot.node.ok_or(Code::NotFound)?;
        let Node { what, uid, gid, mode } = &self.nodes[node];
        Ok(match what {
            What::File(_) => Answer::Meta(b'f', *uid, *gid, *mode),
            What::Directory(_) => Answer::Meta(b'd', *uid, *gid, *mode),
            What::Link(_) => {
                let (owner, group) = self.place(&spot.path);
                Answer::Meta(b'l', owner, group, 0o777)
            }
        })
    }

    pub fn describe(&self, path: &str) -> Vec<String> {
        let node = self.find(Who::Root, path, false).unwrap().node.unwrap();
        let mut lines = Vec::new();
        self.describe_node(path, node, &mut lines);
        lines
    }

    fn describe_node(&self, path: &str, node: usize, lines: &mut Vec<String>) {
        for (name, child) in self.children(node).unwrap() {
            let below = format!("{path}/{name}");
            let Node { what, uid, gid, mode } = &self.nodes[*child];
            let (owner, group) =
                self.place(&below.split('/').skip(1).map(str::to_string).collect::<Vec<_>>());
            match what {
                What::File(bytes) => lines.push(format!("{below} {uid} {gid} {mode:o} {bytes:?}")),
                What::Link(target) => lines.push(format!("{below} {owner} {group} 777 {target}")),
                What::Directory(_) => {
                    lines.push(format!("{below} {uid} {gid} {mode:o} "));
                    self.describe_node(&below, *child, lines);
                }
            }
        }
    }
}

fn directory(uid: u32, gid: u32, mode: u32) -> Node {
    Node { what: What::Directory(BTreeMap::new()), uid, gid, mode }
}
