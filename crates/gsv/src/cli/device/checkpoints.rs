//! `gsv device checkpoints`: what the driver of this machine can bring back of a workspace, and bringing it back.

use std::path::PathBuf;

use base::clock::Clock;
use checkpoint::{Budget, Change, Checkpoints, Difference, Id, Restore, Restored, Summary, When};
use clap::{Args, Subcommand};
use serde_json::json;
use terminal::failure::{Failure, Result};
use terminal::output::{Table, clean};
use terminal::times;

use crate::context::Context;

/// Arguments of `gsv device checkpoints`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The workspace [default: the device's, else the current directory].
    #[arg(long, value_name = "DIR", global = true)]
    workspace: Option<PathBuf>,
    #[command(subcommand)]
    action: Option<Action>,
}

/// Verbs of `gsv device checkpoints`.
#[derive(Debug, Subcommand)]
enum Action {
    /// List the checkpoints, newest first.
    List,
    /// Show what has changed since a checkpoint.
    Show {
        /// Its number in the list.
        id: u64,
    },
    /// Bring the workspace back to what it was; what is there now is kept as a checkpoint first.
    Restore {
        /// Its number in the list.
        id: u64,
        /// Only these paths and what is below them.
        paths: Vec<PathBuf>,
        /// Also overwrite what was changed after the agent's run.
        #[arg(long)]
        force: bool,
    },
    /// Remove all checkpoints of the workspace; the next one leaves out what git ignores now.
    Forget,
}

/// Carries one out.
pub fn run(context: &Context, arguments: Arguments, workspace: PathBuf, state: PathBuf) -> Result<u8> {
    let workspace = arguments.workspace.unwrap_or(workspace);
    let kept = Checkpoints::open(&state.join("checkpoints"), &workspace).map_err(told)?;
    match arguments.action.unwrap_or(Action::List) {
        Action::List => list(context, &kept),
        Action::Show { id } => show(context, &kept, Id(id)),
        Action::Restore { id, paths, force } => {
            let paths = Some(paths).filter(|paths| !paths.is_empty());
            restore(context, &kept, Id(id), &Restore { paths, force, ..Restore::default() })
        }
        Action::Forget => {
            let gone = kept.forget().map_err(told)?;
            let count = gone.removed.len();
            context.output.answer(&json!(gone).to_string(), || format!("removed {count} checkpoints"))?;
            Ok(0)
        }
    }
}

fn told(error: checkpoint::Error) -> Failure {
    Failure::new(error.to_string())
}

fn list(context: &Context, kept: &Checkpoints) -> Result<u8> {
    let mut all = kept.list().map_err(told)?;
    all.reverse();
    let raw = json!({ "workspace": kept.workspace(), "checkpoints": all }).to_string();
    context.output.table(&raw, || table(&all))?;
    Ok(0)
}

fn table(all: &[Summary]) -> Table {
    let headings = ["ID", "TAKEN", "WHEN", "PROCESS", "FILES", "BYTES"];
    let mut table = Table::new(&headings, "no checkpoints of this workspace yet");
    for one in all {
        let when = match one.label.when {
            When::Before => "before",
            When::After => "after",
        };
        let process = if one.label.pid.is_empty() { "-" } else { &one.label.pid };
        table.row([
            one.id.to_string(),
            times::show(one.taken_ms),
            when.to_string(),
            process.to_string(),
            one.files.to_string(),
            one.bytes.to_string(),
        ]);
    }
    table
}

fn show(context: &Context, kept: &Checkpoints, id: Id) -> Result<u8> {
    let changed = kept.diff_present(id, &Budget::default()).map_err(told)?;
    let raw = json!({ "id": id, "changes": changed }).to_string();
    context.output.answer(&raw, || match changed.is_empty() {
        true => format!("nothing has changed since checkpoint {id}"),
        false => changed.iter().map(line).collect::<Vec<_>>().join("\n"),
    })?;
    Ok(0)
}

fn line(one: &Difference) -> String {
    let letter = match one.change {
        Change::Added => 'A',
        Change::Removed => 'D',
        Change::Content => 'M',
        Change::Mode => 'm',
        Change::Kind => 'T',
    };
    format!("{letter} {}{}", clean(&one.path.to_string_lossy()), if one.is_dir { "/" } else { "" })
}

fn restore(context: &Context, kept: &Checkpoints, id: Id, how: &Restore) -> Result<u8> {
    let done = kept.restore(id, how, Clock::system().now_ms(), &Budget::default()).map_err(told)?;
    if !done.conflicts.is_empty() && !how.force {
        let names: Vec<String> =
            done.conflicts.iter().take(10).map(|one| clean(&one.path.to_string_lossy())).collect();
        let failure = Failure::new(format!("changed after the run by somebody else: {}", names.join(", ")));
        return Err(failure.with_hint("nothing was brought back; --force overwrites these too"));
    }
    let raw = json!({ "id": id, "restored": done }).to_string();
    context.output.answer(&raw, || summary(id, &done))?;
    Ok(if done.failed.is_empty() { 0 } else { 1 })
}

fn summary(id: Id, done: &Restored) -> String {
    let mut text = format!(
        "brought back checkpoint {id}: {} written, {} removed",
        done.written.len(),
        done.removed.len()
    );
    if let Some(before) = done.before {
        text += &format!("; what was there is checkpoint {before}");
    }
    for one in &done.failed {
        text += &format!("\nnot brought back: {}: {}", clean(&one.path.to_string_lossy()), one.why);
    }
    text
}
