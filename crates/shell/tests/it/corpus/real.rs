//! Runner of a script in the machine's bash, in a home of its own and with nothing of our environment.

use std::collections::BTreeMap;
use std::io::{PipeReader, Read};
use std::os::unix::fs::{PermissionsExt, chown, fchown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use super::fixture::{Fixture, FixtureKind, MODIFIED_MS};
use super::outcome::{Entry, Outcome};
use super::{HOME, LIMIT_SECONDS};

const USER: u32 = 1000;
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Programs that the scripts use and that not every machine has.
const PROGRAMS: &[&str] = &["awk", "bc", "bash", "column", "jq", "rev", "timeout", "xxd"];

/// Why this machine cannot be compared with, if it cannot.
pub fn missing() -> Option<String> {
    for program in PROGRAMS {
        let found = PATH.split(':').any(|folder| Path::new(folder).join(program).exists());
        if !found {
            return Some(format!("the corpus needs the program {program} on this machine"));
        }
    }
    let output = Command::new("bash").args(["-c", "echo $BASH_VERSION"]).output().ok()?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_string();
    let mut numbers = version.split('.').map_while(|text| text.parse::<u32>().ok());
    let is_old = (numbers.next(), numbers.next()) < (Some(5), Some(2));
    is_old.then(|| format!("the corpus needs bash 5.2 on this machine, not {version}"))
}

/// Runs a script over a fresh home.
pub fn run(script: &str, fixtures: &[Fixture]) -> Outcome {
    let scratch = tempfile::tempdir().expect("a directory");
    std::fs::set_permissions(scratch.path(), PermissionsExt::from_mode(0o755)).expect("it may be entered");
    let home = scratch.path().join("ann");
    let lower = is_root();
    fill(&home, fixtures, lower);

    // Whoever started the tests may ignore signals, which bash would take over.
    let mut command = Command::new("env");
    command.args(["--default-signal", "bash", "-c", script]).current_dir(&home).env_clear();
    command.env("HOME", &home).env("PWD", &home).env("PATH", PATH).env("TMPDIR", "/tmp");
    command.env("USER", "ann").env("LOGNAME", "ann").env("SHELL", "/bin/bash").env("TERM", "xterm-256color");
    command.env("LANG", "C.UTF-8").env("TZ", "UTC").stdin(Stdio::null()).process_group(0);
    if lower {
        command.uid(USER).gid(USER);
    }
    let (code, stdout, stderr) = finish(command, lower);
    let home_text = home.to_string_lossy().to_string();
    let mut files = BTreeMap::new();
    collect(&home, "", &mut files);
    Outcome { stdout: stdout.replace(&home_text, HOME), stderr, code, files }
}

/// A script that does not end is killed, with all it started, and differs.
fn finish(mut command: Command, lower: bool) -> (i32, String, String) {
    let (stdout, stderr) = (connect(&mut command, lower, 1), connect(&mut command, lower, 2));
    let mut child = command.spawn().expect("bash starts");
    drop(command);
    let group = child.id();
    let (done, ended) = std::sync::mpsc::sync_channel::<()>(1);
    let watch = std::thread::spawn(move || {
        if ended.recv_timeout(Duration::from_secs(LIMIT_SECONDS)).is_err() {
            let killed = Command::new("kill").args(["-9", "--", &format!("-{group}")]).status();
            assert!(killed.is_ok(), "kill does not start");
        }
    });
    let errors = std::thread::spawn(move || text(stderr));
    let stdout = text(stdout);
    let stderr = errors.join().expect("stderr is read");
    let status = child.wait().expect("bash ends");
    done.send(()).ok();
    watch.join().expect("the watch ends");
    (status.code().unwrap_or(137), stdout, stderr)
}

/// A pipe of the user's own: `/dev/stdout` can be opened only by its owner.
fn connect(command: &mut Command, lower: bool, number: u8) -> PipeReader {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    if lower {
        fchown(&writer, Some(USER), Some(USER)).expect("the pipe is given away");
    }
    if number == 1 {
        command.stdout(writer)
    } else {
        command.stderr(writer)
    };
    reader
}

fn text(mut pipe: PipeReader) -> String {
    let mut bytes = Vec::new();
    pipe.read_to_end(&mut bytes).expect("output is read");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Root passes every permission check, so a run by root is lowered to an ordinary user.
fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().expect("id runs");
    output.stdout == b"0\n"
}

fn fill(home: &Path, fixtures: &[Fixture], lower: bool) {
    std::fs::create_dir(home).expect("the home is made");
    let mut made: Vec<PathBuf> = vec![home.to_path_buf()];
    for fixture in fixtures {
        let path = home.join(&fixture.path);
        match &fixture.kind {
            FixtureKind::Directory => std::fs::create_dir(&path).expect("a directory is made"),
            FixtureKind::Link(target) => symlink(target, &path).expect("a link is made"),
            FixtureKind::File(mode, bytes) => {
                std::fs::write(&path, bytes).expect("a file is written");
                std::fs::set_permissions(&path, PermissionsExt::from_mode(*mode)).expect("its mode is set");
            }
        }
        if !matches!(fixture.kind, FixtureKind::Link(_)) {
            made.push(path);
        }
    }
    let modified = SystemTime::UNIX_EPOCH + Duration::from_millis(MODIFIED_MS as u64);
    for path in made.iter().rev() {
        if path.is_dir() {
            let mode = if path == home { 0o750 } else { 0o755 };
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("its mode is set");
        }
        let file = std::fs::File::open(path).expect("it opens");
        file.set_modified(modified).expect("its time is set");
        if lower {
            chown(path, Some(USER), Some(USER)).expect("it is given away");
        }
    }
}

fn collect(folder: &Path, below: &str, out: &mut BTreeMap<String, Entry>) {
    for entry in std::fs::read_dir(folder).expect("the home is listed") {
        let entry = entry.expect("an entry");
        let path = format!("{below}{}", entry.file_name().to_string_lossy());
        let facts = entry.metadata().expect("facts");
        let mode = facts.permissions().mode() & 0o7777;
        if facts.is_symlink() {
            let target = std::fs::read_link(entry.path()).expect("a link is read");
            out.insert(path, Entry::Link(target.to_string_lossy().into_owned()));
        } else if facts.is_dir() {
            out.insert(path.clone(), Entry::Directory(mode));
            collect(&entry.path(), &format!("{path}/"), out);
        } else if facts.is_file() {
            let bytes = std::fs::read(entry.path()).unwrap_or_default();
            out.insert(path, Entry::File(mode, bytes));
        }
    }
}
