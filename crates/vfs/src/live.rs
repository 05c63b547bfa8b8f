//! Virtual files over the kernel's state: `/sys`, `/proc`, `/dev`, the manual in `/usr/share`, and the account files
//! in `/etc`. The functions here are called by [`crate::View`] once a path has led here.
//!
//! Each part of the tree is a module below `live/` with one `look`, which finds what is at a path, and what can be
//! changed there. Whatever a caller may not see or do is decided by the call that a file stands for.

mod capabilities;
mod changes;
mod config;
mod dev;
mod devices;
mod etc;
mod fault;
mod hash;
mod manual;
mod node;
mod processes;
mod tables;
mod traffic;

pub use fault::refusal;

use crate::fault::{Code, Fault};
use crate::path::VPath;
use crate::stat::{Named, Stat};
use crate::view::{Follow, View};
use node::{Ask, Node};

/// A live part of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Area {
    Sys,
    Proc,
    Dev,
    Share,
    Accounts,
}

impl Area {
    fn of(path: &VPath) -> Option<Area> {
        let mut parts = path.parts();
        match (parts.next()?, parts.next()) {
            ("sys", _) => Some(Area::Sys),
            ("proc", _) => Some(Area::Proc),
            ("dev", _) => Some(Area::Dev),
            ("usr", Some("share")) => Some(Area::Share),
            ("etc", Some("passwd" | "shadow" | "group")) => Some(Area::Accounts),
            _ => None,
        }
    }
}

/// Whether a path belongs to the live tree. Links on disk have been followed before.
pub(crate) fn covers(path: &VPath) -> bool {
    Area::of(path).is_some()
}

/// The live names in a directory that is on disk or made up: `proc`, `sys`, `dev` in `/`, `passwd` in `/etc`, …
pub(crate) fn names_in(directory: &VPath) -> &'static [&'static str] {
    match directory.as_str() {
        "/" => &["dev", "proc", "sys"],
        "/etc" => &["group", "passwd", "shadow"],
        "/usr" => &["share"],
        _ => &[],
    }
}

/// A live file that is there no more: writing it has removed what it stood for.
pub(crate) fn gone(view: &View) -> Stat {
    node::file(view, 0, node::Access::of(view.who.uid, 0o600))
}

/// What is at a live path.
pub(crate) async fn stat(view: &View, path: &VPath, follow: Follow) -> Result<Stat, Fault> {
    let found = match follow {
        Follow::No => look(view, path, Ask::Node).await,
        Follow::Yes => look_through(view, path, Ask::Node).await,
    };
    Ok(found.map_err(|fault| fault::about(fault, "stat", path))?.stat())
}

/// The names in a live directory, sorted.
pub(crate) async fn list(view: &View, path: &VPath) -> Result<Vec<Named>, Fault> {
    let found = look_through(view, path, Ask::Names).await;
    match found.map_err(|fault| fault::about(fault, "scandir", path))? {
        Node::Directory(mut names, _) => {
            names.sort_unstable_by(|a, b| a.name.cmp(&b.name));
            Ok(names)
        }
        Node::File(..) | Node::Link(..) => Err(Fault::new(Code::NotDirectory, "scandir", path.as_str())),
    }
}

/// A live file's text as it is now.
pub(crate) async fn read(view: &View, path: &VPath) -> Result<Vec<u8>, Fault> {
    if path.as_str() == "/etc/shadow" && !view.who.uid.is_root() {
        return Err(Fault::new(Code::Denied, "open", path.as_str()));
    }
    let found = look_through(view, path, Ask::Node).await;
    match found.map_err(|fault| fault::about(fault, "open", path))? {
        Node::File(bytes, _) => Ok(bytes),
        Node::Directory(..) => Err(Fault::new(Code::IsDirectory, "read", path.as_str())),
        Node::Link(..) => Err(Fault::new(Code::Loop, "open", path.as_str())),
    }
}

/// Where a live link leads.
pub(crate) async fn read_link(view: &View, path: &VPath) -> Result<String, Fault> {
    match look(view, path, Ask::Node).await.map_err(|fault| fault::about(fault, "readlink", path))? {
        Node::Link(target, _) => Ok(target),
        _ => Err(Fault::new(Code::Invalid, "readlink", path.as_str())),
    }
}

/// Writes a live file: the call it stands for is made.
pub(crate) async fn write(view: &View, path: &VPath, bytes: Vec<u8>) -> Result<(), Fault> {
    write_after(view, path, None, bytes).await
}

/// The same for a text that was made from an earlier one: what the earlier one did not show is left alone.
pub(crate) async fn write_after(
    view: &View,
    path: &VPath,
    before: Option<&[u8]>,
    bytes: Vec<u8>,
) -> Result<(), Fault> {
    let parts: Vec<&str> = path.parts().skip(1).collect();
    let written = match Area::of(path) {
        Some(Area::Sys) => match parts.as_slice() {
            ["config" | "users", ..] => config::write(view, &parts, &bytes).await,
            ["devices", id, file] => devices::write(view, id, file, &bytes).await,
            ["capabilities", gid] => capabilities::write(view, gid, before, &bytes).await,
            _ => Err(refusal("write", path)),
        },
        Some(Area::Dev) => dev::write(&parts, path),
        Some(Area::Accounts) => match parts.as_slice() {
            [table] => etc::write(view, table, before, &bytes).await,
            _ => Err(node::fault(Code::NotDirectory)),
        },
        _ => Err(refusal("write", path)),
    };
    written.map_err(|fault| fault::about(fault, "open", path))
}

/// Removes a live file, where that means something.
pub(crate) async fn remove(view: &View, path: &VPath) -> Result<(), Fault> {
    let parts: Vec<&str> = path.parts().skip(1).collect();
    match (Area::of(path), parts.as_slice()) {
        (Some(Area::Sys), ["config" | "users", ..]) => config::remove(view, &parts)
            .await
            .and_then(|done| if done { Ok(()) } else { Err(refusal("unlink", path)) })
            .map_err(|fault| fault::about(fault, "unlink", path)),
        _ => Err(refusal("unlink", path)),
    }
}

/// Like [`look`]; a link is followed. Live links lead to names beside them, and never to further links.
async fn look_through(view: &View, path: &VPath, ask: Ask) -> Result<Node, Fault> {
    match look(view, path, ask).await? {
        Node::Link(target, _) => {
            let beside = path.parent().unwrap_or_else(VPath::root).join(&target);
            look(view, &beside, ask).await
        }
        found => Ok(found),
    }
}

/// Finds what is at a live path; the fault does not yet say which path and what for.
async fn look(view: &View, path: &VPath, ask: Ask) -> Result<Node, Fault> {
    let parts: Vec<&str> = path.parts().skip(1).collect();
    match Area::of(path) {
        Some(Area::Sys) => look_in_sys(view, &parts, ask).await,
        Some(Area::Proc) => processes::look(view, &parts).await,
        Some(Area::Dev) => dev::look(view, &parts),
        Some(Area::Share) => manual::look(view, &parts[1..]),
        Some(Area::Accounts) => etc::look(view, &parts).await,
        None => Err(node::fault(Code::NotFound)),
    }
}

async fn look_in_sys(view: &View, parts: &[&str], ask: Ask) -> Result<Node, Fault> {
    const PARTS: [&str; 6] = ["capabilities", "config", "devices", "routes", "sessions", "users"];
    match parts {
        [] => {
            let stat = node::directory(view, 0o755);
            let names = PARTS.map(|name| Named { name: name.to_string(), stat });
            Ok(Node::Directory(names.into(), stat))
        }
        ["config" | "users", ..] => config::look(view, parts, ask).await,
        ["devices", rest @ ..] => devices::look(view, rest, ask).await,
        ["capabilities", rest @ ..] => capabilities::look(view, rest).await,
        ["routes", rest @ ..] => traffic::look_at_routes(view, rest),
        ["sessions", rest @ ..] => traffic::look_at_sessions(view, rest).await,
        _ => Err(node::fault(Code::NotFound)),
    }
}
