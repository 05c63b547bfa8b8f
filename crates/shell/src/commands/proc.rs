//! `proc`: agents, from the shell. Each subcommand is one call; run by an agent, it is the agent that makes it.

mod segments;
mod talk;

use protocol::ids::{ConversationId, Pid};
use protocol::outcome::Outcome;
use protocol::proc::profile::Profile;
use protocol::proc::{Abort, Archived, Assignment, Kill, List, Reset, Spawn};

use super::options::{Opt, Options, flag, valued};
use super::{Command, Cx, Done, flat, row};
use crate::builtin_io::Io;

pub(super) static COMMAND: Command = Command {
    name: "proc",
    aliases: &[],
    about: "start, talk to and end processes",
    usage: "self | list | spawn [PROMPT...] | send PID MESSAGE... | call PID MESSAGE... | history [PID] | \
            abort [PID] | reset [PID] | kill PID | compact [PID] | fork [PID] | segments [PID]",
    manual: "\
A process is a long-lived agent. Where no PID is given, your init process is meant.
    spawn [--profile P] [--label L] [--parent PID] [--assignment-json J] [--auto-start] [PROMPT...]
        starts one; the default profile is `task`
    send PID [--conversation C] [--metadata-json J] MESSAGE...
        sends a message and does not wait; without words standard input is the message
    call PID [--conversation C] [--metadata-json J] [--timeout D] MESSAGE...
        for agents: the reply, or the timeout, arrives later as an event. D is such as 30s or 5m
    history [PID] [--conversation C] [--limit N] [--json]
        the newest messages, oldest first
    abort [PID], reset [PID], kill PID [--no-archive]
        cancels the active run; archives and clears; ends it
    compact [PID] [--conversation C] [--keep-last N | --through ID] [--summary TEXT]
        puts a summary in the place of the older messages; without --summary the model writes it
    fork [PID] [--conversation C] (--message-id ID | --segment ID [--segment-only]) [--target C] [--title T]
        copies a conversation up to a message, or restores a compacted segment",
    io: Io::PLAIN,
    run: |cx| Box::pin(run(cx)),
};

const KNOWN: &[Opt] = &[
    valued('\0', "profile"),
    valued('\0', "label"),
    valued('\0', "parent"),
    valued('\0', "assignment-json"),
    flag('\0', "auto-start"),
    valued('\0', "conversation"),
    valued('\0', "metadata-json"),
    valued('\0', "timeout"),
    valued('\0', "limit"),
    flag('\0', "json"),
    flag('\0', "no-archive"),
    valued('\0', "keep-last"),
    valued('\0', "through"),
    valued('\0', "summary"),
    valued('\0', "message-id"),
    valued('\0', "segment"),
    flag('\0', "segment-only"),
    valued('\0', "target"),
    valued('\0', "title"),
];

async fn run(cx: &Cx<'_>) -> Done {
    let options = match Options::parse(cx, &COMMAND, KNOWN, 1) {
        Ok(options) => options,
        Err(done) => return done,
    };
    let words: Vec<&str> = options.operands.iter().map(String::as_str).collect();
    flat(match words.as_slice() {
        ["self"] => own(cx),
        ["list" | "ls"] => list(cx).await,
        ["spawn", prompt @ ..] => spawn(cx, &options, prompt).await,
        ["send", pid, words @ ..] => talk::send(cx, &options, pid, words).await,
        ["call", pid, words @ ..] => talk::call(cx, &options, pid, words).await,
        ["send" | "call" | "kill"] => Err(cx.misused("pid is required")),
        ["history", rest @ ..] if rest.len() < 2 => talk::history(cx, &options, pid_of(rest)).await,
        ["abort", rest @ ..] if rest.len() < 2 => abort(cx, pid_of(rest)).await,
        ["reset", rest @ ..] if rest.len() < 2 => {
            let done = cx.call(&Reset { pid: pid_of(rest) }).await;
            done.and_then(|done| archived(cx, "reset", done))
        }
        ["kill", pid] => {
            let kill = Kill { pid: Pid::from(*pid), archive: options.has("no-archive").then_some(false) };
            let done = cx.call(&kill).await;
            done.and_then(|done| archived(cx, "killed", done))
        }
        ["compact", rest @ ..] if rest.len() < 2 => segments::compact(cx, &options, pid_of(rest)).await,
        ["fork", rest @ ..] if rest.len() < 2 => segments::fork(cx, &options, pid_of(rest)).await,
        ["segments", rest @ ..] if rest.len() < 2 => segments::list(cx, &options, pid_of(rest)).await,
        _ => Err(Done { stderr: COMMAND.usage_line().into_bytes(), code: 1, ..Done::default() }),
    })
}

fn pid_of(words: &[&str]) -> Option<Pid> {
    words.first().map(|pid| Pid::from(*pid))
}

fn conversation(options: &Options) -> Option<ConversationId> {
    options.value("conversation").map(ConversationId::from)
}

/// The value, or the operation's own words for why there is none.
fn done<T>(cx: &Cx<'_>, outcome: Outcome<T>) -> Result<T, Done> {
    outcome.into_result().map_err(|why| cx.misused(why))
}

fn own(cx: &Cx<'_>) -> Result<Done, Done> {
    match &cx.settings.pid {
        Some(pid) => Ok(Done::printed(format!("{pid}\n"))),
        None => Err(cx.misused("no current process")),
    }
}

async fn list(cx: &Cx<'_>) -> Result<Done, Done> {
    let listed = cx.call(&List { uid: Some(cx.view.who().uid) }).await?;
    let mut done = Done::printed(row(["PID", "STATE", "PROFILE", "LABEL"]));
    for process in &listed.processes {
        let label = process.label.as_deref().unwrap_or("-");
        done.print(row([process.pid.as_str(), &process.state, process.profile.as_str(), label]));
    }
    Ok(done)
}

async fn spawn(cx: &Cx<'_>, options: &Options, words: &[&str]) -> Result<Done, Done> {
    let prompt = match words {
        [] => String::from_utf8_lossy(cx.stdin).into_owned(),
        words => words.join(" "),
    };
    let args = Spawn {
        profile: options.value("profile").map(|name| Profile(name.to_string())),
        label: options.value("label").map(str::to_string),
        prompt: Some(prompt).filter(|prompt| !prompt.trim().is_empty()),
        assignment: assignment(cx, options)?,
        parent_pid: options.value("parent").map(Pid::from),
        workspace: None,
        mounts: None,
        run_as: None,
    };
    let spawned = done(cx, cx.call(&args).await?)?;
    let label = spawned.label.unwrap_or_default();
    Ok(Done::printed(format!("pid={} label={label:?} cwd={:?}\n", spawned.pid, spawned.cwd)))
}

fn assignment(cx: &Cx<'_>, options: &Options) -> Result<Option<Assignment>, Done> {
    let given = options.value("assignment-json").map(serde_json::from_str::<Assignment>).transpose();
    let given = given.map_err(|error| cx.misused(format!("--assignment-json: {error}")))?;
    if !options.has("auto-start") {
        return Ok(given);
    }
    let context_files = given.map(|given| given.context_files).unwrap_or_default();
    Ok(Some(Assignment { context_files, auto_start: Some(true) }))
}

async fn abort(cx: &Cx<'_>, pid: Option<Pid>) -> Result<Done, Done> {
    let aborted = done(cx, cx.call(&Abort { pid }).await?)?;
    let run_id = aborted.run_id.map_or_else(|| "-".to_string(), |run| run.to_string());
    Ok(Done::printed(format!("aborted={} run_id={run_id}\n", aborted.aborted)))
}

fn archived(cx: &Cx<'_>, how: &str, outcome: Outcome<Archived>) -> Result<Done, Done> {
    let Archived { pid, archived_messages, archived_to, .. } = done(cx, outcome)?;
    let to = archived_to.as_deref().unwrap_or("-");
    Ok(Done::printed(format!("{how} {pid} archived={archived_messages} archive={to}\n")))
}
