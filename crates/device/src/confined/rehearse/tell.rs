//! Report of a rehearsal: changes of its layers as the wire tells them, with bounded unified differences.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use base::clock::Clock;
use base::limits::device as limit;
use imara_diff::{Algorithm, BasicLineDiffPrinter, Diff, InternedInput, UnifiedDiffConfig};
use places::{At, Roots};
use protocol::shell::rehearsal::{Changed, FileChange, FileFacts};
use sandbox::overlay::{self, Change, ChangeKind, Entry, Stamp};

/// A directory that was laid over, and what happened in it.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) target: PathBuf,
    pub(super) upper: PathBuf,
    pub(super) changes: Vec<Change>,
}

/// What is told of all trees.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) changes: Vec<FileChange>,
    /// Why what happened can not be put in place as it is.
    pub(super) blocked: Option<String>,
    /// What could not be rehearsed.
    pub(super) cannot: Vec<String>,
}

impl Told {
    /// Says why it can not be put in place, unless something else was said.
    pub(super) fn block(&mut self, why: &str) {
        if self.blocked.is_none() {
            self.blocked = Some(why.to_string());
        }
    }
}

/// Tells the changes, as many as there is room for.
pub(super) fn told(trees: &[Tree], roots: &Roots<'_>, clock: &Clock) -> Told {
    let mut told = Told::default();
    let until = clock.elapsed() + limit::REHEARSAL_DIFFS_TIME;
    let mut room = limit::REHEARSAL_DIFFS_MAX_BYTES;
    for (tree, change) in trees.iter().flat_map(|tree| tree.changes.iter().map(move |change| (tree, change)))
    {
        let path = tree.target.join(&change.path);
        let runs_later = runs_later(&path, change, roots);
        if told.blocked.is_none() {
            let why = obstacle(tree, change, runs_later);
            told.blocked = why.map(|why| format!("it would {} {}, {why}", verb(change), path.display()));
        }
        if change.after == Some(Entry::Special) && told.cannot.len() < limit::REHEARSAL_TRIED_MAX {
            let what = "is a socket, a pipe or a device: nobody outside is at its other end";
            told.cannot.push(format!("{} {what}.", path.display()));
        }
        if clock.elapsed() > until {
            room = 0;
        }
        if told.changes.len() < limit::REHEARSAL_TOLD_MAX {
            told.changes.push(one(tree, change, &path, runs_later, &mut room));
        }
    }
    told
}

fn one(tree: &Tree, change: &Change, path: &Path, runs_later: bool, room: &mut usize) -> FileChange {
    let (diff, note) = match difference(tree, change, room) {
        Ok(found) => found,
        Err(error) => (None, Some(format!("could not be compared: {error}"))),
    };
    FileChange {
        path: path.to_string_lossy().into_owned(),
        change: match change.kind {
            ChangeKind::Created => Changed::Created,
            ChangeKind::Deleted => Changed::Deleted,
            ChangeKind::Changed | ChangeKind::Mode | ChangeKind::Replaced | ChangeKind::Unknown => {
                Changed::Changed
            }
        },
        before: change.before.as_ref().map(|stamp| of_stamp(stamp, path)),
        after: change.after.as_ref().map(of_entry),
        diff,
        note,
        runs_later: runs_later.then_some(true),
    }
}

/// Code that runs later, by the table of places.
fn runs_later(path: &Path, change: &Change, roots: &Roots<'_>) -> bool {
    let Some(text) = path.to_str() else { return true };
    let is_directory = matches!(change.after, Some(Entry::Directory { .. }));
    // A directory `.git` is a repository, a file of that name says where one is.
    let is_meant = |place: &places::SensitivePlace| {
        place.kind.runs_later() && (place.at != At::Anywhere || !is_directory)
    };
    places::is_protected(text, false).is_some() || places::classify(text, roots).is_some_and(is_meant)
}

/// Why a change is not put in place.
fn obstacle(tree: &Tree, change: &Change, runs_later: bool) -> Option<&'static str> {
    use std::os::unix::fs::MetadataExt;
    let set_id = || {
        let found = tree.upper.join(&change.path).symlink_metadata();
        change.after.is_some() && found.is_ok_and(|found| !found.is_symlink() && found.mode() & 0o6000 != 0)
    };
    match () {
        () if runs_later => Some("which runs later"),
        () if change.kind == ChangeKind::Unknown => {
            Some("which the kernel marked in a way that is not known here")
        }
        () if change.after == Some(Entry::Special) => Some("which is a socket, a pipe or a device"),
        () if set_id() => Some("which is set-uid or set-gid"),
        () => None,
    }
}

fn verb(change: &Change) -> &'static str {
    match change.kind {
        ChangeKind::Created => "create",
        ChangeKind::Deleted => "delete",
        _ => "change",
    }
}

fn of_entry(entry: &Entry) -> FileFacts {
    let (file_type, mode, size, to) = match entry {
        Entry::File { bytes, mode } => ("file", Some(*mode), Some(*bytes), None),
        Entry::Directory { mode } => ("directory", Some(*mode), None, None),
        Entry::Link { to } => ("link", None, None, Some(to.to_string_lossy().into_owned())),
        Entry::Special => ("special", None, None, None),
    };
    FileFacts { file_type: file_type.to_string(), mode, size, to }
}

fn of_stamp(stamp: &Stamp, path: &Path) -> FileFacts {
    let mode = Some(stamp.permissions());
    let (file_type, mode, size, to) = match () {
        () if stamp.is_file() => ("file", mode, Some(stamp.bytes()), None),
        () if stamp.is_directory() => ("directory", mode, None, None),
        () if stamp.is_link() => {
            let to = std::fs::read_link(path).ok();
            ("link", None, None, to.map(|to| to.to_string_lossy().into_owned()))
        }
        () => ("special", None, None, None),
    };
    FileFacts { file_type: file_type.to_string(), mode, size, to }
}

type Difference = (Option<String>, Option<String>);

/// How the text of a file differs, or why that is not told.
fn difference(tree: &Tree, change: &Change, room: &mut usize) -> io::Result<Difference> {
    let note = |text: &str| Ok((None, Some(text.to_string())));
    let was_file = change.before.as_ref().is_none_or(Stamp::is_file);
    let Some(Entry::File { bytes, .. }) = change.after else { return Ok((None, None)) };
    match change.kind {
        ChangeKind::Created | ChangeKind::Changed if was_file => {}
        ChangeKind::Unknown => return note("the kernel marked it in a way that is not known here"),
        _ => return Ok((None, None)),
    }
    if *room == 0 {
        return note("not shown: there are too many differences");
    }
    let before = change.before.as_ref().map_or(0, Stamp::bytes);
    if bytes.max(before) > limit::REHEARSAL_TEXT_MAX_BYTES {
        return note("too large to be compared");
    }
    let old = match change.before {
        Some(_) => text(&tree.target, &change.path)?,
        None => Some(String::new()),
    };
    let (Some(old), Some(new)) = (old, text(&tree.upper, &change.path)?) else { return note("binary") };
    let mut whole = unified(&old, &new);
    let most = (*room).min(limit::REHEARSAL_DIFF_MAX_BYTES);
    let is_cut = whole.len() > most;
    if is_cut {
        whole.truncate(whole.floor_char_boundary(most));
        whole.truncate(whole.rfind('\n').map_or(0, |end| end + 1));
    }
    *room -= whole.len();
    let note = is_cut.then(|| "only the beginning of the difference is shown".to_string());
    Ok((Some(whole).filter(|diff| !diff.is_empty()), note))
}

fn unified(old: &str, new: &str) -> String {
    let input = InternedInput::new(old, new);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    diff.unified_diff(&BasicLineDiffPrinter(&input.interner), UnifiedDiffConfig::default(), &input)
        .to_string()
}

/// The text of a file; nothing of one that is none.
fn text(tree: &Path, path: &Path) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    overlay::open(tree, path)?.take(limit::REHEARSAL_TEXT_MAX_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(String::from_utf8(bytes).ok().filter(|text| !text.contains('\0')))
}
