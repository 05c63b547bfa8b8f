//! Vocabulary of dates: months, weekdays, units, zones, and numbers with a fraction.

use jiff::tz::{Offset, TimeZone};

use super::Step;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
const ORDINALS: [&str; 13] = [
    "this", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    "eleventh", "twelfth",
];
/// Hours east of Greenwich.
const ZONES: &[(&str, i32)] = &[
    ("utc", 0),
    ("gmt", 0),
    ("ut", 0),
    ("z", 0),
    ("wet", 0),
    ("bst", 1),
    ("west", 1),
    ("cet", 1),
    ("met", 1),
    ("cest", 2),
    ("eet", 2),
    ("eest", 3),
    ("msk", 3),
    ("jst", 9),
    ("nzst", 12),
    ("nzdt", 13),
    ("est", -5),
    ("edt", -4),
    ("cst", -6),
    ("cdt", -5),
    ("mst", -7),
    ("mdt", -6),
    ("pst", -8),
    ("pdt", -7),
    ("hst", -10),
];

/// `january`, `jan`, `sept`: 1 to 12.
pub(super) fn month(word: &str) -> Option<i64> {
    let at = MONTHS.iter().position(|name| *name == word || name[..3] == *word);
    at.or((word == "sept").then_some(8)).map(|at| at as i64 + 1)
}

/// `monday`, `mon`, `tues`: 0 to 6.
pub(super) fn weekday(word: &str) -> Option<i64> {
    let short = match word {
        "tues" => "tue",
        "wednes" => "wed",
        "thur" | "thurs" => "thu",
        other => other,
    };
    WEEKDAYS.iter().position(|name| *name == short || name[..3] == *short).map(|at| at as i64)
}

/// `next`, `last`, `this`, `third`. `second` is a unit before it is a number.
pub(super) fn ordinal(word: &str) -> Option<i64> {
    match word {
        "last" => Some(-1),
        "next" => Some(1),
        "second" => None,
        _ => ORDINALS.iter().position(|name| *name == word).map(|at| at as i64),
    }
}

/// One of a unit: `day`, `weeks`, `hour`, `min`.
pub(super) fn unit(word: &str) -> Option<Step> {
    let word = if word.len() > 3 || word == "secs" { word.trim_end_matches('s') } else { word };
    let months = |months| Some(Step { months, ..Step::default() });
    let days = |days| Some(Step { days, ..Step::default() });
    let seconds = |seconds: i128| Some(Step { nanoseconds: seconds * 1_000_000_000, ..Step::default() });
    match word {
        "year" => months(12),
        "month" => months(1),
        "fortnight" => days(14),
        "week" => days(7),
        "day" => days(1),
        "hour" => seconds(3_600),
        "minute" | "min" => seconds(60),
        "second" | "sec" => seconds(1),
        _ => None,
    }
}

/// `yesterday`, `today`, `now`, `tomorrow` as days from now.
pub(super) fn shift(word: &str) -> Option<i64> {
    match word {
        "yesterday" => Some(-1),
        "today" | "now" => Some(0),
        "tomorrow" => Some(1),
        _ => None,
    }
}

/// A zone by its short name.
pub(super) fn zone(word: &str) -> Option<i32> {
    ZONES.iter().find(|(name, _)| *name == word).map(|(_, hours)| hours * 3_600)
}

/// A zone by its distance from Greenwich.
pub(super) fn fixed(seconds: i32) -> Option<TimeZone> {
    if seconds == 0 {
        return Some(TimeZone::UTC);
    }
    Offset::from_seconds(seconds).ok().map(TimeZone::fixed)
}

/// `-1.5` seconds as nanoseconds.
pub(super) fn nanoseconds(text: &str) -> Option<i128> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once(['.', ',']).unwrap_or((digits, ""));
    if whole.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit() || b".,".contains(&byte)) {
        return None;
    }
    let seconds: i128 = whole.parse::<i64>().ok()?.into();
    Some(sign * (seconds * 1_000_000_000 + i128::from(fraction_ns(fraction)?)))
}

/// The digits after the point as nanoseconds; further ones are left out.
pub(super) fn fraction_ns(digits: &str) -> Option<i32> {
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    format!("{digits:0<9}")[..9].parse().ok()
}
