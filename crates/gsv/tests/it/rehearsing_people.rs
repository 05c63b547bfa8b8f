//! People who rehearse: `gsv run --rehearse`, `gsv approvals rehearse`, the chat's question, and a driver that is killed
//! in the middle.

use std::path::PathBuf;

use base::clock::Clock;
use serde_json::Value;

use crate::approving::pending;
use crate::at_the_prompt::Person;
use crate::rehearsing::{find, shared_place};
use crate::world::{PATIENCE, Running, World};

/// A chat that asks to run a command on the device, and the request that waits.
fn asking(world: &World, command: &str) -> (Running, Value, PathBuf) {
    let file = world.workspace().join("old.txt");
    std::fs::write(&file, "old\n").unwrap();
    let chat = Running::start(&mut world.command(&["chat", &format!("run {command} on desk")]));
    (chat, pending(world), file)
}

#[test]
fn a_person_sees_what_a_command_would_do_and_has_it_put_in_place() {
    let world = World::with_device();
    let file = world.workspace().join("old.txt");
    std::fs::write(&file, "old\n").unwrap();
    let rehearse = ["run", "--target", "desk", "--rehearse"];
    let command = "echo new > old.txt; echo said; exit 4";
    let said = world.run(&[&rehearse[..], &["--", command]].concat());
    assert_eq!(said.code, 4, "{said:?}");
    for part in ["it would change 1 file", "old.txt", "-old", "+new", "│ said", "exit code 4"] {
        assert!(said.out.contains(part), "{part}: {said:?}");
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "old\n");
    let said = world.run(&[&rehearse[..], &["--apply", "--", command]].concat());
    assert_eq!(said.code, 4, "{said:?}");
    assert!(said.err.contains("1 change is in place"), "{said:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "new\n");
    let shown = world.run(&[&["--json"][..], &rehearse, &["--", "rm old.txt"]].concat());
    let shown: Value = serde_json::from_str(&shown.out).unwrap();
    assert_eq!(shown["rehearsed"]["rehearsal"]["changes"][0]["change"], "deleted");
    assert!(file.exists());
    let native = world.fails(1, &["run", "--target", "gsv", "--rehearse", "--", "ls"]);
    assert!(native.contains("only commands on a device"), "{native}");
    let refused = world.fails(1, &[&rehearse[..], &["--apply", "--", "echo x >> ~/.bashrc"]].concat());
    assert!(refused.contains("runs later"), "{refused}");
    assert!(!world.home.path().join(".bashrc").exists());
}

#[test]
fn a_question_is_rehearsed_and_exactly_that_is_put_in_place() {
    let world = World::with_device();
    let (mut chat, request, file) = asking(&world, "rm old.txt && date +%s%N > stamp.txt");
    let id = request["requestId"].as_str().unwrap();
    let stamp = world.workspace().join("stamp.txt");
    let shown = world.run(&["approvals", "rehearse", id]);
    assert_eq!(shown.code, 0, "{shown:?}");
    for part in ["rm old.txt", "deleted", "created", "stamp.txt", "exit code 0"] {
        assert!(shown.out.contains(part), "{part}: {shown:?}");
    }
    assert!(shown.err.contains("--rehearsal"), "{shown:?}");
    assert!(file.exists() && !stamp.exists());
    let put = world.json(&["approvals", "rehearse", id, "--apply"]);
    assert_eq!(put["answered"]["decision"], "approve", "{put}");
    assert_eq!(chat.wait(), 0);
    assert!(!file.exists());
    let seen = put["rehearsed"]["rehearsal"]["changes"].to_string();
    let stamp = std::fs::read_to_string(stamp).unwrap();
    assert!(seen.contains(stamp.trim()), "it ran again: {stamp} is not in {seen}");
}

#[test]
fn the_chats_question_offers_a_rehearsal() {
    let world = World::with_device();
    let mut person = Person::start(&world, &["approvals", "watch"]);
    person.wait_for("watching for questions");
    let (mut chat, _, file) = asking(&world, "rm old.txt");
    person.wait_for("[r] rehearse");
    person.wait_for("Allow? ");
    person.say("p");
    person.wait_for("there is no rehearsal");
    person.wait_for("Allow? ");
    person.say("r");
    person.wait_for("deleted");
    person.wait_for("[p] put exactly this in place");
    assert!(file.exists());
    person.wait_for("Allow? ");
    person.say("p");
    person.wait_for("put in place");
    assert_eq!(chat.wait(), 0);
    assert!(!file.exists());
    // A call that is no command on a device has no such key.
    let (mut chat, ..) = crate::approving::asking(&world);
    person.wait_for("asks for approval");
    person.wait_for("Allow? [y/n");
    person.say("n");
    person.wait_for("denied");
    assert_eq!(chat.wait(), 0);
    person.press("\u{3}");
    let (code, shown) = person.leave();
    assert_eq!(code, 0, "{shown}");
    let of_delete = shown.rsplit("asks for approval").next().unwrap();
    assert!(!of_delete.contains("[r]"), "{of_delete}");
}

#[test]
fn a_driver_that_is_killed_in_the_middle_leaves_nothing() {
    let mut world = World::with_device();
    let place = shared_place();
    let name = "in-the-middle-5e1c.txt";
    let command = format!("echo x > {name}; sleep 600");
    let rehearse = ["run", "--target", "desk", "--rehearse", "--", &command];
    let mut running = Running::start(&mut world.command(&rehearse));
    let deadline = Clock::system().instant() + PATIENCE;
    while !find(&place, name) {
        assert!(Clock::system().instant() < deadline, "the rehearsal did not begin");
    }
    let mut device = world.take_device();
    device.signal(libc::SIGKILL);
    device.wait();
    assert_ne!(running.wait(), 0);
    assert!(!world.workspace().join(name).exists());
    world.connect_device();
    while find(&place, name) {
        assert!(Clock::system().instant() < deadline, "what it left is still there");
    }
    assert!(!world.workspace().join(name).exists());
}

#[test]
fn a_driver_that_is_killed_while_it_puts_in_place_leaves_each_file_old_or_new() {
    let mut world = World::with_device();
    let workspace = world.workspace();
    let file = |number: usize| workspace.join(format!("file-{number}.txt"));
    let (old, new, count) = ("old ".repeat(2_000), "new ".repeat(2_000), 300);
    for number in 0..count {
        std::fs::write(file(number), &old).unwrap();
    }
    let command = "sed -i s/old/new/g file-*.txt";
    let rehearse = ["run", "--target", "desk", "--rehearse", "--apply", "--", command];
    let mut running = Running::start(&mut world.command(&rehearse));
    let is_new = |number: usize| std::fs::read_to_string(file(number)).unwrap() == new;
    let deadline = Clock::system().instant() + PATIENCE;
    // They are replaced in the order of their names.
    while !is_new(0) {
        assert!(Clock::system().instant() < deadline, "nothing is put in place");
    }
    let mut device = world.take_device();
    device.signal(libc::SIGKILL);
    device.wait();
    running.wait();
    for number in 0..count {
        let text = std::fs::read_to_string(file(number)).unwrap();
        assert!(text == old || text == new, "{number}: {} bytes", text.len());
    }
    world.connect_device();
    // The next driver says how far it came, and removes what was left.
    while workspace.join(".gsv-apply").exists() || find(&shared_place(), "file-0.txt") {
        assert!(Clock::system().instant() < deadline, "what it left is still there");
    }
    let again = world.run(&rehearse);
    assert_eq!(again.code, 0, "{again:?}");
    assert!((0..count).all(is_new));
}
