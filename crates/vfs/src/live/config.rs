//! Virtual files `/sys/config` and `/sys/users/<uid>`: config keys as files, read with `sys.config.get` and written
//! with `sys.config.set`.
//!
//! A key that is a value and has keys below it as well is shown as the file it is; what is below has no path.

use std::collections::BTreeMap;

use protocol::config::{SERVER_VERSION, is_sensitive};
use protocol::ids::Uid;
use protocol::sys::{ConfigEntry, ConfigGet, ConfigSet};
use serde_json::Value;

use crate::fault::{Code, Fault};
use crate::stat::{Named, Stat};
use crate::view::View;

use super::fault::{of_store, on_read, on_write};
use super::node::{self, Access, Ask, Node};

/// `parts` begin with `config` or `users`.
pub(crate) async fn look(view: &View, parts: &[&str], ask: Ask) -> Result<Node, Fault> {
    if parts == ["users"] {
        return users(view, ask).await;
    }
    let top = top(view, parts)?;
    if ask == Ask::Node && parts == ["config"] {
        return Ok(Node::Directory(Vec::new(), folder(view, top)));
    }
    let key = parts.join("/");
    let entries = entries(view, &key).await?;
    if let [entry] = entries.as_slice()
        && entry.key == key
    {
        return Ok(Node::file(view, node::line(&entry.value), access(&key)));
    }
    let names = names_below(view, &key, &entries, top);
    if names.is_empty() && !stands_empty(view, parts).await? {
        return Err(node::fault(Code::NotFound));
    }
    Ok(Node::Directory(names, folder(view, top)))
}

pub(crate) async fn write(view: &View, parts: &[&str], bytes: &[u8]) -> Result<(), Fault> {
    let top = match parts {
        ["users"] => return Err(node::fault(Code::IsDirectory)),
        _ => top(view, parts)?,
    };
    let top_parts = if top.is_some() { 2 } else { 1 };
    if parts.len() <= top_parts {
        return Err(node::fault(Code::IsDirectory));
    }
    check_root(view, top)?;
    let value = node::value_of(bytes)?.to_string();
    let key = parts.join("/");
    let entries = entries(view, &parts[..top_parts].join("/")).await?;
    for entry in &entries {
        if is_below(&entry.key, &key) {
            return Err(node::fault(Code::IsDirectory));
        }
        if is_below(&key, &entry.key) {
            return Err(node::fault(Code::NotDirectory));
        }
    }
    set(view, key, value.into()).await
}

/// False when this is nothing that can be removed.
pub(crate) async fn remove(view: &View, parts: &[&str]) -> Result<bool, Fault> {
    let Node::File(..) = look(view, parts, Ask::Node).await? else { return Ok(false) };
    let top = top(view, parts)?;
    check_root(view, top)?;
    set(view, parts.join("/"), Value::Null).await?;
    Ok(true)
}

async fn set(view: &View, key: String, value: Value) -> Result<(), Fault> {
    view.calls.call(&ConfigSet { key, value }).await.map(|_| ()).map_err(on_write)
}

async fn entries(view: &View, key: &str) -> Result<Vec<ConfigEntry>, Fault> {
    let got = view.calls.call(&ConfigGet { key: Some(key.to_string()) }).await.map_err(on_read)?;
    Ok(got.entries)
}

/// Whose keys these are: `None` for the system's. Another user's are refused whether there are any or not.
fn top(view: &View, parts: &[&str]) -> Result<Option<Uid>, Fault> {
    let ["users", uid, ..] = parts else { return Ok(None) };
    match node::number(uid).map(Uid) {
        Some(uid) if view.who.uid.is_root() || view.who.uid == uid => Ok(Some(uid)),
        None if view.who.uid.is_root() => Err(node::fault(Code::NotFound)),
        _ => Err(node::fault(Code::Denied)),
    }
}

fn check_root(view: &View, top: Option<Uid>) -> Result<(), Fault> {
    if top.is_none() && !view.who.uid.is_root() {
        return Err(node::fault(Code::NotPermitted).because("only root can write to /sys/config/"));
    }
    Ok(())
}

/// Whether a directory is there though no key is below it.
async fn stands_empty(view: &View, parts: &[&str]) -> Result<bool, Fault> {
    match parts {
        ["config"] => Ok(true),
        ["users", uid] => {
            let uid = Uid(node::number(uid).unwrap_or(u32::MAX));
            Ok(uid == view.who.uid
                || view.tree.store.accounts().by_uid(uid).await.map_err(of_store)?.is_some())
        }
        _ => Ok(false),
    }
}

/// `/sys/users`: oneself; to root everybody who has an account or keys.
async fn users(view: &View, ask: Ask) -> Result<Node, Fault> {
    let mut uids = vec![view.who.uid];
    if ask == Ask::Names && view.who.uid.is_root() {
        uids.extend(
            view.tree.store.accounts().all().await.map_err(of_store)?.iter().map(|account| account.uid),
        );
        let keys = entries(view, "users").await?;
        uids.extend(keys.iter().filter_map(|entry| Some(Uid(node::number(entry.key.split('/').nth(1)?)?))));
        uids.sort_unstable();
        uids.dedup();
    }
    let named = uids.into_iter().map(|uid| (uid.to_string(), folder(view, Some(uid))));
    Ok(Node::folder(view, 0o755, named))
}

/// The next segment of each key below `key`.
fn names_below(view: &View, key: &str, entries: &[ConfigEntry], top: Option<Uid>) -> Vec<Named> {
    let mut names: BTreeMap<&str, Stat> = BTreeMap::new();
    for entry in entries {
        let Some(rest) = entry.key.strip_prefix(key).and_then(|rest| rest.strip_prefix('/')) else {
            continue;
        };
        match rest.split_once('/') {
            None => {
                let size = node::line(&entry.value).len();
                names.insert(rest, node::file(view, size, access(&entry.key)));
            }
            Some((name, _)) => {
                names.entry(name).or_insert_with(|| folder(view, top));
            }
        }
    }
    names.retain(|name, _| !matches!(*name, "" | "." | ".."));
    names.into_iter().map(|(name, stat)| Named { name: name.to_string(), stat }).collect()
}

fn is_below(key: &str, above: &str) -> bool {
    key.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'))
}

fn folder(view: &View, top: Option<Uid>) -> Stat {
    node::directory_of(view, top.map_or(Access::root(0o755), |uid| Access::of(uid, 0o700)))
}

/// The mode says what `sys.config.get` and `sys.config.set` allow.
fn access(key: &str) -> Access {
    let owned = key.strip_prefix("users/").and_then(|rest| rest.split_once('/'));
    let owned = owned.and_then(|(uid, rest)| Some((Uid(node::number(uid)?), rest)));
    match owned {
        Some((uid, rest)) if rest.starts_with("ai/") => Access::of(uid, 0o600),
        Some((uid, _)) => Access { uid: Uid::ROOT, ..Access::of(uid, 0o640) },
        None if key == SERVER_VERSION.name() => Access::root(0o444),
        None if is_sensitive(key) => Access::root(0o600),
        None => Access::root(0o644),
    }
}
