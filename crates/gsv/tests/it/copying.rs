//! Tests of `gsv cp` in every direction.

use std::path::Path;
use std::process::Stdio;

use crate::world::{PART_OF_COPY, Running, World};

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

#[test]
fn files_go_there_and_come_back_the_same() {
    let world = World::with_device();
    let content = bytes(9_000_001);
    let here = world.home.path().join("here.bin");
    std::fs::write(&here, &content).unwrap();
    let said = world.ok(&["cp", "here.bin", "desk:there.bin"]);
    assert_eq!(said, "copied 1 file, 9000001 bytes\n");
    assert_eq!(std::fs::read(world.workspace().join("there.bin")).unwrap(), content);
    let done = world.json(&["cp", "desk:there.bin", "back/again.bin"]);
    assert_eq!((done["files"].as_u64(), done["bytes"].as_u64()), (Some(1), Some(9_000_001)));
    assert_eq!(std::fs::read(world.home.path().join("back/again.bin")).unwrap(), content);
    // Into an existing directory the name is kept, and an empty file is a file too.
    std::fs::write(&here, b"").unwrap();
    world.ok(&["cp", "here.bin", "desk:."]);
    assert_eq!(std::fs::read(world.workspace().join("here.bin")).unwrap(), b"");
    world.ok(&["cp", "desk:there.bin", "back"]);
    assert_eq!(std::fs::read(world.home.path().join("back/there.bin")).unwrap(), content);
    let missing = world.fails(1, &["cp", "desk:missing", "x"]);
    assert!(missing.contains("desk:missing") && !world.home.path().join("x").exists(), "{missing}");
    let missing = world.fails(1, &["cp", "desk:missing", "new/directory/x"]);
    assert!(missing.contains("desk:missing") && !world.home.path().join("new").exists(), "{missing}");
    world.fails(1, &["cp", "missing", "desk:x"]);
}

#[test]
fn a_target_that_refuses_takes_nothing_away() {
    let world = World::with_device();
    let part = world.home.path().join(PART_OF_COPY);
    std::fs::write(&part, "the beginning").unwrap();
    world.fails(1, &["cp", "desk:file", "copy"]);
    assert_eq!(std::fs::read_to_string(&part).unwrap(), "the beginning");
    let file = std::fs::File::open(&part).unwrap();
    file.lock().unwrap();
    std::fs::write(world.workspace().join("file"), "the beginning and the end").unwrap();
    let busy = world.fails(1, &["cp", "desk:file", "copy"]);
    assert!(busy.contains("another copy to copy is going on"), "{busy}");
    drop(file);
    world.ok(&["cp", "desk:file", "copy"]);
    assert!(!part.exists());
    let refused = world.fails(1, &["cp", "desk:file", "/dev/null"]);
    assert!(refused.contains("/dev/null exists and is not a regular file"), "{refused}");
}

#[test]
fn a_tree_is_given_up_when_the_gateway_is() {
    let mut world = World::with_device();
    let tree = world.workspace().join("tree");
    std::fs::create_dir(&tree).unwrap();
    (0..4).for_each(|i| std::fs::write(tree.join(format!("{i}")), bytes(60_000_000)).unwrap());
    let mut copy = world.command(&["cp", "-r", "desk:tree", "."]);
    let copy = copy.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !world.home.path().join("tree/0").exists() {
        std::thread::yield_now();
    }
    world.gateway.signal(libc::SIGKILL);
    world.gateway.wait();
    let said = copy.wait_with_output().unwrap();
    let err = String::from_utf8(said.stderr).unwrap();
    assert_eq!(said.status.code(), Some(1), "{err}");
    assert_eq!(err.lines().filter(|line| line.starts_with("error: ")).count(), 1, "{err}");
    assert!(err.contains("the rest was not copied"), "{err}");
}

#[test]
fn a_torn_upload_is_begun_anew() {
    // The device is killed while it takes the file in, so that an unfinished one is left; then that is spoiled.
    let mut world = World::with_device();
    let content = bytes(150_000_000);
    std::fs::write(world.home.path().join("file"), &content).unwrap();
    let mut copy = Running::start(&mut world.command(&["cp", "file", "desk:file"]));
    let partial = loop {
        assert!(copy.child.try_wait().unwrap().is_none(), "the copy ended before it was disturbed");
        let mut entries = std::fs::read_dir(world.workspace()).unwrap().map(|entry| entry.unwrap());
        if let Some(found) = entries.find(|entry| entry.metadata().is_ok_and(|about| about.len() > 1_000_000))
        {
            break found.path();
        }
    };
    let mut device = world.take_device();
    device.signal(libc::SIGKILL);
    device.wait();
    use std::os::unix::fs::FileExt;
    let file = std::fs::OpenOptions::new().write(true).open(&partial).unwrap();
    file.write_all_at(b"torn", 1_000).unwrap();
    world.connect_device();
    assert_eq!(copy.wait(), 0);
    assert!(std::fs::read(world.workspace().join("file")).unwrap() == content);
}

#[test]
fn a_broken_download_goes_on_where_it_was() {
    let world = World::with_device();
    let content = bytes(3_000_000);
    std::fs::write(world.workspace().join("file"), &content).unwrap();
    std::fs::write(world.home.path().join(PART_OF_COPY), &content[..1_000_000]).unwrap();
    world.ok(&["cp", "desk:file", "copy"]);
    assert_eq!(std::fs::read(world.home.path().join("copy")).unwrap(), content);
    // What was left by another file does not spoil this one.
    for stale in [&b"something else"[..], &bytes(4_000_000)[1..]] {
        std::fs::write(world.home.path().join(PART_OF_COPY), stale).unwrap();
        world.ok(&["cp", "desk:file", "copy"]);
        assert_eq!(std::fs::read(world.home.path().join("copy")).unwrap(), content);
    }
    assert!(!world.home.path().join(PART_OF_COPY).exists());
}

#[test]
fn trees_are_copied_whole() {
    let world = World::with_device();
    let tree = world.home.path().join("tree");
    std::fs::create_dir_all(tree.join("a/b")).unwrap();
    std::fs::create_dir_all(tree.join("empty")).unwrap();
    std::fs::write(tree.join("top"), "1").unwrap();
    std::fs::write(tree.join("a/b/deep file"), "2").unwrap();
    let refused = world.fails(1, &["cp", "tree", "desk:copy"]);
    assert!(refused.contains("-r"), "{refused}");
    world.ok(&["cp", "-r", "tree", "desk:copy"]);
    let copy = world.workspace().join("copy");
    assert_eq!(std::fs::read_to_string(copy.join("a/b/deep file")).unwrap(), "2");
    assert_eq!(std::fs::read_dir(copy.join("empty")).unwrap().count(), 0);
    world.ok(&["cp", "-r", "desk:copy", "."]);
    let back = world.home.path().join("copy");
    assert_eq!(std::fs::read_to_string(back.join("top")).unwrap(), "1");
    assert_eq!(std::fs::read_to_string(back.join("a/b/deep file")).unwrap(), "2");
    assert!(back.join("empty").is_dir());
}

/// All files below a directory, part files and directories in the way included.
fn files_below(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![directory.to_path_buf()];
    while let Some(at) = waiting.pop() {
        for entry in std::fs::read_dir(at).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                waiting.push(entry);
            } else {
                found.push(entry.strip_prefix(directory).unwrap().to_str().unwrap().to_string());
            }
        }
    }
    found.sort();
    found
}

/// Kills a copy once a file of it is there and the next is under way.
fn interrupt(world: &World, args: &[&str], first: &Path) {
    let mut copy = Running::start(&mut world.command(args));
    while !first.exists() {
        assert!(copy.child.try_wait().unwrap().is_none(), "the copy ended before it was interrupted");
        std::thread::yield_now();
    }
    copy.signal(libc::SIGKILL);
    copy.wait();
}

#[test]
fn an_interrupted_tree_is_gone_on_with() {
    let world = World::with_device();
    let tree = world.home.path().join("many");
    std::fs::create_dir_all(tree.join("sub")).unwrap();
    for (name, size) in [("0", 1_000), ("1", 80_000_000), ("2", 10), ("sub/3", 5_000)] {
        std::fs::write(tree.join(name), bytes(size)).unwrap();
    }
    let up = ["cp", "-r", "many", "desk:many"];
    let there = world.workspace().join("many");
    interrupt(&world, &up, &there.join("0"));
    let done = world.json(&up);
    assert!(done["unchanged"].as_u64() >= Some(1) && done["failed"] == 0, "{done}");
    assert_eq!(files_below(&there), files_below(&tree));
    assert!(std::fs::read(there.join("1")).unwrap() == bytes(80_000_000));
    let down = ["cp", "-r", "desk:many", "back"];
    let back = world.home.path().join("back");
    interrupt(&world, &down, &back.join("0"));
    // What was changed here since is not taken for what was copied.
    std::fs::write(back.join("0"), &bytes(1_001)[1..]).unwrap();
    world.ok(&down);
    assert_eq!(files_below(&back), files_below(&tree));
    assert!(std::fs::read(back.join("0")).unwrap() == bytes(1_000));
    assert!(std::fs::read(back.join("1")).unwrap() == bytes(80_000_000));
    // A copy that ended is over: the next one goes into the directory, as everywhere.
    world.ok(&down);
    assert_eq!(files_below(&back.join("many")), files_below(&tree));
}

#[test]
fn one_device_sends_to_another() {
    let world = World::with_device();
    let second = world.home.path().join("second");
    std::fs::create_dir(&second).unwrap();
    let token = world.json(&["auth", "token", "create", "--device", "lap"]);
    let token = token["token"]["token"].as_str().unwrap();
    let lap = Running::start(&mut world.command(&[
        "device",
        "run",
        "--id",
        "lap",
        "-t",
        token,
        "--workspace",
        second.to_str().unwrap(),
    ]));
    lap.wait_for("connected as lap");
    std::fs::write(world.workspace().join("file"), bytes(500_000)).unwrap();
    assert_eq!(world.ok(&["cp", "desk:file", "lap:copied"]), "copied 1 file, 500000 bytes\n");
    assert_eq!(std::fs::read(second.join("copied")).unwrap(), bytes(500_000));
}
