//! Handler of `proc.undo`: the run is found, and its changes are taken back on each target it used, as the caller.

use base::limits;
use protocol::error::Error;
use protocol::fs::history as fs;
use protocol::ids::RunId;
use protocol::outcome::Outcome;
use protocol::proc::undo::{Undo, Undone, UndoneTarget};
use protocol::spec::Syscall;
use serde_json::json;
use store::runs::{RunRow, RunStatus};

use super::reach;
use crate::deeds::Deeds;
use crate::handlers::Cx;

pub(crate) async fn undo(cx: Cx, args: Undo) -> Result<Outcome<Undone>, Error> {
    let (run, mut deeds) = match &args.run_id {
        Some(id) => {
            let run = named(&cx, id, &args).await?;
            let deeds = Deeds::of(cx.area.gateway.store(), &run).await?;
            (run, deeds)
        }
        None => newest(&cx, &args).await?,
    };
    if run.status == RunStatus::Active {
        return Err(Error::conflict(format!(
            "The run {} is still going: stop it with proc.abort, then undo it",
            run.run_id
        )));
    }
    let mut names: Vec<String> = deeds.targets.iter().cloned().collect();
    names.sort_by_key(|name| name != "gsv");
    let undoing = names.iter().map(|target| undo_on(&cx, target, &run.run_id, args.dry_run));
    let answers = futures_util::future::join_all(undoing).await;
    let mut targets = Vec::with_capacity(names.len());
    for (target, answer) in names.into_iter().zip(answers) {
        let (undone, error) = match answer {
            Ok(undone) => (undone, None),
            Err(why) => (fs::Undone::default(), Some(why)),
        };
        for what in undone.cannot {
            deeds.say(format!("on {target}: {what}"));
        }
        targets.push(UndoneTarget { target, paths: undone.paths, versions: undone.versions, error });
    }
    Ok(Outcome::Done(Undone { run_id: run.run_id, pid: run.pid, targets, cannot: deeds.cannot }))
}

/// Takes back what a run did to the files of one target. A device that is away does not keep the others from it.
async fn undo_on(cx: &Cx, target: &str, run_id: &RunId, dry_run: Option<bool>) -> Result<fs::Undone, String> {
    let gateway = &cx.area.gateway;
    let mut args = json!(fs::Undo { run_id: run_id.clone(), dry_run });
    if target != "gsv" {
        args["target"] = json!(target);
    }
    let name = fs::Undo::SPEC.name;
    let answer = gateway.call(cx.caller.clone(), &gateway.random().uuid(), name, &args.to_string());
    let answer = answer.await.map_err(|error| error.message)?;
    let outcome: Outcome<fs::Undone> = serde_json::from_str(&answer).map_err(|error| error.to_string())?;
    outcome.into_result()
}

/// The run that a caller names, by the whole of its id or the beginning; the one that did the work, where that took its
/// message in. A foreign one is root's business only.
async fn named(cx: &Cx, id: &RunId, args: &Undo) -> Result<RunRow, Error> {
    let runs = || cx.area.gateway.store().runs();
    let unknown = || Error::not_found(format!("Run not found: {id}"));
    let may_see = |run: &RunRow| {
        let is_theirs = run.uid == cx.caller.uid() || cx.caller.is_root();
        is_theirs && args.pid.as_ref().is_none_or(|pid| *pid == run.pid)
    };
    let mut found = runs().by_id(id).await?.filter(may_see);
    if found.is_none() && !id.0.is_empty() {
        let all = runs().newest(cx.caller.uid(), args.pid.as_ref(), i64::MIN, LOOKED_AT).await?;
        let mut alike = all.into_iter().filter(|run| run.run_id.0.starts_with(&id.0));
        found = alike.next();
        if alike.next().is_some() {
            return Err(Error::bad(format!("proc.undo: runId: more than one run begins with '{id}'")));
        }
    }
    let found = found.ok_or_else(unknown)?;
    match &found.absorbed_by {
        Some(by) => runs().by_id(by).await?.ok_or_else(unknown),
        None => Ok(found),
    }
}

/// The newest run that did more than read.
async fn newest(cx: &Cx, args: &Undo) -> Result<(RunRow, Deeds), Error> {
    let uid = match &args.pid {
        Some(pid) => reach(cx, Some(pid)).await?.uid,
        None => cx.caller.uid(),
    };
    let store = cx.area.gateway.store();
    let all = store.runs().newest(uid, args.pid.as_ref(), i64::MIN, LOOKED_AT).await?;
    for run in all.into_iter().filter(|run| run.tool_calls > 0 && run.absorbed_by.is_none()) {
        let deeds = Deeds::of(store, &run).await?;
        if !deeds.is_empty() {
            return Ok((run, deeds));
        }
    }
    Err(Error::not_found("There is no run that changed anything".to_string()))
}

/// So many of the newest runs are looked at.
const LOOKED_AT: u64 = limits::process::UNDO_RUNS_MAX;
