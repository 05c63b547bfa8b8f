//! Script execution: one script, run by the interpreter over the user's tree.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base::clock::Clock;
use base::limits;
use bashkit::{Bash, BuiltinRegistry, ExecOptions, ExecResult, StreamData};
use session::{End, Session, Stream};

use crate::adapter::{Adapter, ScriptContext};
use crate::bounds::{self, GivenUp};
use crate::cancellation::{Cancellation, StopReason, stopped};
use crate::files::Files;
use crate::heavy::{Heavy, Which};
use crate::sleep::Sleep;
use crate::streaming_tr::StreamingTr;
use crate::streams::{Seq, Yes};
use crate::trap::Handlers;
use crate::{
    arithmetic, commands, endless, enter, find, line_budget, missing, normalize, program_paths, rewrites,
    timeout, truncate, umask,
};

/// Runs a script to its end, whatever that is. Its output goes to the session as it comes.
pub(crate) async fn run(
    script_context: ScriptContext,
    script: &str,
    registry: BuiltinRegistry,
    time: Duration,
    session: &Arc<Session>,
    cancellation: &Arc<Cancellation>,
) -> End {
    let handlers = Handlers::default();
    handlers.guard(&registry);
    let _tie = umask::guard(&registry, &script_context.meter);
    let number = rewrites::shell_number();
    if arithmetic::is_too_nested(script) {
        return too_much(arithmetic::TOO_NESTED, session);
    }
    let script = &*normalize::normalized(script, number);
    let settings = ScriptSettings { time, number, names_devices: script_context.meter.read_script(script) };
    let mut bash = interpreter(script_context, registry, &settings);
    cancellation.attach(bash.cancellation_token());
    let outlet = Arc::new(Outlet {
        session: session.clone(),
        cancellation: cancellation.clone(),
        stdout: AtomicUsize::new(0),
        stderr: AtomicUsize::new(0),
    });
    let ended = {
        let outlet = outlet.clone();
        let options =
            ExecOptions::new().streaming(Box::new(move |stdout, stderr| outlet.write(stdout, stderr)));
        tokio::select! {
            biased;
            ended = bash.exec_with_options(script, options) => ended,
            // Between commands the interpreter looks for itself; one that waits is left here.
            () = cancellation.until_cancelled() => Err(bashkit::Error::Cancelled),
        }
    };
    if let Err(error) = &ended {
        let time_up = bounds::is_time_up(error).then(|| StopReason::time(time));
        let why = cancellation.cancelled().map(|(why, _)| why).or(time_up);
        if let Some(script) = why.and_then(|why| handlers.script(why)) {
            say_goodbye(&mut bash, &script, &outlet).await;
        }
    }
    let end = match ended {
        Ok(result) => finished(&result, script, &outlet, handlers.has_end()),
        Err(error) => given_up(bounds::given_up(error, script), session, cancellation, time),
    };
    End { cwd: Some(bash.shell_state_view().cwd.to_string_lossy().into_owned()), ..end }
}

/// Does what a script that is ended wants done then, in a part of the time after which it is given up.
async fn say_goodbye(bash: &mut Bash, script: &str, outlet: &Arc<Outlet>) {
    bash.cancellation_token().store(false, Ordering::Relaxed);
    let outlet = outlet.clone();
    let options =
        ExecOptions::new().streaming(Box::new(move |stdout, stderr| outlet.pass_on(stdout, stderr)));
    let said = tokio::time::timeout(limits::native_shell::GRACE / 2, bash.exec_with_options(script, options));
    match said.await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => tracing::debug!(%error, "the handlers of a script failed"),
        Err(_) => tracing::debug!("the handlers of a script did not end"),
    }
}

/// What one script is run with.
struct ScriptSettings {
    time: Duration,
    /// What it takes for the number of its process.
    number: u32,
    /// Whether it may redirect from a device that never ends.
    names_devices: bool,
}

fn interpreter(script_context: ScriptContext, registry: BuiltinRegistry, settings: &ScriptSettings) -> Bash {
    let time = settings.time;
    let script_context = Arc::new(script_context);
    enter::guard(&registry, &script_context);
    find::guard(&registry, &script_context);
    rewrites::guard(&registry);
    timeout::guard(&registry);
    truncate::guard(&registry);
    line_budget::guard(&registry);
    if settings.names_devices {
        endless::guard(&registry, &script_context.meter);
    }
    let mut builder = Bash::builder()
        .fs(Files::new(script_context.view.clone(), script_context.meter.clone()))
        .rootfs(false)
        .limits(bounds::execution(time))
        .memory_limits(bounds::memory())
        .session_limits(bounds::session())
        .username(&script_context.view.who().username)
        .hostname(&script_context.settings.hostname)
        .cwd(&script_context.view.who().cwd)
        .command_resolver(Arc::new(missing::Missing));
    for (name, value) in environment(&script_context) {
        builder = builder.env(name, value);
    }
    for command in commands::ALL.iter().copied() {
        for name in std::iter::once(&command.name).chain(command.aliases) {
            let adapter = Adapter { name, command, script_context: script_context.clone() };
            builder = builder.builtin(*name, Box::new(adapter));
        }
    }
    let deadline = Clock::system().instant() + time;
    for which in Which::ALL {
        builder = builder
            .builtin(which.name(), Box::new(Heavy { which, deadline, uid: script_context.view.who().uid }));
    }
    builder = builder.builtin("sleep", Box::new(Sleep)).before_tool(Box::new(find::bounded));
    builder = builder.before_tool(Box::new(arithmetic::bounded));
    builder = builder.before_tool(Box::new(rewrites::shell_from_stdin));
    let number = settings.number;
    builder = builder.before_tool(Box::new(move |event| rewrites::kill_by_number(event, number)));
    let meter = script_context.meter.clone();
    builder = builder.before_tool(Box::new(move |event| meter.begin(event)));
    let bash = builder
        .command("seq", Seq)
        .command("yes", Yes)
        .command("tr", StreamingTr(script_context.meter.clone()))
        .builtin_registry(registry)
        .build();
    program_paths::know_builtins(|| bash.builtin_names());
    bash
}

fn environment(script_context: &ScriptContext) -> [(&'static str, String); 15] {
    let who = script_context.view.who();
    let settings = &script_context.settings;
    [
        ("HOME", who.home.clone()),
        ("USER", who.username.clone()),
        ("LOGNAME", who.username.clone()),
        ("SHELL", "/bin/bash".to_string()),
        ("BASH", "/bin/bash".to_string()),
        ("PATH", "/usr/local/bin:/usr/bin:/bin".to_string()),
        ("PWD", who.cwd.clone()),
        ("TERM", "xterm-256color".to_string()),
        ("LANG", "en_US.UTF-8".to_string()),
        ("UID", who.uid.to_string()),
        ("GSV_PID", settings.pid.clone().unwrap_or_default()),
        ("HOSTNAME", settings.hostname.clone()),
        ("GSV_VERSION", settings.version.clone()),
        ("TZ", settings.timezone.clone()),
        // The interpreter has none of its own; this one is of when the script began.
        ("EPOCHSECONDS", script_context.clock.now_ms().div_euclid(1_000).to_string()),
    ]
}

/// Where the interpreter's output goes, command by command.
struct Outlet {
    session: Arc<Session>,
    cancellation: Arc<Cancellation>,
    stdout: AtomicUsize,
    stderr: AtomicUsize,
}

impl Outlet {
    fn write(&self, stdout: &StreamData, stderr: &StreamData) {
        self.push_in_turn(Stream::Stdout, stdout.as_bytes());
        self.push_in_turn(Stream::Stderr, stderr.as_bytes());
    }

    /// Back-pressure: a script that writes more than its caller reads waits here, and its whole thread with it. One
    /// command may write a whole file at once, so the pieces are what a device reads at once: no more than fits.
    fn push_in_turn(&self, stream: Stream, bytes: &[u8]) {
        for piece in bytes.chunks(limits::shell::READ_BYTES) {
            self.push(stream, piece);
            while self.session.is_held() && self.cancellation.cancelled().is_none() {
                std::thread::sleep(limits::native_shell::HELD_PAUSE);
            }
        }
    }

    fn pass_on(&self, stdout: &StreamData, stderr: &StreamData) {
        self.push(Stream::Stdout, stdout.as_bytes());
        self.push(Stream::Stderr, stderr.as_bytes());
    }

    fn push(&self, stream: Stream, bytes: &[u8]) {
        let so_far = match stream {
            Stream::Stdout => &self.stdout,
            Stream::Stderr => &self.stderr,
        };
        so_far.fetch_add(bytes.len(), Ordering::Relaxed);
        if !bytes.is_empty() {
            self.session.push(stream, bytes);
        }
    }

    /// Whether more was written than is passed on.
    fn is_cut(&self) -> bool {
        let most = limits::native_shell::STREAM_MAX_BYTES;
        self.stdout.load(Ordering::Relaxed) >= most || self.stderr.load(Ordering::Relaxed) >= most
    }
}

/// A script that came to its end by itself. One whose output was cut has not done what it was told to.
fn finished(result: &ExecResult, script: &str, outlet: &Outlet, has_handler: bool) -> End {
    for (stream, all, told) in
        [(Stream::Stdout, &result.stdout, &outlet.stdout), (Stream::Stderr, &result.stderr, &outlet.stderr)]
    {
        // What was not passed on on the way is passed on now.
        if let Some(rest) = all.as_bytes().get(told.load(Ordering::Relaxed)..) {
            outlet.push_in_turn(stream, rest);
        }
    }
    if !result.stdout_truncated && !result.stderr_truncated && !outlet.is_cut() {
        return End { exit_code: Some(exit_code(result, script, has_handler)), ..End::default() };
    }
    let most = limits::native_shell::STREAM_MAX_BYTES / 1024 / 1024;
    too_much(&format!("more than {most} MiB of output"), &outlet.session)
}

/// The code of a script that is given as text and not as a file: one that ends at an expansion that fails (`set -u`,
/// `${x?}`) has 127, unless a handler runs at its end.
fn exit_code(result: &ExecResult, script: &str, has_handler: bool) -> i32 {
    if result.exit_code != 1 || has_handler {
        return result.exit_code;
    }
    let complaint = result.stderr.as_bytes().trim_ascii_end();
    let is_unbound = complaint.ends_with(b": unbound variable");
    if is_unbound || is_failed_expansion(complaint, script) { 127 } else { result.exit_code }
}

/// Whether a script ended with the complaint of a `${NAME?…}` or `${NAME:?…}`. The words of it may be the script's own,
/// so that only the name tells: it is in the complaint, `bash: line 1: NAME: …`, and in such an expansion.
fn is_failed_expansion(complaint: &[u8], script: &str) -> bool {
    let last = complaint.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let last = String::from_utf8_lossy(last);
    let mut parts = last.splitn(4, ": ");
    match (parts.next(), parts.next(), parts.next()) {
        (Some("bash"), Some(line), Some(name)) if line.starts_with("line ") => {
            script.contains(&format!("${{{name}?")) || script.contains(&format!("${{{name}:?"))
        }
        _ => false,
    }
}

fn given_up(given_up: GivenUp, session: &Session, cancellation: &Cancellation, time: Duration) -> End {
    match given_up {
        GivenUp::Cancelled | GivenUp::TimedOut => {
            let why = cancellation.cancelled().map_or(StopReason::time(time), |(why, _)| why);
            let end = why.end();
            complain(session, end.error.as_deref());
            end
        }
        GivenUp::Limit(limit) => too_much(&limit, session),
        GivenUp::Syntax(report) => {
            session.push(Stream::Stderr, report.as_bytes());
            End { exit_code: Some(bounds::SYNTAX), ..End::default() }
        }
        GivenUp::Failed(why) => {
            complain(session, Some(&why));
            End { exit_code: Some(1), error: Some(format!("Command failed: {why}")), ..End::default() }
        }
    }
}

fn too_much(limit: &str, session: &Session) -> End {
    let error = stopped(limit);
    complain(session, Some(&error));
    End { exit_code: Some(bounds::TOO_MUCH), error: Some(error), ..End::default() }
}

/// What ended a script is said where a person looks for it too.
pub(crate) fn complain(session: &Session, why: Option<&str>) {
    if let Some(why) = why {
        session.push(Stream::Stderr, format!("bash: {why}\n").as_bytes());
    }
}
