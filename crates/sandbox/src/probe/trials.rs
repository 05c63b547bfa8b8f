//! The trials of the probe: what is tried inside, and what is looked at outside afterwards.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use base::limits::sandbox::{PROBE_OUTPUT_MAX_BYTES, PROBE_PROCESSES_MAX, PROBE_TRIAL};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FlockOperation;

use super::inside::{INSIDE_WORD, WORKED};
use super::{Strength, Trial, cause};
use crate::cgroup::Group;
use crate::launch::{Confined, Sandbox};
use crate::network::NetworkNamespace;
use crate::overlay;
use crate::request::HELPER_WORD;
use crate::spec::{Limits, Mode, Outcome, Overlay, Spec};

const CANARY: &str = "canary";
/// Size of a file that is one byte too large, in the trial of limits.
const FILE_BYTES: u64 = 1024 * 1024;

impl Sandbox {
    /// Tries everything in a new directory inside the given one, which must be on the disk that workspaces are on.
    /// It takes some tens of milliseconds; do it at the start and after a set-up that failed.
    pub fn probe(&self, directory: &Path) -> Strength {
        let found = Stage::new(directory).and_then(|stage| {
            let strength = self.try_full(&stage);
            stage.clear()?;
            strength
        });
        found.unwrap_or_else(|error| Strength::none(format!("the sandbox could not be tried: {error}")))
    }

    fn try_full(&self, stage: &Stage) -> io::Result<Strength> {
        let full = self.network().map_err(|error| error.to_string()).and_then(|network| {
            let mut trials = stage.surroundings(self, &network)?;
            trials.extend(stage.limits(self, &network)?);
            trials.push(memory());
            trials.extend(stage.rehearsal(self, &network));
            Ok(trials)
        });
        match full {
            Ok(trials) => Ok(judge(trials, None)),
            Err(failure) => {
                let why = cause::explain(&failure);
                Ok(match stage.landlock(self) {
                    Ok(trials) => judge(trials, Some(why)),
                    Err(_) => Strength::none(why),
                })
            }
        }
    }
}

/// How memory is held to its limit: both ways do, the one at every moment.
fn memory() -> Trial {
    let happened = match Group::make(&Limits::default()) {
        Some(_) => "held by a control group",
        None => "added up twice a second, as no control group was delegated to this user",
    };
    let what = "use more memory than is allowed".to_owned();
    Trial { word: "limits", what, should_work: false, happened: happened.to_owned(), passed: true }
}

/// A word holds when all of its trials went as they should.
fn judge(trials: Vec<Trial>, cause: Option<String>) -> Strength {
    let mut words = Vec::new();
    for trial in &trials {
        if !words.contains(&trial.word) && trials.iter().all(|other| other.word != trial.word || other.passed)
        {
            words.push(trial.word);
        }
    }
    Strength { words, trials, cause }
}

/// Something to try: the word it counts for, how it is told, the action and its object, whether it should work.
type Try<'a> = (&'static str, &'a str, &'a str, OsString, bool);

/// A throw-away directory with a workspace, a canary and a secret.
struct Stage {
    root: PathBuf,
}

impl Stage {
    fn new(directory: &Path) -> io::Result<Stage> {
        let root = fs::canonicalize(directory)?.join(format!("probe-{}", std::process::id()));
        let stage = Stage { root };
        stage.clear()?;
        for name in ["work/protected", "tmp", "outside", "upper", "kernel"] {
            fs::create_dir_all(stage.root.join(name))?;
        }
        for name in ["canary", "secret", "readable"] {
            fs::write(stage.outside(name), CANARY)?;
        }
        Ok(stage)
    }

    fn clear(&self) -> io::Result<()> {
        overlay::discard(&self.root)
    }

    fn outside(&self, name: &str) -> PathBuf {
        self.root.join("outside").join(name)
    }

    fn work(&self, name: &str) -> OsString {
        self.root.join("work").join(name).into()
    }

    /// A file that is no secret. A command has a `/tmp` of its own, in which none of ours is.
    fn readable(&self) -> OsString {
        let is_private = ["/tmp", "/var/tmp"].iter().any(|place| self.root.starts_with(place));
        if is_private { "/etc/passwd".into() } else { self.outside("readable").into() }
    }

    fn spec(&self, mode: Mode) -> Spec {
        let mut spec = Spec::new(Vec::new(), self.root.join("work"), self.root.join("tmp"));
        spec.hidden = vec![self.outside("secret")];
        spec.read_only = vec![self.root.join("work/protected")];
        spec.mode = mode;
        spec
    }

    /// Files, secrets, network and processes, in one call.
    fn surroundings(&self, sandbox: &Sandbox, network: &NetworkNamespace) -> Result<Vec<Trial>, String> {
        let text = |error: io::Error| error.to_string();
        let tcp = TcpListener::bind("127.0.0.1:0").map_err(text)?;
        tcp.set_nonblocking(true).map_err(text)?;
        let address = tcp.local_addr().map_err(text)?.to_string();
        // Paths of sockets are short; the probe's directory may not be.
        let unix = UnixListener::bind(self.outside("s")).ok();
        let tries: Vec<Try<'_>> = vec![
            ("fs", "write in the workspace", "write", self.work("new"), true),
            ("fs", "write to /tmp", "write", "/tmp/new".into(), true),
            ("fs", "write to a file outside", "write", self.outside("canary").into(), false),
            ("fs", "create a file outside", "write", self.outside("new").into(), false),
            ("fs", "change the mode of a file outside", "mode", self.outside("canary").into(), false),
            ("fs", "write in a protected directory", "write", self.work("protected/new"), false),
            ("secrets", "read a file outside", "read", self.readable(), true),
            ("secrets", "read a secret", "read", self.outside("secret").into(), false),
            ("network", "connect to a port of this machine", "tcp", address.into(), false),
            ("network", "connect to a socket of this machine", "unix", self.outside("s").into(), false),
            ("processes", "signal the driver", "signal", std::process::id().to_string().into(), false),
            ("processes", "leave a process behind", "linger", self.work("lock"), true),
        ];
        let mut trials = run(sandbox, self.spec(Mode::Full), Some(network), &tries)?;
        let intact = fs::read_to_string(self.outside("canary")).is_ok_and(|text| text == CANARY);
        look(&mut trials, "fs", "the file outside is as it was", intact && !self.outside("new").exists());
        let heard = tcp.accept().is_ok()
            || unix.is_some_and(|unix| unix.set_nonblocking(true).is_err() || unix.accept().is_ok());
        look(&mut trials, "network", "nobody outside heard anything", !heard);
        let gone = File::open(self.work("lock"))
            .is_ok_and(|file| rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok());
        look(&mut trials, "processes", "no process is left", gone);
        Ok(trials)
    }

    fn limits(&self, sandbox: &Sandbox, network: &NetworkNamespace) -> Result<Vec<Trial>, String> {
        let many = (2 * PROBE_PROCESSES_MAX).to_string();
        let tries: Vec<Try<'_>> = vec![
            ("limits", "write a file that is too large", "fill", (FILE_BYTES + 1).to_string().into(), false),
            ("limits", "start too many processes", "fork", many.into(), false),
        ];
        let mut spec = self.spec(Mode::Full);
        (spec.limits.file_bytes, spec.limits.processes) = (FILE_BYTES, PROBE_PROCESSES_MAX);
        run(sandbox, spec, Some(network), &tries)
    }

    /// A machine on which no overlay can be laid has everything but this.
    fn rehearsal(&self, sandbox: &Sandbox, network: &NetworkNamespace) -> Vec<Trial> {
        let mut spec = self.spec(Mode::Full);
        spec.overlays = vec![Overlay {
            target: spec.workspace.clone(),
            upper: self.root.join("upper"),
            work: self.root.join("kernel"),
            kept: false,
        }];
        let tries: Vec<Try<'_>> =
            vec![("rehearse", "write in a copy of the workspace", "write", self.work("rehearsed"), true)];
        let mut trials = run(sandbox, spec, Some(network), &tries).unwrap_or_else(|failure| {
            let what = "lay an overlay over the workspace".to_owned();
            vec![Trial { word: "rehearse", what, should_work: true, happened: failure, passed: false }]
        });
        let apart =
            self.root.join("upper/rehearsed").exists() && !Path::new(&self.work("rehearsed")).exists();
        look(&mut trials, "rehearse", "the workspace is as it was", apart);
        trials
    }

    fn landlock(&self, sandbox: &Sandbox) -> Result<Vec<Trial>, String> {
        let word = "fs-write";
        let tries: Vec<Try<'_>> = vec![
            (word, "write in the workspace", "write", self.work("new"), true),
            (word, "write to a file outside", "write", self.outside("canary").into(), false),
            (word, "cut a file outside off", "cut", self.outside("canary").into(), false),
            (word, "create a file outside", "write", self.outside("new").into(), false),
            (word, "read a secret", "read", self.outside("secret").into(), false),
        ];
        let mut trials = run(sandbox, self.spec(Mode::Landlock), None, &tries)?;
        let intact = fs::read_to_string(self.outside("canary")).is_ok_and(|text| text == CANARY);
        look(&mut trials, word, "the file outside is as it was", intact);
        Ok(trials)
    }
}

fn look(trials: &mut Vec<Trial>, word: &'static str, what: &str, passed: bool) {
    let happened = if passed { "yes" } else { "no" };
    trials.push(Trial { word, what: what.into(), should_work: true, happened: happened.into(), passed });
}

/// Runs the tries in one call; fails when the sandbox could not be set up.
fn run(
    sandbox: &Sandbox,
    mut spec: Spec,
    network: Option<&NetworkNamespace>,
    tries: &[Try<'_>],
) -> Result<Vec<Trial>, String> {
    spec.command = vec!["/proc/self/exe".into(), HELPER_WORD.into(), INSIDE_WORD.into()];
    spec.command.extend(tries.iter().flat_map(|(_, _, action, object, _)| [action.into(), object.clone()]));
    let output = output(sandbox, &spec, network)?;
    let mut lines = output.lines();
    let trial = |(word, what, _, _, should_work): &Try<'_>| {
        let happened = lines.next().unwrap_or("the attempt did not come to an end").to_owned();
        let worked = happened == WORKED;
        let ended = worked || !happened.starts_with("the attempt");
        Trial {
            word,
            what: (*what).into(),
            should_work: *should_work,
            happened,
            passed: ended && worked == *should_work,
        }
    };
    Ok(tries.iter().map(trial).collect())
}

fn output(sandbox: &Sandbox, spec: &Spec, network: Option<&NetworkNamespace>) -> Result<String, String> {
    let text = |error: io::Error| error.to_string();
    let Confined { mut command, setup } = sandbox.command(spec, network).map_err(text)?;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(text)?;
    drop(command);
    let said = child.stdout.take().and_then(read_all);
    if said.is_none() {
        child.kill().map_err(text)?;
    }
    child.wait().map_err(text)?;
    match setup.outcome() {
        Outcome::NotStarted(failure) => Err(failure),
        _ => said.ok_or_else(|| "the trial took too long".into()),
    }
}

/// All that is written, or nothing when that takes too long.
fn read_all(mut stream: impl Read + std::os::fd::AsFd) -> Option<String> {
    let wait = Timespec { tv_sec: i64::try_from(PROBE_TRIAL.as_secs()).ok()?, tv_nsec: 0 };
    let mut said = Vec::new();
    let mut part = [0; 4096];
    while (said.len() as u64) < PROBE_OUTPUT_MAX_BYTES {
        let events = PollFlags::IN | PollFlags::HUP;
        let ready = poll(&mut [PollFd::new(&stream, events)], Some(&wait)).ok()?;
        if ready == 0 {
            return None;
        }
        match stream.read(&mut part).ok()? {
            0 => break,
            read => said.extend_from_slice(part.get(..read)?),
        }
    }
    Some(String::from_utf8_lossy(&said).into_owned())
}
