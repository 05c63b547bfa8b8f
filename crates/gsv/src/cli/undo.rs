//! `gsv undo`: shows what a run of an agent did, asks, and takes it back.

use base::limits;
use clap::Args;
use protocol::fs::history::{UndoAction, UndonePath};
use protocol::ids::{Pid, RunId};
use protocol::outcome::Outcome;
use protocol::proc::undo::{Undo, Undone};
use terminal::escape;
use terminal::failure::{Failure, Result};
use terminal::layout::{CYAN, GREEN, RED, Style};

use crate::context::Context;
use crate::{prompt, session};

/// Arguments of `gsv undo`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    gsv undo              take back what your agents did last\n  \
    gsv undo --dry-run    only show what that would be\n  \
    gsv undo 3f2a         take back the run whose id begins so; `gsv cost` lists runs\n  \
    gsv undo --yes --json in scripts\n\n\
    What you changed since in the same files is left alone and named. What an undo overwrites is kept: `gsv log PATH`.")]
pub struct UndoArgs {
    /// The run, or the beginning of its id [default: the newest run that changed something].
    run: Option<String>,
    /// The newest run that changed something.
    #[arg(long, conflicts_with = "run")]
    last: bool,
    /// Only runs of this process.
    #[arg(long, value_name = "PID")]
    pid: Option<String>,
    /// Change nothing, only show what would happen.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask.
    #[arg(short, long)]
    yes: bool,
}

/// Undoes a run.
pub async fn run(context: &Context, args: UndoArgs) -> Result<u8> {
    let session = session::open(context).await?;
    let mut call = Undo { run_id: args.run.map(RunId), pid: args.pid.map(Pid), dry_run: Some(true) };
    if args.yes && !args.dry_run {
        call.dry_run = None;
    } else {
        let (planned, raw) = ask(&session, &call).await?;
        if args.dry_run {
            return show(context, &raw, &planned, Tense::Would).map(|()| 0);
        }
        if !prompt::is_possible(&context.output) {
            return Err(Failure::usage("nobody can be asked here whether to undo this")
                .with_hint("add --yes to do it, or --dry-run to see what it would do"));
        }
        show(context, &raw, &planned, Tense::Would)?;
        if !is_something(&planned) {
            return Err(Failure::new("there is nothing that could be taken back"));
        }
        if !prompt::confirm("Take this back?", false)? {
            return Err(Failure::new("nothing was changed"));
        }
        // The very run that was shown, whatever began since.
        call = Undo { run_id: Some(planned.run_id), pid: None, dry_run: None };
    }
    let (undone, raw) = ask(&session, &call).await?;
    show(context, &raw, &undone, Tense::Did)?;
    let is_failed = undone.targets.iter().any(|target| target.error.is_some());
    let has_conflicts = paths(&undone).any(|path| path.action == UndoAction::Conflict);
    Ok(u8::from(is_failed || has_conflicts))
}

fn show(context: &Context, raw: &str, undone: &Undone, tense: Tense) -> Result<()> {
    match context.output.json {
        true => context.output.raw_json(raw),
        false => context.output.text(&(told(undone, tense, context.output.colour) + "\n")),
    }
}

async fn ask(session: &client::Session, call: &Undo) -> Result<(Undone, String)> {
    let args = protocol::frame::to_json(call);
    let raw = session.connection.call_raw("proc.undo", &args, limits::cli::UNDO_TIMEOUT).await?;
    let outcome: Outcome<Undone> =
        serde_json::from_str(&raw).map_err(|error| Failure::new(format!("proc.undo: {error}")))?;
    Ok((outcome.into_result().map_err(Failure::new)?, raw))
}

fn paths(undone: &Undone) -> impl Iterator<Item = &UndonePath> {
    undone.targets.iter().flat_map(|target| &target.paths)
}

fn is_something(undone: &Undone) -> bool {
    paths(undone).any(|path| !matches!(path.action, UndoAction::Unchanged | UndoAction::Conflict))
}

/// Whether something is going to be done, or was.
#[derive(Clone, Copy, PartialEq)]
enum Tense {
    Would,
    Did,
}

/// What an undo does, for a person.
fn told(undone: &Undone, tense: Tense, has_colour: bool) -> String {
    let paint = |colour, text: &str| match has_colour {
        true => Style::colour(colour).paint(text),
        false => text.to_string(),
    };
    let mut lines =
        vec![format!("run {} of {}", escape::line(&undone.run_id.0), escape::line(&undone.pid.0))];
    for target in &undone.targets {
        lines.push(format!("{}:", escape::line(&target.target)));
        if let Some(error) = &target.error {
            lines.push(format!("  {} {}", paint(RED, "not undone:"), escape::line(error)));
        }
        for path in &target.paths {
            let (word, colour) = word(path.action, tense);
            let why = path.why.as_ref().map(|why| format!(" ({})", escape::line(why))).unwrap_or_default();
            lines.push(format!("  {} {}{why}", paint(colour, word), escape::line(&path.path)));
        }
        if target.paths.is_empty() && target.error.is_none() {
            lines.push("  no files were changed".to_string());
        }
    }
    if undone.targets.is_empty() {
        lines.push("it changed no files".to_string());
    }
    if !undone.cannot.is_empty() {
        lines.push("This can not be taken back:".to_string());
        lines.extend(undone.cannot.iter().map(|what| format!("  {}", escape::line(what))));
    }
    lines.join("\n")
}

fn word(action: UndoAction, tense: Tense) -> (&'static str, u8) {
    let is_done = tense == Tense::Did;
    match action {
        UndoAction::Restored => (if is_done { "restored " } else { "restore  " }, GREEN),
        UndoAction::Removed => (if is_done { "removed  " } else { "remove   " }, RED),
        UndoAction::Merged => (if is_done { "merged   " } else { "merge    " }, GREEN),
        UndoAction::Unchanged => ("as before", CYAN),
        UndoAction::Conflict => ("left     ", RED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_undo_is_told_by_target_with_what_it_leaves() {
        let json = serde_json::json!({
            "runId": "r1", "pid": "p1",
            "targets": [
                { "target": "gsv", "paths": [], "error": "Not implemented: fs.undo" },
                { "target": "mac", "paths": [
                    { "path": "/w/a", "action": "restored" },
                    { "path": "/w/b\u{1b}[2J", "action": "conflict", "why": "it was changed after the run" },
                ] },
            ],
            "cannot": ["on mac: the command `make install` ran outside the sandbox"],
        });
        let undone: Undone = serde_json::from_value(json).unwrap();
        let text = told(&undone, Tense::Would, false);
        assert!(text.contains("  not undone: Not implemented: fs.undo\nmac:\n  restore   /w/a\n"), "{text}");
        assert!(text.contains("left      /w/b") && text.contains("(it was changed after the run)"), "{text}");
        assert!(text.ends_with("taken back:\n  on mac: the command `make install` ran outside the sandbox"));
        assert!(!text.contains('\u{1b}'), "a path can not move the cursor");
        assert!(is_something(&undone));
    }
}
