//! Tests of `gsv cp` to and from the gateway's own files.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::world::{Running, World};

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Alice's home in the gateway's tree, on disk.
fn home_on_gateway(world: &World) -> PathBuf {
    world.home.path().join("data/files/home/alice")
}

/// The unfinished upload in a directory, once it has so many bytes.
fn partial_in(directory: &Path, bytes: u64) -> Option<PathBuf> {
    let mut entries = std::fs::read_dir(directory).unwrap().filter_map(|entry| entry.ok());
    let found = entries.find(|entry| {
        let hidden = entry.file_name().to_string_lossy().starts_with(".gsv-part-");
        hidden && entry.metadata().is_ok_and(|about| about.len() >= bytes)
    });
    found.map(|entry| entry.path())
}

#[test]
fn files_go_to_the_gateway_and_come_back_the_same() {
    let world = World::set_up();
    let content = bytes(9_000_001);
    let here = world.home.path().join("here.bin");
    std::fs::write(&here, &content).unwrap();
    std::fs::set_permissions(&here, std::fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(world.ok(&["cp", "here.bin", "gsv:new/there.bin"]), "copied 1 file, 9000001 bytes\n");
    assert_eq!(std::fs::read(home_on_gateway(&world).join("new/there.bin")).unwrap(), content);
    world.ok(&["cp", "gsv:/home/alice/new/there.bin", "back/again.bin"]);
    let back = world.home.path().join("back/again.bin");
    assert_eq!(std::fs::read(&back).unwrap(), content);
    assert_eq!(mode(&back), 0o700, "the mode came along");
    // Into an existing directory the name is kept, and an empty file is a file too.
    std::fs::write(&here, b"").unwrap();
    world.ok(&["cp", "here.bin", "gsv:new"]);
    world.ok(&["cp", "gsv:~/new/here.bin", "back"]);
    assert_eq!(std::fs::read(world.home.path().join("back/here.bin")).unwrap(), b"");
    let missing = world.fails(1, &["cp", "gsv:missing", "x"]);
    assert!(missing.contains("gsv:missing") && !world.home.path().join("x").exists(), "{missing}");
    let refused = world.fails(1, &["cp", "here.bin", "gsv:/home/nobody/file"]);
    assert!(refused.contains("denied") || refused.contains("not permitted"), "{refused}");
}

#[test]
fn trees_go_to_the_gateway_and_come_back() {
    let world = World::set_up();
    let tree = world.home.path().join("tree");
    std::fs::create_dir_all(tree.join("a/b")).unwrap();
    std::fs::create_dir_all(tree.join("empty")).unwrap();
    std::fs::write(tree.join("top"), "1").unwrap();
    std::fs::write(tree.join("a/b/deep file"), bytes(300_000)).unwrap();
    std::fs::set_permissions(tree.join("top"), std::fs::Permissions::from_mode(0o600)).unwrap();
    let refused = world.fails(1, &["cp", "tree", "gsv:copy"]);
    assert!(refused.contains("-r"), "{refused}");
    assert_eq!(world.ok(&["cp", "-r", "tree", "gsv:copy"]), "copied 2 files, 300001 bytes\n");
    let copy = home_on_gateway(&world).join("copy");
    assert_eq!(std::fs::read(copy.join("a/b/deep file")).unwrap(), bytes(300_000));
    assert_eq!(std::fs::read_dir(copy.join("empty")).unwrap().count(), 0);
    world.ok(&["cp", "-r", "gsv:copy", "."]);
    let back = world.home.path().join("copy");
    assert_eq!(std::fs::read_to_string(back.join("top")).unwrap(), "1");
    assert_eq!(mode(&back.join("top")), 0o600);
    assert_eq!(std::fs::read(back.join("a/b/deep file")).unwrap(), bytes(300_000));
    assert!(back.join("empty").is_dir());
}

#[test]
fn a_device_and_the_gateway_send_to_each_other() {
    let world = World::with_device();
    std::fs::write(world.workspace().join("file"), bytes(500_000)).unwrap();
    assert_eq!(world.ok(&["cp", "desk:file", "gsv:kept"]), "copied 1 file, 500000 bytes\n");
    assert_eq!(std::fs::read(home_on_gateway(&world).join("kept")).unwrap(), bytes(500_000));
    world.ok(&["cp", "gsv:kept", "desk:copied"]);
    assert_eq!(std::fs::read(world.workspace().join("copied")).unwrap(), bytes(500_000));
}

#[test]
fn an_upload_goes_on_after_the_gateway_was_killed() {
    let mut world = World::set_up();
    let content = bytes(150_000_000);
    std::fs::write(world.home.path().join("file"), &content).unwrap();
    let home = home_on_gateway(&world);
    let mut copy = Running::start(&mut world.command(&["cp", "file", "gsv:file"]));
    let partial = loop {
        assert!(copy.child.try_wait().unwrap().is_none(), "the copy ended before it was disturbed");
        if let Some(found) = partial_in(&home, 1_000_000) {
            break found;
        }
    };
    world.gateway.signal(libc::SIGKILL);
    world.gateway.wait();
    assert!(partial.exists() && !home.join("file").exists());
    world.restart_gateway();
    assert_eq!(copy.wait(), 0);
    assert!(std::fs::read(home.join("file")).unwrap() == content);
    assert!(!partial.exists());
}
