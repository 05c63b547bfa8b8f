//! Handler of `shell.exec` with `rehearse`: runs the command on a copy to its end, within its bounds, and answers with what
//! it would do; or puts in place what a rehearsal did.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::limits::device as limit;
use protocol::error::Error;
use protocol::shell::rehearsal::{Rehearsal, Rehearse};
use protocol::shell::{Exec, ExecResult, Status};

use super::child::{self, Spawner};
use super::session::Session;
use crate::confined::{Confiner, Reach, Stage};
use crate::machine::Cx;

/// What a person asks with `rehearse`.
pub(super) async fn answer(cx: &Cx, args: &Exec, cwd: &Path, asked: &Rehearse) -> Result<ExecResult, Error> {
    if cx.confine.is_some() {
        return Err(Error::for_people_only("rehearsing a command"));
    }
    let confiner = rehearsing(cx)?;
    match asked {
        Rehearse::Run => run(cx, confiner, args, cwd).await,
        Rehearse::Apply(id) => confiner.put_in_place(id, &args.input, cwd).await,
        Rehearse::Discard(id) => confiner.discard(id).map(|()| discarded(id)),
    }
}

/// A call of an agent in whose place a person approved what its rehearsal did. The agent gets what the command said.
pub(super) async fn approved(cx: &Cx, id: &str, args: &Exec, cwd: &Path) -> Result<ExecResult, Error> {
    let result = rehearsing(cx)?.put_in_place(id, &args.input, cwd).await?;
    Ok(ExecResult { rehearsal: None, ..result })
}

fn rehearsing(cx: &Cx) -> Result<&Arc<Confiner>, Error> {
    let agents = &cx.machine.agents;
    agents.confiner().filter(|_| agents.rehearses()).ok_or_else(|| {
        Error::bad(
            "This device can not rehearse commands: it has no sandbox with overlays, see `gsv device check`",
        )
    })
}

async fn run(cx: &Cx, confiner: &Arc<Confiner>, args: &Exec, cwd: &Path) -> Result<ExecResult, Error> {
    let mut refused = String::new();
    // Where some tree can not be laid over, the workspace often can.
    for reach in [Reach::Machine, Reach::Workspace] {
        let mut stage = match confiner.stage(&args.input, child::words(&args.input), cwd, reach).await {
            Ok(stage) => stage,
            Err(error) if error.code == 500 => {
                refused = error.message;
                continue;
            }
            Err(error) => return Err(error),
        };
        if reach == Reach::Workspace {
            stage.narrow(&refused);
        }
        let result = to_its_end(cx, &mut stage, args, cwd).await?;
        match stage.started() {
            Ok(()) => return confiner.conclude(stage, result).await,
            Err(why) => refused = why,
        }
    }
    Err(Error::new(500, format!("The command can not be rehearsed here: {refused}")))
}

/// Runs the command until it ends, its time is up, or it wrote too much.
async fn to_its_end(cx: &Cx, stage: &mut Stage, args: &Exec, cwd: &Path) -> Result<ExecResult, Error> {
    let Some(command) = stage.command.take() else {
        return Err(Error::internal("a rehearsal without a command"));
    };
    let time_limit = args.timeout.unwrap_or(limit::REHEARSAL_MAX_MS).clamp(1, limit::REHEARSAL_MAX_MS);
    let shells = &cx.machine.shells;
    let start = |spawner: &Spawner| Ok((spawner.start(command)?, None));
    let session = shells.start(start, cwd, &cx.call_id, Duration::from_millis(time_limit))?;
    session.close_stdin();
    let mut output = Tail::default();
    let result = loop {
        session.wait_for_end_or_full(limit::REHEARSAL_WATCH).await;
        let has_ended = session.has_ended();
        let (result, _) = session.answer(has_ended);
        output.push(&result.output);
        if has_ended && result.status != Status::Running {
            break result;
        }
        if let Some(why) = stage.too_much().await {
            stage.end(why);
            kill(&session);
        }
    };
    shells.forget(&session.id);
    // What was written since the last look counts.
    if let Some(why) = stage.too_much().await {
        stage.end(why);
    }
    let truncated = Some(output.is_cut || result.truncated == Some(true));
    Ok(ExecResult {
        output: output.text,
        truncated,
        session_id: None,
        stdout: None,
        stderr: None,
        tail: None,
        ..result
    })
}

fn kill(session: &Session) {
    if let Err(error) = session.signal(libc::SIGKILL) {
        tracing::warn!(pid = session.pid, %error, "a rehearsed command could not be ended");
    }
}

/// The end of an output.
#[derive(Default)]
struct Tail {
    text: String,
    is_cut: bool,
}

impl Tail {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        if self.text.len() > limit::REHEARSAL_OUTPUT_MAX_BYTES {
            let cut = self.text.ceil_char_boundary(self.text.len() - limit::REHEARSAL_OUTPUT_MAX_BYTES / 2);
            self.text.drain(..cut);
            self.is_cut = true;
        }
    }
}

fn discarded(id: &str) -> ExecResult {
    let rehearsal = Rehearsal { id: id.to_string(), ..Rehearsal::default() };
    ExecResult {
        ok: true,
        status: Status::Completed,
        output: String::new(),
        error: None,
        exit_code: Some(0),
        session_id: None,
        truncated: None,
        stdout: None,
        stderr: None,
        tail: None,
        cwd: None,
        pid: None,
        started_at: None,
        ended_at: None,
        duration_ms: None,
        signal: None,
        timed_out: None,
        rehearsal: Some(rehearsal),
        refused_hosts: None,
    }
}
