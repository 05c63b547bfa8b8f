//! Protected names that appear or change are found, also where somebody tries to hide them.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use checkpoint::{Budget, Id, When};

use crate::kit::{Kit, NOW_MS, label};

fn is_protected(path: &Path) -> bool {
    let text = path.to_string_lossy();
    text.contains(".vscode")
        || text.contains(".git/hooks/")
        || text.ends_with(".git/config")
        || text.ends_with(".envrc")
}

fn found(kit: &Kit, (before, after): (Id, Id)) -> Vec<String> {
    let names = kit.at.new_protected_names(before, after, is_protected).expect("names");
    names.iter().map(|path: &PathBuf| path.display().to_string()).collect()
}

#[test]
fn new_and_changed_names_are_found_and_old_ones_are_not() {
    let kit = Kit::new();
    kit.write(".git/config", "[core]\n");
    kit.write(".git/hooks/old", "x");
    kit.write("src/a", "x");
    let run = kit.run(|| {
        kit.write(".git/config", "[core]\nfsmonitor = evil\n");
        kit.write(".git/hooks/new", "evil");
        kit.write("src/a", "y");
        kit.write("deep/er/.vscode/tasks.json", "evil");
    });
    assert_eq!(
        found(&kit, run),
        [".git/config", ".git/hooks/new", "deep/er/.vscode", "deep/er/.vscode/tasks.json"]
    );
}

#[test]
fn a_hook_that_becomes_executable_counts() {
    let kit = Kit::new();
    kit.write(".git/hooks/pre-commit", "x");
    kit.chmod(".git/hooks/pre-commit", 0o644);
    let run = kit.run(|| kit.chmod(".git/hooks/pre-commit", 0o755));
    assert_eq!(found(&kit, run), [".git/hooks/pre-commit"]);
}

#[test]
fn ignoring_them_does_not_hide_them() {
    let kit = Kit::new();
    kit.write("kept", "x");
    let run = kit.run(|| {
        kit.write(".gitignore", "*\n");
        kit.write(".envrc", "evil");
        kit.write("sub/.gitignore", "*\n");
        kit.write("sub/nested/.git/hooks/post-checkout", "evil");
        kit.write(".vscode/tasks.json", "evil");
    });
    assert_eq!(
        found(&kit, run),
        [".envrc", ".vscode", ".vscode/tasks.json", "sub/nested/.git/hooks/post-checkout"]
    );
}

#[test]
fn an_ignored_one_that_changes_is_found() {
    let kit = Kit::new();
    kit.write(".gitignore", ".envrc\n");
    kit.write(".envrc", "mine");
    let quiet = kit.run(|| kit.write("other", "x"));
    assert_eq!(found(&kit, quiet), [""; 0]);
    let run = kit.run(|| kit.write(".envrc", "evil"));
    assert_eq!(found(&kit, run), [".envrc"]);
}

#[test]
fn making_it_too_large_or_a_link_does_not_hide_it() {
    let kit = Kit::new();
    let budget = Budget { file_bytes_max: 1_000, ..Budget::default() };
    let take = |when| kit.at.take(&label("r", when), NOW_MS, &budget).expect("a checkpoint").id;
    let before = take(When::Before);
    kit.write(".git/hooks/large", vec![b'#'; 2_000]);
    kit.write("x/tasks.json", "evil");
    symlink("x", kit.path(".vscode")).expect("a link");
    let after = take(When::After);
    assert_eq!(found(&kit, (before, after)), [".git/hooks/large", ".vscode"]);
}

#[test]
fn what_is_hidden_in_two_steps_is_found() {
    let kit = Kit::new();
    kit.write(".gitignore", "out/\n");
    let before = kit.take(When::Before).id;
    kit.write("out/harmless", "x");
    let between = kit.take(When::After).id;
    assert_eq!(found(&kit, (before, between)), [""; 0]);
    kit.write("out/.envrc", "evil");
    let after = kit.take(When::After).id;
    assert_eq!(found(&kit, (before, after)), ["out/.envrc"]);
}
