//! What a newcomer sees: an agent on a fresh device builds, tests and commits a project without a question, and does not
//! get at the keys in the home.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::world::World;

const SECRET: &str = "THE-SECRET-THAT-MUST-STAY";

/// Lets the agent run a command on the device; what the chat said.
#[track_caller]
fn run(world: &World, command: &str) -> String {
    let said = world.run(&["chat", &format!("run {command} on desk")]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(!(said.out.clone() + &said.err).contains("asks for approval"), "{command} asked: {said:?}");
    assert_eq!(world.ok(&["approvals"]), "(nothing waits)\n", "{command}");
    said.out + &said.err
}

#[test]
fn an_agent_builds_a_project_unasked_and_does_not_reach_the_keys() {
    let world = World::with_device();
    let (home, work) = (world.home.path().to_path_buf(), world.workspace());
    std::fs::create_dir_all(home.join(".ssh")).unwrap();
    std::fs::write(home.join(".ssh/id_ed25519"), SECRET).unwrap();
    std::fs::write(
        work.join("Makefile"),
        "test: built.txt\n\tgrep -q source built.txt && echo tests passed\nbuilt.txt: source.txt\n\tcp source.txt built.txt\n",
    )
    .unwrap();
    std::fs::write(work.join("source.txt"), "source\n").unwrap();
    let script = work.join("build.sh");
    std::fs::write(&script, "#!/bin/sh\ncat ~/.ssh/id_ed25519\nls ~/.ssh\nls -A ~\nexit 0\n").unwrap();
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    let init = Command::new("git").args(["init", "-q"]).current_dir(&work).env("HOME", &home).status();
    assert!(init.unwrap().success());

    assert!(run(&world, "make test").contains("tests passed"));
    assert!(work.join("built.txt").exists());
    let commit =
        "git add -A && git -c user.name=a -c user.email=a@example.org commit -qm built && git log --oneline";
    assert!(run(&world, commit).contains("built"));
    let stolen = run(&world, "./build.sh");
    assert!(!stolen.contains(SECRET), "{stolen}");
    assert!(
        stolen.contains("workspace") && !stolen.contains("id_ed25519\n"),
        "the home is seen, the key is not: {stolen}"
    );
}
