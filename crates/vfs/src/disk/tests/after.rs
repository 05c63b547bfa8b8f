//! Tests of crash recovery: what a journal that was left behind makes of the files.

use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

use super::*;

/// A file that was durable once, written again, and a run that was killed then.
fn killed() -> Ground {
    let mut ground = Ground::new();
    ground.write("/tmp/old", "before");
    ground.checkpoint();
    ground.write("/tmp/old", "after");
    ground.write("/tmp/new", "new");
    ground.kill();
    ground
}

fn modified(ground: &Ground, path: &str) -> SystemTime {
    ground.host(path).metadata().unwrap().modified().unwrap()
}

/// Puts content there from outside, as old as is told.
fn put(ground: &Ground, path: &str, text: &str, at: SystemTime) {
    let draft = ground.host("/tmp/outside");
    std::fs::write(&draft, text).unwrap();
    File::options().write(true).open(&draft).unwrap().set_modified(at).unwrap();
    std::fs::rename(draft, ground.host(path)).unwrap();
}

#[test]
fn files_whose_content_was_lost_are_whole_again() {
    let mut ground = killed();
    let (old_at, new_at) = (modified(&ground, "/tmp/old"), modified(&ground, "/tmp/new"));
    // The name without the content, and neither of them.
    let file = File::options().write(true).open(ground.host("/tmp/old")).unwrap();
    file.set_len(0).unwrap();
    file.set_modified(old_at).unwrap();
    std::fs::remove_file(ground.host("/tmp/new")).unwrap();
    ground.open(LATER);
    assert_eq!(ground.read("/tmp/old").unwrap(), "after");
    assert_eq!(ground.read("/tmp/new").unwrap(), "new");
    assert_eq!((modified(&ground, "/tmp/old"), modified(&ground, "/tmp/new")), (old_at, new_at));
    assert_eq!(
        Meta::read(std::os::fd::AsFd::as_fd(&File::open(ground.host("/tmp/new")).unwrap())).unwrap(),
        Some(Meta::root(0o644))
    );
    assert_eq!(ground.logged().len(), 0);
}

#[test]
fn what_was_replaced_is_replaced_again() {
    let mut ground = killed();
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000);
    put(&ground, "/tmp/old", "before", long_ago);
    ground.open(LATER);
    assert_eq!(ground.read("/tmp/old").unwrap(), "after");
}

#[test]
fn a_newer_file_of_somebody_else_is_kept() {
    let mut ground = killed();
    let later = modified(&ground, "/tmp/old") + Duration::from_millis(1);
    put(&ground, "/tmp/old", "theirs", later);
    std::fs::remove_file(ground.host("/tmp/new")).unwrap();
    std::fs::create_dir(ground.host("/tmp/new")).unwrap();
    ground.open(LATER);
    assert_eq!(ground.read("/tmp/old").unwrap(), "theirs");
    assert!(ground.host("/tmp/new").is_dir());
}

#[test]
fn while_the_machine_runs_on_nothing_is_written() {
    let mut ground = killed();
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000);
    put(&ground, "/tmp/old", "theirs", long_ago);
    let ino = ground.host("/tmp/new").metadata().unwrap().ino();
    ground.open(NOW);
    assert_eq!(ground.read("/tmp/old").unwrap(), "theirs");
    assert_eq!(ground.host("/tmp/new").metadata().unwrap().ino(), ino);
    assert_eq!(ground.logged().len(), 0);
    // What was removed from outside stays so.
    let mut ground = killed();
    std::fs::remove_file(ground.host("/tmp/new")).unwrap();
    ground.open(NOW);
    assert_eq!(ground.read("/tmp/new"), None);
}

#[test]
fn it_may_be_done_again() {
    let mut ground = killed();
    let copy = |from: &Path, to: &Path| {
        for name in ["0", "1"] {
            std::fs::copy(from.join(name), to.join(name)).unwrap();
        }
    };
    let (kept, journal) = (tempfile::tempdir().unwrap(), ground.host(JOURNAL));
    copy(&journal, kept.path());
    std::fs::remove_file(ground.host("/tmp/new")).unwrap();
    for round in 3..6 {
        ground.open([round; 16]);
        assert_eq!(ground.read("/tmp/old").unwrap(), "after");
        assert_eq!(ground.read("/tmp/new").unwrap(), "new");
        ground.disk = None;
        copy(kept.path(), &journal);
    }
}

#[test]
fn the_end_of_the_last_record_may_be_missing() {
    let mut ground = killed();
    let file = File::options().read(true).write(true).open(ground.host(JOURNAL).join("1")).unwrap();
    let end = inspect::end_of(&file).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &[0xff], end - 1).unwrap();
    for path in ["/tmp/old", "/tmp/new"] {
        std::fs::remove_file(ground.host(path)).unwrap();
    }
    ground.open(LATER);
    assert_eq!((ground.read("/tmp/old").unwrap(), ground.read("/tmp/new")), ("after".into(), None));
}

#[test]
fn a_record_leads_nowhere_but_into_the_tree() {
    let mut ground = Ground::new();
    ground.write("/tmp/a", "a");
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), ground.host("/tmp/link")).unwrap();
    let placed = there_identity(&ground, "/tmp/a");
    let paths = [
        "/tmp/link/evil",
        "/tmp/../evil",
        "/tmp//evil",
        "/evil",
        "/.journal/evil",
        "/tmp",
        "/",
        "",
        "tmp/evil",
        "/tmp/.gsv-tmp-evil",
        "/tmp/nowhere/evil",
        "/tmp/nul\0",
        "/usr/share/evil",
    ];
    for path in paths {
        let (path, attributes) = (path.to_string(), Meta::root(0o644).into());
        let written = Written { path, attributes, replaced: None, placed, content: b"e".to_vec() };
        let guard = ground.disk().journal.add_write(written).unwrap();
        guard.commit().unwrap();
    }
    ground.kill();
    ground.open(LATER);
    assert_eq!(ground.logged().len(), 0);
    let mut found = Vec::new();
    walk(ground.data.path(), &mut found);
    walk(outside.path(), &mut found);
    assert!(!found.iter().any(|path| path.contains("evil") || path.contains("nul")), "{found:?}");
}

/// A small file system of its own over a directory, which only root may mount.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    fn over(path: &Path) -> Option<SmallDisk> {
        let options = ["-t", "tmpfs", "-o", "size=12m", "tmpfs"];
        let mounted = std::process::Command::new("mount").args(options).arg(path).output().ok()?;
        mounted.status.success().then(|| SmallDisk(path.to_path_buf()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: files are still open.
        drop(std::process::Command::new("umount").arg("-l").arg(&self.0).status());
    }
}

#[test]
fn nothing_is_served_until_what_was_promised_is_there_again() {
    let data = tempfile::tempdir().unwrap();
    let Some(_small) = SmallDisk::over(data.path()) else {
        eprintln!("a small file system cannot be mounted here");
        return;
    };
    let mut ground = Ground { data, disk: None };
    ground.open(NOW);
    ground.disk().journal.hold();
    let text = "x".repeat(50_000);
    ground.write("/tmp/a", &text);
    ground.kill();
    std::fs::remove_file(ground.host("/tmp/a")).unwrap();
    let ballast = ground.host("/ballast");
    let mut filling = File::create(&ballast).unwrap();
    while std::io::Write::write_all(&mut filling, &[1; 4096]).is_ok() {}
    drop(filling);
    let refused = Disk::open_in(ground.data.path(), Clock::system(), Some(LATER)).err().unwrap();
    let told = refused.to_string();
    assert!(told.contains("(/tmp/a: no space left on device): repair that and start again"), "{told}");
    assert_eq!(ground.logged(), pairs(&[("/tmp/a", &text)]), "the journal still has it");
    std::fs::remove_file(ballast).unwrap();
    ground.open(LATER);
    assert!(ground.read("/tmp/a").unwrap() == text);
    assert_eq!(ground.logged().len(), 0);
}

fn walk(dir: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        found.push(entry.path().to_string_lossy().into_owned());
        if entry.file_type().unwrap().is_dir() {
            walk(&entry.path(), found);
        }
    }
}
