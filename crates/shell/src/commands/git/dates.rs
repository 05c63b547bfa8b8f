//! Dates as git prints them. Commits are told in UTC: `repo.log` does not say in which zone they were made.

use jiff::tz::TimeZone;

use super::super::times;

/// One of the forms that `--date` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Default,
    Iso,
    IsoStrict,
    Rfc,
    Short,
    Raw,
    Unix,
    Relative,
}

impl Form {
    pub(super) fn parse(name: &str) -> Option<Form> {
        Some(match name {
            "default" | "normal" | "local" => Form::Default,
            "iso" | "iso8601" => Form::Iso,
            "iso-strict" | "iso8601-strict" => Form::IsoStrict,
            "rfc" | "rfc2822" => Form::Rfc,
            "short" => Form::Short,
            "raw" => Form::Raw,
            "unix" => Form::Unix,
            "relative" => Form::Relative,
            _ => return None,
        })
    }
}

/// A moment in seconds, in one of the forms.
pub(super) fn shown(seconds: i64, form: Form, now_ms: i64) -> String {
    let print = |pattern: &str| times::print(pattern, seconds.saturating_mul(1_000), &TimeZone::UTC);
    match form {
        Form::Default => print("%a %b %-d %H:%M:%S %Y +0000"),
        Form::Iso => print("%Y-%m-%d %H:%M:%S +0000"),
        Form::IsoStrict => print("%Y-%m-%dT%H:%M:%SZ"),
        Form::Rfc => print("%a, %-d %b %Y %H:%M:%S +0000"),
        Form::Short => print("%Y-%m-%d"),
        Form::Raw => format!("{seconds} +0000"),
        Form::Unix => seconds.to_string(),
        Form::Relative => relative(now_ms.div_euclid(1_000), seconds),
    }
}

fn relative(now: i64, then: i64) -> String {
    if now < then {
        return "in the future".to_string();
    }
    let ago = |count: i64, unit: &str| format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" });
    let seconds = now - then;
    if seconds < 90 {
        return ago(seconds, "second");
    }
    let minutes = (seconds + 30) / 60;
    if minutes < 90 {
        return ago(minutes, "minute");
    }
    let hours = (minutes + 30) / 60;
    if hours < 36 {
        return ago(hours, "hour");
    }
    let days = (hours + 12) / 24;
    match days {
        ..14 => ago(days, "day"),
        14..70 => ago((days + 3) / 7, "week"),
        70..365 => ago((days + 15) / 30, "month"),
        365..1_825 => {
            let months = (days * 24 + 365) / 730;
            let (years, months) = (months / 12, months % 12);
            let years_text = format!("{years} year{}", if years == 1 { "" } else { "s" });
            match months {
                0 => format!("{years_text} ago"),
                months => format!("{years_text}, {}", ago(months, "month")),
            }
        }
        _ => ago((days + 183) / 365, "year"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_ago_something_was() {
        let ago = |seconds: i64| relative(1_000_000_000, 1_000_000_000 - seconds);
        let day = 86_400;
        let cases = [
            (1, "1 second ago"),
            (89, "89 seconds ago"),
            (3_600, "60 minutes ago"),
            (7_200, "2 hours ago"),
            (2 * day, "2 days ago"),
            (20 * day, "3 weeks ago"),
            (100 * day, "3 months ago"),
            (400 * day, "1 year, 1 month ago"),
            (3_000 * day, "8 years ago"),
            (-5, "in the future"),
        ];
        for (seconds, text) in cases {
            assert_eq!(ago(seconds), text);
        }
    }

    #[test]
    fn the_forms_of_a_date() {
        let at = |form| shown(1_794_744_000, form, 1_794_744_060_000);
        assert_eq!(at(Form::Default), "Sun Nov 15 12:00:00 2026 +0000");
        assert_eq!(at(Form::Iso), "2026-11-15 12:00:00 +0000");
        assert_eq!(at(Form::IsoStrict), "2026-11-15T12:00:00Z");
        assert_eq!(at(Form::Rfc), "Sun, 15 Nov 2026 12:00:00 +0000");
        assert_eq!(at(Form::Relative), "60 seconds ago");
    }
}
