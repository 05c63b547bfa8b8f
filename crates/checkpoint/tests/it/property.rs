//! Whatever an agent does to a tree, restoring brings the tree back, and restoring again brings back what it did.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use checkpoint::Restore;
use proptest::prelude::*;

use crate::kit::Kit;

#[derive(Clone, Debug)]
enum Edit {
    Write(usize, Vec<u8>),
    Remove(usize),
    MakeDir(usize),
    Link(usize, usize),
    Mode(usize, u32),
    Move(usize, usize),
    HardLink(usize, usize),
}

const NAMES: &[&str] = &[
    "a",
    "b",
    "a-b",
    "d/x",
    "d/y",
    "d/e/x",
    "d/e/f/x",
    "d",
    "d/e",
    "g/h/i",
    "g/h",
    "g",
    "\n",
    ".git/HEAD",
    ".git/refs/heads/x",
    "n/.git/config",
    "n/file",
    "ü",
];

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let name = || 0..NAMES.len();
    let edit = prop_oneof![
        4 => (name(), prop::collection::vec(any::<u8>(), 0..40)).prop_map(|(at, content)| Edit::Write(at, content)),
        2 => name().prop_map(Edit::Remove),
        1 => name().prop_map(Edit::MakeDir),
        1 => (name(), name()).prop_map(|(at, to)| Edit::Link(at, to)),
        2 => (name(), prop::sample::select(vec![0o600u32, 0o644, 0o755, 0o700, 0o4755, 0o444]))
            .prop_map(|(at, mode)| Edit::Mode(at, mode)),
        2 => (name(), name()).prop_map(|(at, to)| Edit::Move(at, to)),
        1 => (name(), name()).prop_map(|(at, to)| Edit::HardLink(at, to)),
    ];
    prop::collection::vec(edit, 0..25)
}

/// Does an edit as far as it is possible: what a random one asks for often is not.
fn edit(kit: &Kit, edit: &Edit) {
    let path = |at: &usize| -> PathBuf { kit.path(NAMES[*at]) };
    let make_parent = |at: &usize| fs::create_dir_all(path(at).parent().expect("a parent")).ok();
    match edit {
        Edit::Write(at, content) => {
            make_parent(at);
            fs::write(path(at), content).ok();
        }
        Edit::Remove(at) => {
            fs::remove_file(path(at)).or_else(|_| fs::remove_dir_all(path(at))).ok();
        }
        Edit::MakeDir(at) => {
            fs::create_dir_all(path(at)).ok();
        }
        Edit::Link(at, to) => {
            make_parent(at);
            symlink(NAMES[*to], path(at)).ok();
        }
        Edit::Mode(at, mode) => {
            let is_file = path(at).symlink_metadata().is_ok_and(|metadata| metadata.is_file());
            // A directory keeps the bits without which nobody gets into it.
            let mode = if is_file { *mode } else { mode | 0o700 };
            if path(at).symlink_metadata().is_ok_and(|metadata| !metadata.is_symlink()) {
                fs::set_permissions(path(at), fs::Permissions::from_mode(mode)).ok();
            }
        }
        Edit::Move(at, to) => {
            make_parent(to);
            fs::rename(path(at), path(to)).ok();
        }
        Edit::HardLink(at, to) => {
            make_parent(to);
            fs::hard_link(path(at), path(to)).ok();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_restore_is_the_original_and_undoing_it_is_the_edited(first in edits(), second in edits()) {
        let kit = Kit::new();
        first.iter().for_each(|each| edit(&kit, each));
        let original = kit.tree();
        let (before, _) = kit.run(|| second.iter().for_each(|each| edit(&kit, each)));
        let edited = kit.tree();
        let restored = kit.restore(before);
        prop_assert_eq!((&restored.conflicts, &restored.failed), (&vec![], &vec![]));
        prop_assert_eq!(kit.tree(), original);
        let undone = kit.restore(restored.before.expect("a checkpoint"));
        prop_assert_eq!((&undone.conflicts, &undone.failed), (&vec![], &vec![]));
        prop_assert_eq!(kit.tree(), edited);
    }

    /// Without a checkpoint at the end nobody knows what was made by the run, so everything that was there comes back
    /// and nothing else goes.
    #[test]
    fn nothing_is_removed_that_is_not_known_to_be_the_runs(first in edits(), second in edits()) {
        let kit = Kit::new();
        first.iter().for_each(|each| edit(&kit, each));
        let original = kit.tree();
        let before = kit.take(checkpoint::When::Before).id;
        second.iter().for_each(|each| edit(&kit, each));
        let edited = kit.tree();
        let restored = kit.restore_with(before, &Restore { force: true, ..Default::default() });
        let tree = kit.tree();
        for (path, was) in &original {
            let failed = restored.failed.iter().any(|failed| path.starts_with(&failed.path));
            prop_assert!(tree.get(path) == Some(was) || failed, "{path:?}: {restored:?}");
        }
        for path in edited.keys() {
            let replaced = original.iter().any(|(other, (kind, ..))| *kind != 'd' && path.starts_with(other));
            let is_link_parent = original.keys().any(|other| other.starts_with(path));
            prop_assert!(tree.contains_key(path) || replaced || is_link_parent, "{path:?}: {restored:?}");
        }
    }
}
