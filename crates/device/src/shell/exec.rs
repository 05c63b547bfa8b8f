//! Handler of `shell.exec`: starts a command, or goes on with one.

use std::path::Path;
use std::time::Duration;

use base::limits;
use protocol::confine::Way;
use protocol::error::Error;
use protocol::frame;
use protocol::shell::{Exec, ExecResult};

use tokio::process::Command;

use super::session::{Confined, Session};
use super::{child, rehearse};
use crate::machine::Cx;

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
    let (command, confined) = command(cx, &args.input, &cwd).await?;
    let session = shells.start(command, confined, &cwd, &cx.call_id, Duration::from_millis(time_limit))?;
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

/// What is started: a person's command, and one that a person approved, as they are; any other in the sandbox, and not
/// without it.
async fn command(cx: &Cx, input: &str, cwd: &Path) -> Result<(Command, Option<Confined>), Error> {
    let agents = &cx.machine.agents;
    let Some(confine) = cx.confine.as_ref().filter(|confine| confine.way != Way::Approved) else {
        let (keeper, text) = (cx.keeper("shell.exec"), input.to_string());
        let noting = tokio::task::spawn_blocking(move || keeper.note_command(&text)).await;
        noting.map_err(|error| Error::internal(&error.to_string()))?;
        return Ok((child::plain(input, cwd), None));
    };
    let Some(confiner) = agents.confiner() else {
        return match confine.way {
            Way::Proved => {
                let mut command = child::plain(input, cwd);
                // What a repository's settings would run, git does not run.
                command.envs(places::git_environment());
                Ok((command, None))
            }
            _ => Err(Error::approval_required("this device has no sandbox")),
        };
    };
    let prepared = confiner.prepare(confine, child::words(input), cwd).await?;
    let since_ms = cx.machine.shells.now_ms();
    let caches = prepared.caches;
    let confined = Confined { setup: prepared.setup, run: prepared.run, caches, since_ms };
    Ok((prepared.command, Some(confined)))
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
