//! `strftime` formatter with the flags `-`, `_`, `0`, `^`, `#` and a width.

use jiff::Zoned;
use jiff::civil::Weekday;

const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// The widest field that is filled up.
const WIDTH_MAX: usize = 1_024;

/// Formats a point in time as `strftime` would.
pub(super) fn print(pattern: &str, moment: &Zoned) -> String {
    let mut out = String::new();
    let mut rest = pattern;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let Some((field, after)) = Field::read(&rest[at + 1..]) else {
            out.push_str(&rest[at..]);
            return out;
        };
        match field.print(moment) {
            Some(text) => out.push_str(&text),
            // What is no field stands for itself.
            None => out.push_str(&rest[at..rest.len() - after.len()]),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

struct Field {
    /// `-`, `_`, `0` or `+`.
    fill: Option<char>,
    upper: bool,
    swap: bool,
    width: Option<usize>,
    colons: usize,
    letter: char,
}

impl Field {
    /// What follows a `%`, and the rest.
    fn read(text: &str) -> Option<(Field, &str)> {
        let mut field = Field { fill: None, upper: false, swap: false, width: None, colons: 0, letter: '%' };
        let mut chars = text.chars();
        let mut letter = chars.next()?;
        while "-_0+^#".contains(letter) {
            match letter {
                '^' => field.upper = true,
                '#' => field.swap = true,
                fill => field.fill = Some(fill),
            }
            letter = chars.next()?;
        }
        while let Some(digit) = letter.to_digit(10) {
            let width = field.width.unwrap_or(0).saturating_mul(10).saturating_add(digit as usize);
            field.width = Some(width.min(WIDTH_MAX));
            letter = chars.next()?;
        }
        while letter == ':' {
            field.colons += 1;
            letter = chars.next()?;
        }
        if matches!(letter, 'E' | 'O') {
            letter = chars.next()?;
        }
        field.letter = letter;
        Some((field, chars.as_str()))
    }

    fn print(&self, at: &Zoned) -> Option<String> {
        if self.colons > 0 && self.letter != 'z' {
            return None;
        }
        let (hour, date) = (i64::from(at.hour()), at.date());
        let hour12 = if hour % 12 == 0 { 12 } else { hour % 12 };
        let weekday = at.weekday();
        let week = date.iso_week_date();
        let yday = i64::from(at.day_of_year());
        Some(match self.letter {
            '%' => self.text("%"),
            'n' => self.text("\n"),
            't' => self.text("\t"),
            'a' => self.text(&name(weekday)[..3]),
            'A' => self.text(name(weekday)),
            'b' | 'h' => self.text(&month(at)[..3]),
            'B' => self.text(month(at)),
            'c' => self.text(&print("%a %b %e %H:%M:%S %Y", at)),
            'D' | 'x' => self.text(&print("%m/%d/%y", at)),
            'F' => self.text(&print("%Y-%m-%d", at)),
            'r' => self.text(&print("%I:%M:%S %p", at)),
            'R' => self.text(&print("%H:%M", at)),
            'T' | 'X' => self.text(&print("%H:%M:%S", at)),
            'p' => self.half(if hour < 12 { "AM" } else { "PM" }),
            'P' => self.text(if hour < 12 { "am" } else { "pm" }),
            'C' => self.number(i64::from(at.year()).div_euclid(100), 2, '0'),
            'd' => self.number(at.day().into(), 2, '0'),
            'e' => self.number(at.day().into(), 2, '_'),
            'g' => self.number(i64::from(week.year()).rem_euclid(100), 2, '0'),
            'G' => self.number(week.year().into(), 4, '0'),
            'H' => self.number(hour, 2, '0'),
            'I' => self.number(hour12, 2, '0'),
            'j' => self.number(yday, 3, '0'),
            'k' => self.number(hour, 2, '_'),
            'l' => self.number(hour12, 2, '_'),
            'm' => self.number(at.month().into(), 2, '0'),
            'M' => self.number(at.minute().into(), 2, '0'),
            'N' => self.nanoseconds(at),
            'q' => self.number(i64::from(at.month() + 2) / 3, 1, '0'),
            's' => self.number(at.timestamp().as_second(), 1, '0'),
            'S' => self.number(at.second().into(), 2, '0'),
            'u' => self.number(weekday.to_monday_one_offset().into(), 1, '0'),
            'w' => self.number(weekday.to_sunday_zero_offset().into(), 1, '0'),
            'U' => self.number((yday + 6 - i64::from(weekday.to_sunday_zero_offset())) / 7, 2, '0'),
            'W' => self.number((yday + 6 - i64::from(weekday.to_monday_zero_offset())) / 7, 2, '0'),
            'V' => self.number(week.week().into(), 2, '0'),
            'y' => self.number(i64::from(at.year()).rem_euclid(100), 2, '0'),
            'Y' => self.number(at.year().into(), 4, '0'),
            'z' => self.offset(at.offset().seconds()),
            'Z' => self.half(&zone_name(at)),
            _ => return None,
        })
    }

    fn text(&self, text: &str) -> String {
        let text = if self.upper || self.swap { text.to_uppercase() } else { text.to_string() };
        self.fill_up(text)
    }

    /// `AM` and the names of zones become small letters with `#`.
    fn half(&self, text: &str) -> String {
        self.fill_up(if self.swap { text.to_lowercase() } else { text.to_string() })
    }

    fn fill_up(&self, text: String) -> String {
        let width = self.width.unwrap_or(0);
        match self.fill {
            Some('-') => text,
            Some('0' | '+') => format!("{text:0>width$}"),
            _ => format!("{text:>width$}"),
        }
    }

    fn number(&self, value: i64, width: usize, fill: char) -> String {
        let width = self.width.unwrap_or(width);
        match self.fill.unwrap_or(fill) {
            '-' => value.to_string(),
            '_' => format!("{value:>width$}"),
            _ => format!("{value:0width$}"),
        }
    }

    /// A width is how many digits are wanted.
    fn nanoseconds(&self, at: &Zoned) -> String {
        let mut digits = format!("{:09}", at.timestamp().subsec_nanosecond().rem_euclid(1_000_000_000));
        match self.width {
            Some(width) if width > 9 => digits.push_str(&"0".repeat(width - 9)),
            Some(width) if width > 0 => digits.truncate(width),
            _ if self.fill == Some('-') => digits.truncate(digits.trim_end_matches('0').len().max(1)),
            _ => {}
        }
        digits
    }

    /// `+0530`, with one colon `+05:30`, with two `+05:30:00`, with three as short as it may be.
    fn offset(&self, seconds: i32) -> String {
        let sign = if seconds < 0 { '-' } else { '+' };
        let all = seconds.unsigned_abs();
        let (h, m, s) = (all / 3_600, all / 60 % 60, all % 60);
        let text = match self.colons {
            0 => format!("{h:02}{m:02}"),
            1 => format!("{h:02}:{m:02}"),
            2 => format!("{h:02}:{m:02}:{s:02}"),
            _ if s != 0 => format!("{h:02}:{m:02}:{s:02}"),
            _ if m != 0 => format!("{h:02}:{m:02}"),
            _ => format!("{h:02}"),
        };
        let width = self.width.unwrap_or(0).saturating_sub(1);
        format!("{sign}{text:0>width$}")
    }
}

fn name(weekday: Weekday) -> &'static str {
    WEEKDAYS[weekday.to_monday_zero_offset().rem_euclid(7) as usize]
}

fn month(at: &Zoned) -> &'static str {
    MONTHS[(at.month() - 1).rem_euclid(12) as usize]
}

fn zone_name(at: &Zoned) -> String {
    at.time_zone().to_offset_info(at.timestamp()).abbreviation().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_of_date() {
        let sunday: Zoned = "2024-01-07T03:04:05.5+05:30[+05:30]".parse().unwrap();
        for (pattern, text) in [
            ("%A %u %w", "Sunday 7 0"),
            ("%-d %-m %_d %e %k %l", "7 1  7  7  3  3"),
            ("%B %^a %C %G-W%V", "January SUN 20 2024-W01"),
            ("%U %W %j %-j", "01 01 007 7"),
            ("%z %:z %::z %:::z", "+0530 +05:30 +05:30:00 +05:30"),
            ("%N %3N %-N", "500000000 500 5"),
            ("%5Y %_5d %05d %10B", "02024     7 00007    January"),
            ("%p %#p %P %I", "AM am am 03"),
            ("%c|%D|%r", "Sun Jan  7 03:04:05 2024|01/07/24|03:04:05 AM"),
            ("100%% %Q %", "100% %Q %"),
        ] {
            assert_eq!(print(pattern, &sunday), text, "{pattern}");
        }
    }
}
