//! What git says about a history, and the assertion that this crate says the same.

use std::collections::BTreeMap;

use gix_hash::ObjectId;
use proptest::prelude::*;
use proptest::sample::select;

use super::kit::Repository;
use crate::git::bare::Bare;
use crate::git::commit::Commit;
use crate::git::diff::FileChange;
use crate::git::history::Wanted;
use crate::git::hunks::{Hunk, LineTag};
use crate::git::paths::TreePath;

const LINES: &[&str] = &["one", "two", "Three", "", "  four", "}", "TWO words", "x=1"];

/// A text of lines that meet, or something that is no text.
pub(super) fn a_content() -> impl Strategy<Value = Vec<u8>> {
    let text = (prop::collection::vec(select(LINES), 0..20), any::<bool>()).prop_map(|(lines, ends)| {
        let mut text = lines.join("\n");
        if ends && !text.is_empty() {
            text.push('\n');
        }
        text.into_bytes()
    });
    let binary = prop::collection::vec(any::<u8>(), 0..40).prop_map(|mut bytes| {
        bytes.insert(0, 0);
        bytes
    });
    prop_oneof![6 => text, 1 => binary]
}

/// The files of a commit as git tells them.
pub(super) fn files_by_git(repository: &Repository, commit: &ObjectId) -> BTreeMap<String, (String, String)> {
    let listed = repository.git(&["ls-tree", "-r", "-z", &commit.to_string()]);
    let file = |line: &str| {
        let (head, name) = line.split_once('\t').expect("a name");
        let mut words = head.split(' ');
        let (mode, hash) = (words.next().expect("a mode"), words.nth(1).expect("a hash"));
        (name.to_string(), (mode.to_string(), hash.to_string()))
    };
    listed.split('\0').filter(|line| !line.is_empty()).map(file).collect()
}

/// The new text, made of the old one and what is said to have changed.
fn patched(old: &[u8], hunks: &[Hunk]) -> Vec<u8> {
    let lines: Vec<&[u8]> = old.split_inclusive(|byte| *byte == b'\n').collect();
    let (mut out, mut at) = (Vec::new(), 0);
    for hunk in hunks {
        let start = if hunk.old_count == 0 { hunk.old_start } else { hunk.old_start - 1 } as usize;
        out.extend(lines[at..start].concat());
        at = start;
        for line in &hunk.lines {
            if line.tag != LineTag::Add {
                assert_eq!(lines[at].strip_suffix(b"\n").unwrap_or(lines[at]), line.content.as_bytes());
                at += 1;
            }
            if line.tag != LineTag::Delete {
                out.extend(line.content.as_bytes());
                out.extend(line.ends.then_some(b'\n'));
            }
        }
    }
    out.extend(lines[at..].concat());
    out
}

/// Both sides' differences are the same, and theirs can be applied.
pub(super) fn compare(repository: &Repository, bare: &Bare, old: &ObjectId, new: &ObjectId) {
    let tree = |id: &ObjectId| Some(bare.commit(id).expect("a commit").tree);
    let changes = bare.changes(tree(old), tree(new)).expect("changes");
    let range = [old.to_string(), new.to_string()];
    let raw = repository.git(&[
        "diff-tree",
        "-r",
        "-z",
        "--no-renames",
        "--raw",
        "--no-abbrev",
        &range[0],
        &range[1],
    ]);
    let mut theirs = Vec::new();
    let mut words = raw.split('\0');
    while let (Some(head), Some(name)) = (words.next().filter(|head| !head.is_empty()), words.next()) {
        let head: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
        theirs.push((
            name.to_string(),
            head[0].to_string(),
            head[1].to_string(),
            head[2].to_string(),
            head[3].to_string(),
        ));
    }
    let side = |side: Option<(gix_object::tree::EntryMode, ObjectId)>| match side {
        Some((mode, id)) => (format!("{:06o}", mode.value()), id.to_string()),
        None => ("000000".to_string(), "0".repeat(40)),
    };
    let ours: Vec<_> = changes
        .iter()
        .map(|change: &FileChange| {
            let ((old_mode, old), (new_mode, new)) = (side(change.old), side(change.new));
            (String::from_utf8_lossy(&change.path).into_owned(), old_mode, new_mode, old, new)
        })
        .collect();
    assert_eq!(ours, theirs);
    let counted = repository.git(&[
        "diff-tree",
        "-r",
        "-z",
        "--no-renames",
        "--minimal",
        "--numstat",
        &range[0],
        &range[1],
    ]);
    let counted: BTreeMap<&str, (&str, &str)> = counted
        .split('\0')
        .filter_map(|line| {
            let mut parts = line.splitn(3, '\t');
            let (added, deleted, name) = (parts.next()?, parts.next()?, parts.next()?);
            Some((name, (added, deleted)))
        })
        .collect();
    let is_module = |side: Option<(gix_object::tree::EntryMode, ObjectId)>| {
        side.is_some_and(|(mode, _)| mode.is_commit())
    };
    for (number, (change, ours)) in changes.iter().zip(&ours).enumerate() {
        // However many lines are wanted around a change.
        let diff = bare.file_diff(change, number % 5, &mut u64::MAX.clone()).expect("a difference");
        let is_binary = diff.hunks.iter().any(|hunk| hunk.lines[0].tag == LineTag::Binary);
        let theirs = counted[ours.0.as_str()];
        if is_binary {
            assert_eq!(theirs, ("-", "-"), "{}", ours.0);
        } else {
            let number = |text: &str| text.parse::<u64>().expect("a number");
            let (added, deleted) = (number(theirs.0), number(theirs.1));
            // A line that occurs often is passed over where nothing around it is common: never fewer than the least.
            assert!(diff.additions >= added, "{}: {} and {added}", ours.0, diff.additions);
            assert_eq!(diff.additions - added, diff.deletions - deleted, "{}", ours.0);
        }
        if !is_binary && !is_module(change.old) && !is_module(change.new) {
            let blob = |side: Option<(_, ObjectId)>| {
                side.map(|(_, id)| bare.blob(&id).expect("a blob")).unwrap_or_default()
            };
            assert_eq!(patched(&blob(change.old), &diff.hunks), blob(change.new), "{}", ours.0);
        }
    }
}

/// Both find the same lines.
pub(super) fn search(
    repository: &Repository,
    bare: &Bare,
    head: &ObjectId,
    query: &str,
    any_case: bool,
    below: &str,
) {
    let tree = bare.commit(head).expect("a commit").tree;
    let prefix = TreePath::to_read(below).expect("a path");
    let matches = bare.search(tree, query, &prefix).expect("a search");
    let ours: Vec<String> = matches
        .found
        .iter()
        .map(|found| format!("{}\0{}\0{}", found.path, found.line, found.content))
        .collect();
    let head = head.to_string();
    let mut args = vec!["grep", "-I", "-n", "-z", "-F"];
    args.extend(any_case.then_some("-i"));
    args.extend(["-e", query, &head]);
    let literal = format!(":(literal){below}");
    if !below.is_empty() {
        args.extend(["--", &literal]);
    }
    let output =
        std::process::Command::new("git").args(&args).current_dir(repository.path()).output().expect("git");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let links = files_by_git(repository, &ObjectId::from_hex(head.as_bytes()).expect("a hash"));
    let theirs: Vec<String> = text
        .lines()
        .map(|line| line.strip_prefix(&format!("{head}:")).expect("a commit").to_string())
        // Git searches in where links lead, too.
        .filter(|line| links[line.split('\0').next().expect("a name")].0 != "120000")
        .collect();
    assert_eq!(ours, theirs, "{query} below {below:?}");
}

/// Both tell the same history, in parts and of a path.
pub(super) fn log(repository: &Repository, bare: &Bare, head: &ObjectId, path: Option<&str>) {
    let head_text = head.to_string();
    let literal = path.map(|path| format!(":(literal){path}"));
    let path = path.map(|path| TreePath::to_read(path).expect("a path"));
    for (limit, offset) in [(100, 0), (2, 0), (2, 1), (1, 3)] {
        let ours = bare.log(*head, &Wanted { limit, offset, path: path.clone() }).expect("a log");
        let shown = |commit: &Commit| {
            let parents: Vec<String> = commit.parents.iter().map(ObjectId::to_string).collect();
            let (by, at) = (&commit.author.name, commit.committer.seconds);
            format!("{} {} {} {by} {at} {}", commit.id, commit.tree, parents.join(" "), commit.message)
        };
        let ours: Vec<String> = ours.iter().map(shown).collect();
        let (limited, skipped) = (format!("-{limit}"), format!("--skip={offset}"));
        let mut args = vec![
            "log",
            "--first-parent",
            &limited,
            &skipped,
            "--format=%H %T %P %an %ct %s",
            &head_text,
            "--",
        ];
        args.extend(literal.as_deref());
        let theirs = repository.git(&args);
        assert_eq!(ours, theirs.lines().map(str::to_string).collect::<Vec<_>>(), "{path:?}");
    }
}
