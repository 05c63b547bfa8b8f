//! `gsv log PATH` and `gsv diff PATH`: the versions of a file on the gateway or a device, bringing one back, and what is
//! different between two.

use base::limits;
use clap::Args;
use client::Session;
use protocol::fs::history::{History, Restore, Version, Versions};
use protocol::spec::Syscall;
use terminal::failure::{Failure, Result};
use terminal::output::{Table, clean};

use super::cp::{Location, Remote};
use crate::context::Context;
use crate::session;

mod content;
mod diff;

/// Arguments of `gsv log`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    gsv log ~/knowledge/plan.md             versions of a file of yours on the gateway\n  \
    gsv log laptop:/home/me/work/main.rs    of a file that agents changed on a device\n  \
    gsv log laptop:main.rs --restore 12~    bring the file back as it was before change 12")]
pub struct Log {
    /// DEVICE:/path, or a path on the gateway.
    path: String,
    /// At most so many versions.
    #[arg(long, value_name = "COUNT", default_value_t = 50)]
    limit: u64,
    /// Put the file back as it was in this version. What is there now becomes a version first.
    #[arg(long, value_name = "VERSION")]
    restore: Option<String>,
}

/// Arguments of `gsv diff`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    gsv diff laptop:main.rs           what the newest change did to the file\n  \
    gsv diff laptop:main.rs 12~       from that version to the file as it is now\n  \
    gsv diff laptop:main.rs 12~ 12    between two versions; `gsv log` lists them")]
pub struct Diff {
    /// DEVICE:/path, or a path on the gateway.
    path: String,
    /// From this version [default: the one before the file became as it is now].
    from: Option<String>,
    /// To this version [default: the file as it is now].
    to: Option<String>,
}

/// Lists versions, or brings one back.
pub async fn log(context: &Context, args: Log) -> Result<u8> {
    let at = place(&args.path)?;
    let session = session::open(context).await?;
    if let Some(version) = args.restore {
        let call = Restore { path: at.path.clone(), version };
        let restored = ask(&session, &at, &call).await?;
        let raw = serde_json::to_string(&restored).unwrap_or_default();
        context.output.answer(&raw, || match (&restored.version, restored.size) {
            (None, _) => format!("{at} is like that already"),
            (Some(version), Some(size)) => {
                format!("{at} is back with {size} bytes, as version {}", clean(version))
            }
            (Some(version), None) => format!("{at} is deleted again, as version {}", clean(version)),
        })?;
        return Ok(0);
    }
    let listed = list(&session, &at, Some(args.limit)).await?;
    let now_ms = context.clock.now_ms();
    let raw = serde_json::to_string(&listed).unwrap_or_default();
    context.output.table(&raw, || table(&listed, now_ms))?;
    if listed.truncated == Some(true) {
        context.output.note("there are older ones: --limit shows more");
    }
    Ok(0)
}

/// Shows what is different.
pub async fn diff(context: &Context, args: Diff) -> Result<u8> {
    let at = place(&args.path)?;
    let session = session::open(context).await?;
    let new = match &args.to {
        Some(version) => content::of_version(&session, &at, version).await?,
        None => content::present(context, &session, &at).await?,
    };
    let (old, from) = match args.from {
        Some(version) => (content::of_version(&session, &at, &version).await?, version),
        None => content::last_other(&session, &at, &new).await?,
    };
    diff::print(context, &at, (&from, &old), (args.to.as_deref().unwrap_or("now"), &new))
}

async fn list(session: &Session, at: &Remote, limit: Option<u64>) -> Result<Versions> {
    ask(session, at, &History { path: at.path.clone(), limit }).await
}

async fn ask<S, T>(session: &Session, at: &Remote, call: &S) -> Result<T>
where
    S: Syscall<Result = protocol::outcome::Outcome<T>>,
{
    let outcome = session.connection.call_on(Some(&at.target), call, limits::cli::UNDO_TIMEOUT).await;
    let outcome = outcome.map_err(|error| Failure::from(error).while_doing(at))?;
    outcome.into_result().map_err(|why| Failure::new(why).with_hint("`gsv log PATH` lists the versions"))
}

/// A path without a target is the gateway's: local files have no history here.
fn place(text: &str) -> Result<Remote> {
    Ok(match Location::parse(text)? {
        Location::Remote(remote) => remote,
        Location::Local(_) => Remote { target: "gsv".to_string(), path: text.to_string() },
    })
}

fn table(listed: &Versions, now_ms: i64) -> Table {
    let headings = ["VERSION", "WHEN", "BY", "SIZE", "WHAT"];
    let mut table = Table::new(&headings, "no versions of this file are kept");
    for version in &listed.versions {
        let Version { version, at, author, message, size, deleted, .. } = version;
        let size = match (size, deleted) {
            (_, true) => "deleted".to_string(),
            (Some(size), false) => size.to_string(),
            (None, false) => "-".to_string(),
        };
        let first = message.lines().next().unwrap_or_default();
        table.row([clean(version), ago(now_ms - at), clean(author), size, clean(first)]);
    }
    table
}

/// How long ago, as a person says it.
fn ago(ms: i64) -> String {
    let seconds = ms.max(0) / 1_000;
    match seconds {
        0..60 => "just now".to_string(),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_without_a_device_are_the_gateways() {
        let at = |text| place(text).unwrap();
        assert_eq!(at("laptop:/a/b"), Remote { target: "laptop".into(), path: "/a/b".into() });
        assert_eq!(at("~/x.md"), Remote { target: "gsv".into(), path: "~/x.md".into() });
        assert_eq!(at("gsv:/home/a"), Remote { target: "gsv".into(), path: "/home/a".into() });
        assert!(place("").is_err());
    }

    #[test]
    fn times_are_told_as_people_say_them() {
        assert_eq!(ago(-5), "just now");
        assert_eq!([ago(61_000), ago(7_200_000), ago(172_800_000)], ["1 min ago", "2 h ago", "2 days ago"]);
    }
}
