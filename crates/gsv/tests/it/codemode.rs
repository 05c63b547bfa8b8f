//! `gsv codemode` and `codemode` in the native shell, with the real program; and children and gateways that are killed in
//! the middle of a block.

use serde_json::json;

use crate::world::{Running, World, wait_until};

/// The children of the gateway that run, or wait for, blocks.
fn guests(gateway: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{gateway}/task")) else { return found };
    for task in tasks.flatten() {
        let list = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        found.extend(list.split_whitespace().filter_map(|number| number.parse::<u32>().ok()));
    }
    found
}

/// Whether there is such a process that is not only waited for.
fn is_alive(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().any(|line| line.starts_with("State:") && !line.contains('Z'))
}

#[test]
fn scripts_run_from_the_command_line() {
    let world = World::set_up();
    assert_eq!(world.ok(&["codemode", "-e", "return 'text'"]), "text\n");
    assert_eq!(world.ok(&["codemode", "-e", "return [1]"]), "[\n  1\n]\n");
    let script = world.workspace().join("script.ts");
    std::fs::create_dir_all(world.workspace()).unwrap();
    std::fs::write(&script, "const all: unknown[] = [argv, args]; console.log('seen'); return all").unwrap();
    let script = script.to_str().unwrap();
    let args = ["codemode", "run", script, "--arg", "a=b", "--json", "--", "x", "--y"];
    assert_eq!(
        world.json(&args),
        json!({ "status": "completed", "result": [["x", "--y"], { "a": "b" }], "logs": ["seen"] })
    );
    let failed = world.run(&["codemode", "-e", "console.log('before'); throw new Error('no')"]);
    assert_eq!((failed.code, failed.out.as_str()), (1, ""));
    assert!(failed.err.contains("before\nno\n"), "{}", failed.err);
    let stdin = world.run_with(&["codemode", "-"], b"return 5");
    assert_eq!((stdin.code, stdin.out.as_str()), (0, "5\n"));
    world.fails(2, &["codemode", "-e", "1", script]);
}

#[test]
fn scripts_run_in_the_native_shell() {
    let world = World::set_up();
    let shell = |input: &str| world.run(&["run", "--", input]);
    let made = "mkdir -p d && cd d && echo \"return [(await shell('pwd')).output, argv, args]\" > s.js && \
                codemode ./s.js --arg k=v --json -- one";
    let printed: serde_json::Value = serde_json::from_str(&shell(made).out).unwrap();
    assert_eq!(printed["result"], json!(["/home/alice/d\n", ["one"], { "k": "v" }]));
    let failed = shell("codemode -e 'console.log(1); throw new Error(2)' 2>errors; echo $?; cat errors");
    assert_eq!(failed.out, "1\n1\n2\n", "the exit code, then the log and the error");
    let both = shell("codemode run d/s.js -e x");
    let told = both.out + &both.err;
    assert_eq!(
        (both.code, told.as_str()),
        (1, "codemode: use either -e/--eval or a script file, not both\n")
    );
    assert!(shell("codemode").out.starts_with("usage: codemode "));
    assert!(shell("man codemode").out.contains("codemode"));
}

#[test]
fn a_child_that_is_killed_ends_its_block_and_nothing_else() {
    let world = World::set_up();
    let gateway = world.gateway.child.id();
    let code =
        "await fs.write({ path: 'mark', content: 'x' }); await new Promise(done => setTimeout(done, 50000))";
    let mut block = Running::start(&mut world.command(&["codemode", "--json", "-e", code]));
    wait_until("the block runs", || world.run(&["run", "--", "cat mark"]).code == 0);
    // Blank ones among them; the block's is one of all.
    wait_until("the block ends", || {
        for pid in guests(gateway) {
            // It may be gone meanwhile.
            drop(std::process::Command::new("kill").args(["-9", &pid.to_string()]).output());
        }
        block.child.try_wait().is_ok_and(|ended| ended.is_some())
    });
    assert_eq!(block.wait(), 1);
    let told = block.rest().join("");
    assert!(told.contains("failed") && told.contains("more memory or processor time"), "{told}");
    assert_eq!(world.ok(&["codemode", "-e", "return 6 * 7"]), "42\n");
}

#[test]
fn no_guest_outlives_a_gateway_that_is_killed() {
    let mut world = World::set_up();
    world.ok(&["codemode", "-e", "return 1"]);
    let gateway = world.gateway.child.id();
    let code = "await new Promise(done => setTimeout(done, 50000))";
    let _block = Running::start(&mut world.command(&["codemode", "-e", code]));
    wait_until("guests run", || guests(gateway).len() >= 2);
    let all = guests(gateway);
    world.gateway.child.kill().unwrap();
    world.gateway.child.wait().unwrap();
    wait_until("the guests are gone", || all.iter().all(|pid| !is_alive(*pid)));
    world.restart_gateway();
    assert_eq!(world.ok(&["codemode", "-e", "return 6 * 7"]), "42\n");
}
