//! Parsing and formatting of points in time.

use jiff::Timestamp;

const SECOND_MS: i64 = 1_000;
const HOUR_MS: i64 = 60 * 60 * SECOND_MS;

/// Milliseconds, RFC 3339, or a span from now such as `30d`, `12h`, `45m`.
pub fn parse(text: &str, now_ms: i64) -> Result<i64, String> {
    if let Ok(milliseconds) = text.parse::<i64>() {
        return Ok(milliseconds);
    }
    if let Some(span_ms) = span_ms(text) {
        return Ok(now_ms.saturating_add(span_ms));
    }
    match text.parse::<Timestamp>() {
        Ok(timestamp) => Ok(timestamp.as_millisecond()),
        Err(_) => Err(format!("`{text}` is not a time: use 30d, 12h, 2030-01-31T12:00:00Z or milliseconds")),
    }
}

/// A point in time for a person, in UTC.
pub fn show(milliseconds: i64) -> String {
    match Timestamp::from_millisecond(milliseconds) {
        Ok(timestamp) => timestamp.strftime("%Y-%m-%d %H:%M:%SZ").to_string(),
        Err(_) => milliseconds.to_string(),
    }
}

/// So many hours in milliseconds.
pub fn hours_ms(hours: u32) -> i64 {
    i64::from(hours) * HOUR_MS
}

fn span_ms(text: &str) -> Option<i64> {
    let unit_ms = match text.chars().last()? {
        's' => SECOND_MS,
        'm' => 60 * SECOND_MS,
        'h' => HOUR_MS,
        'd' => 24 * HOUR_MS,
        'w' => 7 * 24 * HOUR_MS,
        _ => return None,
    };
    text[..text.len() - 1].parse::<u32>().ok().and_then(|count| i64::from(count).checked_mul(unit_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_three_spellings_are_understood() {
        assert_eq!(parse("1999999999999", 0), Ok(1_999_999_999_999));
        assert_eq!(parse("12h", 1_000), Ok(1_000 + 12 * HOUR_MS));
        assert_eq!(parse("30d", 0), Ok(30 * 24 * HOUR_MS));
        assert_eq!(parse("1970-01-01T00:00:01Z", 0), Ok(1_000));
        assert_eq!(parse("1970-01-01T01:00:01+01:00", 0), Ok(1_000));
        for bad in ["", "h", "tomorrow", "12x", "-3d", "1.5h", "é"] {
            assert!(parse(bad, 0).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_are_shown_in_utc() {
        assert_eq!(show(1_000), "1970-01-01 00:00:01Z");
        assert_eq!(show(i64::MAX), i64::MAX.to_string());
    }
}
