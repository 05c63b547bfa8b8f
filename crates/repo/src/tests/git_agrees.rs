//! Property test: on random histories git says the same as this crate about trees, logs, differences and searches.

use std::collections::BTreeMap;

use gix_hash::ObjectId;
use proptest::prelude::*;
use proptest::sample::select;

use super::kit::{Repository, make, new, path};
use crate::git::bare::Bare;
use crate::git::diff::FileChange;
use crate::git::edit::Change;
use crate::git::history::Wanted;
use crate::git::hunks::{Hunk, LineTag};
use crate::git::paths::TreePath;

/// Few names, so that changes meet; some are odd.
const NAMES: &[&str] =
    &["a", "a.b", "a-b", "ab", "ä ö", "-x", "B", "b", "x\\y", "q\"q", "{}", "~", "é\u{301}"];
const LINES: &[&str] = &["one", "two", "Three", "", "  four", "}", "TWO words", "x=1"];

#[derive(Clone, Debug)]
enum Step {
    Put(String, Vec<u8>, Option<bool>),
    Link(String, String),
    Delete(String),
    Move(String, String),
}

fn a_path() -> impl Strategy<Value = String> {
    prop::collection::vec(select(NAMES), 1..4).prop_map(|names| names.join("/"))
}

fn a_content() -> impl Strategy<Value = Vec<u8>> {
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

fn a_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (a_path(), a_content(), prop::option::of(any::<bool>())).prop_map(|(at, content, mode)| Step::Put(at, content, mode)),
        1 => (a_path(), a_path()).prop_map(|(at, to)| Step::Link(at, to)),
        2 => a_path().prop_map(Step::Delete),
        3 => (a_path(), a_path()).prop_map(|(from, to)| Step::Move(from, to)),
    ]
}

fn change(step: &Step) -> Change {
    match step {
        Step::Put(at, content, executable) => {
            Change::Put { path: path(at), content: content.clone(), executable: *executable }
        }
        Step::Link(at, to) => Change::Link { path: path(at), target: to.clone() },
        Step::Delete(at) => Change::Delete { path: path(at), recursive: true },
        Step::Move(from, to) => Change::Move { from: path(from), to: path(to) },
    }
}

/// Files by path, each with its mode and content: what the history should come to.
type Model = BTreeMap<String, (&'static str, Vec<u8>)>;

/// Makes a change in the model as a person would expect it; false, and nothing is changed, when it can not be made.
fn model(files: &mut Model, step: &Step) -> bool {
    let below = |files: &Model, at: &str| -> Vec<String> {
        files.keys().filter(|name| *name == at || name.starts_with(&format!("{at}/"))).cloned().collect()
    };
    let is_free = |files: &Model, at: &str| {
        let is_file_above = at.match_indices('/').any(|(index, _)| files.contains_key(&at[..index]));
        let is_directory = files.keys().any(|name| name.starts_with(&format!("{at}/")));
        !is_file_above && !is_directory
    };
    match step {
        Step::Put(at, content, executable) => {
            if !is_free(files, at) {
                return false;
            }
            let is_set = files.get(at).is_some_and(|(mode, _)| *mode == "100755");
            let mode = if executable.unwrap_or(is_set) { "100755" } else { "100644" };
            files.insert(at.clone(), (mode, content.clone()));
        }
        Step::Link(at, to) => {
            if !is_free(files, at) {
                return false;
            }
            files.insert(at.clone(), ("120000", to.clone().into_bytes()));
        }
        Step::Delete(at) => {
            let gone = below(files, at);
            gone.iter().for_each(|name| drop(files.remove(name)));
            return !gone.is_empty();
        }
        Step::Move(from, to) => {
            let moved = below(files, from);
            let into_itself = to.starts_with(&format!("{from}/"));
            if moved.is_empty() || into_itself || files.contains_key(to) || !is_free(files, to) {
                return false;
            }
            for name in moved {
                if let Some(file) = files.remove(&name) {
                    files.insert(format!("{to}{}", &name[from.len()..]), file);
                }
            }
        }
    }
    true
}

/// The files of a commit as git tells them.
fn files_by_git(repository: &Repository, commit: &ObjectId) -> BTreeMap<String, (String, String)> {
    let listed = repository.git(&["ls-tree", "-r", "-z", &commit.to_string()]);
    let file = |line: &str| {
        let (head, name) = line.split_once('\t').expect("a name");
        let mut words = head.split(' ');
        let (mode, hash) = (words.next().expect("a mode"), words.nth(1).expect("a hash"));
        (name.to_string(), (mode.to_string(), hash.to_string()))
    };
    listed.split('\0').filter(|line| !line.is_empty()).map(file).collect()
}

fn hash_of(content: &[u8]) -> String {
    gix_object::compute_hash(gix_hash::Kind::Sha1, gix_object::Kind::Blob, content)
        .expect("a hash")
        .to_string()
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
fn compare(repository: &Repository, bare: &Bare, old: &ObjectId, new: &ObjectId) {
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
            (String::from_utf8(change.path.clone()).expect("a name"), old_mode, new_mode, old, new)
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
            let mut parts = line.split('\t');
            let (added, deleted, name) = (parts.next()?, parts.next()?, parts.next()?);
            Some((name, (added, deleted)))
        })
        .collect();
    for (change, ours) in changes.iter().zip(&ours) {
        let diff = bare.file_diff(change, 3, &mut u64::MAX.clone()).expect("a difference");
        let is_binary = diff.hunks.iter().any(|hunk| hunk.lines[0].tag == LineTag::Binary);
        let counts = match is_binary {
            true => ("-".to_string(), "-".to_string()),
            false => (diff.additions.to_string(), diff.deletions.to_string()),
        };
        assert_eq!((counts.0.as_str(), counts.1.as_str()), counted[ours.0.as_str()], "{}", ours.0);
        if !is_binary {
            let blob = |side: Option<(_, ObjectId)>| {
                side.map(|(_, id)| bare.blob(&id).expect("a blob")).unwrap_or_default()
            };
            assert_eq!(patched(&blob(change.old), &diff.hunks), blob(change.new), "{}", ours.0);
        }
    }
}

fn search(repository: &Repository, bare: &Bare, head: &ObjectId, query: &str, any_case: bool) {
    let tree = bare.commit(head).expect("a commit").tree;
    let root = TreePath::to_read("").expect("the root");
    let matches = bare.search(tree, query, &root).expect("a search");
    let ours: Vec<String> = matches
        .found
        .iter()
        .map(|found| format!("{}\0{}\0{}", found.path, found.line, found.content))
        .collect();
    let head = head.to_string();
    let mut args = vec!["grep", "-I", "-n", "-z", "-F"];
    args.extend(any_case.then_some("-i"));
    args.extend(["-e", query, &head]);
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
    assert_eq!(ours, theirs, "{query}");
}

fn log(repository: &Repository, bare: &Bare, head: &ObjectId, path: Option<&str>) {
    let wanted =
        Wanted { limit: 100, offset: 0, path: path.map(|path| TreePath::to_read(path).expect("a path")) };
    let ours = bare.log(*head, &wanted).expect("a log");
    let ours: Vec<String> =
        ours.iter().map(|commit| format!("{} {} {}", commit.id, commit.tree, commit.message)).collect();
    let head = head.to_string();
    let literal = path.map(|path| format!(":(literal){path}"));
    let mut args = vec!["log", "--first-parent", "--format=%H %T %s", &head, "--"];
    args.extend(literal.as_deref());
    let theirs = repository.git(&args);
    assert_eq!(ours, theirs.lines().map(str::to_string).collect::<Vec<_>>(), "{path:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn git_says_the_same_about_any_history(commits in prop::collection::vec(prop::collection::vec(a_step(), 1..6), 1..8)) {
        let repository = Repository::new();
        let bare = repository.open();
        let mut files = Model::new();
        let mut heads: Vec<ObjectId> = Vec::new();
        for (number, steps) in commits.iter().enumerate() {
            let mut after = files.clone();
            let can_be = steps.iter().all(|step| model(&mut after, step));
            let made = make(&bare, &new(&format!("commit {number}"), steps.iter().map(change).collect()));
            prop_assert_eq!(made.is_ok(), can_be, "{:?} {:?}", steps, made);
            let Ok(head) = made else { continue };
            let has_changed = after != files;
            files = after;
            let Some(head) = head else { continue };
            prop_assert_eq!(heads.last() != Some(&head), has_changed);
            if has_changed {
                heads.push(head);
            }
        }
        repository.is_sound();
        let Some(head) = heads.last() else { return Ok(()) };
        let wanted: BTreeMap<String, (String, String)> = files
            .iter()
            .map(|(name, (mode, content))| (name.clone(), (mode.to_string(), hash_of(content))))
            .collect();
        prop_assert_eq!(files_by_git(&repository, head), wanted);
        for pair in heads.windows(2) {
            compare(&repository, &bare, &pair[0], &pair[1]);
        }
        compare(&repository, &bare, &heads[0], head);
        search(&repository, &bare, head, "two", true);
        search(&repository, &bare, head, "x=1", false);
        log(&repository, &bare, head, None);
        for name in ["a", "a/b", "ä ö", "B"] {
            log(&repository, &bare, head, Some(name));
        }
        // What git has packed reads the same.
        repository.git(&["gc", "-q", "--prune=now"]);
        let packed = repository.open();
        log(&repository, &packed, head, None);
        compare(&repository, &packed, &heads[0], head);
    }
}
