//! Tests of ordering: every other change of a file that only its record makes durable lets that go first.

use std::ffi::OsStr;

use rustix::fs::{Mode, OFlags, openat};

use super::*;
use crate::disk::dir::Dir;
use crate::fault::Code;

/// Writes files, does something, and tells which of them the journal would still write anew.
fn after(files: &[&str], change: impl FnOnce(&Ground)) -> Vec<String> {
    let ground = Ground::new();
    let disk = ground.disk();
    for name in ["/tmp/dir", "/tmp/dir/deep"] {
        disk.make_directory(&root(), &ground.entry(name), 0o755).unwrap();
    }
    for path in files {
        ground.write(path, "text");
    }
    assert_eq!(ground.logged().len(), files.len());
    change(&ground);
    let logged: Vec<String> = ground.logged().into_keys().collect();
    assert_eq!(ground.pending(), logged);
    logged
}

fn found(ground: &Ground, path: &str) -> Found {
    Found::Entry(ground.entry(path))
}

const FILE: &str = "/tmp/file";
const OTHER: &str = "/tmp/other";

#[test]
fn removing() {
    let left = after(&[FILE, OTHER], |ground| {
        ground.disk().remove(&root(), &ground.entry(FILE), false).unwrap();
    });
    assert_eq!(left, [OTHER]);
}

#[test]
fn removing_a_tree() {
    let files = ["/tmp/dir/a", "/tmp/dir/deep/b", "/tmp/dirt"];
    let left = after(&files, |ground| {
        ground.disk().remove(&root(), &ground.entry("/tmp/dir"), true).unwrap();
    });
    assert_eq!(left, ["/tmp/dirt"]);
}

#[test]
fn moving_a_file_and_being_moved_over() {
    let left = after(&[FILE, OTHER, "/tmp/third"], |ground| {
        ground.disk().rename(&root(), &ground.entry(FILE), &ground.entry(OTHER)).unwrap();
    });
    assert_eq!(left, ["/tmp/third"]);
}

#[test]
fn moving_a_directory_above() {
    let files = ["/tmp/dir/a", "/tmp/dir/deep/b", "/tmp/dirt"];
    let left = after(&files, |ground| {
        ground.disk().rename(&root(), &ground.entry("/tmp/dir"), &ground.entry("/tmp/moved")).unwrap();
        assert_eq!(ground.read("/tmp/moved/deep/b").unwrap(), "text");
    });
    assert_eq!(left, ["/tmp/dirt"]);
}

#[test]
fn what_was_found_before_its_directory_moved_is_written_where_that_is_now() {
    let left = after(&[], |ground| {
        let stale = ground.entry("/tmp/dir/a");
        ground.disk().rename(&root(), &ground.entry("/tmp/dir"), &ground.entry("/tmp/moved")).unwrap();
        let how = Writing::default();
        ground.disk().replace(&root(), &stale, how, |draft| draft.add(b"late")).unwrap();
        assert_eq!(ground.read("/tmp/moved/a").unwrap(), "late");
        // By its new path it is the same file to the journal.
        ground.write("/tmp/moved/a", "later");
        assert_eq!(ground.logged(), pairs(&[("/tmp/moved/a", "later")]));
        ground.disk().remove(&root(), &stale, false).unwrap_err();
        let stale = Entry { there: ground.entry("/tmp/moved/a").there, ..stale };
        ground.disk().remove(&root(), &stale, false).unwrap();
    });
    assert_eq!(left.len(), 0);
}

#[test]
fn modes_owners_and_times() {
    let changes: [&dyn Fn(&Ground); 3] = [
        &|ground| ground.disk().change_mode(&root(), found(ground, FILE), 0o600).unwrap(),
        &|ground| ground.disk().change_owner(&root(), found(ground, FILE), Some(Uid(7)), None).unwrap(),
        &|ground| ground.disk().change_time(&root(), found(ground, FILE), 5_000).unwrap(),
    ];
    for change in changes {
        assert_eq!(after(&[FILE, OTHER], change), [OTHER]);
    }
}

#[test]
fn appending_and_writing_much() {
    let much = vec![b'x'; limits::files::JOURNAL_CONTENT_MAX_BYTES + 1];
    let changes: [&dyn Fn(&Ground); 2] =
        [&|ground| ground.disk().append(&root(), &ground.entry(FILE), b"more").unwrap(), &|ground| {
            write(ground.disk(), FILE, &much)
        }];
    for change in changes {
        assert_eq!(after(&[FILE, OTHER], change), [OTHER]);
    }
}

#[test]
fn an_upload() {
    let left = after(&[FILE, OTHER], |ground| {
        let entry = ground.entry(FILE);
        let dir: &Dir = &entry.dir;
        let flags = OFlags::CREATE | OFlags::RDWR;
        let name = OsStr::new(".gsv-part-test");
        let file = File::from(openat(&*dir.fd, name, flags, Mode::RUSR | Mode::WUSR).unwrap());
        let draft = ground.disk().draft_of_partial(dir, name, file);
        ground.disk().put_durably(&root(), &entry, draft, Writing::default()).unwrap();
        assert_eq!(ground.read(FILE).unwrap(), "");
    });
    assert_eq!(left, [OTHER]);
}

#[test]
fn what_takes_the_place_of_something_removed_from_outside() {
    let changes: [&dyn Fn(&Ground); 3] = [
        &|ground| ground.disk().make_directory(&root(), &ground.entry(FILE), 0o755).unwrap(),
        &|ground| ground.disk().make_link(&root(), &ground.entry(FILE), "other").unwrap(),
        &|ground| ground.disk().append(&root(), &ground.entry(FILE), b"new").unwrap(),
    ];
    for change in changes {
        let left = after(&[FILE, OTHER], |ground| {
            std::fs::remove_file(ground.host(FILE)).unwrap();
            change(ground);
        });
        assert_eq!(left, [OTHER]);
    }
}

#[test]
fn what_a_record_depends_on_is_durable_before_it() {
    let ground = Ground::new();
    let (disk, who) = (ground.disk(), root());
    let is_durable = || disk.directory_sync.is_barrier_clear();
    for number in 0..20 {
        let (dir, moved) = (format!("/tmp/{number}"), format!("/tmp/moved-{number}"));
        disk.make_directory(&who, &ground.entry(&dir), 0o755).unwrap();
        ground.write(&format!("{dir}/file"), "text");
        assert!(is_durable(), "a directory was made");
        disk.rename(&who, &ground.entry(&dir), &ground.entry(&moved)).unwrap();
        ground.write(FILE, "text");
        assert!(is_durable(), "a directory was moved");
        disk.rename(&who, &ground.entry(FILE), &ground.entry(OTHER)).unwrap();
        ground.write(FILE, "text");
        assert!(is_durable(), "a file was moved");
        write(disk, OTHER, &vec![b'x'; limits::files::JOURNAL_CONTENT_MAX_BYTES + 1]);
        ground.write(FILE, "text");
        assert!(is_durable(), "a file was synced and has taken its place");
        disk.change_mode(&who, found(&ground, &moved), 0o700).unwrap();
        ground.write(FILE, "text");
        assert!(is_durable(), "a directory was closed to others");
    }
}

#[test]
fn what_fails_changes_nothing() {
    let left = after(&[FILE, OTHER], |ground| {
        let how = Writing { exclusive: true, ..Writing::default() };
        let refused = ground.disk().replace(&root(), &ground.entry(FILE), how, |draft| draft.add(b"x"));
        assert_eq!(refused.unwrap_err().code, Code::Exists);
        ground.disk().make_directory(&root(), &ground.entry(FILE), 0o755).unwrap_err();
    });
    assert_eq!(left, [FILE, OTHER]);
}
