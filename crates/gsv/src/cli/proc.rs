//! `gsv proc`: agents and their conversations, one call each.

use base::limits;
use chat::look::Look;
use chat::tools;
use clap::{Args, Subcommand};
use client::Answer;
use protocol::frame::to_json;
use protocol::ids::{ConversationId, Pid, Uid};
use protocol::outcome::Outcome;
use protocol::proc::history::Read;
use protocol::proc::profile::Profile;
use protocol::proc::segment::{Compact, Fork, Forked};
use protocol::proc::{Abort, Archived, Kill, List, Reset, Send, Spawn, Spawned, Summary};
use protocol::spec::Syscall;
use serde::de::DeserializeOwned;
use terminal::failure::{Failure, Result};
use terminal::output::{Table, clean, or_dash};
use terminal::times;

use crate::context::Context;
use crate::session;

/// Verbs of `gsv proc`.
#[derive(Debug, Subcommand)]
pub enum Proc {
    /// List processes, newest first.
    List {
        /// Of this user, by uid (root only).
        #[arg(long, value_name = "UID")]
        uid: Option<u32>,
    },
    /// Start a process.
    Spawn {
        /// What kind of agent to start.
        #[arg(long, value_name = "PROFILE")]
        profile: Option<String>,
        /// A label for people to recognise it by.
        #[arg(long, value_name = "TEXT")]
        label: Option<String>,
        /// Its first message.
        #[arg(long, value_name = "TEXT")]
        prompt: Option<String>,
        /// The process to start it under.
        #[arg(long, value_name = "PID")]
        parent: Option<String>,
    },
    /// Send a message and do not wait for the answer.
    Send {
        /// What to say.
        message: String,
        #[command(flatten)]
        place: ConversationArgs,
    },
    /// Show what was said.
    History {
        #[command(flatten)]
        place: ConversationArgs,
        /// How many messages.
        #[arg(long, value_name = "COUNT")]
        limit: Option<u64>,
        /// How many to skip, from the oldest on; without it the newest are shown.
        #[arg(long, value_name = "COUNT")]
        offset: Option<u64>,
    },
    /// Stop the active run.
    Abort {
        /// The process [default: your init process].
        #[arg(long, value_name = "PID")]
        pid: Option<String>,
    },
    /// Archive and clear everything a process remembers.
    Reset {
        /// The process [default: your init process].
        #[arg(long, value_name = "PID")]
        pid: Option<String>,
    },
    /// End a process.
    Kill {
        /// The id of the process, as listed.
        pid: String,
        /// Do not archive its conversations.
        #[arg(long)]
        no_archive: bool,
    },
    /// Replace a conversation's older messages by a summary.
    Compact {
        #[command(flatten)]
        place: ConversationArgs,
        /// The summary; the model writes one when absent.
        #[arg(long, value_name = "TEXT")]
        summary: Option<String>,
        /// How many messages stay.
        #[arg(long, value_name = "COUNT", conflicts_with = "through")]
        keep: Option<u64>,
        /// Archive up to and including this message.
        #[arg(long, value_name = "MESSAGE")]
        through: Option<i64>,
    },
    /// Copy a conversation up to a message, or bring a compacted part back.
    Fork {
        #[command(flatten)]
        place: ConversationArgs,
        /// The last message to copy [default: the newest].
        #[arg(long, value_name = "MESSAGE", conflicts_with = "segment")]
        through: Option<i64>,
        /// The compacted part to bring back.
        #[arg(long, value_name = "SEGMENT")]
        segment: Option<String>,
        /// The new conversation's name.
        #[arg(long, value_name = "TEXT")]
        title: Option<String>,
    },
}

/// Which conversation of which process.
#[derive(Args, Clone, Debug)]
pub struct ConversationArgs {
    /// The process [default: your init process].
    #[arg(long, value_name = "PID")]
    pid: Option<String>,
    /// The conversation [default: default].
    #[arg(long, value_name = "ID")]
    conversation: Option<String>,
}

impl ConversationArgs {
    fn pid(&self) -> Option<Pid> {
        self.pid.clone().map(Pid)
    }

    fn conversation(&self) -> Option<ConversationId> {
        self.conversation.clone().map(ConversationId)
    }
}

/// Messages that stay when nobody says how many.
const KEEP_DEFAULT: u64 = 8;
/// Messages that are shown when nobody says how many.
const HISTORY_DEFAULT: u64 = 50;

/// Runs one verb of `gsv proc`.
pub async fn run(context: &Context, verb: Proc) -> Result<u8> {
    match verb {
        Proc::List { uid } => {
            let answer = session::open(context).await?.call(&List { uid: uid.map(Uid) }).await?;
            context.output.table(&answer.raw, || listed(&answer.value.processes))?;
        }
        Proc::Spawn { profile, label, prompt, parent } => {
            let profile = profile.map(Profile);
            let spawn = Spawn { profile, label, prompt, parent_pid: parent.map(Pid), ..Spawn::default() };
            carry_out(context, &spawn, spawned).await?;
        }
        Proc::Send { message, place } => {
            let (pid, conversation_id) = (place.pid(), place.conversation());
            let send = Send { pid, conversation_id, message, media: None };
            carry_out(context, &send, |sent| {
                let queued = if sent.queued == Some(true) { ", queued" } else { "" };
                format!("sent: run {}{queued}", sent.run_id)
            })
            .await?;
        }
        Proc::History { place, limit, offset } => history(context, &place, limit, offset).await?,
        Proc::Abort { pid } => {
            carry_out(context, &Abort { pid: pid.map(Pid) }, |aborted| match &aborted.run_id {
                Some(run) if aborted.aborted => format!("aborted run {run}"),
                _ => format!("{} is not busy", aborted.pid),
            })
            .await?;
        }
        Proc::Reset { pid } => {
            carry_out(context, &Reset { pid: pid.map(Pid) }, |done| archived("reset", done)).await?;
        }
        Proc::Kill { pid, no_archive } => {
            let kill = Kill { pid: Pid(pid), archive: no_archive.then_some(false) };
            carry_out(context, &kill, |done| archived("killed", done)).await?;
        }
        Proc::Compact { place, summary, keep, through } => {
            let keep_last = if through.is_none() { Some(keep.unwrap_or(KEEP_DEFAULT)) } else { None };
            let compact = Compact {
                pid: place.pid(),
                conversation_id: place.conversation(),
                generate_summary: summary.is_none().then_some(true),
                summary,
                keep_last,
                through_message_id: through,
            };
            carry_out(context, &compact, chat::transcript::compacted).await?;
        }
        Proc::Fork { place, through, segment, title } => {
            fork(context, &place, through, segment, title).await?
        }
    }
    Ok(0)
}

/// One call, whose result is a line.
async fn carry_out<S, T>(context: &Context, args: &S, line: impl FnOnce(&T) -> String) -> Result<()>
where
    S: Syscall<Result = Outcome<T>>,
    T: DeserializeOwned,
{
    let session = session::open(context).await?;
    let answer = patient_call(&session, args).await?;
    context.output.answer(&answer.raw, || line(&answer.value))
}

/// A call that may take as long as a model; an operation that failed is a failure.
async fn patient_call<S, T>(session: &client::Session, args: &S) -> Result<Answer<T>>
where
    S: Syscall<Result = Outcome<T>>,
    T: DeserializeOwned,
{
    let name = S::SPEC.name;
    let raw = session.connection.call_raw(name, &to_json(args), limits::cli::COMPACT_TIMEOUT).await?;
    let outcome: Outcome<T> = serde_json::from_str(&raw)
        .map_err(|why| client::Error::Decode { call: name.to_string(), why: why.to_string() })?;
    Ok(Answer { raw, value: outcome.into_result().map_err(Failure::new)? })
}

async fn history(
    context: &Context,
    place: &ConversationArgs,
    limit: Option<u64>,
    offset: Option<u64>,
) -> Result<()> {
    let read = Read {
        pid: place.pid(),
        conversation_id: place.conversation(),
        limit: Some(limit.unwrap_or(HISTORY_DEFAULT)),
        offset,
        tail: offset.is_none().then_some(true),
        ..Read::default()
    };
    let session = session::open(context).await?;
    let answer = patient_call(&session, &read).await?;
    if context.output.json {
        return context.output.raw_json(&answer.raw);
    }
    let look = Look { colour: context.output.colour, columns: None };
    context.output.text(&chat::transcript::transcript(&answer.value, look))
}

async fn fork(
    context: &Context,
    place: &ConversationArgs,
    through: Option<i64>,
    segment_id: Option<String>,
    title: Option<String>,
) -> Result<()> {
    let session = session::open(context).await?;
    let (pid, conversation_id) = (place.pid(), place.conversation());
    let through_message_id = match (&segment_id, through) {
        (Some(_), _) => None,
        (None, Some(through)) => Some(through),
        (None, None) => {
            let (pid, conversation_id) = (pid.clone(), conversation_id.clone());
            let read = Read { pid, conversation_id, limit: Some(1), tail: Some(true), ..Read::default() };
            let newest =
                patient_call(&session, &read).await?.value.messages.pop().and_then(|message| message.id);
            Some(newest.ok_or_else(|| Failure::new("there is nothing to copy yet"))?)
        }
    };
    let fork = Fork { pid, conversation_id, segment_id, through_message_id, title, ..Fork::default() };
    let answer: Answer<Forked> = patient_call(&session, &fork).await?;
    let forked = &answer.value;
    context.output.answer(&answer.raw, || {
        let messages = usize::try_from(forked.restored_messages).unwrap_or(usize::MAX);
        format!("conversation {} with {}", forked.target_conversation.id, tools::count(messages, "message"))
    })
}

fn listed(processes: &[Summary]) -> Table {
    let headings = ["PID", "PROFILE", "STATE", "QUEUED", "UID", "LABEL", "STARTED", "ACTIVE"];
    let mut table = Table::new(&headings, "no processes");
    for process in processes {
        table.row([
            process.pid.to_string(),
            process.profile.as_str().to_string(),
            process.state.clone(),
            process.queued_count.unwrap_or(0).to_string(),
            process.uid.to_string(),
            or_dash(process.label.clone()),
            times::show(process.created_at),
            or_dash(process.last_active_at.map(times::show)),
        ]);
    }
    table
}

fn spawned(spawned: &Spawned) -> String {
    let label = spawned.label.as_ref().map(|label| format!(" ({})", clean(label))).unwrap_or_default();
    format!("started process {}{label}", spawned.pid)
}

fn archived(what: &str, archived: &Archived) -> String {
    let messages = tools::count(usize::try_from(archived.archived_messages).unwrap_or(usize::MAX), "message");
    match &archived.archived_to {
        Some(path) => format!("{what} {} ({messages} archived in {})", archived.pid, clean(path)),
        None => format!("{what} {}", archived.pid),
    }
}
