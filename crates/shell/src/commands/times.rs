//! Timestamp formatting for `ls` and its like.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::Cx;

/// A file changed longer ago than this is shown with its year instead of the time of day.
const RECENT_MS: i64 = 180 * 24 * 60 * 60 * 1_000;

/// The time zone of the shell: `TZ`, else the gateway's, else UTC.
pub(super) fn zone(cx: &Cx<'_>) -> TimeZone {
    let named = |name: &str| TimeZone::get(name).ok();
    cx.env
        .get("TZ")
        .and_then(|name| named(name))
        .or_else(|| named(&cx.settings.timezone))
        .unwrap_or(TimeZone::UTC)
}

/// A moment printed by a pattern of `strftime`.
pub(super) fn print(pattern: &str, ms: i64, zone: &TimeZone) -> String {
    match Timestamp::from_millisecond(ms) {
        Ok(moment) => moment.to_zoned(zone.clone()).strftime(pattern).to_string(),
        Err(_) => ms.to_string(),
    }
}

/// Whether it was not long ago.
pub(super) fn is_recent(ms: i64, now_ms: i64) -> bool {
    // A clock that is a little behind must not make a new file look old.
    (-60_000..RECENT_MS).contains(&now_ms.saturating_sub(ms))
}

/// As `ls -l` has it: `Nov 15 23:02`, or `Nov 15  2024` when it was long ago or is still to come.
pub(super) fn listed(ms: i64, now_ms: i64, zone: &TimeZone) -> String {
    print(if is_recent(ms, now_ms) { "%b %e %H:%M" } else { "%b %e  %Y" }, ms, zone)
}

/// `2026-11-15T23:02:28Z`
pub(super) fn iso(ms: i64) -> String {
    print("%Y-%m-%dT%H:%M:%SZ", ms, &TimeZone::UTC)
}
