//! `gsv approvals rehearse`: what the call of a question would do, and the answer to the question.

use base::limits;
use chat::look::Look;
use chat::question::{self, Fold};
use chat::{done, rehearsal};
use client::Session;
use protocol::proc::approval::{Decision, Hil, PendingApproval};
use protocol::shell::ExecResult;
use serde_json::{Value, json};
use terminal::failure::{Failure, Result};

use crate::cli::run::rehearse::show;
use crate::context::Context;
use crate::prompt;

/// Rehearses the call that waits, exactly as it would run, and answers: at once with `apply`, else as somebody says.
pub async fn run(context: &Context, session: &Session, pending: PendingApproval, apply: bool) -> Result<u8> {
    let (target, exec) = rehearsal::call_of(&pending.request).map_err(Failure::new)?;
    if !context.output.json {
        let look = Look { colour: context.output.colour, columns: None };
        context.output.text(&question::subject(&pending.request, look, Fold::Whole))?;
    }
    let result: ExecResult =
        session.connection.call_on(Some(&target), &exec, limits::client::CALL_TIMEOUT).await?;
    if !context.output.json {
        show(context, &result)?;
    }
    let answer = match apply {
        true => Some(Answer::Put),
        false => wish(context, &result)?,
    };
    let answered = match answer {
        Some(answer) => Some(give(session, &pending, answer, &result).await?),
        None => None,
    };
    if context.output.json {
        let raw = json!({ "pid": pending.pid, "request": pending.request, "rehearsed": result, "answered": answered });
        context.output.raw_json(&raw.to_string())?;
        return Ok(0);
    }
    let id = &pending.request.request_id;
    match answer {
        Some(Answer::Put) => context.output.note(rehearsal::PUT_IN_PLACE),
        Some(Answer::Run) => context.output.note("approved: it runs"),
        Some(Answer::Deny) => context.output.note("denied"),
        None => {
            let put = rehearsal::applicable(&result).map_or_else(String::new, |rehearsal| {
                format!(", with `--rehearsal {rehearsal}` to have exactly this put in place")
            });
            context
                .output
                .note(&format!("it waits: `gsv approvals approve {id}`{put}; `gsv approvals deny {id}`"));
        }
    }
    Ok(0)
}

#[derive(Clone, Copy)]
enum Answer {
    /// Put in place what was seen.
    Put,
    /// Run the command for real.
    Run,
    Deny,
}

fn wish(context: &Context, result: &ExecResult) -> Result<Option<Answer>> {
    if !prompt::is_possible(&context.output) {
        return Ok(None);
    }
    let can_put = rehearsal::applicable(result).is_some();
    let put = if can_put { "[p] put exactly this in place, " } else { "" };
    let question = format!("{put}[y] approve and run it, [n] deny, [l] later");
    loop {
        match prompt::line(&question, Some("l"))?.to_ascii_lowercase().as_str() {
            "p" | "put" if can_put => return Ok(Some(Answer::Put)),
            "y" | "yes" => return Ok(Some(Answer::Run)),
            "n" | "no" => return Ok(Some(Answer::Deny)),
            "l" | "later" => return Ok(None),
            _ => {}
        }
    }
}

async fn give(
    session: &Session,
    pending: &PendingApproval,
    answer: Answer,
    result: &ExecResult,
) -> Result<Value> {
    let rehearsal = match (answer, rehearsal::applicable(result)) {
        (Answer::Put, Some(id)) => Some(id.to_string()),
        (Answer::Put, None) => {
            let why = result.rehearsal.as_ref().and_then(|rehearsal| rehearsal.blocked.as_deref());
            let why = format!("it cannot be put in place: {}", why.unwrap_or("no reason was given"));
            return Err(
                Failure::new(why).with_hint("the question still waits: `gsv approvals approve` runs it")
            );
        }
        _ => None,
    };
    let hil = Hil {
        pid: Some(pending.pid.clone()),
        request_id: pending.request.request_id.clone(),
        decision: if matches!(answer, Answer::Deny) { Decision::Deny } else { Decision::Approve },
        outside: None,
        remember: None,
        remember_scope: None,
        rehearsal,
    };
    let answered = session.call(&hil).await?;
    let resolved = done(answered.value)?;
    Ok(json!(resolved))
}
