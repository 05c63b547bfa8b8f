//! `notify`: notifications that wait until the user has seen them.

use protocol::notification::{Create, Dismiss, Level, List, MarkRead, Notification};

use super::options::{Opt, Options, flag, valued};
use super::{Command, Cx, Done, flat, times};
use crate::builtin_io::Io;

pub(super) static COMMAND: Command = Command {
    name: "notify",
    aliases: &[],
    about: "leave and read notifications",
    usage: "send --title T [--body B] [--level L] [--ttl-ms N] | list [--unread] [--dismissed] [--limit N] | read ID | dismiss ID",
    manual: "\
Levels are info, success, warning and error. A notification goes away after 30 days, or after --ttl-ms.",
    io: Io::PLAIN,
    run: |cx| Box::pin(run(cx)),
};

const KNOWN: &[Opt] = &[
    valued('\0', "title"),
    valued('\0', "body"),
    valued('\0', "level"),
    valued('\0', "ttl-ms"),
    flag('\0', "unread"),
    flag('\0', "dismissed"),
    valued('\0', "limit"),
];

async fn run(cx: &Cx<'_>) -> Done {
    let options = match Options::parse(cx, &COMMAND, KNOWN, 1) {
        Ok(options) => options,
        Err(done) => return done,
    };
    let words: Vec<&str> = options.operands.iter().map(String::as_str).collect();
    flat(match words.as_slice() {
        ["send", rest @ ..] => send(cx, &options, rest).await,
        ["list" | "ls"] => list(cx, &options).await,
        ["read" | "mark-read", id] => {
            let got = cx.call(&MarkRead { notification_id: id.to_string() }).await;
            got.and_then(|got| changed(cx, "read", id, got.notification))
        }
        ["dismiss", id] => {
            let got = cx.call(&Dismiss { notification_id: id.to_string() }).await;
            got.and_then(|got| changed(cx, "dismissed", id, got.notification))
        }
        ["read" | "mark-read" | "dismiss"] => Err(cx.misused("notification id is required")),
        _ => Err(Done { stderr: COMMAND.usage_line().into_bytes(), code: 1, ..Done::default() }),
    })
}

async fn send(cx: &Cx<'_>, options: &Options, words: &[&str]) -> Result<Done, Done> {
    let title = options.value("title").map_or_else(|| words.join(" "), str::to_string);
    if title.trim().is_empty() {
        return Err(cx.misused("--title is required"));
    }
    let level = options.value("level").map(level_of).transpose().map_err(|why| cx.misused(why))?;
    let ttl_ms = options.number("ttl-ms").map_err(|why| cx.misused(why))?;
    let body = options.value("body").map(str::to_string);
    let created = cx.call(&Create { title, body, level, actions: None, ttl_ms }).await?;
    Ok(Done::printed(format!("sent {}\n", created.notification.notification_id)))
}

async fn list(cx: &Cx<'_>, options: &Options) -> Result<Done, Done> {
    let args = List {
        include_read: Some(!options.has("unread")),
        include_dismissed: Some(options.has("dismissed")),
        limit: options.number("limit").map_err(|why| cx.misused(why))?,
    };
    let notes = cx.call(&args).await?.notifications;
    if notes.is_empty() {
        return Ok(Done::printed("No notifications.\n"));
    }
    Ok(Done::printed(notes.iter().map(line_of).collect::<String>()))
}

fn changed(cx: &Cx<'_>, how: &str, id: &str, note: Option<Notification>) -> Result<Done, Done> {
    match note {
        Some(note) => Ok(Done::printed(format!("{how} {}\n", note.notification_id))),
        None => Err(cx.misused(format!("Notification '{id}' not found"))),
    }
}

fn line_of(note: &Notification) -> String {
    let state = match (note.dismissed_at, note.read_at) {
        (Some(_), _) => "dismissed",
        (None, Some(_)) => "read",
        (None, None) => "unread",
    };
    let level = level_name(note.level);
    let mut out = format!("{} [{level}] [{state}] {}\n", note.notification_id, note.title);
    out += &format!("  created: {}\n", times::iso(note.created_at));
    if let Some(body) = &note.body {
        out += &format!("  body: {}\n", body.replace('\n', "\n    "));
    }
    if !note.actions.is_empty() {
        let labels: Vec<&str> = note.actions.iter().map(|action| action.label.as_str()).collect();
        out += &format!("  actions: {}\n", labels.join(", "));
    }
    out
}

fn level_of(text: &str) -> Result<Level, String> {
    [Level::Info, Level::Success, Level::Warning, Level::Error]
        .into_iter()
        .find(|level| level_name(*level) == text)
        .ok_or_else(|| format!("--level must be info, success, warning or error, not '{text}'"))
}

fn level_name(level: Level) -> &'static str {
    match level {
        Level::Info => "info",
        Level::Success => "success",
        Level::Warning => "warning",
        Level::Error => "error",
    }
}
