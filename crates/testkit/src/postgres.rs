//! Test fixture: a private PostgreSQL for tests of whole gateways, gone when it is dropped or the test binary ends.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use base::clock::Clock;

const START_MAX: Duration = Duration::from_secs(60);

/// The same that the tests of the store use.
const SCRIPT: &str = include_str!("../../store/tests/it/postgres.sh");

/// A running server with an empty database.
pub struct Postgres {
    /// Where its database is, `postgres://…`.
    pub url: String,
    script: Child,
}

impl Postgres {
    /// Starts one. Waits until it answers.
    pub fn start() -> Postgres {
        let bin = programs();
        for _ in 0..3 {
            let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
            let port = free.local_addr().expect("its address").port();
            drop(free);
            let script = run_script(&bin, port);
            let url = format!("postgres://postgres@127.0.0.1:{port}/postgres");
            let mut started = Postgres { url, script };
            // Somebody else may have taken the port; then another one is tried.
            if started.answers(&bin, port) {
                return started;
            }
        }
        panic!("PostgreSQL was started but does not answer");
    }

    fn answers(&mut self, bin: &Path, port: u16) -> bool {
        let since = Clock::system().instant();
        while since.elapsed() < START_MAX && self.script.try_wait().expect("a child").is_none() {
            let mut asking = Command::new(bin.join("pg_isready"));
            asking.args(["-q", "-h", "127.0.0.1", "-U", "postgres", "-p", &port.to_string()]);
            if asking.status().is_ok_and(|status| status.success()) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        drop(self.script.stdin.take());
        // It has nothing left to do but to remove its files.
        drop(self.script.wait());
    }
}

fn run_script(bin: &Path, port: u16) -> Child {
    let root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    let mut command = if root { Command::new("runuser") } else { Command::new("sh") };
    if root {
        command.args(["-u", "postgres", "--", "sh"]);
    }
    command.args(["-c", SCRIPT, "sh"]).arg(bin).arg(port.to_string());
    // Its own process group, so that Ctrl-C ends the tests and these end the server in order.
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut script = command.spawn().expect("a shell for PostgreSQL starts");
    let mut said = String::new();
    let output = script.stdout.as_mut().expect("it is piped");
    BufReader::new(output).read_line(&mut said).expect("it says something");
    assert_eq!(said, "started\n", "PostgreSQL's initdb failed; its words are above");
    script
}

/// Where its programs are: on the path, or where Debian keeps them, the newest first.
fn programs() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut installed: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    installed.sort();
    let mut places = std::env::split_paths(&path).chain(installed.into_iter().rev().map(|(_, place)| place));
    places
        .find(|place| ["initdb", "postgres", "pg_isready"].iter().all(|name| place.join(name).is_file()))
        .expect("PostgreSQL is not installed: run `cargo xtask test`, which installs it")
}
