//! Taking a checkpoint: walk, pack, then the entry. Until the entry is renamed into place nothing has happened.

use std::collections::BTreeMap;
use std::fs;

use base::limits::checkpoint as limits;

use crate::budget::Budget;
use crate::cache::Cache;
use crate::error::{Error, Fault};
use crate::faults::step;
use crate::label::{Label, Summary, Taken, When, Why};
use crate::list::List;
use crate::load;
use crate::lock::Lock;
use crate::objects::{ObjectKind, Objects, Oid, Writer};
use crate::snapshot::{Entry, Name, Snapshot};
use crate::state::FileKind;
use crate::store::Store;
use crate::tree::{self, Item};
use crate::walk::{Plan, Walk};
use crate::{place, side};

/// A checkpoint just taken, with what was seen.
pub(crate) struct Fresh {
    pub(crate) taken: Taken,
    pub(crate) snapshot: Snapshot,
}

/// Takes a checkpoint. `known` are files that are looked at even where they are ignored.
pub(crate) fn take(
    at: &Store,
    lock: &Lock,
    label: &Label,
    now_ms: i64,
    budget: &Budget,
    known: Vec<&BTreeMap<Name, Entry>>,
) -> Result<Fresh, Error> {
    let told = |fault: Fault| fault.at(&at.dir, budget.time_max);
    let list = at.list();
    let entries = list.entries().map_err(|error| told(error.into()))?;
    let id = list.next(&entries).map_err(|error| told(error.into()))?;
    let objects = at.objects().map_err(told)?;
    let began_ns = lock.file_time_ns().map_err(|error| told(error.into()))?;
    // Rules that an agent wrote lose no file that a checkpoint has. One that cannot be read has none to lose.
    let last = entries.last().filter(|_| label.when == When::Before).and_then(|last| at.load(last).ok());
    let known = known.into_iter().chain(last.as_ref().map(|last| &last.entries)).collect();
    let looked = Looked { known, keeps_known: label.when == When::After, last: last.as_ref() };
    let seen = see(at, objects.writer(), budget, looked, began_ns)?;
    let kept = keep(at, &objects, seen, entries.last(), now_ms).map_err(told)?;
    let left_out = kept.snapshot.left_out();
    let taken = Taken {
        id,
        files: kept.files,
        bytes: kept.bytes,
        added_bytes: kept.added_bytes,
        left_out_more: left_out.len().saturating_sub(limits::LISTED_MAX) as u64,
        left_out: left_out.into_iter().take(limits::LISTED_MAX).collect(),
        ignored: kept.snapshot.noted.values().filter(|noted| noted.why == Why::Ignored).count() as u64,
        is_whole: kept.snapshot.is_whole(),
    };
    let summary = Summary {
        id,
        label: label.clone(),
        taken_ms: now_ms,
        files: taken.files,
        bytes: taken.bytes,
        added_bytes: taken.added_bytes,
        is_whole: taken.is_whole,
        commit: kept.commit.to_string(),
        began_ns,
    };
    enter(at, &list, &summary).map_err(told)?;
    Ok(Fresh { taken, snapshot: kept.snapshot })
}

/// What the present is, without keeping anything.
pub(crate) fn look(
    at: &Store,
    lock: &Lock,
    budget: &Budget,
    known: Vec<&BTreeMap<Name, Entry>>,
) -> Result<Snapshot, Error> {
    let told = |fault: Fault| fault.at(&at.dir, budget.time_max);
    let objects = at.objects().map_err(told)?;
    let began_ns = lock.file_time_ns().map_err(|error| told(error.into()))?;
    let looked = Looked { known, keeps_known: true, last: None };
    see(at, objects.dry_writer(), budget, looked, began_ns).map(|seen| seen.snapshot)
}

/// What of a workspace is looked at though it is ignored; see [`Plan`].
struct Looked<'a> {
    known: Vec<&'a BTreeMap<Name, Entry>>,
    keeps_known: bool,
    last: Option<&'a Snapshot>,
}

/// What a walk saw, with the objects that are not yet part of the store.
struct Seen<'o> {
    writer: Writer<'o>,
    tree: Oid,
    snapshot: Snapshot,
    files: u64,
    bytes: u64,
    /// Of before and of now.
    caches: (Cache, Cache),
}

fn see<'o>(
    at: &Store,
    mut writer: Writer<'o>,
    budget: &Budget,
    looked: Looked<'_>,
    began_ns: i64,
) -> Result<Seen<'o>, Error> {
    let workspace = |source| Error::Workspace { path: at.workspace.clone(), source };
    let root = place::open_root(&at.workspace).map_err(workspace)?;
    let old = Cache::load(&at.cache());
    let clock = &at.clock;
    let Looked { known, keeps_known, last } = looked;
    let plan =
        Plan { workspace: &at.workspace, budget, clock, began_ns, cache: &old, known, keeps_known, last };
    let mut walk = Walk::new(plan, &mut writer);
    let walked = walk.run(&root);
    let Walk { snapshot, cache, files, bytes, .. } = walk;
    match walked {
        Ok(tree) => Ok(Seen { writer, tree, snapshot, files, bytes, caches: (old, cache) }),
        Err(fault) => {
            // A large workspace is read in several tries rather than never.
            if matches!(fault, Fault::TimedOut) {
                keep_progress(at, writer, old, cache).map_err(|fault| fault.at(&at.dir, budget.time_max))?;
            }
            Err(fault.at(&at.dir, budget.time_max))
        }
    }
}

/// Keeps the objects of a walk that did not come to its end, and what it saw of files besides what was known.
fn keep_progress(at: &Store, writer: Writer<'_>, old: Cache, new: Cache) -> Result<(), Fault> {
    writer.finish()?;
    let mut cache = old;
    cache.files.extend(new.files);
    Ok(cache.save(&at.cache())?)
}

/// What a walk left in the store.
struct StoredSnapshot {
    commit: Oid,
    snapshot: Snapshot,
    files: u64,
    bytes: u64,
    added_bytes: u64,
}

/// Makes what was seen part of the store: side file, root tree and commit, then the pack.
fn keep(
    at: &Store,
    objects: &Objects,
    seen: Seen<'_>,
    last: Option<&Summary>,
    now_ms: i64,
) -> Result<StoredSnapshot, Fault> {
    let Seen { mut writer, tree, snapshot, files, bytes, caches } = seen;
    let side = writer.add(ObjectKind::Blob, &side::encode(&snapshot))?;
    let items = vec![
        Item { name: tree::FILES.to_vec(), kind: FileKind::Dir, mode: 0o755, oid: tree },
        Item { name: tree::SIDE.to_vec(), kind: FileKind::File, mode: 0o644, oid: side },
    ];
    let root = tree::write(&mut writer, items)?;
    // Where nothing changed the last commit is this one too.
    let same = last.and_then(|last| Oid::parse(&last.commit));
    let same = same.filter(|commit| load::tree_of(objects, commit).is_ok_and(|tree| tree == root));
    let commit = match same {
        Some(commit) => commit,
        None => writer.add(ObjectKind::Commit, commit_text(&root, now_ms).as_bytes())?,
    };
    let added_bytes = writer.finish()?;
    let (old, new) = caches;
    if old != new {
        new.save(&at.cache())?;
    }
    Ok(StoredSnapshot { commit, snapshot, files, bytes, added_bytes })
}

fn commit_text(root: &Oid, now_ms: i64) -> String {
    let seconds = now_ms.max(0) / 1_000;
    let who = format!("gsv <gsv@localhost> {seconds} +0000");
    format!("tree {root}\nauthor {who}\ncommitter {who}\n\ncheckpoint\n")
}

/// The ref, by which the git program finds the checkpoint; then the entry, by which it counts.
fn enter(at: &Store, list: &List, summary: &Summary) -> Result<(), Fault> {
    step("ref")?;
    fs::write(at.reference(summary.id), format!("{}\n", summary.commit))?;
    Ok(list.add(summary)?)
}
