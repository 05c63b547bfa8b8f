//! Bytes of all checkpoints together: the oldest go, wherever they are, and the newest of each workspace stays.

use std::path::Path;

use base::random::Random;

use super::kit::{NOW_MS, directory, label};
use crate::{Budget, Checkpoints, When, prune};

/// Takes checkpoints of a workspace whose one file is 100 kB of noise, another each time.
fn fill(store: &Path, workspace: &Path, began_ms: i64) -> Checkpoints {
    std::fs::create_dir(workspace).expect("a workspace");
    let at = Checkpoints::open(store, workspace).expect("a store");
    for time in 0..5 {
        let seed = (began_ms + time) as u64 * 1_000;
        let noise: Vec<u8> = (0..100).flat_map(|page| Random::seeded(seed + page).bytes::<1024>()).collect();
        std::fs::write(workspace.join("noise"), noise).expect("a file");
        at.take(&label(&format!("r{time}"), When::Before), began_ms + time, &Budget::default())
            .expect("taken");
    }
    at
}

#[test]
fn one_workspace_gives_way_from_the_oldest_on() {
    let dir = directory();
    let at = fill(&dir.path().join("store"), &dir.path().join("a"), NOW_MS);
    let pruned = prune::prune_within(&at.store, NOW_MS, 250_000).expect("pruned");
    let kept: Vec<u64> = at.list().expect("a list").iter().map(|summary| summary.id.0).collect();
    assert_eq!(kept, [4, 5]);
    assert!(pruned.bytes <= 250_000, "{pruned:?}");
    prune::prune_within(&at.store, NOW_MS, 10).expect("pruned");
    assert_eq!(at.list().expect("a list").len(), 1, "the newest stays, whatever its size");
}

#[test]
fn workspaces_count_together() {
    let dir = directory();
    let store = dir.path().join("store");
    let old = fill(&store, &dir.path().join("old"), NOW_MS - 1_000);
    let new = fill(&store, &dir.path().join("new"), NOW_MS);
    let all = prune::prune_all_within(&store, NOW_MS, 450_000).expect("pruned");
    assert!(all.iter().map(|(_, pruned)| pruned.bytes).sum::<u64>() <= 450_000);
    assert_eq!(old.list().expect("a list").len(), 1);
    assert_eq!(new.list().expect("a list").len(), 3);
}
