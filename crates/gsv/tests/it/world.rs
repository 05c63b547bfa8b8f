//! Test fixture: processes of the real binary with a home, a data directory and a free port of their own.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use base::clock::Clock;

/// How long something may take before the test fails.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The unfinished copy of `desk:file` to `copy`; between the dots stands the beginning of the digest of `desk`,
/// a NUL and `file`.
pub const PART_OF_COPY: &str = ".copy.c2a583f1.gsv-part";

/// A home directory and what runs in it.
pub struct World {
    pub home: tempfile::TempDir,
    pub gateway: Running,
    pub port: u16,
    device: Option<Running>,
}

/// What a command did.
#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl World {
    /// A fresh gateway that nobody has set up.
    pub fn fresh() -> World {
        let home = tempfile::Builder::new().prefix("home-").tempdir().unwrap();
        let (gateway, port) = serve(home.path(), 0, &[]);
        World { home, gateway, port, device: None }
    }

    /// A gateway with the user alice and the device token of `desk`, alice logged in.
    pub fn set_up() -> World {
        let world = World::fresh();
        world.ok(&[
            "auth",
            "setup",
            "--username",
            "alice",
            "--new-password",
            "alice-password",
            "--root-password",
            "root-password",
            "--node-id",
            "desk",
        ]);
        world.ok(&["auth", "login", "-p", "alice-password", "--username", "alice"]);
        world
    }

    /// The same with the device `desk` connected.
    pub fn with_device() -> World {
        let mut world = World::set_up();
        std::fs::create_dir(world.workspace()).unwrap();
        world.connect_device();
        world
    }

    pub fn connect_device(&mut self) {
        let workspace = self.workspace();
        let mut command = self.command(&["device", "run", "--workspace", workspace.to_str().unwrap()]);
        let device = Running::start(command.env("GSV_RECONNECT_MAX_MS", "200"));
        device.wait_for("connected as desk");
        self.device = Some(device);
    }

    /// The device's process, no longer looked after.
    pub fn take_device(&mut self) -> Running {
        self.device.take().unwrap()
    }

    pub fn workspace(&self) -> PathBuf {
        self.home.path().join("workspace")
    }

    pub fn url(&self) -> String {
        format!("ws://127.0.0.1:{}/ws", self.port)
    }

    /// A command in this world, not started yet.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = gsv(self.home.path());
        command.env("GSV_URL", self.url()).args(args);
        command
    }

    /// Runs a command without input.
    pub fn run(&self, args: &[&str]) -> Said {
        self.run_with(args, b"")
    }

    /// Runs a command with this on its stdin.
    pub fn run_with(&self, args: &[&str], stdin: &[u8]) -> Said {
        finish(&mut self.command(args), stdin)
    }

    /// Runs a command that must work, and gives its stdout.
    #[track_caller]
    pub fn ok(&self, args: &[&str]) -> String {
        let said = self.run(args);
        assert_eq!(said.code, 0, "{args:?}: {said:?}");
        said.out
    }

    /// Runs a command that must work, as root.
    #[track_caller]
    pub fn root(&self, args: &[&str]) -> String {
        self.ok(&[args, &["-u", "root", "-p", "root-password"]].concat())
    }

    /// Runs a command that must work with `--json`, and gives its result.
    #[track_caller]
    pub fn json(&self, args: &[&str]) -> serde_json::Value {
        let text = self.ok(&[&["--json"], args].concat());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{args:?}: {error}: {text}"))
    }

    /// Runs a command that must fail with this code, and gives its stderr.
    #[track_caller]
    pub fn fails(&self, code: i32, args: &[&str]) -> String {
        let said = self.run(args);
        assert_eq!(said.code, code, "{args:?}: {said:?}");
        said.err
    }

    /// Returns once the gateway counts a device as connected.
    pub fn wait_until_online(&self, id: &str) {
        let deadline = Clock::system().instant() + PATIENCE;
        loop {
            let devices = self.json(&["devices", "--online"]);
            if devices["devices"].as_array().unwrap().iter().any(|device| device["deviceId"] == id) {
                return;
            }
            assert!(Clock::system().instant() < deadline, "{id} did not come back");
        }
    }

    /// Starts the gateway again on the same port and data.
    pub fn restart_gateway(&mut self) {
        self.gateway = serve(self.home.path(), self.port, &[]).0;
    }

    /// The same with more in its environment.
    pub fn restart_gateway_with(&mut self, env: &[(&str, &str)]) {
        self.gateway = serve(self.home.path(), self.port, env).0;
    }

    /// The same for a gateway that may end before it listens: false then.
    pub fn try_restart_gateway_with(&mut self, env: &[(&str, &str)]) -> bool {
        self.gateway = start_serving(self.home.path(), self.port, env);
        self.gateway.look_for(LISTENING).is_ok()
    }
}

/// The binary with nothing of the machine's own settings.
pub fn gsv(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gsv"));
    for name in [
        "GSV_URL",
        "GSV_TOKEN",
        "GSV_DATA",
        "GSV_LISTEN",
        "GSV_STORE",
        "GSV_LOG",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        // The keyring of whoever runs the tests is not theirs.
        "DBUS_SESSION_BUS_ADDRESS",
    ] {
        command.env_remove(name);
    }
    command
        .env("HOME", home)
        .env("XDG_CONFIG_HOME", home.join("config"))
        .env("XDG_STATE_HOME", home.join("state"))
        .env("XDG_DATA_HOME", home.join("data-home"))
        .env("SHELL", "/bin/sh")
        .current_dir(home);
    command
}

/// Runs a command to its end.
pub fn finish(command: &mut Command, stdin: &[u8]) -> Said {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let input = stdin.to_vec();
    let writer = std::thread::spawn(move || {
        // A command that does not read its stdin is in its right.
        drop(pipe.write_all(&input));
    });
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Said {
        code: status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&stdout).into_owned(),
        err: String::from_utf8_lossy(&stderr).into_owned(),
    }
}

/// How the line begins that tells where a gateway listens.
const LISTENING: &str = "listening on http://";

fn serve(home: &Path, port: u16, env: &[(&str, &str)]) -> (Running, u16) {
    let gateway = start_serving(home, port, env);
    let line = gateway.wait_for(LISTENING);
    (gateway, line.rsplit(':').next().unwrap().trim().parse().unwrap())
}

fn start_serving(home: &Path, port: u16, env: &[(&str, &str)]) -> Running {
    let data = home.join("data");
    let listen = format!("127.0.0.1:{port}");
    let mut command = gsv(home);
    command.args(["serve", "--listen", &listen, "--data", data.to_str().unwrap()]);
    Running::start(command.envs(env.iter().copied()))
}

/// A process that runs beside the test; killed when dropped.
pub struct Running {
    pub child: Child,
    lines: mpsc::Receiver<String>,
}

impl Running {
    pub fn start(command: &mut Command) -> Running {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let stdout = child.stdout.take().unwrap();
        let (send, lines) = mpsc::sync_channel(10_000);
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        Running { child, lines }
    }

    /// The next line of stdout that begins so; lines before it are dropped.
    #[track_caller]
    pub fn wait_for(&self, beginning: &str) -> String {
        match self.look_for(beginning) {
            Ok(line) => line,
            Err(error) => panic!("no line begins with `{beginning}`: {error}"),
        }
    }

    fn look_for(&self, beginning: &str) -> Result<String, mpsc::RecvTimeoutError> {
        let deadline = Clock::system().instant() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Clock::system().instant());
            let line = self.lines.recv_timeout(left)?;
            if line.starts_with(beginning) {
                return Ok(line);
            }
        }
    }

    /// All further lines, once the process has ended.
    pub fn rest(&self) -> Vec<String> {
        self.lines.iter().collect()
    }

    pub fn signal(&self, signal: i32) {
        send_signal(i32::try_from(self.child.id()).unwrap(), signal);
    }

    /// The exit code, once it has one.
    #[track_caller]
    pub fn wait(&mut self) -> i32 {
        let status = self.child.wait().unwrap();
        status.code().unwrap_or(-1)
    }
}

/// Waits until something is so.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Clock::system().instant() + PATIENCE;
    while !is_so() {
        assert!(Clock::system().instant() < deadline, "{what}");
        std::thread::yield_now();
    }
}

#[allow(unsafe_code)] // Signals have no safe interface in the standard library.
pub fn send_signal(process: i32, signal: i32) {
    // SAFETY: the call takes two numbers and touches no memory; the process is a child that was not waited for.
    assert_eq!(unsafe { libc::kill(process, signal) }, 0);
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
