//! Virtual files `/sys/capabilities/<gid>`: what a group may call, one capability per line. Users see the groups they
//! are in; root sees and writes all, through `sys.capability.grant` and `sys.capability.revoke`.

use std::collections::{BTreeMap, BTreeSet};

use protocol::capability;
use protocol::ids::Gid;
use protocol::sys::account::{Grant, Revoke};

use crate::fault::{Code, Fault};
use crate::view::View;

use super::fault::{of_store, on_write};
use super::node::{self, Access, Node};

pub(crate) async fn look(view: &View, parts: &[&str]) -> Result<Node, Fault> {
    match parts {
        [] => all(view).await,
        [name] => {
            let gid = visible(view, name).await?;
            let held = view.tree.store.grants().of(gid).await.map_err(of_store)?;
            let text: String = held.iter().map(|name| format!("{name}\n")).collect();
            Ok(Node::file(view, text, Access::root(0o644)))
        }
        [_, _, ..] => Err(node::fault(Code::NotFound)),
    }
}

/// Every group that the caller sees.
async fn all(view: &View) -> Result<Node, Fault> {
    let groups = view.tree.store.groups().all().await.map_err(of_store)?;
    let mut sizes: BTreeMap<Gid, usize> = groups
        .into_iter()
        .map(|group| group.gid)
        .filter(|gid| sees(view, *gid))
        .map(|gid| (gid, 0))
        .collect();
    for (gid, name) in view.tree.store.grants().all().await.map_err(of_store)? {
        if let Some(size) = sizes.get_mut(&gid) {
            *size += name.len() + 1;
        }
    }
    let file = |(gid, size): (Gid, usize)| (gid.to_string(), node::file(view, size, Access::root(0o644)));
    Ok(Node::folder(view, 0o755, sizes.into_iter().map(file)))
}

/// The lines become the group's capabilities. A bad line refuses all of them. When they were made from an earlier
/// text, what that one did not show yet was granted meanwhile, and stays.
pub(crate) async fn write(view: &View, gid: &str, before: Option<&[u8]>, bytes: &[u8]) -> Result<(), Fault> {
    if !view.who.uid.is_root() {
        return Err(node::fault(Code::Denied));
    }
    let gid = visible(view, gid).await?;
    let wanted = parse(node::value_of(bytes)?)?;
    if gid == Gid::ROOT && !wanted.contains("*") {
        let why = "root keeps its capability: nobody could give it back";
        return Err(node::fault(Code::NotPermitted).because(why));
    }
    let held = view.tree.store.grants().of(gid).await.map_err(of_store)?;
    let held: BTreeSet<String> = held.into_iter().collect();
    for capability in wanted.difference(&held).cloned() {
        view.calls.call(&Grant { gid, capability }).await.map_err(on_write)?;
    }
    let text_before = before.map(String::from_utf8_lossy);
    let was_shown =
        |name: &str| text_before.as_ref().is_none_or(|text| text.lines().any(|line| line == name));
    for capability in held.difference(&wanted).filter(|name| was_shown(name)).cloned() {
        view.calls.call(&Revoke { gid, capability }).await.map_err(on_write)?;
    }
    Ok(())
}

fn parse(text: &str) -> Result<BTreeSet<String>, Fault> {
    let mut wanted = BTreeSet::new();
    for (number, line) in (1..).zip(text.lines()) {
        match line.trim() {
            "" => {}
            line if capability::is_valid(line) => {
                wanted.insert(line.to_string());
            }
            line => {
                let why = format!("line {number}: not a capability: {line}");
                return Err(node::fault(Code::Invalid).because(why));
            }
        }
    }
    Ok(wanted)
}

/// The group whose file has that name, if there is one that the caller sees.
async fn visible(view: &View, name: &str) -> Result<Gid, Fault> {
    let missing = || node::fault(Code::NotFound);
    let gid = node::number(name).map(Gid).filter(|gid| sees(view, *gid)).ok_or_else(missing)?;
    let is_there = view.tree.store.groups().has(gid).await.map_err(of_store)?;
    if is_there { Ok(gid) } else { Err(missing()) }
}

fn sees(view: &View, gid: Gid) -> bool {
    view.who.uid.is_root() || view.who.gids.contains(&gid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_line_is_named() {
        let names: Vec<String> = parse("fs.*\n\n  sys.config.get\nfs.*").unwrap().into_iter().collect();
        assert_eq!(names, ["fs.*", "sys.config.get"]);
        let fault = parse("fs.*\nfs.**\n").unwrap_err();
        assert_eq!(fault.to_string(), "EINVAL: line 2: not a capability: fs.**");
    }
}
