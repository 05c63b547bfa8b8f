//! Handler of `shell.exec`: starts a command, or goes on with one.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::limits;
use protocol::confine::Way;
use protocol::error::Error;
use protocol::frame;
use protocol::shell::{Exec, ExecResult};

use tokio::process::{Child, Command};

use super::child::Spawner;
use super::session::{Confined, Session};
use super::{child, rehearse};
use crate::confined::{Confiner, Prepared};
use crate::machine::{Cx, Machine};

/// `shell.exec`
pub async fn exec(cx: Cx, args: Exec) -> Result<ExecResult, Error> {
    match &args.session_id {
        None => start(&cx, &args).await,
        Some(id) => go_on(&cx, id, &args).await,
    }
}

/// A start waits for the end, so that a short command is answered in one piece, unless it writes too much for
/// one answer.
async fn start(cx: &Cx, args: &Exec) -> Result<ExecResult, Error> {
    if args.input.trim().is_empty() {
        return Err(Error::missing_argument("shell.exec", "input"));
    }
    if args.input.contains('\0') {
        return Err(Error::bad_argument("shell.exec", "input", "contains a NUL byte"));
    }
    if args.signal.is_some() {
        return Err(Error::missing_argument("shell.exec with signal", "sessionId"));
    }
    let shells = &cx.machine.shells;
    let files = &cx.machine.files;
    let cwd = files.absolute(args.cwd.as_deref().unwrap_or(""));
    let cwd = cwd.map_err(|why| Error::bad_argument("shell.exec", "cwd", &why))?;
    if !tokio::fs::metadata(&cwd).await.is_ok_and(|metadata| metadata.is_dir()) {
        return Err(Error::bad_argument(
            "shell.exec",
            "cwd",
            &format!("'{}' is not a directory", cwd.display()),
        ));
    }
    if let Some(asked) = &args.rehearse {
        return rehearse::answer(cx, args, &cwd, asked).await;
    }
    if let Some(id) = cx.confine.as_ref().and_then(|confine| confine.rehearsal.as_deref()) {
        return rehearse::approved(cx, id, args, &cwd).await;
    }
    let time_limit =
        args.timeout.unwrap_or(limits::shell::TIMEOUT_MS).clamp(1, limits::shell::TIMEOUT_MAX_MS);
    let ready = ready(cx, &args.input, &cwd).await?;
    let confiner = ready.confiner(cx);
    let since_ms = shells.now_ms();
    let start = |spawner: &Spawner| ready.start(spawner, since_ms);
    let session = shells.start(start, &cwd, &cx.call_id, Duration::from_millis(time_limit))?;
    if let Some(confiner) = confiner {
        tokio::spawn(start_next_helper(cx.machine.clone(), confiner, session.clone()));
    }
    if args.close_stdin == Some(true) {
        session.close_stdin();
    }
    if args.background != Some(true) {
        session.wait_for_end_or_full(wait(args)).await;
    }
    let (result, _) = session.answer(false);
    if result.status != protocol::shell::Status::Running {
        shells.forget(&session.id);
    }
    Ok(result)
}

/// A command that is ready to be started.
enum Ready {
    Plain(Box<Command>),
    Confined(Box<Prepared>),
}

impl Ready {
    /// What makes confined commands, if this is one.
    fn confiner(&self, cx: &Cx) -> Option<Arc<Confiner>> {
        let is_confined = matches!(self, Ready::Confined(_));
        cx.machine.agents.confiner().filter(|_| is_confined).cloned()
    }

    fn start(self, spawner: &Spawner, since_ms: i64) -> io::Result<(Child, Option<Confined>)> {
        let prepared = match self {
            Ready::Plain(command) => return Ok((spawner.start(*command)?, None)),
            Ready::Confined(prepared) => *prepared,
        };
        let (child, setup) = prepared.start(|command| spawner.start(command))?;
        let Prepared { run, caches, .. } = prepared;
        Ok((child, Some(Confined { setup, run, caches, since_ms })))
    }
}

/// Starts the helper of the next confined command when this one has ended, or has been running for a moment: at its
/// start the two would be in each other's way.
async fn start_next_helper(machine: Arc<Machine>, confiner: Arc<Confiner>, session: Arc<Session>) {
    session.wait_for_end(limits::device::HELPER_AHEAD_AFTER).await;
    machine.shells.start_ahead(confiner.ahead());
}

/// What is to be started: a person's command, and one that a person approved, as they are; any other in the sandbox, and
/// not without it.
async fn ready(cx: &Cx, input: &str, cwd: &Path) -> Result<Ready, Error> {
    let agents = &cx.machine.agents;
    let plain = || Box::new(child::plain(input, cwd));
    let Some(confine) = cx.confine.as_ref().filter(|confine| confine.way != Way::Approved) else {
        let (keeper, text) = (cx.keeper("shell.exec"), input.to_string());
        let noting = tokio::task::spawn_blocking(move || keeper.note_command(&text)).await;
        noting.map_err(|error| Error::internal(&error.to_string()))?;
        return Ok(Ready::Plain(plain()));
    };
    let Some(confiner) = agents.confiner() else {
        return match confine.way {
            Way::Proved => {
                let mut command = plain();
                // What a repository's settings would run, git does not run.
                command.envs(places::git_environment());
                Ok(Ready::Plain(command))
            }
            _ => Err(Error::approval_required("this device has no sandbox")),
        };
    };
    let prepared = confiner.prepare(confine, child::words(input), cwd).await?;
    Ok(Ready::Confined(Box::new(prepared)))
}

/// A poll waits for news only, so that output streams. It is handed over on the socket that asked and nowhere
/// else: whoever asked on a socket that is gone is told to ask again, and loses nothing.
async fn go_on(cx: &Cx, id: &str, args: &Exec) -> Result<ExecResult, Error> {
    let session = cx.machine.shells.find(id).ok_or_else(|| Error::unknown_session(id))?;
    if !session.has_ended() {
        act(&session, args)?;
    }
    let mut is_quiet = false;
    if args.background != Some(true) {
        tokio::select! {
            has_news = session.wait_for_news(wait(args)) => is_quiet = !has_news,
            () = cx.lost() => {}
        }
    }
    if cx.is_lost() {
        return Ok(session.answer_later());
    }
    // What looked like the beginning of a character, and did not go on, was none.
    let (result, taken) = session.answer(is_quiet);
    let call_id = cx.call_id.clone();
    cx.take_back(move || {
        session.put_back(taken);
        frame::response(&call_id, Some(&frame::to_json(&session.answer_later())))
    });
    Ok(result)
}

fn act(session: &Session, args: &Exec) -> Result<(), Error> {
    if let Some(name) = &args.signal {
        session
            .signal(session::signal_number(name)?)
            .map_err(|error| Error::new(500, format!("Failed to signal the command: {error}")))?;
    }
    session.feed(args)
}

fn wait(args: &Exec) -> Duration {
    let wanted = args.yield_ms.unwrap_or(limits::shell::WAIT_MS);
    Duration::from_millis(wanted.clamp(limits::shell::WAIT_MIN_MS, limits::shell::WAIT_MAX_MS))
}
