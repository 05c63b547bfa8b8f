//! Retention and garbage collection: entries go by age, number and bytes; then objects that no entry reaches, by mark
//! and sweep over packs.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use base::limits::checkpoint as limits;
use serde::Serialize;

use crate::atomic;
use crate::error::{Error, Fault};
use crate::faults::step;
use crate::label::{Id, Summary};
use crate::load;
use crate::objects::{Objects, Oid, Pack};
use crate::state::FileKind;
use crate::store::{self, Store};
use crate::tree;

/// What was removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pruned {
    /// Checkpoints that are gone.
    pub removed: Vec<Id>,
    /// Bytes that the store has now.
    pub bytes: u64,
}

/// Removes what is too old, too many or too much of all workspaces of a store, counted together. A workspace in use is
/// passed by.
pub fn prune_all(store: &Path, now_ms: i64) -> Result<Vec<(PathBuf, Pruned)>, Error> {
    prune_all_within(store, now_ms, limits::STORE_BYTES_MAX)
}

pub(crate) fn prune_all_within(
    store: &Path,
    now_ms: i64,
    bytes_max: u64,
) -> Result<Vec<(PathBuf, Pruned)>, Error> {
    let store = store::open_private(store)?;
    let unusable = |source| Error::Store { path: store.clone(), source };
    let mut all = Vec::new();
    for entry in fs::read_dir(&store).map_err(unusable)?.take(limits::WORKSPACES_MAX) {
        let dir = entry.map_err(unusable)?.path();
        let Some(at) = Store::of_directory(dir) else { continue };
        let lock = match at.lock() {
            Err(Error::Busy) => continue,
            lock => lock?,
        };
        let pruned = prune_within(&at, now_ms, bytes_max).map_err(|fault| at.told(fault))?;
        drop(lock);
        all.push((at, pruned));
    }
    while all.iter().map(|(_, pruned)| pruned.bytes).sum::<u64>() > bytes_max {
        let Some((place, id)) = oldest(&all)? else { break };
        let (at, pruned) = &mut all[place];
        let lock = at.lock()?;
        let more = remove(at, &[id]).map_err(|fault| at.told(fault))?;
        drop(lock);
        pruned.removed.push(id);
        pruned.bytes = more;
    }
    Ok(all.into_iter().map(|(at, pruned)| (at.workspace, pruned)).collect())
}

/// The oldest checkpoint of all that is not the newest of its workspace.
fn oldest(all: &[(Store, Pruned)]) -> Result<Option<(usize, Id)>, Error> {
    let mut found: Option<(i64, usize, Id)> = None;
    for (place, (at, _)) in all.iter().enumerate() {
        let entries = at.entries()?;
        let Some((_, older)) = entries.split_last() else { continue };
        for summary in older {
            if found.is_none_or(|(taken_ms, ..)| summary.taken_ms < taken_ms) {
                found = Some((summary.taken_ms, place, summary.id));
            }
        }
    }
    Ok(found.map(|(_, place, id)| (place, id)))
}

/// Removes what is too old, too many or too much of one workspace. The caller holds its lock.
pub(crate) fn prune(at: &Store, now_ms: i64) -> Result<Pruned, Fault> {
    prune_within(at, now_ms, limits::STORE_BYTES_MAX)
}

pub(crate) fn prune_within(at: &Store, now_ms: i64, bytes_max: u64) -> Result<Pruned, Fault> {
    let entries = at.list().entries()?;
    let mut gone = too_old_or_many(&entries, now_ms);
    let mut bytes = remove(at, &gone)?;
    while bytes > bytes_max {
        let left: Vec<&Summary> = entries.iter().filter(|summary| !gone.contains(&summary.id)).collect();
        let Some((_, older)) = left.split_last().filter(|(_, older)| !older.is_empty()) else { break };
        // What an entry added may be needed by later ones, so this may take more than one round.
        let mut excess = bytes - bytes_max;
        let mut next = Vec::new();
        for summary in older {
            next.push(summary.id);
            excess = excess.saturating_sub(summary.added_bytes);
            if excess == 0 {
                break;
            }
        }
        bytes = remove(at, &next)?;
        gone.extend(next);
    }
    Ok(Pruned { removed: gone, bytes })
}

/// Removes everything that is kept of one workspace, and what was known of its files. The caller holds its lock.
pub(crate) fn forget(at: &Store) -> Result<Pruned, Fault> {
    let gone: Vec<Id> = at.list().entries()?.iter().map(|summary| summary.id).collect();
    let bytes = remove(at, &gone)?;
    atomic::remove(&at.cache())?;
    Ok(Pruned { removed: gone, bytes })
}

/// The same, when a look at the list and at the packs says that it is due.
pub(crate) fn prune_when_due(at: &Store, now_ms: i64) -> Result<(), Fault> {
    let entries = at.list().entries()?;
    let objects = at.objects()?;
    let bytes: u64 = objects.packs().iter().map(Pack::bytes).sum();
    let is_due = !too_old_or_many(&entries, now_ms).is_empty()
        || bytes > limits::STORE_BYTES_MAX
        || objects.packs().len() > 2 * limits::PACKS_MAX;
    if is_due {
        prune(at, now_ms)?;
    }
    Ok(())
}

fn too_old_or_many(entries: &[Summary], now_ms: i64) -> Vec<Id> {
    let over = entries.len().saturating_sub(limits::KEPT_MAX);
    let oldest_ms = now_ms.saturating_sub(limits::KEPT_MS);
    let gone = entries.iter().enumerate();
    gone.filter(|(place, summary)| *place < over || summary.taken_ms < oldest_ms)
        .map(|(_, summary)| summary.id)
        .collect()
}

/// Removes entries, then what no entry reaches; the bytes that are left.
fn remove(at: &Store, gone: &[Id]) -> Result<u64, Fault> {
    let list = at.list();
    if !gone.is_empty() {
        list.remove(gone, &list.entries()?)?;
    }
    let entries = list.entries()?;
    remove_references(at, &entries)?;
    let objects = at.objects()?;
    let mut live = HashSet::new();
    for summary in &entries {
        match Oid::parse(&summary.commit) {
            Some(commit) => mark_commit(&objects, commit, &mut live)?,
            None => return Err(Fault::Damaged(format!("checkpoint {} has no commit", summary.id))),
        }
    }
    sweep(&objects, &live)?;
    remove_leftovers(&objects)?;
    Ok(at.objects()?.packs().iter().map(Pack::bytes).sum())
}

/// Removes refs without an entry: of checkpoints removed, or not finished.
fn remove_references(at: &Store, entries: &[Summary]) -> Result<(), Fault> {
    let kept: HashSet<_> = entries.iter().map(|summary| at.reference(summary.id)).collect();
    for file in fs::read_dir(at.repository().join("refs/checkpoints"))? {
        let path = file?.path();
        if !kept.contains(&path) {
            step("ref removed")?;
            atomic::remove(&path)?;
        }
    }
    Ok(())
}

fn mark_commit(objects: &Objects, commit: Oid, live: &mut HashSet<Oid>) -> Result<(), Fault> {
    if live.insert(commit) {
        let root = load::tree_of(objects, &commit)?;
        mark_tree(objects, root, live)?;
    }
    Ok(())
}

fn mark_tree(objects: &Objects, oid: Oid, live: &mut HashSet<Oid>) -> Result<(), Fault> {
    if !live.insert(oid) {
        return Ok(());
    }
    for item in tree::read(objects, &oid)? {
        match item.kind {
            FileKind::Dir => mark_tree(objects, item.oid, live)?,
            _ => {
                live.insert(item.oid);
            }
        }
    }
    Ok(())
}

/// Removes packs that hold nothing that is reached. What is reached in packs that hold little of it, or that are small
/// and many, is written into one new pack first.
fn sweep(objects: &Objects, live: &HashSet<Oid>) -> Result<(), Fault> {
    let many = objects.packs().len() > limits::PACKS_MAX;
    let mut writer = objects.writer();
    let mut old = Vec::new();
    for pack in objects.packs() {
        let entries = pack.entries();
        let reached: u64 =
            entries.iter().filter(|(entry, _)| live.contains(&entry.oid)).map(|(_, bytes)| bytes).sum();
        let is_small = many && pack.bytes() < limits::SMALL_PACK_BYTES;
        if reached > 0 && reached >= pack.bytes() / 2 && !is_small {
            continue;
        }
        if writer.bytes() + reached > limits::PACK_BYTES_MAX {
            continue;
        }
        for (entry, bytes) in entries.iter().filter(|(entry, _)| live.contains(&entry.oid)) {
            writer.add_packed(entry, &pack.packed(entry, *bytes)?)?;
        }
        old.push(pack);
    }
    let name = writer.finish_named()?;
    for pack in old {
        // The new pack has the name of an old one when it has the very same content.
        if name.as_deref() != Some(pack.name()) {
            step("pack removed")?;
            pack.remove()?;
        }
    }
    Ok(())
}

/// Removes what a crash left: packs without an index and temporary files.
fn remove_leftovers(objects: &Objects) -> Result<(), Fault> {
    for file in fs::read_dir(objects.dir())? {
        let path = file?.path();
        let orphan = path.extension().is_some_and(|extension| extension == "pack")
            && !path.with_extension("idx").exists();
        if orphan || path.extension().is_some_and(|extension| extension == "tmp") {
            atomic::remove(&path)?;
        }
    }
    Ok(())
}
