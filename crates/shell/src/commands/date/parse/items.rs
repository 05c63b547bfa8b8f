//! Tokens of a date, parsed one after the other from left to right.

use jiff::civil::{Date, Time};

use super::{ParsedDate, Step, words};

/// A text being read.
pub(super) struct Items<'a> {
    rest: &'a str,
    said: ParsedDate,
    /// The year if none is said.
    this_year: i64,
    year_said: bool,
}

impl<'a> Items<'a> {
    pub(super) fn new(text: &'a str) -> Items<'a> {
        Items { rest: text, said: ParsedDate::default(), this_year: 0, year_said: false }
    }

    /// All of it; `None` when there is something else in it.
    pub(super) fn read(mut self, this_year: i64) -> Option<ParsedDate> {
        self.this_year = this_year;
        loop {
            self.rest = self.rest.trim_start_matches([' ', '\t', '\n', ',']);
            match self.rest.chars().next() {
                None => return Some(self.said),
                Some('(') => self.rest = self.rest.split_once(')')?.1,
                Some(first) if first.is_ascii_digit() => self.number()?,
                Some('+' | '-') => self.signed()?,
                Some(first) if first.is_ascii_alphabetic() => self.word()?,
                Some(_) => return None,
            }
        }
    }

    fn number(&mut self) -> Option<()> {
        let digits = self.digits()?;
        let value: i64 = digits.parse().ok()?;
        match self.rest.chars().next() {
            Some(':') => return self.clock(value),
            Some('/') => return self.slashes(digits.len(), value),
            Some('-') if self.after("-").is_some_and(|rest| !rest.starts_with(' ')) => {
                return self.dashes(value);
            }
            _ => {}
        }
        let before = self.rest;
        let word = self.peek_word();
        if let Some(month) = word.as_deref().and_then(words::month) {
            self.skip_word();
            return self.year_after(month, value);
        }
        if let Some(half @ ("am" | "pm")) = word.as_deref() {
            self.skip_word();
            return self.time(half_day(value, half)?, 0, 0, 0);
        }
        if let Some(unit) = word.as_deref().and_then(words::unit) {
            self.skip_word();
            return self.step(unit, value);
        }
        if let Some(weekday) = word.as_deref().and_then(words::weekday).filter(|_| digits.len() < 4) {
            self.skip_word();
            return self.weekday(value, weekday);
        }
        self.rest = before;
        self.bare(digits, value)
    }

    /// Digits alone: a year after a date without one, `20240131`, `1530`, or an hour.
    fn bare(&mut self, digits: &str, value: i64) -> Option<()> {
        if let Some((_, month, day)) = self.said.date
            && !self.year_said
            && !self.said.stepped
            && (self.said.time.is_some() || digits.len() > 2)
        {
            self.said.date = None;
            return self.date(full_year(digits.len(), value), month, day);
        }
        match digits.len() {
            5.. => self.date(value / 10_000, value / 100 % 100, value % 100),
            3 | 4 => self.time(value / 100, value % 100, 0, 0),
            _ => self.time(value, 0, 0, 0),
        }
    }

    /// `2024-01-31`, `5-Jan-2024`.
    fn dashes(&mut self, first: i64) -> Option<()> {
        self.rest = self.after("-")?;
        if let Some(month) = self.peek_word().as_deref().and_then(words::month) {
            self.skip_word();
            self.rest = self.after("-")?;
            let year = self.digits()?;
            return self.date(full_year(year.len(), year.parse().ok()?), month, first);
        }
        let month = self.digits()?.parse().ok()?;
        self.rest = self.after("-")?;
        let day = self.digits()?.parse().ok()?;
        self.date(first, month, day)?;
        // A time follows after a T.
        if let Some(rest) = self.rest.strip_prefix(['T', 't'])
            && rest.starts_with(|first: char| first.is_ascii_digit())
        {
            self.rest = rest;
        }
        Some(())
    }

    /// `2024/03/04`, `3/4/2024`, `3/4`.
    fn slashes(&mut self, digits: usize, first: i64) -> Option<()> {
        self.rest = self.after("/")?;
        let second = self.digits()?.parse().ok()?;
        let Some(rest) = self.after("/") else {
            return self.date_of_this_year(first, second);
        };
        self.rest = rest;
        let third = self.digits()?;
        let value = third.parse().ok()?;
        if digits >= 4 {
            return self.date(first, second, value);
        }
        self.date(full_year(third.len(), value), first, second)
    }

    /// `12:34`, `12:34:56.5`, `3:04 pm`, and a zone after it.
    fn clock(&mut self, hour: i64) -> Option<()> {
        self.rest = self.after(":")?;
        let minute = self.digits()?.parse().ok()?;
        let (mut second, mut nanosecond) = (0, 0);
        if let Some(rest) = self.after(":") {
            self.rest = rest;
            second = self.digits()?.parse().ok()?;
            let point = self.rest.strip_prefix(['.', ',']);
            if let Some(rest) = point.filter(|rest| rest.starts_with(|first: char| first.is_ascii_digit())) {
                self.rest = rest;
                nanosecond = words::fraction_ns(self.digits()?)?;
            }
        }
        if let Some(half @ ("am" | "pm")) = self.peek_word().as_deref() {
            self.skip_word();
            return self.time(half_day(hour, half)?, minute, second, nanosecond);
        }
        self.time(hour, minute, second, nanosecond)?;
        if self.rest.trim_start().starts_with(['+', '-']) {
            self.zone_offset(0)?;
        }
        Some(())
    }

    /// `+0100`, `-5`, `+05:30` from a zone.
    fn zone_offset(&mut self, from: i32) -> Option<()> {
        let (sign, digits) = self.sign_and_digits()?;
        let value: i32 = digits.parse().ok()?;
        let seconds = match self.after(":") {
            Some(rest) => {
                self.rest = rest;
                value * 3_600 + self.digits()?.parse::<i32>().ok()? * 60
            }
            None if digits.len() > 2 => value / 100 * 3_600 + value % 100 * 60,
            None => value.checked_mul(3_600)?,
        };
        self.zone(from + if sign < 0 { -seconds } else { seconds })
    }

    fn signed(&mut self) -> Option<()> {
        let (sign, digits) = self.sign_and_digits()?;
        let unit = words::unit(&self.peek_word()?)?;
        self.skip_word();
        self.step(unit, digits.parse::<i64>().ok()?.checked_mul(sign)?)
    }

    fn word(&mut self) -> Option<()> {
        let word = self.peek_word()?;
        self.skip_word();
        if let Some(month) = words::month(&word) {
            self.rest = self.rest.trim_start_matches([' ', '-']);
            let day = self.digits()?.parse().ok()?;
            return self.year_after(month, day);
        }
        if let Some(weekday) = words::weekday(&word) {
            return self.weekday(0, weekday);
        }
        if let Some(days) = words::shift(&word) {
            return self.step(Step { days: 1, ..Step::default() }, days);
        }
        if let Some(count) = words::ordinal(&word) {
            let next = self.peek_word()?;
            self.skip_word();
            return match (words::unit(&next), words::weekday(&next)) {
                (Some(unit), _) => self.step(unit, count),
                (None, Some(weekday)) => self.weekday(count, weekday),
                (None, None) => None,
            };
        }
        if let Some(unit) = words::unit(&word) {
            return self.step(unit, 1);
        }
        match word.as_str() {
            "noon" => self.time(12, 0, 0, 0),
            "midnight" => self.time(0, 0, 0, 0),
            "dst" if self.said.zone.is_some() => Some(()),
            _ => self.zone_word(words::zone(&word)?),
        }
    }

    /// `UTC`, `UTC+3`; but `UTC + 3 hours` is a zone and a step.
    fn zone_word(&mut self, seconds: i32) -> Option<()> {
        let before = self.rest;
        if before.trim_start().starts_with(['+', '-']) {
            let offset = self.sign_and_digits().is_some()
                && self.peek_word().as_deref().and_then(words::unit).is_none();
            self.rest = before;
            if offset {
                return self.zone_offset(seconds);
            }
        }
        self.zone(seconds)
    }

    /// What is left of `Jan 5 2024`. Four digits that are no time of day are a year.
    fn year_after(&mut self, month: i64, day: i64) -> Option<()> {
        let before = self.rest;
        self.rest = self.rest.trim_start_matches([' ', ',', '-']);
        if let Some(year) = self.digits()
            && year.len() == 4
            && !self.rest.starts_with([':', '-', '/'])
        {
            return self.date(year.parse().ok()?, month, day);
        }
        self.rest = before;
        self.date_of_this_year(month, day)
    }

    fn date_of_this_year(&mut self, month: i64, day: i64) -> Option<()> {
        self.date(self.this_year, month, day)?;
        self.year_said = false;
        Some(())
    }

    fn date(&mut self, year: i64, month: i64, day: i64) -> Option<()> {
        let exists = Date::new(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?).is_ok();
        self.year_said = true;
        (exists && self.said.date.replace((year, month, day)).is_none()).then_some(())
    }

    fn time(&mut self, hour: i64, minute: i64, second: i64, nanosecond: i32) -> Option<()> {
        // A leap second is the first one of the next minute; nobody writes one elsewhere.
        let second = if second == 60 { 59 } else { second };
        let time =
            Time::new(hour.try_into().ok()?, minute.try_into().ok()?, second.try_into().ok()?, nanosecond);
        self.said.time.replace(time.ok()?).is_none().then_some(())
    }

    fn zone(&mut self, seconds: i32) -> Option<()> {
        self.said.zone.replace(words::fixed(seconds)?).is_none().then_some(())
    }

    fn weekday(&mut self, count: i64, weekday: i64) -> Option<()> {
        self.said.weekday.replace((count, weekday)).is_none().then_some(())
    }

    fn step(&mut self, unit: Step, count: i64) -> Option<()> {
        let mut count = count;
        if self.peek_word().as_deref() == Some("ago") {
            self.skip_word();
            count = count.checked_neg()?;
        }
        let step = &mut self.said.step;
        step.months = step.months.checked_add(unit.months.checked_mul(count)?)?;
        step.days = step.days.checked_add(unit.days.checked_mul(count)?)?;
        step.nanoseconds = step.nanoseconds.checked_add(unit.nanoseconds.checked_mul(count.into())?)?;
        self.said.stepped = true;
        Some(())
    }

    fn after(&self, prefix: &str) -> Option<&'a str> {
        self.rest.strip_prefix(prefix)
    }

    fn digits(&mut self) -> Option<&'a str> {
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!digits.is_empty()).then_some(digits)
    }

    /// A sign, which may stand apart, and digits.
    fn sign_and_digits(&mut self) -> Option<(i64, &'a str)> {
        let text = self.rest.trim_start();
        let sign = if text.starts_with('-') { -1 } else { 1 };
        self.rest = text.get(1..)?.trim_start();
        Some((sign, self.digits()?))
    }

    /// The next word, in small letters and without dots.
    fn peek_word(&self) -> Option<String> {
        let text = self.rest.trim_start();
        let end = text.find(|c: char| !c.is_ascii_alphabetic() && c != '.').unwrap_or(text.len());
        let word = text[..end].replace('.', "").to_ascii_lowercase();
        (!word.is_empty()).then_some(word)
    }

    fn skip_word(&mut self) {
        self.rest = self.rest.trim_start().trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == '.');
    }
}

/// `24` is 2024 and `70` is 1970.
fn full_year(digits: usize, value: i64) -> i64 {
    match (digits, value) {
        (0..=2, 0..=68) => value + 2_000,
        (0..=2, _) => value + 1_900,
        _ => value,
    }
}

/// `12am` is midnight.
fn half_day(hour: i64, half: &str) -> Option<i64> {
    let hour = (1..=12).contains(&hour).then_some(hour % 12)?;
    Some(if half == "pm" { hour + 12 } else { hour })
}
