//! Many writers on one ref, among them the git program: no commit is lost, and the losers know that they lost.

use std::collections::BTreeSet;
use std::sync::Barrier;

use gix_hash::ObjectId;

use super::kit::{Repository, git, make, new, put};
use crate::git::commit::NewCommit;
use crate::git::fault::Fault;

const WRITERS: usize = 2;
const ROUNDS: usize = 1_000;

#[test]
fn of_two_that_expect_the_same_head_one_wins_a_thousand_times() {
    let repository = Repository::new();
    make(&repository.open(), &new("first", vec![put("n", "0")])).expect("a commit").expect("a head");
    let (ready, done) = (Barrier::new(WRITERS), Barrier::new(WRITERS));
    let race = |writer: usize| {
        let bare = repository.open();
        let attempt = |round: usize| {
            // Both see the same head, and neither begins before the other has seen it.
            let head = bare.reference("refs/heads/main").expect("a ref").expect("a head");
            let text = format!("{writer} {round}");
            let commit = NewCommit { expected: Some(head.to_string()), ..new(&text, vec![put("n", &text)]) };
            ready.wait();
            let made = match make(&bare, &commit) {
                Ok(made) => Some(made.expect("a commit")),
                Err(Fault::Moved { expected, found, .. }) => {
                    assert_eq!(expected, head.to_string());
                    assert_ne!(found, Some(expected));
                    None
                }
                other => panic!("{other:?}"),
            };
            done.wait();
            made
        };
        (0..ROUNDS).map(attempt).collect()
    };
    let won: Vec<Vec<Option<ObjectId>>> = std::thread::scope(|scope| {
        let race = &race;
        let threads: Vec<_> = (0..WRITERS).map(|writer| scope.spawn(move || race(writer))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a writer")).collect()
    });
    let winners = (0..ROUNDS).map(|round| {
        let commits: Vec<ObjectId> = won.iter().filter_map(|by_writer| by_writer[round]).collect();
        assert_eq!(commits.len(), 1, "round {round}: one wins, and the other is told");
        commits[0].to_string()
    });
    let winners: Vec<String> = winners.collect();
    let listed = repository.git(&["rev-list", "--reverse", "main"]);
    let there: Vec<&str> = listed.lines().skip(1).collect();
    assert_eq!(there, winners, "every commit that was made is there, in its order");
    repository.is_sound();
}

#[test]
fn those_that_expect_nothing_all_win() {
    let repository = Repository::new();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let repository = &repository;
            scope.spawn(move || {
                let bare = repository.open();
                for round in 0..100 {
                    let name = format!("d{writer}/{round}");
                    make(&bare, &new(&name, vec![put(&name, "x")])).expect("a commit");
                }
            });
        }
    });
    let files: BTreeSet<String> =
        repository.git(&["ls-tree", "-r", "--name-only", "main"]).lines().map(str::to_string).collect();
    assert_eq!(files.len(), 400);
    assert_eq!(repository.git(&["rev-list", "--count", "main"]).trim(), "400");
    repository.is_sound();
}

/// The git program pushes to the same branch, over and over, while commits are made here.
#[test]
fn a_push_of_the_git_program_and_a_commit_do_not_overwrite_each_other() {
    let repository = Repository::new();
    make(&repository.open(), &new("first", vec![put("first", "x")])).expect("a commit");
    let clone = repository.beside();
    let from = repository.path();
    git(&from, &["clone", "-q", &from.display().to_string(), &clone.display().to_string()]);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let bare = repository.open();
            for round in 0..200 {
                let name = format!("ours/{round}");
                make(&bare, &new(&name, vec![put(&name, "x")])).expect("a commit");
            }
        });
        for round in 0..20 {
            std::fs::write(clone.join(format!("theirs-{round}")), "x").expect("a file");
            git(&clone, &["add", "."]);
            git(&clone, &["commit", "-q", "-m", "theirs"]);
            // Whoever is refused takes what is there and tries again.
            while !pushed(&clone) {
                git(&clone, &["pull", "-q", "--rebase"]);
            }
        }
    });
    let files = repository.git(&["ls-tree", "-r", "--name-only", "main"]);
    assert_eq!(files.lines().filter(|name| name.starts_with("ours/")).count(), 200);
    assert_eq!(files.lines().filter(|name| name.starts_with("theirs-")).count(), 20);
    repository.is_sound();
}

fn pushed(clone: &std::path::Path) -> bool {
    let push = std::process::Command::new("git")
        .args(["push", "-q", "origin", "HEAD:main"])
        .current_dir(clone)
        .output();
    push.expect("git").status.success()
}

#[test]
fn a_lock_of_a_program_that_died_is_taken_away_and_one_of_git_is_waited_for() {
    let repository = Repository::new();
    let bare = repository.open();
    make(&bare, &new("first", vec![put("a", "1")])).expect("a commit");
    // Ours, and nobody holds it.
    let lock = repository.path().join("refs/heads/main.lock");
    std::fs::write(&lock, "gsv\n").expect("a lock");
    make(&bare, &new("second", vec![put("a", "2")])).expect("a commit");
    assert!(!lock.exists());
    // Git's: it goes when git is done.
    std::fs::write(&lock, "").expect("a lock");
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| make(&repository.open(), &new("third", vec![put("a", "3")])));
        while repository.git(&["count-objects"]).starts_with("6 ") {
            std::thread::yield_now();
        }
        std::fs::remove_file(&lock).expect("removed");
        waits.join().expect("a writer").expect("a commit");
    });
    assert_eq!(repository.git(&["rev-list", "--count", "main"]).trim(), "3");
    repository.is_sound();
}

#[test]
fn a_name_within_another_is_refused_loose_and_packed() {
    let repository = Repository::new();
    let bare = repository.open();
    let on = |branch: &str| {
        let mut commit = new("x", vec![put("a", branch)]);
        commit.branch = crate::git::refs::Branch::parse(branch).expect("a name");
        make(&bare, &commit)
    };
    on("a").expect("a commit");
    assert!(matches!(on("a/b"), Err(Fault::Conflict(_))));
    repository.git(&["pack-refs", "--all", "--prune"]);
    assert!(matches!(on("a/b"), Err(Fault::Conflict(_))));
    on("c/d").expect("a commit");
    assert!(matches!(on("c"), Err(Fault::Conflict(_))));
    repository.git(&["pack-refs", "--all", "--prune"]);
    assert!(matches!(on("c"), Err(Fault::Conflict(_))));
    on("a").expect("a commit on a packed ref");
    assert_eq!(repository.git(&["rev-list", "--count", "a"]).trim(), "1", "nothing had changed");
    repository.is_sound();
}
