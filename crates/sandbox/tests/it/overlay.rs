//! Rehearsals: a command runs on a copy, what it would have done is read, and put in place exactly.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use sandbox::overlay::{self, Change, ChangeKind, Entry};
use sandbox::{Outcome, Overlay};

use crate::stage::{Done, SECRET, Stage};

/// Runs a script on a copy of the workspace.
fn rehearse(stage: &Stage, script: &str) -> (Done, Vec<Change>) {
    let (upper, work) = (stage.root.join("upper"), stage.root.join("kernel"));
    for path in [&upper, &work] {
        fs::create_dir_all(path).expect("a directory");
    }
    let mut spec = stage.spec(&["/bin/sh", "-c", script]);
    spec.read_only.clear();
    spec.overlays = vec![Overlay {
        target: stage.workspace.clone(),
        upper: upper.clone(),
        work: work.clone(),
        kept: false,
    }];
    let done = stage.run(&spec);
    assert_eq!(done.outcome, Outcome::Started, "{done:?}");
    let changes = overlay::changes(&stage.workspace, &upper).expect("changes");
    (done, changes)
}

fn told(changes: &[Change]) -> BTreeMap<&Path, ChangeKind> {
    changes.iter().map(|change| (change.path.as_path(), change.kind)).collect()
}

fn expected(list: &[(&'static str, ChangeKind)]) -> BTreeMap<&'static Path, ChangeKind> {
    list.iter().map(|(path, kind)| (Path::new(*path), *kind)).collect()
}

/// A tree as text: names, modes, contents.
fn tree(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(path) = open.pop() {
        let stat = fs::symlink_metadata(&path).expect("a file");
        let content = if stat.is_symlink() {
            format!("-> {}", fs::read_link(&path).expect("a link").display())
        } else if stat.is_file() {
            format!("{:o} {}", stat.permissions().mode(), fs::read_to_string(&path).expect("text"))
        } else {
            open.extend(fs::read_dir(&path).expect("a list").map(|entry| entry.expect("an entry").path()));
            format!("{:o}/", stat.permissions().mode())
        };
        found.insert(path.strip_prefix(root).expect("inside").to_owned(), content);
    }
    found
}

fn furnish(stage: &Stage) {
    for (path, text) in [
        ("keep", "keep"),
        ("change", "before"),
        ("delete", "x"),
        ("mode", "x"),
        ("touch", "x"),
        ("to-link", "x"),
        ("to-directory", "x"),
        ("dir/one", "1"),
        ("dir/two", "2"),
        ("rebuilt/old", "old"),
        ("rebuilt/same", "same"),
        ("to-file/deep/x", "x"),
        ("gone/deep/x", "x"),
    ] {
        stage.write(Path::new("work").join(path), text);
    }
}

const SCRIPT: &str = "set -e; echo after > change; rm delete; chmod 755 mode; touch touch; echo new > new; \
    rm to-link; ln -s keep to-link; rm to-directory; mkdir to-directory; echo y > to-directory/y; \
    mkdir -p made/deep; echo z > made/deep/z; chmod 700 made; rm dir/one; echo 3 > dir/three; \
    rm -r rebuilt; mkdir rebuilt; echo same > rebuilt/same2; printf same > rebuilt/same; \
    rm -r to-file; echo f > to-file; rm -r gone; echo t > temporary; rm temporary; ln -s /nowhere dangling";

#[test]
fn every_kind_of_change_is_told_and_put_in_place() {
    use ChangeKind::{Changed, Created, Deleted, Mode, Replaced};
    let stage = Stage::new();
    furnish(&stage);
    let before = tree(&stage.workspace);
    let (done, changes) = rehearse(&stage, &format!("{SCRIPT}; echo all; ls -R . > /tmp/list"));
    assert_eq!((done.code, done.out.as_str()), (Some(0), "all\n"), "{done:?}");
    assert_eq!(tree(&stage.workspace), before, "nothing changed yet");
    let list = [
        ("change", Changed),
        ("dangling", Created),
        ("delete", Deleted),
        ("dir/one", Deleted),
        ("dir/three", Created),
        ("gone", Deleted),
        ("made", Created),
        ("made/deep", Created),
        ("made/deep/z", Created),
        ("mode", Mode),
        ("new", Created),
        ("rebuilt/old", Deleted),
        ("rebuilt/same2", Created),
        ("to-directory", Replaced),
        ("to-directory/y", Created),
        ("to-file", Replaced),
        ("to-link", Replaced),
    ];
    assert_eq!(told(&changes), expected(&list));
    let change = changes.iter().find(|change| change.path == Path::new("change")).expect("one");
    assert_eq!(change.after, Some(Entry::File { bytes: 6, mode: 0o644 }));
    // The same script for real, on a copy, is what applying must come to.
    let real = stage.root.join("real");
    let copied = std::process::Command::new("cp").arg("-a").arg(&stage.workspace).arg(&real).status();
    assert!(copied.expect("cp").success());
    let ran = std::process::Command::new("/bin/sh").args(["-c", SCRIPT]).current_dir(&real).status();
    assert!(ran.expect("sh").success());
    overlay::apply(&stage.workspace, &stage.root.join("upper"), &changes).expect("applied");
    assert_eq!(tree(&stage.workspace), tree(&real));
}

#[test]
fn what_was_changed_meanwhile_is_not_overwritten() {
    let stage = Stage::new();
    furnish(&stage);
    let upper = stage.root.join("upper");
    let (_, changes) = rehearse(&stage, SCRIPT);
    for (path, text) in
        [("change", "by somebody"), ("new", "by somebody"), ("delete", "y"), ("gone/new", "y")]
    {
        let whole = stage.workspace.join(path);
        let kept = fs::read(&whole).ok();
        stage.write(Path::new("work").join(path), text);
        let before = tree(&stage.workspace);
        let refused = overlay::apply(&stage.workspace, &upper, &changes).expect_err("somebody changed it");
        assert!(refused.to_string().contains("meanwhile"), "{path}: {refused}");
        assert_eq!(tree(&stage.workspace), before, "{path}");
        match kept {
            Some(bytes) => fs::write(&whole, bytes).expect("a file"),
            None => fs::remove_file(&whole).expect("a file"),
        }
    }
}

#[test]
fn a_change_of_the_tree_is_noticed_by_time() {
    let stage = Stage::new();
    // A moment that lies far enough behind what was made just now.
    let made = fs::metadata(stage.workspace.join("file")).expect("a file").modified().expect("a time");
    let later = made + std::time::Duration::from_secs(3600);
    assert_eq!(overlay::changed_since(&stage.workspace, later).expect("a scan"), None);
    assert!(overlay::changed_since(&stage.workspace, made).expect("a scan").is_some());
}

#[test]
fn links_in_the_way_lead_nowhere() {
    let stage = Stage::new();
    stage.write("work/dir/one", "1");
    let (_, changes) = rehearse(&stage, "echo x > dir/two; echo y > dir/file");
    // Somebody puts a link where the directory was.
    fs::rename(stage.workspace.join("dir"), stage.workspace.join("moved")).expect("a rename");
    std::os::unix::fs::symlink(&stage.outside, stage.workspace.join("dir")).expect("a link");
    let before = stage.canaries();
    assert!(overlay::apply(&stage.workspace, &stage.root.join("upper"), &changes).is_err());
    assert_eq!(stage.canaries(), before);
}

#[test]
fn marks_planted_by_a_command_are_not_believed() {
    let stage = Stage::new();
    stage.write("work/dir/one", "1");
    let planted =
        ["user.overlay.redirect", "user.overlay.metacopy", "user.overlay.opaque", "user.overlay.whiteout"];
    for name in planted {
        for path in ["dir", "file"] {
            let value = if name.ends_with("redirect") { "/outside/keys" } else { "y" };
            let whole = stage.workspace.join(path);
            // Not every file system has attributes; then there is nothing to plant.
            if rustix::fs::setxattr(&whole, name, value.as_bytes(), rustix::fs::XattrFlags::empty()).is_err()
            {
                return;
            }
        }
        let (done, changes) =
            rehearse(&stage, "cat dir/* file keys ../outside/keys; echo x >> file; echo y > dir/new");
        assert!(!done.out.contains(SECRET), "{name}: {done:?}");
        let outside =
            changes.iter().find(|change| change.path.is_absolute() || change.path.starts_with(".."));
        assert_eq!(outside, None, "{name}");
        for path in ["dir", "file"] {
            rustix::fs::removexattr(stage.workspace.join(path), name).expect("an attribute");
        }
        for left in ["upper", "kernel"] {
            overlay::discard(&stage.root.join(left)).expect("removed");
        }
    }
}

#[test]
fn what_is_somebody_elses_is_not_writable_in_a_rehearsal_either() {
    if unsafe { libc::getuid() } == 0 {
        // Root's own view of other people's files is the other case: they cannot be copied up.
        return;
    }
    let stage = Stage::new();
    let (upper, work) = (stage.root.join("upper2"), stage.root.join("kernel2"));
    for path in [&upper, &work] {
        fs::create_dir_all(path).expect("a directory");
    }
    let mut spec = stage.spec(&["/bin/sh", "-c", "touch /usr/share/x"]);
    spec.overlays = vec![Overlay { target: "/usr/share".into(), upper, work, kept: false }];
    assert_ne!(stage.run(&spec).code, Some(0));
}
