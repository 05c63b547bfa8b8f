//! `gsv run --rehearse`: a dry run of a command on a device, shown, and put in place exactly where that is wanted.

use base::limits;
use chat::look::Look;
use chat::question::Fold;
use chat::rehearsal;
use client::Session;
use protocol::frame::to_json;
use protocol::shell::rehearsal::Rehearse;
use protocol::shell::{Exec, ExecResult};
use serde_json::json;
use terminal::failure::{Failure, Result};

use crate::context::Context;
use crate::follow::Command;
use crate::prompt;

/// What comes after a rehearsal.
pub enum Next {
    /// Nothing; the program ends with this code.
    End(u8),
    /// The command runs.
    Run,
}

/// Rehearses a command, shows what it would do, and has it put in place: at once with `apply`, else if somebody says so.
pub async fn rehearse(context: &Context, session: &Session, command: &Command, apply: bool) -> Result<Next> {
    let exec = exec(command);
    let target = command.target.as_deref();
    let result = call(session, target, &exec).await?;
    let code = code(&result);
    if context.output.json {
        let applied = match apply {
            true => Some(put_in_place(session, target, &exec, &result).await?),
            false => None,
        };
        if !apply {
            discard(session, target, &exec, &result).await;
        }
        context.output.raw_json(&json!({ "rehearsed": result, "applied": applied }).to_string())?;
        return Ok(Next::End(code));
    }
    show(context, &result)?;
    let next = match apply {
        true => Wish::Put,
        false => wish(context, &result)?,
    };
    match next {
        Wish::Put => {
            let applied = put_in_place(session, target, &exec, &result).await?;
            context.output.note(&told(&applied));
            Ok(Next::End(code))
        }
        Wish::Run => {
            discard(session, target, &exec, &result).await;
            Ok(Next::Run)
        }
        Wish::Nothing => {
            discard(session, target, &exec, &result).await;
            Ok(Next::End(code))
        }
    }
}

/// Shows a rehearsal.
pub fn show(context: &Context, result: &ExecResult) -> Result<()> {
    let look = Look { colour: context.output.colour, columns: None };
    context.output.text(&rehearsal::render(result, look, Fold::Whole))
}

/// What was put in place, in words.
pub fn told(applied: &ExecResult) -> String {
    let applied = applied.rehearsal.as_ref();
    let count = applied.and_then(|done| done.applied).unwrap_or_default();
    let undo = applied.and_then(|done| done.checkpoint);
    let undo =
        undo.map_or_else(String::new, |id| format!("; what was there is checkpoint {id} of the device"));
    let changes = if count == 1 { "change is" } else { "changes are" };
    format!("{count} {changes} in place{undo}")
}

enum Wish {
    Put,
    Run,
    Nothing,
}

fn wish(context: &Context, result: &ExecResult) -> Result<Wish> {
    if !prompt::is_possible(&context.output) {
        return Ok(Wish::Nothing);
    }
    let can_put = rehearsal::applicable(result).is_some();
    let question = match can_put {
        true => "[p] put exactly this in place, [y] run it, [n] neither",
        false => "[y] run it, [n] do not",
    };
    loop {
        match prompt::line(question, Some("n"))?.to_ascii_lowercase().as_str() {
            "p" | "put" if can_put => return Ok(Wish::Put),
            "y" | "yes" => return Ok(Wish::Run),
            "n" | "no" => return Ok(Wish::Nothing),
            _ => {}
        }
    }
}

fn exec(command: &Command) -> Exec {
    Exec {
        input: command.text.clone(),
        cwd: command.cwd.clone(),
        timeout: command.timeout_ms,
        rehearse: Some(Rehearse::Run),
        ..Exec::default()
    }
}

async fn call(session: &Session, target: Option<&str>, exec: &Exec) -> Result<ExecResult> {
    Ok(session.connection.call_on(target, exec, limits::client::CALL_TIMEOUT).await?)
}

async fn put_in_place(
    session: &Session,
    target: Option<&str>,
    exec: &Exec,
    result: &ExecResult,
) -> Result<ExecResult> {
    let Some(id) = rehearsal::applicable(result) else {
        let why = result
            .rehearsal
            .as_ref()
            .and_then(|rehearsal| rehearsal.blocked.as_deref())
            .unwrap_or("no reason");
        return Err(
            Failure::new(format!("nothing was put in place: {why}")).with_hint("run the command instead")
        );
    };
    call(session, target, &Exec { rehearse: Some(Rehearse::Apply(id.to_string())), ..exec.clone() }).await
}

/// Gives the room on the device back. If that does not work the device forgets it by itself.
async fn discard(session: &Session, target: Option<&str>, exec: &Exec, result: &ExecResult) {
    let Some(rehearsal) = &result.rehearsal else { return };
    let discard = Exec { rehearse: Some(Rehearse::Discard(rehearsal.id.clone())), ..exec.clone() };
    if let Err(failure) = call(session, target, &discard).await {
        tracing::debug!("{} is not discarded: {}", to_json(&rehearsal.id), failure.message);
    }
}

fn code(result: &ExecResult) -> u8 {
    result.exit_code.map_or(1, |code| u8::try_from(code & 0xff).unwrap_or(1))
}
