//! Tests of root's commands: users, groups, capabilities, who may use a device.

use crate::world::World;

#[test]
fn users_come_and_go() {
    let world = World::set_up();
    world.root(&["users", "add", "bob", "--new-password", "bobs-password"]);
    assert!(world.root(&["users", "list"]).contains("bob"));
    let as_bob = ["devices", "-u", "bob", "-p", "bobs-password"];
    world.ok(&as_bob);
    world.root(&["users", "lock", "bob"]);
    world.fails(1, &as_bob);
    world.root(&["users", "unlock", "bob"]);
    world.ok(&as_bob);
    let stdin = ["users", "passwd", "bob", "--password-stdin", "-u", "root", "-p", "root-password"];
    assert_eq!(world.run_with(&stdin, b"another-password\n").code, 0);
    world.fails(1, &as_bob);
    world.ok(&["devices", "-u", "bob", "-p", "another-password"]);
    let asked = world.fails(2, &["users", "remove", "bob", "-u", "root", "-p", "root-password"]);
    assert!(asked.contains("--yes") && asked.contains("--keep-files or --delete-files"), "{asked}");
    let asked = world.fails(2, &["users", "remove", "bob", "--yes", "-u", "root", "-p", "root-password"]);
    assert!(asked.contains("--keep-files or --delete-files"), "{asked}");
    world.root(&["users", "remove", "bob", "--yes", "--keep-files"]);
    assert!(!world.root(&["users", "list"]).contains("bob"));
    let again = ["users", "remove", "bob", "--yes", "--keep-files", "-u", "root", "-p", "root-password"];
    world.fails(1, &again);
    let refused = world.fails(1, &["users", "list"]);
    assert!(refused.contains("Permission denied"), "{refused}");
}

#[test]
fn files_of_a_removed_user_are_kept_adopted_or_deleted() {
    let world = World::set_up();
    let add = |more: &[&str]| {
        let words =
            ["users", "add", "bob", "--new-password", "bobs-password", "-u", "root", "-p", "root-password"];
        let done = world.run(&[&words[..], more].concat());
        assert_eq!(done.code, 0, "{}", done.err);
        done.err
    };
    let as_bob = |command: &str| world.run(&["run", "-u", "bob", "-p", "bobs-password", "--", command]);
    assert!(!add(&[]).contains("found"));
    assert_eq!(as_bob("echo tea > ~/note").code, 0);
    world.root(&["users", "remove", "bob", "--yes", "--keep-files"]);
    let said = add(&[]);
    assert!(said.contains("found in /home/bob") && said.contains("--adopt-files"), "{said}");
    assert_ne!(as_bob("cat /home/bob/note").code, 0, "what another user left is not his");
    world.root(&["users", "remove", "bob", "--yes", "--keep-files"]);
    let said = add(&["--adopt-files"]);
    assert!(said.contains("now owns"), "{said}");
    assert_eq!(as_bob("cat ~/note").out, "tea\n");
    world.root(&["users", "remove", "bob", "--yes", "--delete-files"]);
    assert!(!add(&[]).contains("found"));
    assert_ne!(as_bob("cat ~/note").code, 0);
}

#[test]
fn a_setting_of_the_gateway_is_set_and_removed() {
    let world = World::set_up();
    let get = || world.root(&["config", "get", "config/shell/wait_ms"]);
    let usual = get();
    world.root(&["config", "set", "config/shell/wait_ms", "1234"]);
    assert_eq!(get(), "1234\n");
    world.root(&["config", "unset", "config/shell/wait_ms"]);
    assert_eq!(get(), usual);
    let root = ["-u", "root", "-p", "root-password"];
    let refused = world.fails(1, &[&["config", "set", "config/shell/wiat_ms", "1"][..], &root].concat());
    assert!(refused.contains("config/shell/wait_ms"), "the nearest name: {refused}");
}

#[test]
fn groups_hold_capabilities() {
    let world = World::set_up();
    world.root(&["groups", "add", "friends"]);
    assert!(world.root(&["groups", "list"]).contains("friends"));
    world.root(&["capabilities", "grant", "friends", "fs.read"]);
    assert!(world.root(&["capabilities", "list", "friends"]).contains("fs.read"));
    assert!(world.root(&["capabilities", "grant", "friends", "fs.read"]).contains("already"));
    world.root(&["capabilities", "revoke", "friends", "fs.read"]);
    assert!(!world.root(&["capabilities", "list", "friends"]).contains("fs.read"));
    world.root(&["groups", "remove", "friends"]);
    assert!(!world.root(&["groups", "list"]).contains("friends"));
}

#[test]
fn a_group_is_let_in_to_a_device() {
    let world = World::with_device();
    world.root(&["users", "add", "bob", "--new-password", "bobs-password"]);
    let as_bob = ["run", "--target", "desk", "-u", "bob", "-p", "bobs-password", "--", "echo hi"];
    world.fails(1, &as_bob);
    world.root(&["devices", "allow", "desk", "users"]);
    assert_eq!(world.ok(&as_bob), "hi\n");
    world.root(&["devices", "deny", "desk", "users"]);
    world.fails(1, &as_bob);
    let unknown =
        world.fails(1, &["devices", "allow", "desk", "nobodies", "-u", "root", "-p", "root-password"]);
    assert!(unknown.contains("no group nobodies"), "{unknown}");
}

#[test]
fn devices_are_listed_described_and_shown() {
    let world = World::with_device();
    let list = world.ok(&["devices"]);
    assert!(list.starts_with("ID ") && list.contains("desk") && list.contains("online"), "{list}");
    world.ok(&["devices", "describe", "desk", "the machine under the desk"]);
    let shown = world.ok(&["devices", "show", "desk"]);
    assert!(shown.contains("the machine under the desk") && shown.contains("shell.exec"), "{shown}");
    assert_eq!(world.json(&["devices", "--online"])["devices"][0]["deviceId"], "desk");
    world.fails(1, &["devices", "show", "nowhere"]);
}
