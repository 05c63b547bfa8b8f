//! Housekeeping beside writers, killed in the middle, and without the git program: no object that anybody needs is lost.

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use base::clock::Clock;
use base::limits::repo as limits;
use gix_object::Kind;

use super::kit::{Repository, make, new, put};
use crate::git::bare::Bare;
use crate::git::hold::Hold;
use crate::git::write::NewObjects;
use crate::git::{loose, program};
use crate::housekeeping::{Housekeeping, Kept, keep};

const DAY_MS: i64 = 24 * 3_600_000;

fn census(repository: &Repository) -> loose::Census {
    loose::census(&repository.path(), 0).expect("a census")
}

/// Looks after a repository so many days from now.
async fn kept(repository: &Repository, in_days: i64) -> Kept {
    let clock = Clock::manual(Clock::system().now_ms() + in_days * DAY_MS);
    keep(&repository.path(), &clock, program::command).await.expect("kept")
}

fn commits(repository: &Repository, prefix: &str, count: usize) {
    let bare = repository.open();
    for number in 0..count {
        let text = format!("{prefix} {number}");
        make(&bare, &new(&text, vec![put(&format!("{prefix}/{}", number % 7), &text)])).expect("a commit");
    }
}

#[tokio::test]
async fn many_loose_objects_are_packed_and_many_packs_become_one() {
    let repository = Repository::new();
    commits(&repository, "few", 10);
    assert_eq!(kept(&repository, 0).await, Kept::default(), "few are left alone");
    commits(&repository, "many", limits::LOOSE_MAX / 4 + 1);
    let before = repository.git(&["rev-list", "--objects", "--all"]);
    assert!(census(&repository).loose > limits::LOOSE_MAX);
    assert_eq!(kept(&repository, 0).await, Kept { packed: true, pruned: 0 });
    let after = census(&repository);
    assert_eq!((after.loose, after.packs), (0, 1), "{after:?}");
    assert_eq!(repository.git(&["rev-list", "--objects", "--all"]), before);
    for number in 0..limits::PACKS_MAX {
        commits(&repository, &format!("pack {number}"), 1);
        repository.git(&["repack", "-d", "-q"]);
    }
    assert!(census(&repository).packs > limits::PACKS_MAX);
    assert_eq!(kept(&repository, 0).await, Kept { packed: true, pruned: 0 });
    assert_eq!(census(&repository).packs, 1);
    repository.is_sound();
    // A repository that was open all the time finds what it needs.
    make(&repository.open(), &new("last", vec![put("last", "x")])).expect("a commit");
}

#[tokio::test]
async fn what_nothing_has_named_for_two_weeks_goes_and_what_somebody_uses_stays() {
    let repository = Repository::new();
    commits(&repository, "named", 3);
    let bare = repository.open();
    let write = |text: &str| {
        let mut objects = NewObjects::new(&bare);
        let id = objects.add(Kind::Blob, text.as_bytes().to_vec()).expect("a blob");
        objects.flush().expect("written");
        id
    };
    let (lost, used) = (write("lost\n"), write("used\n"));
    assert_eq!(kept(&repository, 13).await.pruned, 0, "it is too young");
    // Whoever counts on what is there is not overtaken.
    let share = Hold::share(&repository.path()).expect("a share");
    assert_eq!(kept(&repository, 15).await.pruned, 0, "somebody has a share");
    drop(share);
    age(&repository.path(), 20);
    make(&bare, &new("uses it", vec![put("used", "used\n")])).expect("a commit");
    assert_eq!(kept(&repository, 0).await, Kept { packed: false, pruned: 1 });
    let now = repository.open();
    assert!(now.has(&used) && !now.has(&lost));
    repository.is_sound();
    // In a pack, too: it is taken out of there first.
    let branch = repository.git(&["commit-tree", "-m", "aside", "main^{tree}"]);
    repository.git(&["update-ref", "refs/heads/aside", branch.trim()]);
    for _ in 0..=limits::PACKS_MAX {
        commits(&repository, "again", 1);
        make(&repository.open(), &new("x", vec![put("x", format!("{:?}", census(&repository)))]))
            .expect("a commit");
        repository.git(&["repack", "-d", "-q"]);
    }
    repository.git(&["update-ref", "-d", "refs/heads/aside"]);
    assert!(kept(&repository, 0).await.packed);
    assert!(repository.open().has(&branch.trim().parse().expect("a hash")), "it is young");
    assert!(kept(&repository, 15).await.pruned >= 1);
    assert!(!repository.open().has(&branch.trim().parse().expect("a hash")));
    repository.is_sound();
}

/// Makes every loose object so many days older.
fn age(repository: &Path, days: i64) {
    let at = Clock::system().now_ms() - days * DAY_MS;
    let times = fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH + Duration::from_millis(at as u64));
    for directory in fs::read_dir(repository.join("objects")).expect("objects").flatten() {
        if directory.file_name().len() == 2 {
            for file in fs::read_dir(directory.path()).expect("a directory").flatten() {
                File::open(file.path()).and_then(|file| file.set_times(times)).expect("older");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_lose_nothing_to_it() {
    let repository = Repository::new();
    let path = repository.path();
    let writers: Vec<_> = (0..2)
        .map(|writer| {
            let path = path.clone();
            std::thread::spawn(move || {
                let bare = Bare::open(&path).expect("open");
                for round in 0..300 {
                    // What was lost is used again: some of it is about to be removed.
                    let text = format!("{}", round % 10);
                    let changes = vec![put(&format!("{writer}/{round}"), &text), put("both", &text)];
                    make(&bare, &new(&format!("{writer} {round}"), changes)).expect("a commit");
                }
            })
        })
        .collect();
    while !writers.iter().all(std::thread::JoinHandle::is_finished) {
        age(&path, 20);
        repository.git(&["repack", "-d", "-q"]);
        let mut packs = 0;
        while packs <= limits::PACKS_MAX && !writers.iter().all(std::thread::JoinHandle::is_finished) {
            repository.git(&["repack", "-d", "-q"]);
            packs = census(&repository).packs;
        }
        kept(&repository, 20).await;
    }
    for writer in writers {
        writer.join().expect("a writer");
    }
    let made = repository.git(&["log", "--format=%s", "main"]);
    assert_eq!(made.lines().count(), 600);
    repository.is_sound();
    kept(&repository, 20).await;
    repository.is_sound();
}

#[tokio::test]
async fn killed_in_the_middle_it_leaves_a_sound_repository() {
    let repository = Repository::new();
    commits(&repository, "many", limits::LOOSE_MAX / 4 + 1);
    let before = repository.git(&["rev-list", "--objects", "--all"]);
    let mut kills = 0;
    for wait in 0..40 {
        let (path, clock) = (repository.path(), Clock::system());
        // Dropped, it kills git and everything that git started.
        let working = keep(&path, &clock, program::command);
        let done = tokio::time::timeout(Duration::from_millis(2 * wait), working).await;
        kills += usize::from(done.is_err());
        repository.is_sound();
        assert_eq!(repository.git(&["rev-list", "--objects", "--all"]), before);
        if done.is_ok() {
            break;
        }
    }
    assert!(kills > 0);
    // What is left over goes after a day, and then everything is packed.
    let pack = repository.path().join("objects/pack");
    fs::write(pack.join("tmp_pack_x"), "x").expect("a file");
    fs::write(pack.join(".tmp-1-pack-x.pack"), "x").expect("a file");
    kept(&repository, 2).await;
    let left = fs::read_dir(&pack).expect("packs").flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert!(left.iter().all(|name| name.starts_with("pack-")), "{left:?}");
    assert_eq!(census(&repository).loose, 0);
    repository.is_sound();
}

#[tokio::test]
async fn without_the_git_program_nothing_is_done_and_nothing_breaks() {
    let repository = Repository::new();
    commits(&repository, "many", limits::LOOSE_MAX / 4 + 1);
    let none = || tokio::process::Command::new("/nowhere/git");
    let clock = Clock::manual(Clock::system().now_ms() + 20 * DAY_MS);
    assert_eq!(keep(&repository.path(), &clock, none).await.expect("kept"), Kept::default());
    repository.is_sound();
}

#[tokio::test]
async fn a_repository_is_looked_at_after_some_changes() {
    let repository = Repository::new();
    commits(&repository, "many", limits::LOOSE_MAX / 4 + 1);
    let (housekeeping, clock) = (Housekeeping::default(), Clock::system());
    for _ in 0..limits::LOOKED_AT_AFTER_CHANGES {
        housekeeping.changed(&repository.path());
    }
    let packed = async {
        while census(&repository).loose > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        () = housekeeping.run(&clock) => {}
        () = packed => {}
    }
    repository.is_sound();
}
