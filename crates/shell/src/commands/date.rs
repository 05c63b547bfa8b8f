//! `date`: a moment, by `-d`, by a file or now, printed by a pattern.

mod format;
pub(super) mod parse;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use vfs::Follow;

use super::options::{Opt, Options, flag, valued};
use super::{Command, Cx, Done, flat, times, words};
use crate::builtin_io::Io;

pub(super) static COMMAND: Command = Command {
    name: "date",
    aliases: &[],
    about: "print the date and the time",
    usage: "[-u] [-d TEXT | -r FILE | -f FILE] [-I[UNIT] | -R | --rfc-3339=UNIT | +FORMAT]",
    manual: "\
-d TEXT   that moment: 2024-01-31 12:34:56, Jan 5 2024, @1704276000, yesterday, next month, 2 weeks ago, +1 day
-r FILE   when the file was changed           -f FILE   every line of the file as with -d
-u        in UTC instead of the zone in TZ    -R        as in mails
-I        2024-01-31; -Ihours, -Iminutes, -Iseconds and -Ins add the time; --rfc-3339 has a blank instead of T
FORMAT knows the letters of strftime, the flags - _ 0 ^ # and widths. The clock cannot be set.",
    io: Io::PLAIN,
    run: |cx| Box::pin(run(cx)),
};

const KNOWN: &[Opt] = &[
    flag('u', "utc"),
    flag('\0', "universal"),
    flag('R', "rfc-email"),
    flag('\0', "rfc-2822"),
    flag('\0', "debug"),
    valued('d', "date"),
    valued('r', "reference"),
    valued('f', "file"),
    valued('s', "set"),
    valued('\0', "iso-8601"),
    valued('\0', "rfc-3339"),
];

const PLAIN: &str = "%a %b %e %H:%M:%S %Z %Y";
const MAIL: &str = "%a, %d %b %Y %H:%M:%S %z";

async fn run(cx: &Cx<'_>) -> Done {
    let args: Vec<String> = cx.args.iter().map(spell_out).collect();
    let cx = &Cx { args: &args, ..*cx };
    flat(show(cx).await)
}

/// `-I` may stand alone or with its unit, which no other option does.
fn spell_out(word: &String) -> String {
    match word.strip_prefix("-I") {
        Some("") => "--iso-8601=date".to_string(),
        Some(unit) => format!("--iso-8601={unit}"),
        None if word == "--iso-8601" => "--iso-8601=date".to_string(),
        None => word.clone(),
    }
}

async fn show(cx: &Cx<'_>) -> Result<Done, Done> {
    let options = Options::parse(cx, &COMMAND, KNOWN, 1)?;
    let pattern = pattern(cx, &options)?;
    if options.has("set") {
        return Err(cx.misused("cannot set date: Operation not permitted"));
    }
    let utc = options.has("utc") || options.has("universal");
    let zone = if utc { TimeZone::UTC } else { times::zone(cx) };
    let now = moment(cx, cx.clock.now_ms(), &zone)?;
    let mut done = Done::default();
    let mut print = |text: &str| match parse::moment(text, &now) {
        Some(moment) => done.print(format::print(&pattern, &moment) + "\n"),
        None => done.complain(cx.name, format!("invalid date '{text}'"), 1),
    };
    if let Some(file) = options.value("file") {
        let bytes = cx.read(file).await.map_err(|fault| cx.misused(format!("{file}: {}", words(&fault))))?;
        String::from_utf8_lossy(&bytes).lines().for_each(print);
    } else if let Some(text) = options.value("date") {
        print(text);
    } else if let Some(file) = options.value("reference") {
        let changed = changed_ms(cx, file).await?;
        done.print(format::print(&pattern, &moment(cx, changed, &zone)?) + "\n");
    } else {
        done.print(format::print(&pattern, &now) + "\n");
    }
    Ok(done)
}

async fn changed_ms(cx: &Cx<'_>, file: &str) -> Result<i64, Done> {
    let failed = |fault| cx.misused(format!("{file}: {}", words(&fault)));
    let path = cx.view.path(file).map_err(failed)?;
    Ok(cx.view.stat(&path, Follow::Yes).await.map_err(failed)?.modified_ms)
}

fn moment(cx: &Cx<'_>, ms: i64, zone: &TimeZone) -> Result<Zoned, Done> {
    let moment = Timestamp::from_millisecond(ms).map_err(|error| cx.misused(error))?;
    Ok(moment.to_zoned(zone.clone()))
}

/// How it is to be printed.
fn pattern(cx: &Cx<'_>, options: &Options) -> Result<String, Done> {
    let given = match options.operands.as_slice() {
        [] => None,
        [only] => match only.strip_prefix('+') {
            Some(pattern) => Some(pattern.to_string()),
            None if only.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') => {
                return Err(cx.misused("cannot set date: Operation not permitted"));
            }
            None => return Err(cx.misused(format!("invalid date '{only}'"))),
        },
        [_, second, ..] => return Err(cx.misused(format!("extra operand '{second}'"))),
    };
    let (iso, rfc) = (options.value("iso-8601"), options.value("rfc-3339"));
    let mail = options.has("rfc-email") || options.has("rfc-2822");
    let several = [given.is_some(), iso.is_some(), rfc.is_some(), mail].iter().filter(|is| **is).count() > 1;
    if several {
        return Err(cx.misused("multiple output formats specified"));
    }
    if let Some(unit) = iso {
        return iso_pattern(unit)
            .map(str::to_string)
            .ok_or_else(|| cx.misused(format!("invalid argument '{unit}' for '--iso-8601'")));
    }
    if let Some(unit) = rfc {
        return rfc_pattern(unit)
            .map(str::to_string)
            .ok_or_else(|| cx.misused(format!("invalid argument '{unit}' for '--rfc-3339'")));
    }
    Ok(given.unwrap_or_else(|| if mail { MAIL } else { PLAIN }.to_string()))
}

fn iso_pattern(unit: &str) -> Option<&'static str> {
    Some(match unit {
        "date" => "%Y-%m-%d",
        "hours" | "hour" => "%Y-%m-%dT%H%:z",
        "minutes" | "minute" => "%Y-%m-%dT%H:%M%:z",
        "seconds" | "second" => "%Y-%m-%dT%H:%M:%S%:z",
        "ns" => "%Y-%m-%dT%H:%M:%S,%N%:z",
        _ => return None,
    })
}

fn rfc_pattern(unit: &str) -> Option<&'static str> {
    Some(match unit {
        "date" => "%Y-%m-%d",
        "seconds" | "second" => "%Y-%m-%d %H:%M:%S%:z",
        "ns" => "%Y-%m-%d %H:%M:%S.%N%:z",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::commands::stage::Stage;

    #[tokio::test]
    async fn moments_are_printed_as_asked() {
        let stage = Stage::new().await;
        let at = |words: &'static [&str]| {
            [["date", "-u", "-d", "@1704276000"].as_slice(), words].concat().into_iter().collect::<Vec<_>>()
        };
        for (words, display) in [
            (&[][..], "Wed Jan  3 10:00:00 UTC 2024"),
            (&["-I"], "2024-01-03"),
            (&["-Iseconds"], "2024-01-03T10:00:00+00:00"),
            (&["--iso-8601=minutes"], "2024-01-03T10:00+00:00"),
            (&["--rfc-3339=seconds"], "2024-01-03 10:00:00+00:00"),
            (&["-R"], "Wed, 03 Jan 2024 10:00:00 +0000"),
            (&["+%s %% %q"], "1704276000 % 1"),
        ] {
            assert_eq!(stage.prints(&at(words)).await, format!("{display}\n"), "{words:?}");
        }
        assert_eq!(stage.prints(&["date", "-u"]).await, "Sun Nov 15 12:00:00 UTC 2026\n");
    }

    #[tokio::test]
    async fn a_file_has_a_date_and_may_hold_dates() {
        let mut stage = Stage::new().await;
        stage.write("alice", "~/f", "2024-01-01\nnonsense\n", 0o644).await;
        assert_eq!(stage.prints(&["date", "-u", "-r", "f", "+%F %T"]).await, "2026-11-15 11:59:00\n");
        let done = stage.run("alice", &["date", "-u", "-f", "f", "+%d.%m."]).await;
        assert_eq!((done.code, done.stdout, done.stderr.is_empty()), (1, b"01.01.\n".to_vec(), false));
        stage.stdin = b"tomorrow\n".to_vec();
        assert_eq!(stage.prints(&["date", "-f", "-", "+%d %H"]).await, "16 12\n");
    }

    #[tokio::test]
    async fn mistakes_are_named() {
        let stage = Stage::new().await;
        for (words, complaint) in [
            (&["date", "-d", "not a date"][..], "date: invalid date 'not a date'\n"),
            (&["date", "-s", "now"], "date: cannot set date: Operation not permitted\n"),
            (&["date", "010203042024"], "date: cannot set date: Operation not permitted\n"),
            (&["date", "-I", "+%s"], "date: multiple output formats specified\n"),
            (&["date", "-r", "nowhere"], "date: nowhere: No such file or directory\n"),
            (&["date", "-Iyears"], "date: invalid argument 'years' for '--iso-8601'\n"),
        ] {
            assert_eq!(stage.fails(words).await, (1, complaint.to_string()));
        }
    }
}
