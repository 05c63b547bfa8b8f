//! Documentation test: the sessions that the README prints, typed into real terminals, whose output must match.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::num::NonZero;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use base::clock::Clock;
use regex::Regex;

use crate::terminal::{open_terminal, resize, take_terminal};
use crate::world::{self, PATIENCE, send_signal};

/// Room for everything that is typed at one terminal.
const SIZE: (u16, u16) = (600, 200);

/// How lines begin that are typed.
const PROMPTS: [&str; 3] = ["$ ", "laptop$ ", "gsv$ "];

#[test]
fn what_the_readme_shows_is_what_happens() {
    let readme = include_str!("../../../../README.md");
    let blocks =
        <[_; 9]>::try_from(blocks(readme)).expect("the README has as many sessions as are typed here");
    let [serve, set_up, used, goes_on, computer, chat, approved, chat_goes_on, kept] = blocks;
    let desk = Desk::new();

    let mut first = desk.terminal();
    first.show(&serve);
    let mut second = desk.terminal();
    second.show(&set_up);

    let mut third = desk.terminal();
    third.show(&used);
    desk.restart(&mut first);
    // The device may say a line more before the gateway is gone.
    let (steps, told) = third.rest_of(&goes_on);
    assert_eq!(steps, ["step 4", "step 5", "step 6", "step 7", "step 8"]);
    assert_eq!(told.len(), 2, "{told:?}");

    third.show(&computer);

    third.show(&chat);
    desk.restart(&mut first);
    desk.wait_for_device();
    let mut fourth = desk.terminal();
    fourth.show(&approved);
    third.expect(&chat_goes_on, None);
    assert!(!desk.home.path().join("shopping.txt").exists());
    fourth.show(&kept);
}

/// What stands in the README's blocks of `console`.
fn blocks(readme: &str) -> Vec<Vec<&str>> {
    let mut blocks = Vec::new();
    let mut lines = readme.lines();
    while lines.by_ref().any(|line| line == "```console") {
        blocks.push(lines.by_ref().take_while(|line| *line != "```").map(without_comment).collect());
    }
    blocks
}

/// A remark behind a command is for people.
fn without_comment(line: &str) -> &str {
    line.split("     #").next().unwrap_or(line)
}

/// A home with a free port, and the terminals on it.
struct Desk {
    home: tempfile::TempDir,
    port: u16,
}

impl Desk {
    fn new() -> Desk {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let home = tempfile::Builder::new().prefix("home-").tempdir().unwrap();
        Desk { home, port: free.local_addr().unwrap().port() }
    }

    /// A shell in which the README's commands mean this world: its binary, its port, its directory.
    fn terminal(&self) -> Terminal {
        let home = self.home.path();
        let binary = world::gsv(home).get_program().to_owned();
        let directory = Path::new(&binary).parent().unwrap().display().to_string();
        let data = home.join("data").display().to_string();
        let start = home.join("start.sh");
        let text = format!(
            "PS1='$ '; unset HISTFILE; export PATH={directory}:$PATH\n\
             cargo() {{ (echo $BASHPID > {data}.pid; exec gsv serve --listen 127.0.0.1:{} --data {data}); }}\n",
            self.port
        );
        std::fs::write(&start, text).unwrap();
        let mut command = world::gsv(home);
        let mut shell = Command::new("bash");
        shell.args(["--noprofile", "--noediting", "--rcfile"]).arg(start).arg("-i");
        for (name, value) in command.env("GSV_URL", format!("ws://localhost:{}/ws", self.port)).get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        // Whoever uses git has told it who they are.
        for who in ["AUTHOR", "COMMITTER"] {
            shell
                .env(format!("GIT_{who}_NAME"), "alice")
                .env(format!("GIT_{who}_EMAIL"), "alice@example.org");
        }
        shell.env("TERM", "xterm-256color").env_remove("NO_COLOR").current_dir(home);
        Terminal::start(shell, self.port)
    }

    /// Kills the gateway the hard way and starts it again at its terminal.
    fn restart(&self, first: &mut Terminal) {
        let pid = std::fs::read_to_string(self.home.path().join("data.pid")).unwrap();
        send_signal(pid.trim().parse().unwrap(), libc::SIGKILL);
        first.wait("the gateway is gone", |screen| screen.ends_with(PROMPTS[0]));
        first.type_line("cargo run --release -- serve");
        let listens = |screen: &str| screen.matches("listening on").count() > 1;
        first.wait("the gateway listens again", listens);
    }

    fn wait_for_device(&self) {
        world::wait_until("the device is back", || {
            let mut command = world::gsv(self.home.path());
            command.env("GSV_URL", format!("ws://localhost:{}/ws", self.port)).args(["devices", "--online"]);
            world::finish(&mut command, b"").out.contains("laptop")
        });
    }
}

/// A shell at a terminal, and what is to be seen there.
struct Terminal {
    person: File,
    shell: Child,
    pieces: mpsc::Receiver<Vec<u8>>,
    screen: vt100::Parser,
    port: u16,
    /// Lines that were compared already.
    seen: usize,
    /// What the README calls things that have another name each time, by what they are called here.
    names: Vec<(String, String)>,
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // What runs there is told that its terminal is gone.
        drop(self.shell.kill());
        drop(self.shell.wait());
    }
}

impl Terminal {
    fn start(mut shell: Command, port: u16) -> Terminal {
        let (person, terminal) = open_terminal();
        resize(&person, SIZE);
        shell.stdin(terminal.try_clone().unwrap()).stdout(terminal.try_clone().unwrap()).stderr(terminal);
        take_terminal(&mut shell);
        let child = shell.spawn().unwrap();
        let (send, pieces) = mpsc::sync_channel(1_000);
        let mut reading = person.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // A terminal whose last user has gone cannot be read.
            while let Ok(count @ 1..) = reading.read(&mut buffer) {
                if send.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let [rows, columns] = [SIZE.0, SIZE.1].map(|count| NonZero::new(count).unwrap());
        let screen = vt100::Parser::new(rows, columns, 0);
        Terminal { person, shell: child, pieces, screen, port, seen: 0, names: Vec::new() }
    }

    /// Types what the block says is typed, and sees what it says is shown.
    fn show(&mut self, block: &[&str]) {
        for (at, line) in block.iter().enumerate() {
            let Some(prompt) = PROMPTS.iter().find(|prompt| line.starts_with(**prompt)) else { continue };
            self.expect(&block[..at], Some(prompt.trim_end()));
            let typed = self.names.iter().fold(line[prompt.len()..].to_string(), |typed, (here, there)| {
                typed.replace(there.as_str(), here)
            });
            self.type_line(&typed);
        }
        self.expect(block, None);
        self.seen += block.len();
    }

    /// Sees the rest of a command that counts while the gateway is away: what it counted, and what else was said.
    fn rest_of(&mut self, block: &[&str]) -> (Vec<String>, Vec<String>) {
        let [counted @ .., typed, code] = block else { panic!("no end") };
        self.wait("the command ends", |screen| screen.ends_with(PROMPTS[0]));
        self.type_line(typed.trim_start_matches(PROMPTS[0]));
        let end = format!("{typed}\n{code}\n$ ");
        self.wait("its exit code", |screen| screen.ends_with(&end));
        let shown: Vec<String> = self.lines()[self.seen..][..counted.len()].to_vec();
        self.seen += block.len();
        let mut wanted: Vec<_> = counted.iter().map(|line| line.to_string()).collect();
        let mut sorted = shown.clone();
        wanted.sort();
        sorted.sort();
        assert_eq!(sorted, wanted);
        shown.into_iter().partition(|line| line.starts_with("step "))
    }

    fn type_line(&mut self, line: &str) {
        write!(self.person, "{line}\r").unwrap();
    }

    /// Waits until the screen shows these lines next, and then this.
    #[track_caller]
    fn expect(&mut self, lines: &[&str], then: Option<&str>) {
        let wanted: Vec<String> = lines.iter().copied().chain(then).map(plain).collect();
        let deadline = Clock::system().instant() + PATIENCE;
        loop {
            let shown = self.lines();
            let shown = &shown[self.seen.min(shown.len())..];
            let is_next = shown.len() >= wanted.len() && shown[..wanted.len()] == wanted[..];
            // What is typed comes where the cursor is.
            if is_next && (then.is_none() || shown.len() == wanted.len()) {
                return;
            }
            assert!(
                self.read(deadline),
                "the README says\n{}\n\nand this was shown:\n{}",
                wanted.join("\n"),
                shown.join("\n")
            );
        }
    }

    #[track_caller]
    fn wait(&mut self, what: &str, mut is_so: impl FnMut(&str) -> bool) {
        let deadline = Clock::system().instant() + PATIENCE;
        loop {
            let text = self.lines().join("\n");
            let text = if text.ends_with('$') { text + " " } else { text };
            if is_so(&text) {
                return;
            }
            assert!(self.read(deadline), "{what}:\n{text}");
        }
    }

    /// What is shown, with the names that the README uses.
    fn lines(&mut self) -> Vec<String> {
        let contents = self.screen.screen().contents();
        if let Some(id) = Regex::new(r"(?m)^([0-9a-f]{8})-[0-9a-f-]{27} +init:").unwrap().captures(&contents)
        {
            self.names = vec![(id[1].to_string(), "63c49428".to_string())];
        }
        let text = contents.replace(&format!(":{}", self.port), ":8787");
        let text = self.names.iter().fold(text, |text, (here, there)| text.replace(here.as_str(), there));
        text.lines().map(plain).collect()
    }

    /// Takes in what came; false when nothing came for too long.
    fn read(&mut self, deadline: Instant) -> bool {
        let left = deadline.saturating_duration_since(Clock::system().instant());
        let Ok(mut piece) = self.pieces.recv_timeout(left.max(Duration::from_millis(1))) else {
            return false;
        };
        const WHERE: &[u8] = b"\x1b[6n";
        // The editor asks where the cursor is.
        while let Some(at) = piece.windows(WHERE.len()).position(|window| window == WHERE) {
            self.screen.process(&piece[..at]);
            let (row, column) = self.screen.screen().cursor_position();
            write!(self.person, "\x1b[{};{}R", row + 1, column + 1).unwrap();
            piece.drain(..at + WHERE.len());
        }
        self.screen.process(&piece);
        true
    }
}

/// A line without what differs each time: keys, ids, times and amounts.
fn plain(line: &str) -> String {
    let differs = [
        (r"gsv_node_[\w-]+", "KEY"),
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "ID"),
        (r"[0-9a-f]{40}", "HASH"),
        (r"(just now|WHEN|\d+ \w+ ago) +", "WHEN  "),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ", "TIME"),
        (r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d", "TIME"),
        (r"was lost: .*; trying", "was lost: …; trying"),
        (r"^[\d,]+ tokens$", "N tokens"),
        (r"/tmp/home-\w+", "/home/alice"),
        // Where the shell is, at the right edge.
        (r" {20,}\S+$", ""),
        // Said where the port is another one.
        (r" --url ws://127.0.0.1:8787/ws$", ""),
    ];
    differs.iter().fold(line.trim_end().to_string(), |line, (pattern, name)| {
        Regex::new(pattern).unwrap().replace_all(&line, *name).into_owned()
    })
}
