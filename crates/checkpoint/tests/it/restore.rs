//! Bringing back: what was destroyed comes back, and what somebody else did is not lost.

use std::os::unix::fs::{MetadataExt, symlink};
use std::path::PathBuf;

use checkpoint::{Restore, When};

use crate::kit::{Kit, tick, told};

fn forced() -> Restore {
    Restore { force: true, ..Default::default() }
}

fn project(kit: &Kit) {
    kit.write("src/main.rs", "fn main() {}\n");
    kit.write("src/deep/er/x.rs", "x");
    kit.write("run.sh", "#!/bin/sh\n");
    kit.chmod("run.sh", 0o750);
    kit.write("crlf.txt", "a\r\nb\r\n");
    std::fs::create_dir(kit.path("empty")).expect("a directory");
    symlink("src/main.rs", kit.path("link")).expect("a link");
}

#[test]
fn a_destroyed_workspace_comes_back() {
    let kit = Kit::on_disk();
    project(&kit);
    let original = kit.tree();
    let time = kit.path("run.sh").metadata().expect("metadata").mtime_nsec();
    let (before, _) = kit.run(|| {
        for name in ["src", "run.sh", "crlf.txt", "empty", "link"] {
            kit.remove(name);
        }
        kit.write("src", "a file where a directory was");
        kit.write("link/inside", "a directory where a link was");
        kit.write("made/by/run", "x");
    });
    let restored = kit.restore(before);
    assert_eq!((restored.conflicts.len(), restored.failed.len()), (0, 0), "{restored:?}");
    assert_eq!(kit.tree(), original);
    assert_eq!(kit.path("run.sh").metadata().expect("metadata").mtime_nsec(), time);
    assert!(restored.removed.contains(&PathBuf::from("made/by/run")));
}

#[test]
fn a_file_that_is_replaced_is_new_to_build_tools() {
    let kit = Kit::new();
    kit.write("a.c", "old");
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let file = std::fs::File::options().write(true).open(kit.path("a.c")).expect("open");
    file.set_modified(long_ago).expect("a time");
    let (before, _) = kit.run(|| kit.write("a.c", "new, and compiled"));
    kit.restore(before);
    assert_eq!(kit.read("a.c"), b"old");
    assert!(kit.path("a.c").metadata().expect("metadata").modified().expect("a time") > long_ago);
}

#[test]
fn a_restore_can_be_undone_and_done_again() {
    let kit = Kit::new();
    project(&kit);
    let original = kit.tree();
    let (before, _) = kit.run(|| {
        kit.remove("src");
        kit.write("made", "x");
        kit.write("crlf.txt", "other");
    });
    let destroyed = kit.tree();
    let undone = kit.restore(before);
    assert_eq!(kit.tree(), original);
    let redone = kit.restore(undone.before.expect("a checkpoint"));
    assert_eq!(redone.conflicts, []);
    assert_eq!(kit.tree(), destroyed);
    kit.restore(redone.before.expect("a checkpoint"));
    assert_eq!(kit.tree(), original);
}

#[test]
fn what_somebody_changed_after_the_run_is_asked_for() {
    let kit = Kit::on_disk();
    project(&kit);
    let (before, _) = kit.run(|| {
        kit.write("src/main.rs", "by the agent");
        kit.write("made", "by the agent");
        kit.write("run.sh", "by the agent");
    });
    tick(&kit);
    kit.write("src/main.rs", "by the person");
    kit.write("made", "by the person too");
    kit.write("new", "only by the person");
    let present = kit.tree();
    let asked = kit.restore(before);
    let paths: Vec<_> = asked.conflicts.iter().map(|conflict| conflict.path.display().to_string()).collect();
    assert_eq!(paths, ["made", "src/main.rs"]);
    assert_eq!(asked.after, None);
    assert_eq!(kit.tree(), present, "nothing happens until it is forced");

    let done = kit.restore_with(before, &forced());
    assert_eq!(done.failed, []);
    assert_eq!(kit.read("src/main.rs"), b"fn main() {}\n");
    assert!(!kit.exists("made"));
    assert_eq!(kit.read("new"), b"only by the person", "it was never the agent's");
    // And still nothing is lost.
    kit.restore_with(done.before.expect("a checkpoint"), &forced());
    assert_eq!(kit.tree(), present);
}

#[test]
fn without_a_checkpoint_after_the_run_its_end_must_be_known() {
    let kit = Kit::new();
    kit.write("a", "1");
    let before = kit.take(When::Before).id;
    kit.write("a", "2");
    kit.write("made", "perhaps by somebody else");
    let asked = kit.restore(before);
    assert_eq!(asked.conflicts.len(), 1);
    let far_ms = 4_000_000_000_000;
    let how = Restore { ended_ms: Some(far_ms), ..Default::default() };
    assert_eq!(kit.restore_with(before, &how).conflicts, []);
    assert_eq!(kit.read("a"), b"1");
    assert!(kit.exists("made"), "nobody knows that the run made it");
}

#[test]
fn only_the_named_paths_come_back() {
    let kit = Kit::new();
    project(&kit);
    let (before, _) = kit.run(|| {
        kit.remove("src");
        kit.remove("crlf.txt");
        kit.write("made", "x");
    });
    let paths = Some(vec![PathBuf::from("src/deep/er"), kit.path("made")]);
    let restored = kit.restore_with(before, &Restore { paths, ..Default::default() });
    assert_eq!(restored.failed, []);
    assert_eq!(kit.read("src/deep/er/x.rs"), b"x");
    assert!(!kit.exists("src/main.rs") && !kit.exists("crlf.txt") && !kit.exists("made"));
    for outside in ["../x", "/etc/passwd"] {
        let how = Restore { paths: Some(vec![outside.into()]), ..Default::default() };
        let error = kit.at.restore(before, &how, 0, &Default::default()).expect_err("outside");
        assert!(error.to_string().contains("not a path inside the workspace"), "{error}");
    }
}

#[test]
fn no_link_is_followed_out_of_the_workspace() {
    let kit = Kit::new();
    project(&kit);
    let original = kit.tree();
    let outside = kit.dir.path().join("outside");
    std::fs::create_dir(&outside).expect("a directory");
    std::fs::write(outside.join("main.rs"), "canary").expect("a file");
    let (before, _) = kit.run(|| {
        kit.remove("src");
        symlink(&outside, kit.path("src")).expect("a link");
        kit.remove("crlf.txt");
        symlink(outside.join("main.rs"), kit.path("crlf.txt")).expect("a link");
    });
    let restored = kit.restore(before);
    assert_eq!((restored.failed, restored.conflicts), (vec![], vec![]));
    assert_eq!(kit.tree(), original);
    assert_eq!(std::fs::read(outside.join("main.rs")).expect("a file"), b"canary");
    assert_eq!(std::fs::read_dir(&outside).expect("a directory").count(), 1);
}

#[test]
fn modes_come_back_and_locked_directories_do_not_stop_it() {
    let kit = Kit::new();
    kit.write("locked/file", "content");
    kit.write("open", "x");
    kit.chmod("locked/file", 0o400);
    kit.chmod("locked", 0o500);
    let original = kit.tree();
    let (before, _) = kit.run(|| {
        kit.chmod("open", 0o4777);
        kit.chmod("locked", 0o700);
        kit.write("locked/more", "x");
        kit.remove("locked/file");
        kit.chmod("locked", 0o500);
    });
    let restored = kit.restore(before);
    assert_eq!(restored.failed, []);
    assert_eq!(kit.tree(), original);
    kit.chmod("locked", 0o700);
}

#[test]
fn ignored_files_are_left_alone() {
    let kit = Kit::new();
    kit.write(".gitignore", "*.log\nout/\n");
    kit.write("a.log", "before");
    kit.write("out/x", "before");
    kit.write("kept", "before");
    let (before, after) = kit.run(|| {
        kit.write("a.log", "after");
        kit.write("out/y", "after");
        kit.write("kept", "after");
        kit.write("b.log", "after");
    });
    assert_eq!(told(&kit.at.diff(before, after).expect("a diff")), ["~kept"]);
    kit.restore(before);
    assert_eq!((kit.read("kept"), kit.read("a.log")), (b"before".to_vec(), b"after".to_vec()));
    assert!(kit.exists("out/y") && kit.exists("b.log"));
}

#[test]
fn having_files_ignored_does_not_hide_what_was_done_to_them() {
    let kit = Kit::new();
    kit.write("data/notes", "precious");
    kit.write("a", "1");
    kit.write("secret.log", "mine");
    kit.write(".gitignore", "*.log\n");
    let original = kit.tree();
    let (before, after) = kit.run(|| {
        kit.write(".gitignore", "*\n");
        kit.write("data/notes", "gone");
        kit.remove("a");
    });
    assert_eq!(told(&kit.at.diff(before, after).expect("a diff")), ["~.gitignore", "-a", "~data/notes"]);
    kit.restore(before);
    assert_eq!(kit.tree(), original);
}

#[test]
fn rules_that_a_run_wrote_lose_nothing_in_the_next_one() {
    let kit = Kit::new();
    kit.write("data/notes", "precious");
    kit.write("a", "1");
    symlink("a", kit.path("link")).expect("a link");
    kit.write("secret.log", "mine");
    kit.write(".gitignore", "*.log\n");
    kit.run(|| {
        kit.write(".gitignore", "*\n");
        kit.write("made/by/the/run", "x");
    });
    // A person goes on working, under rules that the agent wrote.
    kit.write("data/more", "person");
    kit.write("new/plan.txt", "person");
    kit.write("node_modules/x/index.js", "of a tool");
    kit.write("tagged/CACHEDIR.TAG", "Signature");
    kit.write("large", vec![b'x'; 2_000_000]);
    let original = kit.tree();
    for _ in 0..2 {
        let (before, _) = kit.run(|| {
            for name in ["data", "a", "link", "new"] {
                kit.remove(name);
            }
        });
        kit.restore(before);
        let now = kit.tree();
        let lost: Vec<_> = original.iter().filter(|(path, seen)| now.get(*path) != Some(seen)).collect();
        assert!(lost.is_empty() && now.len() == original.len(), "{lost:?} {:?}", now.keys());
        let ignored: Vec<_> = kit.at.ignored(before).expect("names");
        for name in ["made", "node_modules", "tagged", "large", "secret.log"] {
            assert!(ignored.contains(&name.into()), "{name}: {ignored:?}");
        }
    }
}

#[test]
fn a_person_can_begin_anew_with_rules_of_their_own() {
    let kit = Kit::new();
    kit.write("data/large", "1");
    kit.write("a", "1");
    kit.run(|| ());
    kit.write(".gitignore", "data/\n");
    assert_eq!(kit.take(When::Before).files, 3);
    assert_eq!(kit.at.forget().expect("removed").removed.len(), 3);
    assert_eq!(kit.at.list().expect("a list").len(), 0);
    assert_eq!(kit.take(When::Before).files, 2);
}

#[test]
fn what_was_ignored_before_is_not_taken_for_made_by_the_run() {
    let kit = Kit::new();
    kit.write(".gitignore", "*.log\nout/\n");
    kit.write("a.log", "mine");
    kit.write("out/deep/b", "mine");
    let (before, _) = kit.run(|| kit.remove(".gitignore"));
    let restored = kit.restore(before);
    assert_eq!((restored.conflicts.len(), restored.removed.len()), (0, 0), "{restored:?}");
    assert!(kit.exists("a.log") && kit.exists("out/deep/b"));
}

#[test]
fn a_run_is_taken_back_but_for_what_somebody_changed_since() {
    let kit = Kit::new();
    for name in ["changed", "deleted", "disputed", "kept", "mine"] {
        kit.write(name, "old");
    }
    let (before, _) = kit.run(|| {
        kit.write("changed", "by the run");
        kit.remove("deleted");
        kit.write("disputed", "by the run");
        kit.write("kept", "by the run");
        kit.write("made/by/run", "x");
    });
    tick(&kit);
    kit.write("disputed", "mine since");
    kit.write("mine", "mine since");
    let how = Restore { of_run: true, except: vec!["kept".into()], dry_run: true, ..Default::default() };
    let present = kit.tree();
    let planned = kit.restore_with(before, &how);
    assert_eq!((planned.before, planned.after), (None, None));
    assert_eq!(kit.tree(), present, "a dry run changes nothing");
    let done = kit.restore_with(before, &Restore { dry_run: false, ..how });
    assert_eq!((&done.written, &done.removed), (&planned.written, &planned.removed));
    assert_eq!(done.conflicts, planned.conflicts);
    assert_eq!(
        done.conflicts.iter().map(|one| one.path.clone()).collect::<Vec<_>>(),
        [PathBuf::from("disputed")]
    );
    let now = ["changed", "deleted", "disputed", "kept", "mine"].map(|name| kit.read(name));
    assert_eq!(now, [&b"old"[..], b"old", b"mine since", b"by the run", b"mine since"].map(<[u8]>::to_vec));
    assert!(!kit.exists("made"), "directories that the run made go with what was in them");
}
