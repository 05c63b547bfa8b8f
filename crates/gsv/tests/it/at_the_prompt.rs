//! Tests of a chat on a pseudo-terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command};

use crate::terminal::{open_terminal, take_terminal};
use crate::world::World;

/// A command at a terminal, which answers the questions terminals are asked.
pub struct Person {
    pub terminal: File,
    pub child: Child,
    shown: String,
    seen: usize,
}

impl Person {
    pub fn start(world: &World, args: &[&str]) -> Person {
        Person::run(world.command(args))
    }

    pub fn run(mut command: Command) -> Person {
        let (person, terminal) = open_terminal();
        command.env("TERM", "xterm-256color").env_remove("NO_COLOR");
        command.stdin(terminal.try_clone().unwrap()).stdout(terminal.try_clone().unwrap()).stderr(terminal);
        take_terminal(&mut command);
        let child = command.spawn().unwrap();
        Person { terminal: person, child, shown: String::new(), seen: 0 }
    }

    /// Reads until this is shown, after what was waited for before.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) {
        loop {
            if let Some(at) = self.shown[self.seen..].find(text) {
                self.seen += at + text.len();
                return;
            }
            assert!(self.read(), "`{text}` was not shown: {}", self.shown);
        }
    }

    /// Reads a piece; false at the end.
    fn read(&mut self) -> bool {
        let mut buffer = [0; 4096];
        // A terminal whose last user has gone cannot be read.
        let Ok(count @ 1..) = self.terminal.read(&mut buffer) else { return false };
        let piece = String::from_utf8_lossy(&buffer[..count]).into_owned();
        // The editor asks where the cursor is.
        for _ in piece.matches("\u{1b}[6n") {
            write!(self.terminal, "\u{1b}[1;1R").unwrap();
        }
        self.shown.push_str(&piece);
        true
    }

    pub fn say(&mut self, line: &str) {
        write!(self.terminal, "{line}\r").unwrap();
    }

    pub fn press(&mut self, key: &str) {
        write!(self.terminal, "{key}").unwrap();
    }

    /// The exit code, and all that was shown.
    pub fn leave(mut self) -> (i32, String) {
        while self.read() {}
        (self.child.wait().unwrap().code().unwrap_or(-1), self.shown)
    }
}

#[test]
fn an_answer_is_rendered_and_the_prompt_comes_back() {
    let world = World::set_up();
    let mut person = Person::start(&world, &["chat"]);
    person.wait_for("/help lists commands");
    person.wait_for("› ");
    person.say("hello");
    person.wait_for("built-in");
    person.wait_for("• ");
    person.wait_for("╭");
    person.wait_for("│ ");
    person.wait_for("› ");
    person.say("/help");
    person.wait_for("/compact");
    person.say("/history 2");
    person.wait_for("user");
    person.say("/new elsewhere");
    person.wait_for("new conversation");
    person.say("/cost");
    person.wait_for("run");
    person.say("/nonsense");
    person.wait_for("there is no command /nonsense");
    person.say("/quit");
    let (code, shown) = person.leave();
    assert_eq!(code, 0, "{shown}");
}

#[test]
fn the_prompt_outlives_the_gateway_and_sets_the_model() {
    let mut world = World::set_up();
    let mut person = Person::start(&world, &["chat"]);
    person.wait_for("› ");
    world.gateway.signal(libc::SIGKILL);
    world.gateway.wait();
    world.restart_gateway();
    person.say("/model demo/other");
    person.wait_for("connected again");
    person.wait_for("demo/other");
    person.say("hello");
    person.wait_for("built-in");
    person.wait_for("beside it.");
    person.wait_for("› ");
    person.say("exit");
    let (code, shown) = person.leave();
    assert_eq!(code, 0, "{shown}");
    let uid = world.json(&["proc", "list"])["processes"][0]["uid"].clone();
    let key = format!("users/{uid}/ai/model");
    assert_eq!(world.ok(&["config", "get", &key]), "other\n");
    world.ok(&["config", "unset", &key]);
    assert_eq!(world.json(&["config", "get", &key])["entries"], serde_json::json!([]));
}

#[test]
fn a_risky_call_is_asked_about_inline() {
    let world = World::with_device();
    let file = world.workspace().join("old.txt");
    std::fs::write(&file, "old").unwrap();
    let mut person = Person::start(&world, &["chat", "delete old.txt on desk"]);
    person.wait_for("asks for approval");
    person.wait_for("old.txt");
    person.wait_for("every fs.delete on desk");
    person.wait_for("Allow? ");
    person.say("perhaps");
    person.wait_for("Allow? ");
    assert!(file.exists());
    person.say("t");
    person.wait_for("approved always");
    person.wait_for("Delete on desk");
    let (code, shown) = person.leave();
    assert!(code == 0 && !file.exists(), "{shown}");
    assert!(world.ok(&["approvals", "rules"]).contains("fs.delete"));
}

#[test]
fn an_answer_from_elsewhere_ends_the_question() {
    let world = World::with_device();
    let file = world.workspace().join("old.txt");
    std::fs::write(&file, "old").unwrap();
    let mut person = Person::start(&world, &["chat", "delete old.txt on desk"]);
    person.wait_for("Allow? ");
    let request = world.json(&["approvals"])["pending"][0]["requestId"].as_str().unwrap().to_string();
    world.ok(&["approvals", "approve", &request]);
    person.wait_for("answered elsewhere");
    let (code, shown) = person.leave();
    assert!(code == 0 && !file.exists(), "{shown}");
}

#[test]
fn ctrl_c_stops_the_answer_and_ctrl_d_leaves() {
    let world = World::with_device();
    std::fs::write(world.workspace().join("old.txt"), "old").unwrap();
    let mut person = Person::start(&world, &["chat"]);
    person.wait_for("› ");
    person.say("delete old.txt on desk");
    person.wait_for("Allow? ");
    person.press("\u{3}");
    person.wait_for("aborted");
    person.wait_for("› ");
    person.say("run sleep 60 on desk");
    person.wait_for("Shell on desk");
    person.press("\u{3}");
    person.wait_for("stopping");
    person.wait_for("aborted");
    person.wait_for("› ");
    person.press("\u{4}");
    let (code, shown) = person.leave();
    assert_eq!(code, 0, "{shown}");
    assert!(world.workspace().join("old.txt").exists());
}
