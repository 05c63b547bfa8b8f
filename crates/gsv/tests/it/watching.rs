//! A person who watches for questions and answers them.

use crate::approving::asking;
use crate::at_the_prompt::Person;
use crate::world::{Running, World};

#[test]
fn questions_are_shown_as_they_come_and_answered() {
    let mut world = World::with_device();
    let mut person = Person::start(&world, &["approvals", "watch"]);
    person.wait_for("watching for questions");
    let (mut chat, _, file) = asking(&world);
    person.wait_for("asks for approval");
    person.wait_for("old.txt");
    person.wait_for("Allow? ");
    person.say("?");
    person.wait_for("leave it for later");
    person.wait_for("Allow? ");
    assert!(file.exists());
    person.say("n");
    person.wait_for("denied");
    assert_eq!(chat.wait(), 0);
    assert!(file.exists());

    // The gateway goes and comes back, and so does the watch.
    world.gateway.signal(libc::SIGKILL);
    world.gateway.wait();
    world.restart_gateway();
    world.wait_until_online("desk");
    person.wait_for("connected again");
    let (mut chat, request, file) = asking(&world);
    person.wait_for("asks for approval");
    person.wait_for("Allow? ");
    person.say("y");
    person.wait_for("approved once");
    assert_eq!(chat.wait(), 0);
    assert!(!file.exists(), "{request}");

    // Another terminal may be faster.
    let (mut chat, request, _) = asking(&world);
    person.wait_for("Allow? ");
    world.ok(&["approvals", "deny", request["requestId"].as_str().unwrap()]);
    person.wait_for("answered elsewhere");
    assert_eq!(chat.wait(), 0);
    person.press("\u{3}");
    let (code, shown) = person.leave();
    assert_eq!(code, 0, "{shown}");
}

#[test]
fn a_program_gets_a_line_for_each_question() {
    let world = World::with_device();
    let mut watch = Running::start(&mut world.command(&["--json", "approvals", "watch"]));
    let (mut chat, request, file) = asking(&world);
    let line = watch.wait_for("{");
    let shown: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(shown["requestId"], request["requestId"]);
    assert_eq!(shown["pid"], request["pid"]);
    world.ok(&["approvals", "deny", request["requestId"].as_str().unwrap()]);
    assert_eq!(chat.wait(), 0);
    assert!(file.exists());
    watch.signal(libc::SIGINT);
    assert_eq!(watch.wait(), 0);
}
