//! Tests of the journal on a real disk: what it says, what it lets go, and what becomes of it after the end of a run.

mod after;
mod changes;
mod power;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use base::clock::Clock;
use base::limits;
use protocol::identity::ProcessIdentity;
use protocol::ids::{Gid, Uid};
use tempfile::TempDir;

use super::Disk;
use super::meta::Meta;
use super::walk::{Entry, Found};
use crate::path::VPath;
use crate::view::{Follow, Writing};
use journal::{BootId, Identity, JOURNAL, Written, inspect};

const NOW: BootId = [1; 16];
const LATER: BootId = [2; 16];

fn root() -> ProcessIdentity {
    ProcessIdentity {
        uid: Uid::ROOT,
        gid: Gid::ROOT,
        gids: vec![Gid::ROOT],
        username: "root".into(),
        home: "/root".into(),
        cwd: "/".into(),
        workspace_id: None,
    }
}

/// A disk in a fresh directory, which outlives it.
struct Ground {
    data: TempDir,
    disk: Option<Disk>,
}

impl Ground {
    /// One whose journal holds what it holds until it is told otherwise, however slow the machine is.
    fn new() -> Ground {
        let ground = Ground::tended();
        ground.disk().journal.hold();
        ground
    }

    /// One that makes its files durable by itself.
    fn tended() -> Ground {
        let data = tempfile::tempdir().unwrap();
        let disk = Disk::open_in(data.path(), Clock::system(), Some(NOW)).unwrap();
        Ground { data, disk: Some(disk) }
    }

    fn disk(&self) -> &Disk {
        self.disk.as_ref().unwrap()
    }

    /// Ends the run as a kill does.
    fn kill(&mut self) {
        self.disk.take().unwrap().journal.abandon();
    }

    fn open(&mut self, boot: BootId) {
        self.disk = Some(Disk::open_in(self.data.path(), Clock::system(), Some(boot)).unwrap());
    }

    fn host(&self, path: &str) -> std::path::PathBuf {
        self.data.path().join(path.trim_start_matches('/'))
    }

    fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.host(path)).ok()
    }

    fn entry(&self, path: &str) -> Entry {
        entry(self.disk(), path)
    }

    fn write(&self, path: &str, text: &str) {
        write(self.disk(), path, text.as_bytes());
    }

    /// The paths that are durable by their records only.
    fn pending(&self) -> Vec<String> {
        self.disk().journal.pending()
    }

    /// What the records on disk would do: contents by path.
    fn logged(&self) -> BTreeMap<String, String> {
        logged(self.data.path())
    }

    fn checkpoint(&self) {
        self.disk().journal.checkpoint();
    }
}

fn logged(files: &Path) -> BTreeMap<String, String> {
    let Ok(dir) = File::open(files.join(JOURNAL)) else { return BTreeMap::new() };
    let contents = inspect::records_in(&dir.into()).unwrap();
    contents.into_iter().map(|(path, text)| (path, String::from_utf8(text).unwrap())).collect()
}

fn entry(disk: &Disk, path: &str) -> Entry {
    match disk.find(&root(), &VPath::absolute(path).unwrap(), Follow::No).unwrap() {
        Found::Entry(entry) => entry,
        _ => panic!("{path} is no entry"),
    }
}

fn write(disk: &Disk, path: &str, bytes: &[u8]) {
    disk.replace(&root(), &entry(disk, path), Writing::default(), |draft| draft.add(bytes)).unwrap();
}

fn pairs(expected: &[(&str, &str)]) -> BTreeMap<String, String> {
    expected.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect()
}

#[test]
fn a_small_write_is_in_the_journal_and_a_large_one_is_not() {
    let ground = Ground::new();
    ground.write("/tmp/small", "one");
    ground.write("/tmp/small", "two");
    ground.write("/tmp/empty", "");
    let most = "x".repeat(limits::files::JOURNAL_CONTENT_MAX_BYTES);
    ground.write("/tmp/most", &most);
    ground.write("/tmp/large", &"x".repeat(limits::files::JOURNAL_CONTENT_MAX_BYTES + 1));
    let edit = |text: Vec<u8>| Ok::<_, ()>(([&text[..], b"!"].concat(), ()));
    ground.disk().edit(&root(), &ground.entry("/tmp/small"), edit).unwrap().unwrap();
    assert_eq!(ground.pending(), ["/tmp/empty", "/tmp/most", "/tmp/small"]);
    assert_eq!(ground.logged(), pairs(&[("/tmp/empty", ""), ("/tmp/most", &most), ("/tmp/small", "two!")]));
    assert_eq!(ground.read("/tmp/small").unwrap(), "two!");
    let names = std::fs::read_dir(ground.host("/tmp")).unwrap().count();
    assert_eq!(names, 4, "what was replaced is gone");
}

#[test]
fn a_checkpoint_leaves_nothing_and_so_does_a_clean_stop() {
    let mut ground = Ground::new();
    ground.write("/tmp/a", "one");
    ground.checkpoint();
    assert_eq!((ground.pending().len(), ground.logged().len()), (0, 0));
    ground.write("/tmp/a", "two");
    ground.disk = None;
    assert_eq!(ground.logged().len(), 0);
    assert_eq!(ground.read("/tmp/a").unwrap(), "two");
}

#[test]
fn what_is_pending_becomes_durable_by_itself() {
    let ground = Ground::tended();
    ground.write("/tmp/a", "one");
    let began = Clock::system().instant();
    while !ground.pending().is_empty() {
        assert!(began.elapsed() < limits::files::JOURNAL_WAIT);
        std::thread::sleep(limits::files::DIRECTORY_SYNC_DELAY);
    }
    assert_eq!(ground.logged().len(), 0);
}

#[test]
fn many_writers_share_the_journal_while_its_files_change_places() {
    let mut ground = Ground::tended();
    let (threads, rounds) = (8, 60);
    let text = |thread: usize, round: usize| format!("{thread} {round} {}", "x".repeat(20_000));
    let disk = ground.disk();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                for round in 0..rounds {
                    write(disk, &format!("/tmp/own-{thread}-{}", round % 3), text(thread, round).as_bytes());
                    write(disk, "/tmp/shared", text(thread, round).as_bytes());
                }
            });
        }
    });
    let expected: Vec<(String, String)> = (0..threads)
        .flat_map(|thread| {
            (rounds - 3..rounds)
                .map(move |round| (format!("/tmp/own-{thread}-{}", round % 3), text(thread, round)))
        })
        .collect();
    let shared = ground.read("/tmp/shared").unwrap();
    assert!(ground.disk().journal.next_epoch().unwrap() > 3, "20 MB do not fit into one file");
    ground.kill();
    for path in logged(ground.data.path()).keys() {
        std::fs::remove_file(ground.host(path)).unwrap();
    }
    ground.open(LATER);
    for (path, text) in expected {
        assert!(ground.read(&path).unwrap() == text, "{path}");
    }
    assert!(ground.read("/tmp/shared").unwrap() == shared);
}

#[test]
fn while_both_files_are_in_use_writes_go_the_ordinary_way() {
    let ground = Ground::new();
    ground.write("/tmp/a", "one");
    let journal = &ground.disk().journal;
    // Somebody is not done with a record, so that its file cannot be cleaned.
    let first = journal.add_note("/none").unwrap();
    let fill = |spare: u64| {
        let filler = "x".repeat(4_000);
        while journal.room().unwrap() >= spare + 8_000 {
            journal.add_note(&filler).unwrap();
        }
    };
    fill(limits::files::JOURNAL_SPARE_BYTES);
    let text = "y".repeat(20_000);
    ground.write("/tmp/b", &text);
    let second = journal.add_note("/none").unwrap();
    fill(limits::files::JOURNAL_SPARE_BYTES);
    ground.write("/tmp/c", &text);
    assert!(ground.read("/tmp/c").unwrap() == text);
    assert!(!ground.pending().contains(&"/tmp/c".to_string()));
    // Notes fit all the same.
    ground.disk().remove(&root(), &ground.entry("/tmp/b"), false).unwrap();
    drop((first, second));
    ground.checkpoint();
    ground.write("/tmp/d", "four");
    assert_eq!(ground.pending(), ["/tmp/d"]);
}

#[test]
fn a_broken_journal_loses_nothing() {
    let mut ground = Ground::new();
    ground.write("/tmp/a", "one");
    // Nothing can be written to a file that is open for reading.
    ground.disk().journal.swap_first(File::open(ground.host(JOURNAL).join("0")).unwrap());
    ground.write("/tmp/a", "two");
    ground.write("/tmp/b", "three");
    ground.disk().remove(&root(), &ground.entry("/tmp/b"), false).unwrap();
    assert_eq!(ground.read("/tmp/a").unwrap(), "two");
    assert!(ground.disk().journal.is_off());
    assert_eq!(std::fs::read_dir(ground.host(JOURNAL)).unwrap().count(), 0);
    ground.kill();
    ground.open(LATER);
    assert_eq!((ground.read("/tmp/a").unwrap(), ground.read("/tmp/b")), ("two".into(), None));
    ground.write("/tmp/a", "four");
    assert_eq!(ground.pending(), ["/tmp/a"]);
}

#[test]
fn where_it_cannot_be_made_writes_go_on() {
    let ground = Ground::new();
    std::fs::write(ground.host(JOURNAL), b"in the way").unwrap();
    ground.write("/tmp/a", "one");
    ground.write("/tmp/a", "two");
    assert_eq!(ground.read("/tmp/a").unwrap(), "two");
    assert_eq!(ground.pending().len(), 0);
}

#[test]
fn a_second_gateway_leaves_the_journal_of_the_first_alone() {
    let mut ground = Ground::new();
    ground.write("/tmp/a", "one");
    let second = Disk::open_in(ground.data.path(), Clock::system(), Some(LATER)).unwrap();
    write(&second, "/tmp/b", b"two");
    drop(second);
    assert_eq!(ground.logged(), pairs(&[("/tmp/a", "one")]));
    ground.write("/tmp/c", "three");
    ground.kill();
    std::fs::remove_file(ground.host("/tmp/c")).unwrap();
    ground.open(LATER);
    assert_eq!(ground.read("/tmp/c").unwrap(), "three");
}

#[test]
fn a_write_that_fails_after_its_record_does_not_happen_later() {
    let ground = Ground::new();
    ground.write("/tmp/a", "one");
    let entry = ground.entry("/tmp/a");
    let (id, journal) = (entry.dir.id().unwrap(), &ground.disk().journal);
    let placed = there_identity(&ground, "/tmp/a");
    let attributes = Meta::root(0o644).into();
    let path = "/tmp/a".to_string();
    let written = Written { path, attributes, replaced: None, placed, content: b"two".to_vec() };
    let permit = journal.begin_write().unwrap();
    let guard = permit.add(written).unwrap();
    guard.commit().unwrap();
    assert_eq!(ground.logged(), pairs(&[("/tmp/a", "two")]));
    journal.withdraw(guard, id, entry.os_name(), "/tmp/a");
    assert_eq!((ground.logged().len(), ground.pending().len()), (0, 0));
}

fn there_identity(ground: &Ground, path: &str) -> Identity {
    let there = ground.entry(path).there.unwrap();
    there.identity()
}

#[test]
fn it_is_not_gone_through_with_the_tree() {
    let ground = Ground::new();
    ground.write("/tmp/a", "text");
    assert!(ground.host(JOURNAL).join("0").exists());
    let (mut bytes, disk) = (0, ground.disk());
    let mut add = |there: &super::dir::OpenEntry| {
        bytes += if there.is_directory() { 0 } else { there.stat.size };
        Ok(())
    };
    disk.traverse(disk.top(), &mut add, &mut |_, fail| Err(fail)).unwrap();
    assert_eq!(bytes, 4);
}
