//! Limits: what is too large, too slow or too deep is said, and never half kept.

use std::process::Command;
use std::time::Duration;

use checkpoint::{Budget, Error, When, Why};

use crate::kit::{Kit, NOW_MS, label};

fn take(kit: &Kit, budget: &Budget) -> Result<checkpoint::Taken, Error> {
    kit.at.take(&label("r", When::Before), NOW_MS, budget)
}

#[test]
fn too_many_files_are_no_checkpoint() {
    let kit = Kit::new();
    for at in 0..20 {
        kit.write(format!("f{at}"), "x");
    }
    let error = take(&kit, &Budget { files_max: 19, ..Budget::default() }).expect_err("too many");
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    let words = "no checkpoint could be taken because the workspace has more than 19 files";
    assert!(error.to_string().starts_with(words), "{error}");
    assert_eq!(kit.at.list().expect("a list"), []);
    take(&kit, &Budget { files_max: 20, ..Budget::default() }).expect("just enough");
}

#[test]
fn too_many_bytes_are_no_checkpoint() {
    let kit = Kit::new();
    kit.write("a", vec![0; 600_000]);
    kit.write("b", vec![1; 600_000]);
    let error = take(&kit, &Budget { bytes_max: 1024 * 1024, ..Budget::default() }).expect_err("too much");
    assert!(error.to_string().contains("more than 1 MB"), "{error}");
}

#[test]
fn a_large_file_is_left_out_and_the_rest_is_kept() {
    let kit = Kit::new();
    kit.write("large", vec![0; 2_000]);
    kit.write("small", "x");
    let budget = Budget { file_bytes_max: 1_000, ..Budget::default() };
    let taken = take(&kit, &budget).expect("a checkpoint");
    assert_eq!((taken.files, taken.is_whole), (1, false));
    assert_eq!(
        (taken.left_out[0].path.display().to_string(), taken.left_out[0].why),
        ("large".into(), Why::TooLarge)
    );
    assert_eq!(kit.at.left_out(taken.id).expect("a list"), taken.left_out);
    // A restore says so, and does not take it for made by the run.
    let after = kit.at.take(&label("r", When::After), NOW_MS, &Budget::default()).expect("a checkpoint");
    assert!(after.is_whole);
    let restored = kit.restore(taken.id);
    assert_eq!(restored.left_out, taken.left_out);
    assert!(kit.exists("large"));
}

#[test]
fn a_checkpoint_that_takes_too_long_goes_on_the_next_time() {
    let kit = Kit::new();
    for at in 0..10 {
        kit.write(format!("f{at}"), format!("{at}"));
    }
    let clock = base::clock::Clock::manual(0);
    let at = kit.at.clone().with_clock(clock);
    let nothing = Budget { time_max: Duration::ZERO, ..Budget::default() };
    let error = at.take(&label("r", When::Before), NOW_MS, &nothing).expect_err("no time");
    assert!(error.to_string().contains("took longer than 0 s"), "{error}");
    assert_eq!(at.list().expect("a list"), []);
    at.take(&label("r", When::Before), NOW_MS, &Budget::default())
        .expect("a clock that stands still is in time");
}

#[test]
fn a_tree_that_is_too_deep_ends() {
    let kit = Kit::new();
    let deep = ["d"; 300].join("/");
    kit.write(format!("{deep}/file"), "x");
    kit.write("file", "x");
    let taken = kit.take(When::Before);
    assert_eq!((taken.files, taken.is_whole), (1, false));
    assert_eq!(taken.left_out[0].why, Why::TooDeep);
}

#[test]
fn what_is_left_out_is_listed_up_to_a_limit() {
    let kit = Kit::new();
    for at in 0..1_010 {
        kit.write(format!("large{at}"), "too large");
    }
    let taken = take(&kit, &Budget { file_bytes_max: 1, ..Budget::default() }).expect("a checkpoint");
    assert_eq!((taken.left_out.len(), taken.left_out_more), (1_000, 10));
}

/// A disk of its own, in memory; gone when this is.
struct Disk(std::path::PathBuf);

impl Disk {
    /// `None` where one may not mount.
    fn mount(path: std::path::PathBuf, size: &str) -> Option<Disk> {
        std::fs::create_dir(&path).expect("a directory");
        let options = format!("size={size},mode=700");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "none"]).arg(&path).output();
        mount.is_ok_and(|output| output.status.success()).then_some(Disk(path))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        Command::new("umount").arg(&self.0).status().expect("umount runs");
    }
}

#[test]
fn a_disk_that_is_really_full_is_said_and_the_rest_stays() {
    let kit = Kit::new();
    let Some(disk) = Disk::mount(kit.dir.path().join("disk"), "600k") else { return };
    let at = checkpoint::Checkpoints::open(&disk.0, &kit.root()).expect("a store");
    kit.write("small", "x");
    let first = at.take(&label("r", When::Before), NOW_MS, &Budget::default()).expect("a checkpoint");
    let noise: Vec<u8> =
        (0..2_000u64).flat_map(|at| base::random::Random::seeded(at).bytes::<512>()).collect();
    kit.write("large", &noise);
    let error = at.take(&label("r", When::After), NOW_MS, &Budget::default()).expect_err("no room");
    assert!(matches!(error, Error::DiskFull { .. }), "{error}");
    assert_eq!(at.list().expect("a list").len(), 1);
    assert_eq!(at.content(first.id, "small".as_ref(), 10).expect("read"), Some(b"x".to_vec()));
    kit.remove("large");
    at.take(&label("r", When::After), NOW_MS, &Budget::default()).expect("there is room again");
}

#[test]
fn another_file_system_in_the_workspace_is_not_entered() {
    let kit = Kit::new();
    kit.write("file", "x");
    let Some(disk) = Disk::mount(kit.path("mounted"), "64k") else { return };
    std::fs::write(disk.0.join("inside"), "x").expect("a file");
    let taken = kit.take(When::Before);
    assert_eq!((taken.files, taken.left_out[0].why), (1, Why::OtherFileSystem));
}
