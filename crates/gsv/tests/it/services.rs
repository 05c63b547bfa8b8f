//! `gsv device install|start|stop|status|logs` with stand-ins for the programs of the machine's service manager, which
//! live outside: they note how they were called and behave as the real ones do.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::world::{Running, Said, World, finish};

/// What all stand-ins begin with: every call is a line of `calls`, and `broken` makes it fail.
const NOTE: &str = "#!/bin/sh\nhere=$(dirname \"$0\")\necho \"$(basename \"$0\") $*\" >> \"$here/calls\"\n\
    [ ! -e \"$here/broken\" ] || { cat \"$here/broken\" >&2; exit 1; }\n";

const SYSTEMCTL: &str = r#"
unit="$HOME/.config/systemd/user/gsvd.service"
case "$*" in
  "--user start gsvd"|"--user restart gsvd"|"--user enable gsvd")
    [ -e "$unit" ] || { echo "Failed to start gsvd.service: Unit gsvd.service not found." >&2; exit 5; }
    [ "$2" = enable ] || touch "$here/running" ;;
  "--user stop gsvd") rm -f "$here/running" ;;
  *status*)
    echo "gsvd.service - GSV device driver"
    [ -e "$here/running" ] || { echo "Active: inactive (dead)"; exit 3; }
    echo "Active: active (running)" ;;
esac
"#;

const LAUNCHCTL: &str = r#"
case "$1" in
  load) [ -e "$3" ] || { echo "Load failed: 5: Input/output error" >&2; exit 5; }; touch "$here/running" ;;
  unload) [ -e "$here/running" ] || { echo "Unload failed: 5: Input/output error" >&2; exit 5; }; rm "$here/running" ;;
  list) [ -e "$here/running" ] || { echo "Could not find service \"gsvd\" in domain for port" >&2; exit 113; }
    echo '{ "Label" = "gsvd"; };' ;;
esac
"#;

/// A machine with a service manager.
struct Machine {
    world: World,
    programs: PathBuf,
    manager: &'static str,
}

impl Machine {
    fn with(manager: &'static str) -> Machine {
        let world = World::set_up();
        let programs = world.home.path().join("programs");
        std::fs::create_dir(&programs).unwrap();
        std::fs::create_dir(world.workspace()).unwrap();
        for (name, does) in [
            ("systemctl", SYSTEMCTL),
            ("launchctl", LAUNCHCTL),
            ("loginctl", "echo 'Could not enable linger: Access denied' >&2; exit 1\n"),
            ("journalctl", "echo 'a line of the log'\n"),
        ] {
            let path = programs.join(name);
            std::fs::write(&path, format!("{NOTE}{does}")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        Machine { world, programs, manager }
    }

    fn device(&self, args: &[&str]) -> Said {
        let mut command = self.world.command(&[&["device"], args].concat());
        let path = format!("{}:/usr/bin:/bin", self.programs.display());
        finish(command.env("PATH", path).env("GSV_SERVICE_MANAGER", self.manager), b"")
    }

    #[track_caller]
    fn ok(&self, args: &[&str]) -> String {
        let said = self.device(args);
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{args:?}: {said:?}");
        said.out
    }

    /// What was called since the last time.
    fn calls(&self) -> Vec<String> {
        let file = self.programs.join("calls");
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        std::fs::write(&file, "").unwrap();
        text.lines().map(str::to_string).collect()
    }

    fn unit(&self, path: &str) -> (String, u32) {
        let path = self.world.home.path().join(path);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        (std::fs::read_to_string(path).unwrap(), mode)
    }

    /// Everything the manager is asked fails with these words.
    fn break_with(&self, words: &str) {
        std::fs::write(self.programs.join("broken"), words).unwrap();
    }
}

/// The words of a unit's line, without their quotes.
fn words(line: &str) -> Vec<String> {
    line.split('"').skip(1).step_by(2).map(str::to_string).collect()
}

#[test]
fn a_device_is_installed_and_managed_with_systemd() {
    let machine = Machine::with("systemd");
    let workspace = machine.world.workspace();
    let said = machine.ok(&["install", "--workspace", workspace.to_str().unwrap()]);
    assert!(said.contains("gsvd.service") && said.contains("desk"), "{said}");
    let (unit, mode) = machine.unit(".config/systemd/user/gsvd.service");
    assert_eq!(mode & !0o644, 0, "{mode:o}");
    let token = machine.world.ok(&["config", "--local", "get", "node.token", "--reveal"]);
    assert!(!unit.contains(token.trim()), "{unit}");
    assert_eq!(
        machine.calls(),
        [
            "systemctl --user daemon-reload",
            "systemctl --user enable gsvd",
            "systemctl --user restart gsvd",
            "loginctl enable-linger"
        ]
    );
    check_with_systemd(&machine.world.home.path().join(".config/systemd/user/gsvd.service"));
    run_as_service(&machine.world, &unit);
    assert!(machine.ok(&["status"]).contains("active (running)"));
    assert_eq!(machine.ok(&["stop"]), "stopped\n");
    let said = machine.device(&["status"]);
    assert!(said.code == 1 && said.out.contains("inactive"), "{said:?}");
    let json: serde_json::Value = serde_json::from_str(&machine.device(&["status", "--json"]).out).unwrap();
    assert_eq!(json["running"], false, "{json}");
    assert_eq!(machine.ok(&["start"]), "started\n");
    assert_eq!(machine.ok(&["logs", "--lines", "7"]), "a line of the log\n");
    machine.ok(&["logs", "--follow"]);
    let calls = machine.calls();
    assert!(calls.contains(&"systemctl --user stop gsvd".to_string()), "{calls:?}");
    assert!(calls.contains(&"systemctl --user start gsvd".to_string()), "{calls:?}");
    assert!(calls.contains(&"journalctl --user --no-pager -u gsvd -n 7".to_string()), "{calls:?}");
    assert!(calls.last().unwrap().ends_with(" -f"), "{calls:?}");
}

/// Starts what the unit says with nothing but what the unit gives it, as systemd would.
fn run_as_service(world: &World, unit: &str) {
    let line = |beginning: &'static str| unit.lines().filter(move |line| line.starts_with(beginning));
    let exec = words(line("ExecStart=").next().unwrap());
    let mut command = Command::new(&exec[0]);
    command.args(&exec[1..]).env_clear().env("HOME", world.home.path()).env("SHELL", "/bin/sh");
    for variable in line("Environment=").flat_map(words) {
        let (name, value) = variable.split_once('=').unwrap();
        command.env(name, value);
    }
    let device = Running::start(command.current_dir("/"));
    device.wait_for("connected as desk");
    assert_eq!(
        world.ok(&["run", "--target", "desk", "--", "pwd"]).trim(),
        world.workspace().canonicalize().unwrap().to_str().unwrap()
    );
}

/// Asks systemd itself what it thinks of the unit, where it is.
fn check_with_systemd(unit: &Path) {
    let runtime = tempfile::tempdir().unwrap();
    let mut command = Command::new("systemd-analyze");
    command.args(["--user", "--man=no", "verify"]).arg(unit).env("XDG_RUNTIME_DIR", runtime.path());
    match command.stdin(Stdio::null()).output() {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let ours: Vec<&str> = said.lines().filter(|line| line.contains("gsvd")).collect();
            assert!(output.status.success() && ours.is_empty(), "{said}");
        }
        Err(error) => eprintln!("skipped: systemd-analyze cannot be asked: {error}"),
    }
}

#[test]
fn a_device_is_installed_and_managed_with_launchd() {
    let machine = Machine::with("launchd");
    machine.ok(&["install"]);
    let (plist, mode) = machine.unit("Library/LaunchAgents/gsvd.plist");
    assert_eq!(mode & !0o644, 0, "{mode:o}");
    assert!(plist.contains("<string>device</string>\n    <string>run</string>"), "{plist}");
    assert!(plist.contains("<key>XDG_CONFIG_HOME</key>"), "{plist}");
    let file = machine.world.home.path().join("Library/LaunchAgents/gsvd.plist");
    let (load, unload) =
        (format!("launchctl load -w {}", file.display()), format!("launchctl unload {}", file.display()));
    assert_eq!(machine.calls(), [unload.clone(), load.clone()]);
    machine.ok(&["status"]);
    machine.ok(&["stop"]);
    assert_eq!(machine.device(&["status"]).code, 1);
    machine.ok(&["start"]);
    let list = "launchctl list gsvd".to_string();
    assert_eq!(machine.calls(), [list.clone(), unload.clone(), list, unload, load]);
    let log = machine.world.home.path().join("Library/Logs/gsvd.log");
    std::fs::create_dir_all(log.parent().unwrap()).unwrap();
    std::fs::write(&log, "1\n2\n3\n").unwrap();
    assert_eq!(machine.ok(&["logs", "--lines", "2"]), "2\n3\n");
}

#[test]
fn what_the_manager_refuses_is_one_line_and_a_hint() {
    let machine = Machine::with("systemd");
    let early = machine.device(&["start"]);
    assert_eq!(
        early.err,
        "error: `systemctl --user start gsvd` failed: Failed to start gsvd.service: Unit gsvd.service not found.\n\
         hint: install it first with `gsv device install`\n"
    );
    assert_eq!(early.code, 1);
    machine.break_with("Failed to connect to bus:\n  No medium found\n");
    for args in [&["install"][..], &["stop"], &["start"]] {
        let said = machine.device(args);
        assert_eq!((said.code, said.out.as_str()), (1, ""), "{said:?}");
        let lines: Vec<&str> = said.err.lines().collect();
        let [first, second] = lines[..] else { panic!("{said:?}") };
        assert!(first.ends_with("failed: Failed to connect to bus: No medium found"), "{first}");
        assert!(second.starts_with("hint: services of a user need a login"), "{second}");
    }
    let said = machine.device(&["start", "--json"]);
    assert!(said.err.starts_with(r#"{"error":"#) && said.err.contains(r#""hint":"#), "{said:?}");
    for name in ["systemctl", "journalctl"] {
        std::fs::remove_file(machine.programs.join(name)).unwrap();
    }
    let mut command = machine.world.command(&["device", "status"]);
    command.env("PATH", &machine.programs).env("GSV_SERVICE_MANAGER", "systemd");
    let said = finish(&mut command, b"");
    assert_eq!(said.code, 1);
    assert!(said.err.contains("systemctl was not found") && said.err.contains("gsv device run"), "{said:?}");
}
