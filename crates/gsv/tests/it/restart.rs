//! Tests of restarts and crashes of the gateway while clients depend on it.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use crate::world::{PART_OF_COPY, Running, World};

#[test]
fn a_followed_command_survives_the_gateways_death() {
    let mut world = World::with_device();
    let count = "for i in $(seq 1 40); do echo line $i; sleep 0.25; done; exit 5";
    let mut run = Running::start(&mut world.command(&["run", "--target", "desk", "--", count]));
    run.wait_for("line 4");
    world.gateway.signal(libc::SIGKILL);
    world.gateway.wait();
    world.restart_gateway();
    assert_eq!(run.wait(), 5);
    let rest = run.rest();
    let expected: Vec<String> = (5..=40).map(|i| format!("line {i}")).collect();
    assert_eq!(rest, expected);
}

#[test]
fn a_gateway_stops_cleanly_and_remembers() {
    let mut world = World::set_up();
    for signal in [libc::SIGTERM, libc::SIGINT] {
        world.gateway.signal(signal);
        assert_eq!(world.gateway.wait(), 0);
        let away = world.fails(1, &["devices"]);
        assert!(away.contains("cannot reach"), "{away}");
        world.restart_gateway();
        // The session of before is still good.
        world.ok(&["devices"]);
    }
}

#[test]
fn a_copy_survives_the_gateways_death() {
    let mut world = World::with_device();
    let content = vec![7u8; 120_000_000];
    std::fs::write(world.workspace().join("file"), &content).unwrap();
    let mut copy = Running::start(&mut world.command(&["cp", "desk:file", "copy"]));
    let part = world.home.path().join(PART_OF_COPY);
    while !std::fs::metadata(&part).is_ok_and(|part| part.len() > 0) {
        assert!(copy.child.try_wait().unwrap().is_none(), "the copy ended before it was disturbed");
        std::thread::yield_now();
    }
    world.gateway.signal(libc::SIGKILL);
    world.gateway.wait();
    world.restart_gateway();
    assert_eq!(copy.wait(), 0);
    assert!(std::fs::read(world.home.path().join("copy")).unwrap() == content);
}

#[test]
fn a_shell_outlives_the_gateway() {
    let mut world = World::with_device();
    let mut command = world.command(&["shell", "--target", "desk"]);
    let mut shell = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, output) = (shell.stdin.take().unwrap(), shell.stdout.take().unwrap());
    let mut lines = BufReader::new(output).lines();
    writeln!(input, "cd /; echo first").unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "first");
    world.gateway.signal(libc::SIGKILL);
    world.gateway.wait();
    world.restart_gateway();
    world.wait_until_online("desk");
    writeln!(input, "pwd").unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "/");
    drop(input);
    assert!(shell.wait().unwrap().success());
}
