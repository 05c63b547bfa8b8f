//! `touch`: makes empty files, and sets the time of the last change.

use jiff::civil::DateTime;
use jiff::{Timestamp, Zoned};
use vfs::view::Writing;
use vfs::{Code, Fault, Follow};

use super::date::parse;
use super::masks::umask;
use super::operand_path::path_of;
use super::options::{Opt, Options, flag, valued};
use super::{Command, Cx, Done, times, words};
use crate::builtin_io::Io;

pub(super) static COMMAND: Command = Command {
    name: "touch",
    aliases: &[],
    about: "make empty files, or set when files were changed",
    usage: "[-acmh] [-d TEXT | -t STAMP | -r FILE] FILE...",
    manual: "\
  -c  make no files           -d TEXT  that moment, as date -d understands it
  -r  the time of that file   -t [[CC]YY]MMDDhhmm[.ss]
Files here have one time, that of the last change; -a and -m both mean it.",
    io: Io::PLAIN,
    run: |cx| Box::pin(run(cx)),
};

const KNOWN: &[Opt] = &[
    flag('a', "access"),
    flag('c', "no-create"),
    flag('f', "ignored"),
    flag('h', "no-dereference"),
    flag('m', "modification"),
    valued('d', "date"),
    valued('r', "reference"),
    valued('t', "stamp"),
    valued('\0', "time"),
];

async fn run(cx: &Cx<'_>) -> Done {
    let options = match Options::parse(cx, &COMMAND, KNOWN, 1) {
        Ok(options) => options,
        Err(done) => return done,
    };
    if options.operands.is_empty() {
        return cx.misused("missing file operand");
    }
    let ms = match moment_ms(cx, &options).await {
        Ok(ms) => ms,
        Err(why) => return cx.misused(why),
    };
    let mut done = Done::default();
    for operand in &options.operands {
        if let Err(fault) = touch(cx, operand, ms, &options).await {
            let what = if options.has("no-dereference") { "setting times of" } else { "cannot touch" };
            done.complain(cx.name, format!("{what} '{operand}': {}", words(&fault)), 1);
        }
    }
    done
}

async fn touch(cx: &Cx<'_>, operand: &str, ms: i64, options: &Options) -> Result<(), Fault> {
    let (view, path) = (cx.view, path_of(cx.view, operand).await?);
    // A link has no time of its own that could be set; it is left as it is.
    if options.has("no-dereference") && view.stat(&path, Follow::No).await?.kind == vfs::FileKind::Link {
        return Ok(());
    }
    match view.stat(&path, Follow::Yes).await {
        Ok(_) => {}
        Err(fault) if fault.code == Code::NotFound && options.has("no-create") => return Ok(()),
        Err(fault) if fault.code == Code::NotFound && !operand.ends_with('/') => {
            match make(cx, &path, true).await {
                // Somebody else was faster, or a link leads there: its time is set all the same.
                Err(fault) if fault.code == Code::Exists => through_link(cx, &path).await?,
                made => made?,
            }
        }
        Err(fault) => return Err(fault),
    }
    view.set_modified(&path, ms).await
}

/// Makes the file that a link leads to.
async fn through_link(cx: &Cx<'_>, path: &vfs::VPath) -> Result<(), Fault> {
    match cx.view.stat(path, Follow::Yes).await {
        Err(fault) if fault.code == Code::NotFound => make(cx, path, false).await,
        _ => Ok(()),
    }
}

async fn make(cx: &Cx<'_>, path: &vfs::VPath, exclusive: bool) -> Result<(), Fault> {
    let mode = 0o666 & !umask(cx);
    cx.view.write(path, Vec::new(), Writing { mode, exclusive, ..Writing::default() }).await?;
    // What is made gets at most what the usual umask leaves.
    if mode & !0o644 != 0 { cx.view.chmod(path, mode).await } else { Ok(()) }
}

async fn moment_ms(cx: &Cx<'_>, options: &Options) -> Result<i64, String> {
    let mut now = cx.clock.now_ms();
    if let Some(file) = options.value("reference") {
        let failed = |fault: Fault| format!("failed to get attributes of '{file}': {}", words(&fault));
        let path = path_of(cx.view, file).await.map_err(failed)?;
        now = cx.view.stat(&path, Follow::Yes).await.map_err(failed)?.modified_ms;
    }
    let zone = times::zone(cx);
    let here = Timestamp::from_millisecond(now).map_err(|error| error.to_string())?.to_zoned(zone);
    let invalid = |text: &str| format!("invalid date format '{text}'");
    if let Some(text) = options.value("date") {
        return parse::moment(text, &here).map(ms_of).ok_or_else(|| invalid(text));
    }
    match options.value("stamp") {
        Some(text) => stamp(text, &here).map(ms_of).ok_or_else(|| invalid(text)),
        None => Ok(now),
    }
}

fn ms_of(moment: Zoned) -> i64 {
    moment.timestamp().as_millisecond()
}

/// `[[CC]YY]MMDDhhmm[.ss]`
fn stamp(text: &str, now: &Zoned) -> Option<Zoned> {
    let (digits, seconds) = text.split_once('.').map_or((text, "00"), |(digits, seconds)| (digits, seconds));
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !plain(digits) || !plain(seconds) || seconds.len() != 2 {
        return None;
    }
    let two = |at: usize| digits.get(at..at + 2)?.parse::<i8>().ok();
    let (year, rest) = match digits.len() {
        8 => (now.year(), 0),
        10 => (two(0).map(|year| i16::from(year) + if year >= 69 { 1900 } else { 2000 })?, 2),
        12 => (digits[..4].parse().ok()?, 4),
        _ => return None,
    };
    let (month, day, hour, minute) = (two(rest)?, two(rest + 2)?, two(rest + 4)?, two(rest + 6)?);
    // A leap second is the one before it.
    let second = seconds.parse::<i8>().ok()?.min(59);
    let moment = DateTime::new(year, month, day, hour, minute, second, 0).ok()?;
    moment.to_zoned(now.time_zone().clone()).ok()
}
