//! Odd names, odd files, and files that change while they are read.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use checkpoint::{Budget, LeftOut, When, Why};

use crate::kit::{Kit, NOW_MS, label};

#[test]
fn any_name_is_a_name() {
    let kit = Kit::new();
    let names: [&[u8]; 10] = [
        b"new\nline",
        b"\xff\xfe invalid",
        b" ",
        b"-rf",
        b"*",
        b"a b/c\td",
        b"\"quoted\"",
        b".GIT/x",
        b"git~1",
        b"\\x",
    ];
    for name in names {
        kit.write(OsStr::from_bytes(name), name);
    }
    kit.write(OsStr::from_bytes(&[b'x'; 255]), "long");
    let original = kit.tree();
    let (before, _) = kit.run(|| {
        for entry in std::fs::read_dir(kit.root()).expect("a directory") {
            kit.remove(entry.expect("an entry").file_name());
        }
    });
    let restored = kit.restore(before);
    assert_eq!(restored.failed, []);
    assert_eq!(kit.tree(), original);
}

#[test]
fn an_ignore_file_without_end_is_not_honoured() {
    let kit = Kit::new();
    let patterns: String = (0..3_000).map(|at| format!("*{at}*x[ab]{at}*\n")).collect();
    kit.write(".gitignore", patterns + "kept\n");
    kit.write("kept", "x");
    assert_eq!(kit.take(When::Before).files, 2);
}

#[test]
fn links_are_kept_as_links() {
    let kit = Kit::new();
    let outside = kit.dir.path().join("outside");
    std::fs::create_dir(&outside).expect("a directory");
    std::fs::write(outside.join("secret"), "never read").expect("a file");
    symlink(&outside, kit.path("away")).expect("a link");
    symlink("loop", kit.path("loop")).expect("a link");
    symlink("nowhere", kit.path("dangling")).expect("a link");
    let taken = kit.take(When::Before);
    assert_eq!((taken.files, taken.is_whole), (3, true));
    let content = kit.at.content(taken.id, "away/secret".as_ref(), 100).expect("read");
    assert_eq!(content, None);
}

#[test]
fn a_workspace_given_by_a_link_is_the_place_it_leads_to() {
    let kit = Kit::new();
    kit.write("a", "x");
    symlink(kit.root(), kit.dir.path().join("alias")).expect("a link");
    let store = kit.dir.path().join("store");
    let at = checkpoint::Checkpoints::open(&store, &kit.dir.path().join("alias")).expect("a store");
    assert_eq!(at.workspace(), kit.at.workspace());
}

#[test]
fn hard_links_are_files_like_others() {
    let kit = Kit::on_disk();
    kit.write("a", "same");
    std::fs::hard_link(kit.path("a"), kit.path("b")).expect("a link");
    let original = kit.tree();
    let (before, _) = kit.run(|| kit.write("a", "changed through one name"));
    assert_eq!(kit.read("b"), b"changed through one name");
    let restored = kit.restore(before);
    assert_eq!((restored.failed, restored.conflicts), (vec![], vec![]));
    assert_eq!(kit.tree(), original);
}

#[test]
fn sockets_and_fifos_are_passed_by_without_waiting() {
    let kit = Kit::new();
    kit.write("a", "x");
    let made = Command::new("mkfifo").arg(kit.path("fifo")).status();
    let _socket = std::os::unix::net::UnixListener::bind(kit.path("socket")).expect("a socket");
    let taken = kit.take(When::Before);
    let special = |name: &str| LeftOut { path: PathBuf::from(name), why: Why::Special };
    let mut expected = vec![special("socket")];
    if made.is_ok_and(|status| status.success()) {
        expected.insert(0, special("fifo"));
    }
    assert_eq!(taken.left_out, expected);
    assert_eq!((taken.files, taken.is_whole), (1, true));
}

/// Root may read everything, so this runs the test again as nobody.
#[test]
fn what_cannot_be_read_is_said() {
    if rustix::process::geteuid().is_root() {
        return as_nobody("odd::what_cannot_be_read_is_said");
    }
    let kit = Kit::new();
    kit.write("secret", "x");
    kit.write("closed/inside", "x");
    kit.write("fine", "x");
    kit.chmod("secret", 0o000);
    kit.chmod("closed", 0o000);
    let taken = kit.take(When::Before);
    let told: Vec<_> =
        taken.left_out.iter().map(|left| (left.path.display().to_string(), left.why)).collect();
    assert_eq!(told, [("closed".to_owned(), Why::Unreadable), ("secret".to_owned(), Why::Unreadable)]);
    assert_eq!((taken.files, taken.is_whole), (1, false));
    kit.chmod("closed", 0o700);
}

/// Locked directories mean something only to somebody who is not root.
#[test]
fn an_ordinary_user_gets_everything_back() {
    if rustix::process::geteuid().is_root() {
        return as_nobody("odd::an_ordinary_user_gets_everything_back");
    }
    let kit = Kit::new();
    kit.write("locked/deep/file", "content");
    kit.chmod("locked/deep/file", 0o400);
    kit.chmod("locked/deep", 0o555);
    kit.chmod("locked", 0o500);
    let original = kit.tree();
    let (before, _) = kit.run(|| {
        kit.chmod("locked", 0o700);
        kit.chmod("locked/deep", 0o700);
        kit.write("locked/deep/more", "x");
        kit.remove("locked/deep/file");
        kit.chmod("locked/deep", 0o555);
        kit.chmod("locked", 0o500);
    });
    let restored = kit.restore(before);
    assert_eq!((restored.failed, restored.conflicts), (vec![], vec![]));
    assert_eq!(kit.tree(), original);
    kit.chmod("locked", 0o700);
    kit.chmod("locked/deep", 0o700);
}

/// What was closed to keep a restore out is opened again.
#[test]
fn closed_directories_are_opened_again() {
    if rustix::process::geteuid().is_root() {
        return as_nobody("odd::closed_directories_are_opened_again");
    }
    let kit = Kit::new();
    kit.write("a/b/c", "content");
    kit.write("a/d", "content");
    let original = kit.tree();
    let (before, _) = kit.run(|| {
        kit.write("a/b/c", "destroyed");
        kit.chmod("a/d", 0o000);
        kit.chmod("a/b", 0o000);
        kit.chmod("a", 0o000);
    });
    let restored = kit.restore(before);
    assert_eq!((restored.failed, restored.conflicts), (vec![], vec![]));
    assert_eq!(kit.tree(), original);
}

fn as_nobody(test: &str) {
    // The program may lie where nobody can read it, so it runs from a copy.
    let dir = tempfile::tempdir_in("/tmp").expect("a directory");
    let program = dir.path().join("it");
    std::fs::copy(std::env::current_exe().expect("a path"), &program).expect("a copy");
    let open = Command::new("chmod").arg("-R").arg("a+rx").arg(dir.path()).status().expect("chmod runs");
    assert!(open.success());
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
        .arg(&program)
        .args(["--exact", test])
        .current_dir("/")
        .env("TMPDIR", "/tmp")
        .output();
    let Ok(output) = output else { return };
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn owners_come_back_where_the_driver_is_root() {
    let kit = Kit::new();
    if !rustix::process::geteuid().is_root() {
        return;
    }
    kit.write("theirs", "x");
    std::os::unix::fs::chown(kit.path("theirs"), Some(1234), Some(2345)).expect("given away");
    let (before, _) = kit.run(|| kit.remove("theirs"));
    kit.restore(before);
    let metadata = kit.path("theirs").metadata().expect("metadata");
    assert_eq!((metadata.uid(), metadata.gid()), (1234, 2345));
}

/// Whatever a writer does meanwhile: no read fails, and what is kept is either of one moment or marked.
#[test]
fn files_that_change_while_they_are_read_are_of_one_moment_or_marked() {
    let kit = Kit::on_disk();
    let path = kit.path("busy");
    let page = |letter: u8| vec![letter; 3 * 1024 * 1024];
    std::fs::write(&path, page(b'a')).expect("a file");
    let stop = Arc::new(AtomicBool::new(false));
    let writer = {
        let (stop, path) = (stop.clone(), path.clone());
        std::thread::spawn(move || {
            let mut letter = b'a';
            while !stop.load(Ordering::Relaxed) {
                letter = if letter == b'z' { b'a' } else { letter + 1 };
                std::fs::write(&path, page(letter)).expect("a file");
            }
        })
    };
    for _ in 0..8 {
        let taken = kit.at.take(&label("r", When::Before), NOW_MS, &Budget::default()).expect("a checkpoint");
        let content = kit.at.content(taken.id, "busy".as_ref(), u64::MAX).expect("read");
        let marked = taken.left_out.iter().any(|left| left.why == Why::Torn);
        assert_eq!(taken.is_whole, !marked);
        let is_one_moment =
            content.as_ref().is_some_and(|content| content.iter().all(|byte| Some(byte) == content.first()));
        assert!(is_one_moment || marked, "{taken:?}");
    }
    stop.store(true, Ordering::Relaxed);
    writer.join().expect("joined");
    assert!(kit.take(When::After).is_whole);
}

/// A tree that is built and torn down meanwhile never makes the walk fail.
#[test]
fn a_moving_tree_can_be_walked() {
    let kit = Kit::on_disk();
    let stop = Arc::new(AtomicBool::new(false));
    let mover = {
        let (stop, root) = (stop.clone(), kit.root());
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                std::fs::create_dir_all(root.join("a/b/c")).expect("directories");
                std::fs::write(root.join("a/b/c/d"), "x").expect("a file");
                std::fs::rename(root.join("a"), root.join("z")).expect("moved");
                symlink("/etc", root.join("a")).expect("a link");
                std::fs::remove_file(root.join("a")).expect("removed");
                std::fs::remove_dir_all(root.join("z")).expect("removed");
            }
        })
    };
    for _ in 0..50 {
        let taken = kit.take(When::Before);
        assert!(taken.files <= 4, "{taken:?}");
    }
    stop.store(true, Ordering::Relaxed);
    mover.join().expect("joined");
}
