//! Repositories in the workspace: their own directories come back, nested ones are files like others.

use std::os::unix::fs::PermissionsExt;

use checkpoint::{Budget, When, Why};

use crate::kit::{Kit, NOW_MS, has_git, label, told};

/// A repository with two commits, a branch, something staged and something not.
fn repository(kit: &Kit, dir: &str) {
    std::fs::create_dir_all(kit.path(dir)).expect("a directory");
    kit.git(dir, &["init", "-q"]);
    for at in 0..2 {
        kit.write(format!("{dir}/file"), format!("version {at}\n"));
        kit.git(dir, &["add", "."]);
        kit.git(dir, &["commit", "-qm", "a commit"]);
    }
    kit.git(dir, &["branch", "side"]);
    kit.write(format!("{dir}/staged"), "staged");
    kit.git(dir, &["add", "staged"]);
    kit.write(format!("{dir}/file"), "not staged");
}

fn state(kit: &Kit, dir: &str) -> [String; 4] {
    let of = |arguments: &[&str]| kit.git(dir, arguments);
    [
        of(&["status", "--short"]),
        of(&["log", "--all", "--oneline"]),
        of(&["branch", "-av"]),
        of(&["fsck", "--full"]),
    ]
}

#[test]
fn a_deleted_repository_comes_back() {
    if !has_git() {
        return;
    }
    let kit = Kit::new();
    repository(&kit, ".");
    let original = state(&kit, ".");
    let (before, _) = kit.run(|| kit.remove(".git"));
    let restored = kit.restore(before);
    assert_eq!(restored.failed, []);
    assert_eq!(state(&kit, "."), original);
}

#[test]
fn lost_commits_branches_and_changes_come_back() {
    if !has_git() {
        return;
    }
    let kit = Kit::on_disk();
    repository(&kit, ".");
    let original = state(&kit, ".");
    let (before, after) = kit.run(|| {
        kit.git(".", &["reset", "-q", "--hard", "HEAD~1"]);
        kit.git(".", &["branch", "-D", "side"]);
        kit.git(".", &["reflog", "expire", "--expire=now", "--all"]);
        kit.git(".", &["gc", "-q", "--prune=now"]);
        kit.git(".", &["branch", "made"]);
        kit.write(".git/index.lock", "a git that was killed");
    });
    assert_eq!(told(&kit.at.diff(before, after).expect("a diff")), ["~file", "-staged"]);
    std::fs::remove_file(kit.path(".git/index.lock")).expect("the lock is not in a checkpoint");
    let restored = kit.restore(before);
    assert_eq!((restored.failed, restored.conflicts), (vec![], vec![]));
    assert_eq!(state(&kit, "."), original);
}

#[test]
fn nested_repositories_are_whole_with_and_without_commits() {
    if !has_git() {
        return;
    }
    let kit = Kit::new();
    repository(&kit, ".");
    repository(&kit, "nested/one");
    std::fs::create_dir_all(kit.path("nested/empty")).expect("a directory");
    kit.git("nested/empty", &["init", "-q"]);
    kit.write("nested/empty/file", "no commit holds this");
    // The outer rules end where another repository begins.
    kit.write(".gitignore", "*.out\n");
    kit.write("nested/one/a.out", "kept");
    let (original, one) = (kit.tree(), state(&kit, "nested/one"));
    let (before, _) = kit.run(|| kit.remove("nested"));
    kit.restore(before);
    assert_eq!(state(&kit, "nested/one"), one);
    let mut tree = kit.tree();
    // Looking at a repository may refresh its index.
    tree.retain(|path, _| !path.ends_with("index"));
    let mut original = original;
    original.retain(|path, _| !path.ends_with("index"));
    assert_eq!(tree, original);
}

#[test]
fn attributes_and_filters_change_no_byte() {
    if !has_git() {
        return;
    }
    let kit = Kit::new();
    kit.git(".", &["init", "-q"]);
    let ran = kit.dir.path().join("ran");
    kit.git(".", &["config", "filter.evil.clean", &format!("touch {}", ran.display())]);
    kit.git(".", &["config", "core.autocrlf", "true"]);
    kit.write(
        ".gitattributes",
        "* text=auto\n*.x filter=evil\n*.u working-tree-encoding=UTF-16\n*.i ident\n",
    );
    kit.write("crlf.txt", "a\r\nb\n\r");
    kit.write("a.x", "filtered?");
    kit.write("b.u", "not UTF-16");
    kit.write("c.i", "$Id$");
    let original = kit.tree();
    let (before, _) = kit.run(|| {
        for name in ["crlf.txt", "a.x", "b.u", "c.i", ".gitattributes"] {
            kit.remove(name);
        }
    });
    kit.restore(before);
    assert_eq!(kit.tree(), original);
    assert!(!ran.exists());
}

#[test]
fn tracked_files_are_kept_even_where_they_are_ignored() {
    if !has_git() {
        return;
    }
    for version in ["2", "3", "4"] {
        let kit = Kit::new();
        kit.git(".", &["init", "-q"]);
        kit.write("dist/kept.js", "tracked");
        kit.write("dist/deep/kept.js", "tracked");
        kit.write("dist/other.js", "not tracked");
        kit.write("notes.log", "tracked");
        kit.write("more.log", "not tracked");
        kit.git(".", &["add", "-f", "dist/kept.js", "dist/deep", "notes.log"]);
        kit.git(".", &["update-index", "--index-version", version]);
        kit.write(".gitignore", "dist/\n*.log\n");
        let (before, after) = kit.run(|| {
            kit.remove("dist");
            kit.remove("notes.log");
            kit.remove("more.log");
        });
        let changes = told(&kit.at.diff(before, after).expect("a diff"));
        assert_eq!(changes, ["-dist/deep/kept.js", "-dist/kept.js", "-notes.log"], "version {version}");
        kit.restore(before);
        assert_eq!(kit.read("dist/deep/kept.js"), b"tracked");
    }
}

#[test]
fn rules_from_above_the_workspace_count() {
    if !has_git() {
        return;
    }
    let kit = Kit::new();
    crate::kit::git(kit.dir.path(), &["init", "-q"]);
    std::fs::write(kit.dir.path().join(".gitignore"), "*.log\n/work/out\n").expect("a file");
    kit.write("a.log", "x");
    kit.write("out/x", "x");
    kit.write("sub/work/out", "kept");
    let taken = kit.take(When::Before);
    assert_eq!(taken.files, 1);
    let ignored = kit.at.ignored(taken.id).expect("names");
    assert_eq!(ignored, [std::path::PathBuf::from("a.log"), "out".into()]);
}

#[test]
fn objects_beyond_the_limit_are_left_out_and_said() {
    if !has_git() {
        return;
    }
    let kit = Kit::new();
    repository(&kit, ".");
    let budget = Budget { repository_bytes_max: 10, ..Budget::default() };
    let taken = kit.at.take(&label("r", When::Before), NOW_MS, &budget).expect("a checkpoint");
    assert!(!taken.is_whole);
    assert!(taken.left_out.iter().all(|left| left.why == Why::RepositoryTooLarge), "{taken:?}");
    assert!(!taken.left_out.is_empty());
}

#[test]
fn a_linked_worktree_says_that_its_repository_is_elsewhere() {
    if !has_git() {
        return;
    }
    let kit = Kit::new();
    let main = kit.dir.path().join("main");
    std::fs::create_dir(&main).expect("a directory");
    crate::kit::git(&main, &["init", "-q"]);
    crate::kit::git(&main, &["commit", "-qm", "x", "--allow-empty"]);
    let tree = kit.path("tree");
    let made = crate::kit::git(&main, &["worktree", "add", "-q", &tree.display().to_string()]);
    assert!(made.status.success());
    kit.write("tree/file", "x");
    let taken = kit.take(When::Before);
    let told: Vec<_> =
        taken.left_out.iter().map(|left| (left.path.display().to_string(), left.why)).collect();
    assert_eq!(told, [("tree/.git".to_owned(), Why::RepositoryElsewhere)]);
    assert!(taken.is_whole);
}

#[test]
fn a_repository_that_the_run_made_goes_with_its_objects() {
    if !has_git() {
        return;
    }
    let kit = Kit::new();
    kit.write("a", "x");
    let original = kit.tree();
    let (before, _) = kit.run(|| repository(&kit, "made"));
    kit.restore(before);
    assert_eq!(kit.tree(), original);
}

#[test]
fn a_home_directory_that_ignores_everything_is_not_asked() {
    if !has_git() {
        return;
    }
    let kit = Kit::new();
    crate::kit::git(kit.dir.path(), &["init", "-q"]);
    std::fs::write(kit.dir.path().join(".gitignore"), "*\n").expect("a file");
    kit.write("project/file", "x");
    assert_eq!(kit.take(When::Before).files, 1);
}

#[test]
fn hooks_come_back_with_their_modes() {
    let kit = Kit::new();
    kit.write(".git/HEAD", "ref: refs/heads/main\n");
    kit.write(".git/hooks/pre-commit", "#!/bin/sh\n");
    kit.chmod(".git/hooks/pre-commit", 0o755);
    let (before, _) = kit.run(|| {
        kit.write(".git/hooks/pre-commit", "evil");
        kit.chmod(".git/hooks/pre-commit", 0o644);
        kit.write(".git/hooks/post-checkout", "evil");
    });
    kit.restore(before);
    assert_eq!(kit.read(".git/hooks/pre-commit"), b"#!/bin/sh\n");
    let mode = kit.path(".git/hooks/pre-commit").metadata().expect("metadata").permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    assert!(!kit.exists(".git/hooks/post-checkout"));
}
