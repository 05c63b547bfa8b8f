//! Retention: what goes, and that what stays can still be brought back.

use base::limits::checkpoint as limits;
use checkpoint::{Budget, Id, When, prune_all};

use crate::kit::{Kit, NOW_MS, has_git, label};

#[test]
fn the_newest_fifty_stay_and_can_be_brought_back() {
    let kit = Kit::new();
    for at in 0..70 {
        kit.write("file", format!("version {at}"));
        kit.write(format!("more/{}", at % 5), format!("{at}"));
        kit.take_of(&format!("r{at}"), When::Before);
    }
    let list = kit.at.list().expect("a list");
    assert_eq!((list.len(), list[0].id), (limits::KEPT_MAX, Id(21)));
    for summary in &list {
        let content = kit.at.content(summary.id, "file".as_ref(), 100).expect("read").expect("a file");
        assert_eq!(content, format!("version {}", summary.id.0 - 1).into_bytes());
    }
    assert!(kit.at.content(Id(20), "file".as_ref(), 100).is_err());
}

#[test]
fn the_oldest_can_be_brought_back_though_that_makes_one_more() {
    let kit = Kit::new();
    for at in 0..limits::KEPT_MAX {
        kit.write("file", format!("version {at}"));
        kit.take_of(&format!("r{at}"), When::Before);
    }
    let how = checkpoint::Restore { force: true, ..Default::default() };
    let restored = kit.restore_with(Id(1), &how);
    assert_eq!(restored.failed, []);
    assert_eq!(kit.read("file"), b"version 0");
    assert_eq!(kit.at.list().expect("a list").len(), limits::KEPT_MAX);
}

#[test]
fn what_only_old_checkpoints_held_is_gone_from_the_disk() {
    let kit = Kit::on_disk();
    kit.write("large", random(400_000));
    kit.take(When::Before);
    kit.remove("large");
    kit.write("small", "x");
    let kept =
        kit.at.take(&label("r", When::After), NOW_MS + 1_000, &Budget::default()).expect("a checkpoint");
    assert!(size(&kit) > 400_000);
    let pruned = kit.at.prune(NOW_MS + limits::KEPT_MS + 500).expect("pruned");
    assert_eq!(pruned.removed, [Id(1)]);
    assert!(pruned.bytes < 10_000 && size(&kit) < 50_000, "{pruned:?} {}", size(&kit));
    assert_eq!(kit.at.content(kept.id, "small".as_ref(), 9).expect("read"), Some(b"x".to_vec()));
    if has_git() {
        crate::oracle::fsck(&kit);
    }
}

#[test]
fn numbers_are_never_given_twice() {
    let kit = Kit::new();
    kit.take(When::Before);
    kit.take(When::After);
    let pruned = kit.at.prune(NOW_MS + 2 * limits::KEPT_MS).expect("pruned");
    assert_eq!(pruned.removed, [Id(1), Id(2)]);
    assert_eq!(kit.at.list().expect("a list"), []);
    kit.write("a", "x");
    let taken = kit.take(When::Before);
    assert_eq!(taken.id, Id(3));
    assert_eq!(kit.at.content(taken.id, "a".as_ref(), 9).expect("read"), Some(b"x".to_vec()));
}

#[test]
fn files_known_from_a_removed_checkpoint_are_read_again() {
    let kit = Kit::new();
    kit.write("a", "content");
    crate::kit::tick(&kit);
    kit.take(When::Before);
    kit.take(When::Before);
    kit.at.prune(NOW_MS + 2 * limits::KEPT_MS).expect("pruned");
    let taken = kit.take(When::Before);
    assert_eq!(kit.at.content(taken.id, "a".as_ref(), 100).expect("read"), Some(b"content".to_vec()));
}

#[test]
fn many_packs_become_few() {
    let kit = Kit::new();
    for at in 0..45 {
        kit.write("file", format!("version {at}"));
        kit.take_of(&format!("r{at}"), When::Before);
    }
    kit.at.prune(NOW_MS).expect("pruned");
    assert!(packs(&kit) <= 2, "{}", packs(&kit));
    let content = kit.at.content(Id(1), "file".as_ref(), 100).expect("read");
    assert_eq!(content, Some(b"version 0".to_vec()));
}

#[test]
fn all_workspaces_of_a_store_are_looked_at() {
    let kit = Kit::new();
    kit.take(When::Before);
    let all = prune_all(&kit.dir.path().join("store"), NOW_MS + 2 * limits::KEPT_MS).expect("pruned");
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].0, kit.at.workspace());
    assert_eq!(all[0].1.removed, [Id(1)]);
}

fn packs(kit: &Kit) -> usize {
    let dir = std::fs::read_dir(kit.at.repository().join("objects/pack")).expect("a directory");
    dir.filter(|entry| entry.as_ref().expect("an entry").path().extension().is_some_and(|e| e == "pack"))
        .count()
}

fn size(kit: &Kit) -> u64 {
    let dir = std::fs::read_dir(kit.at.repository().join("objects/pack")).expect("a directory");
    dir.map(|entry| entry.expect("an entry").metadata().expect("metadata").len()).sum()
}

/// Bytes that cannot be compressed.
fn random(count: usize) -> Vec<u8> {
    base::random::Random::seeded(7)
        .bytes::<1024>()
        .into_iter()
        .cycle()
        .take(count)
        .enumerate()
        .map(|(at, byte)| byte ^ (at / 1024 * 31 % 251) as u8)
        .collect()
}
