//! Property test: on random histories git says the same as this crate about trees, logs, differences and searches.

use std::collections::BTreeMap;

use gix_hash::ObjectId;
use proptest::prelude::*;
use proptest::sample::select;

use super::kit::{Repository, make, new, path};
use super::oracle::{a_content, compare, files_by_git, log, search};
use crate::git::edit::Change;

/// Few names, so that changes meet; some are odd.
const NAMES: &[&str] =
    &["a", "a.b", "a-b", "ab", "ä ö", "-x", "B", "b", "x\\y", "q\"q", "{}", "~", "é\u{301}"];

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

fn hash_of(content: &[u8]) -> String {
    gix_object::compute_hash(gix_hash::Kind::Sha1, gix_object::Kind::Blob, content)
        .expect("a hash")
        .to_string()
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
        for below in ["", "a", "a/b"] {
            search(&repository, &bare, head, "two", true, below);
            search(&repository, &bare, head, "x=1", false, below);
        }
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
