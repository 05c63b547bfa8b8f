//! What a checkpoint holds, and what it costs when nothing changed.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use checkpoint::{Budget, Checkpoints, Error, When};

use crate::kit::{Kit, NOW_MS, label, told};

#[test]
fn files_directories_and_links_are_told_apart() {
    let kit = Kit::new();
    kit.write("a.txt", "one");
    kit.write("dir/b.txt", "two");
    std::fs::create_dir(kit.path("empty")).expect("a directory");
    symlink("/etc/passwd", kit.path("link")).expect("a link");
    let first = kit.take(When::Before);
    assert_eq!((first.files, first.bytes, first.is_whole), (3, 6 + 11, true));

    kit.write("a.txt", "other");
    kit.remove("empty");
    kit.chmod("dir/b.txt", 0o755);
    kit.remove("link");
    kit.write("link", "now a file");
    kit.write("new/c", "");
    let second = kit.take(When::After);
    let changes = kit.at.diff(first.id, second.id).expect("a diff");
    assert_eq!(told(&changes), ["~a.txt", "mdir/b.txt", "-empty", "klink", "+new/c"]);
    assert_eq!(
        kit.at.content(first.id, Path::new("link"), 100).expect("read"),
        Some(b"/etc/passwd".to_vec())
    );
}

#[test]
fn the_present_is_compared_without_a_checkpoint() {
    let kit = Kit::new();
    kit.write("a", "1");
    let id = kit.take(When::Before).id;
    kit.write("a", "2");
    kit.write("b", "new");
    let changes = kit.at.diff_present(id, &Budget::default()).expect("a diff");
    assert_eq!(told(&changes), ["~a", "+b"]);
    assert_eq!(kit.at.list().expect("a list").len(), 1);
}

#[test]
fn an_unchanged_workspace_adds_nothing() {
    let kit = Kit::new();
    for at in 0..50 {
        kit.write(format!("d{}/f{at}", at % 7), format!("content {at}"));
    }
    let first = kit.take(When::Before);
    let second = kit.take(When::After);
    assert!(first.added_bytes > 0);
    assert_eq!((second.added_bytes, second.files), (0, 50));
    assert!(second.id > first.id);
    let list = kit.at.list().expect("a list");
    assert_eq!(list[0].commit, list[1].commit);
}

#[test]
fn a_change_that_keeps_length_and_time_is_noticed() {
    let kit = Kit::on_disk();
    kit.write("a", "1234");
    let first = kit.take(When::Before).id;
    let time = std::fs::metadata(kit.path("a")).expect("metadata").modified().expect("a time");
    kit.write("a", "4321");
    std::fs::File::options()
        .write(true)
        .open(kit.path("a"))
        .expect("open")
        .set_modified(time)
        .expect("a time");
    let second = kit.take(When::After).id;
    assert_eq!(told(&kit.at.diff(first, second).expect("a diff")), ["~a"]);
}

#[test]
fn only_the_owner_can_enter_the_store() {
    let kit = Kit::new();
    let store = kit.dir.path().join("store");
    let mode = |path: &Path| path.metadata().expect("metadata").permissions().mode() & 0o777;
    assert_eq!(mode(&store), 0o700);
    std::fs::set_permissions(&store, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    Checkpoints::open(&store, &kit.root()).expect("opened again");
    assert_eq!(mode(&store), 0o700);
}

#[test]
fn store_and_workspace_must_be_apart() {
    let kit = Kit::new();
    let inside = Checkpoints::open(&kit.path("store"), &kit.root());
    assert!(matches!(inside, Err(Error::Overlap { .. })), "{inside:?}");
    let around = Checkpoints::open(kit.dir.path(), &kit.root());
    assert!(matches!(around, Err(Error::Overlap { .. })), "{around:?}");
    // By another name of the same place.
    symlink(kit.root(), kit.dir.path().join("alias")).expect("a link");
    let alias = Checkpoints::open(&kit.dir.path().join("alias/s"), &kit.root());
    assert!(matches!(alias, Err(Error::Overlap { .. })), "{alias:?}");
}

#[test]
fn a_workspace_that_is_none_is_said_in_words() {
    let kit = Kit::new();
    kit.write("file", "");
    for name in ["missing", "file"] {
        let error =
            Checkpoints::open(&kit.dir.path().join("store"), &kit.path(name)).expect_err("no workspace");
        assert!(error.to_string().starts_with("no checkpoint could be taken because"), "{error}");
    }
    let error = kit.at.left_out(checkpoint::Id(77)).expect_err("none");
    assert!(error.to_string().contains("there is no checkpoint 77"), "{error}");
}

#[test]
fn two_workspaces_of_one_store_do_not_meet() {
    let kit = Kit::new();
    kit.write("a", "1");
    std::fs::create_dir(kit.dir.path().join("other")).expect("a directory");
    let other =
        Checkpoints::open(&kit.dir.path().join("store"), &kit.dir.path().join("other")).expect("a store");
    kit.take(When::Before);
    assert_eq!(other.list().expect("a list"), []);
    let taken = other.take(&label("r", When::Before), NOW_MS, &Budget::default()).expect("a checkpoint");
    assert_eq!(taken.files, 0);
}

#[test]
fn another_one_under_way_is_waited_for_so_long_only() {
    let kit = Kit::new();
    let clock = base::clock::Clock::manual(0);
    let at = kit.at.clone().with_clock(clock.clone());
    let lock = kit.at.repository().parent().expect("a parent").join("lock");
    let held = std::fs::File::options().create(true).truncate(false).write(true).open(lock).expect("a lock");
    held.lock().expect("locked");
    let waiting = std::thread::spawn(move || at.take(&label("r", When::Before), NOW_MS, &Budget::default()));
    while !waiting.is_finished() {
        clock.advance(1_000);
        std::thread::yield_now();
    }
    assert!(matches!(waiting.join().expect("joined"), Err(Error::Busy)));
    drop(held);
    kit.take(When::Before);
}

#[test]
fn results_are_written_as_json_whatever_the_names() {
    use std::os::unix::ffi::OsStrExt;
    let kit = Kit::new();
    let (before, after) = kit.run(|| kit.write(std::ffi::OsStr::from_bytes(b"odd\xff\nname"), "x"));
    let text = serde_json::to_string(&kit.at.diff(before, after).expect("a diff")).expect("JSON");
    assert!(text.contains(r"odd\\xff\\nname") && text.contains(r#""added""#), "{text}");
    let text = serde_json::to_string(&kit.restore(before)).expect("JSON");
    assert!(text.contains(r#""removed":["odd"#), "{text}");
}
