//! `/sys/capabilities/<gid>`: what a group may call, one capability per line. Users see the groups they are in;
//! root sees and writes all, through `sys.capability.grant` and `sys.capability.revoke`.

use std::collections::BTreeSet;

use protocol::capability;
use protocol::ids::Gid;
use protocol::sys::account::{Grant, Revoke};

use crate::fault::{Code, Fault};
use crate::view::View;

use super::fault::{of_store, on_write};
use super::node::{self, Access, Node};

pub(crate) async fn look(view: &View, parts: &[&str]) -> Result<Node, Fault> {
    let grants = view.tree.store.grants().await.map_err(of_store)?;
    let text = |gid: Gid| -> String {
        grants.iter().filter(|(of, _)| *of == gid).map(|(_, name)| format!("{name}\n")).collect()
    };
    let visible = visible(view).await?;
    match parts {
        [] => {
            let stat = |gid: &Gid| node::file(view, text(*gid).len(), Access::root(0o644));
            Ok(Node::folder(view, 0o755, visible.iter().map(|gid| (gid.to_string(), stat(gid)))))
        }
        [name] => {
            let gid = node::number(name).map(Gid).filter(|gid| visible.contains(gid));
            Node::pick(gid.map(|gid| Node::file(view, text(gid), Access::root(0o644))))
        }
        [_, _, ..] => Err(node::fault(Code::NotFound)),
    }
}

/// The lines become the group's capabilities. A bad line refuses all of them.
pub(crate) async fn write(view: &View, gid: &str, bytes: &[u8]) -> Result<(), Fault> {
    if !view.who.uid.is_root() {
        return Err(node::fault(Code::Denied));
    }
    let gid = node::number(gid).map(Gid);
    let all = visible(view).await?;
    let gid = gid.filter(|gid| all.contains(gid)).ok_or_else(|| node::fault(Code::NotFound))?;
    let wanted = parse(node::value_of(bytes)?)?;
    if gid == Gid::ROOT && !wanted.contains("*") {
        let why = "root keeps its capability: nobody could give it back";
        return Err(node::fault(Code::NotPermitted).because(why));
    }
    let grants = view.tree.store.grants().await.map_err(of_store)?;
    let held: BTreeSet<String> =
        grants.into_iter().filter(|(of, _)| *of == gid).map(|(_, name)| name).collect();
    for capability in wanted.difference(&held).cloned() {
        view.calls.call(&Grant { gid, capability }).await.map_err(on_write)?;
    }
    for capability in held.difference(&wanted).cloned() {
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

async fn visible(view: &View) -> Result<BTreeSet<Gid>, Fault> {
    let groups = view.tree.store.groups().await.map_err(of_store)?;
    let sees = |gid: &Gid| view.who.uid.is_root() || view.who.gids.contains(gid);
    Ok(groups.into_iter().map(|group| group.gid).filter(sees).collect())
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
