//! Parser of the dates people give to `date -d`: a date, a time, a zone, a weekday, steps from there.

mod items;
mod words;

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};

use items::Items;

/// What was said, before it is a moment.
#[derive(Clone, Debug, Default, PartialEq)]
struct ParsedDate {
    date: Option<(i64, i64, i64)>,
    time: Option<Time>,
    zone: Option<TimeZone>,
    /// How many of that day of the week ahead, and which; Monday is 0.
    weekday: Option<(i64, i64)>,
    step: Step,
    stepped: bool,
}

/// How far from there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Step {
    months: i64,
    days: i64,
    nanoseconds: i128,
}

/// The moment that a text names; `None` when it names none.
pub(in crate::commands) fn moment(text: &str, now: &Zoned) -> Option<Zoned> {
    let text = text.trim();
    if let Some(seconds) = text.strip_prefix('@') {
        let seconds = words::nanoseconds(seconds.trim())?;
        let moment = Timestamp::from_nanosecond(seconds).ok()?;
        return Some(moment.to_zoned(now.time_zone().clone()));
    }
    let (text, zone) = named_zone(text)?;
    let here = match zone {
        Some(zone) => now.with_time_zone(zone),
        None => now.clone(),
    };
    let said = Items::new(text).read(i64::from(here.year()))?;
    let display = now.time_zone().clone();
    Some(said.moment(&here)?.with_time_zone(display))
}

/// `TZ="Asia/Tokyo" 2024-01-01`
fn named_zone(text: &str) -> Option<(&str, Option<TimeZone>)> {
    let Some(rest) = text.strip_prefix("TZ=\"") else { return Some((text, None)) };
    let (name, rest) = rest.split_once('"')?;
    Some((rest, Some(TimeZone::get(name).unwrap_or(TimeZone::UTC))))
}

impl ParsedDate {
    fn moment(&self, now: &Zoned) -> Option<Zoned> {
        let zone = self.zone.clone().unwrap_or_else(|| now.time_zone().clone());
        let now = now.with_time_zone(zone.clone());
        let today = (now.year().into(), now.month().into(), now.day().into());
        let (year, month, day) = self.date.unwrap_or(today);
        let months = year.checked_mul(12)?.checked_add(month - 1)?.checked_add(self.step.months)?;
        // A day that the month does not have is one of the next: 31 January and a month is 2 March.
        let first = Date::new(
            i16::try_from(months.div_euclid(12)).ok()?,
            i8::try_from(months.rem_euclid(12) + 1).ok()?,
            1,
        )
        .ok()?;
        let mut date = later(first, (day - 1).checked_add(self.step.days)?)?;
        if let (Some((count, weekday)), None) = (self.weekday, self.date) {
            let current = i64::from(date.weekday().to_monday_zero_offset());
            let weeks = count.checked_sub(i64::from(count > 0 && current != weekday))?;
            let days = weeks.checked_mul(7)?.checked_add((weekday - current).rem_euclid(7))?;
            date = later(date, days)?;
        }
        let only_steps = self.stepped && self.date.is_none() && self.weekday.is_none();
        let time = self.time.unwrap_or(if only_steps { now.time() } else { Time::midnight() });
        let moment = date.to_datetime(time).to_zoned(zone).ok()?;
        moment.checked_add(SignedDuration::from_nanos_i128(self.step.nanoseconds)).ok()
    }
}

fn later(date: Date, days: i64) -> Option<Date> {
    date.checked_add(SignedDuration::from_hours(days.checked_mul(24)?)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Option<String> {
        let now: Zoned = "2026-11-15T12:30:00+00:00[UTC]".parse().unwrap();
        Some(moment(text, &now)?.strftime("%Y-%m-%d %H:%M:%S").to_string())
    }

    #[test]
    fn moments_are_those_of_date() {
        for (text, moment) in [
            ("2024-02-29", "2024-02-29 00:00:00"),
            ("20240229", "2024-02-29 00:00:00"),
            ("2024/03/04", "2024-03-04 00:00:00"),
            ("3/4/2024", "2024-03-04 00:00:00"),
            ("3/4", "2026-03-04 00:00:00"),
            ("Jan 5 2024", "2024-01-05 00:00:00"),
            ("January 5, 2024 3:04pm", "2024-01-05 15:04:00"),
            ("5 January 2024", "2024-01-05 00:00:00"),
            ("5-Jan-2024", "2024-01-05 00:00:00"),
            ("Fri, 05 Jan 2024 10:00:00 +0100", "2024-01-05 09:00:00"),
            ("Wed Jan  3 10:00:00 UTC 2024", "2024-01-03 10:00:00"),
            ("2024-01-31T12:34:56Z", "2024-01-31 12:34:56"),
            ("2024-01-31T12:34:56+02:00", "2024-01-31 10:34:56"),
            ("2024-01-31 12:34:56.5 EST", "2024-01-31 17:34:56"),
            ("@0", "1970-01-01 00:00:00"),
            ("@1.5", "1970-01-01 00:00:01"),
            ("@-1", "1969-12-31 23:59:59"),
            ("", "2026-11-15 00:00:00"),
            ("now", "2026-11-15 12:30:00"),
            ("yesterday", "2026-11-14 12:30:00"),
            ("tomorrow 8am", "2026-11-16 08:00:00"),
            ("noon", "2026-11-15 12:00:00"),
            ("2 weeks ago", "2026-11-01 12:30:00"),
            ("1 hour ago", "2026-11-15 11:30:00"),
            ("next month", "2026-12-15 12:30:00"),
            ("last year", "2025-11-15 12:30:00"),
            ("-90 minutes", "2026-11-15 11:00:00"),
            ("monday", "2026-11-16 00:00:00"),
            ("sunday", "2026-11-15 00:00:00"),
            ("next sunday", "2026-11-22 00:00:00"),
            ("last friday", "2026-11-13 00:00:00"),
            ("2024-01-31 +1 day", "2024-02-01 00:00:00"),
            ("2024-01-31 +1 month", "2024-03-02 00:00:00"),
            ("2024-02-01 +1 month -1 day", "2024-02-29 00:00:00"),
            ("2024-01-01 12:00 UTC + 3 hours", "2024-01-01 15:00:00"),
            ("2024-01-01 next year", "2025-01-01 00:00:00"),
            ("TZ=\"Asia/Tokyo\" 2024-01-01 09:00", "2024-01-01 00:00:00"),
            ("10:15", "2026-11-15 10:15:00"),
        ] {
            assert_eq!(at(text).as_deref(), Some(moment), "{text:?}");
        }
    }

    #[test]
    fn nonsense_is_no_moment() {
        for text in [
            "not a date",
            "2024-13-45",
            "2024-02-30",
            "25:00",
            "12:60",
            "@",
            "@x",
            "+",
            "2024-01-01 2024-01-02",
            "99999999999999999999 days",
            "13pm",
            "next",
            "ago",
            "Jan",
            "1/2/3/4",
            "999999999 years",
            "2024-",
        ] {
            assert_eq!(at(text), None, "{text:?}");
        }
    }
}
